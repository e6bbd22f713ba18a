//! Streams an answer, and prints the names of the tools in use.
//! cargo run --example streaming -- agentese --mode rpc --provider scripted --no-session
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program of its own")]

use agentese::pi::{self, AssistantMessageEvent as Piece, Event};

#[tokio::main]
async fn main() -> Result<(), agentese::Error> {
    let client = pi::Client::spawn(std::env::args().skip(1))?;
    let mut run = client.prompt("What is in this directory?").await?;
    while let Some(event) = run.next().await {
        match event? {
            Event::ToolExecutionStart(tool) => eprintln!("[{}]", tool.tool_name),
            Event::MessageUpdate(update) => {
                if let Piece::TextDelta(text) = update.assistant_message_event {
                    print!("{}", text.delta);
                }
            }
            _ => {}
        }
    }
    println!();
    client.close().await;
    Ok(())
}
