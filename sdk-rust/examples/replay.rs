//! A unit test of code that uses an agent, without an agent: it replays a recorded session.
//! cargo test --example replay
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use agentese::pi::{self, AssistantMessageEvent as Piece, Event};
use agentese_conformance::{replay::replay, transcript::Transcript};

const RECORDING: &str = r#"{"transcript":1,"dialect":"pi","agent":"pi"}
{"dir":"c2s","line":"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"Hello?\"}"}
{"dir":"s2c","line":"{\"id\":\"1\",\"type\":\"response\",\"command\":\"prompt\",\"success\":true}"}
{"dir":"s2c","line":"{\"type\":\"agent_start\"}"}
{"dir":"s2c","line":"{\"type\":\"message_update\",\"assistantMessageEvent\":{\"type\":\"text_delta\",\"contentIndex\":0,\"delta\":\"Hello!\"}}"}
{"dir":"s2c","line":"{\"type\":\"agent_end\",\"messages\":[]}"}"#;

/// The code under test.
async fn ask(client: &pi::Client, message: &str) -> Result<String, agentese::Error> {
    let mut text = String::new();
    let mut run = client.prompt(message).await?;
    while let Some(event) = run.next().await {
        let Event::MessageUpdate(update) = event? else { continue };
        if let Piece::TextDelta(piece) = update.assistant_message_event {
            text.push_str(&piece.delta);
        }
    }
    Ok(text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ours, theirs) = agentese::transport::memory_pair(1 << 16);
    let recording = Transcript::parse("replay.jsonl".as_ref(), RECORDING)?;
    let playing = tokio::spawn(async move { replay(&pi::SPEC, &recording, theirs).await });
    let client = pi::Client::connect(ours);
    assert_eq!(ask(&client, "Hello?").await?, "Hello!");
    client.close().await;
    playing.await??;
    println!("the answer is put together");
    Ok(())
}
