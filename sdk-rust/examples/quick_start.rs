//! The quick start of the README, word for word. `conformance/interop/quick-starts` checks that both texts
//! are equal.
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use agentese::pi::{self, AssistantMessageEvent as Piece, Event};

#[tokio::main]
async fn main() -> Result<(), agentese::Error> {
    let client = pi::Client::spawn(["agentese", "--mode", "rpc", "--provider", "scripted", "--no-session"])?;
    let mut run = client.prompt("What is in this directory?").await?;
    while let Some(event) = run.next().await {
        let Event::MessageUpdate(update) = event? else { continue };
        match update.assistant_message_event {
            Piece::TextDelta(text) => print!("{}", text.delta),
            Piece::TextEnd(_) => println!(),
            _ => {}
        }
    }
    client.close().await;
    Ok(())
}
