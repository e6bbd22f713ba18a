//! Sends a prompt for each line of stdin. Ctrl-C stops the current run; without a run it ends the program.
//! cargo run --example ctrl_c -- agentese --mode rpc --provider scripted --no-session
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use agentese::pi::{self, Event};
use tokio::signal::ctrl_c;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = pi::Client::spawn(std::env::args().skip(1))?;
    let (said, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        std::io::stdin().lines().map_while(Result::ok).try_for_each(|line| said.send(line))
    });
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = ctrl_c() => std::process::exit(130),
        };
        let Some(message) = line else { break };
        let mut run = client.prompt(message).await?;
        loop {
            let event = tokio::select! {
                event = run.next() => event,
                _ = ctrl_c() => {
                    run.abort().await?;
                    println!("(stopped)");
                    continue;
                }
            };
            match event.transpose()? {
                Some(Event::AgentStart(_)) => println!("(Ctrl-C stops this)"),
                Some(Event::MessageEnd(end)) => println!("{:?}", end.message),
                Some(_) => {}
                None => break,
            }
        }
    }
    Ok(())
}
