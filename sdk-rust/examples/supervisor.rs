//! Restarts an agent after its unexpected end, and continues its session.
//! cargo run --example supervisor -- agentese --mode rpc --provider scripted
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use std::time::Duration;

use agentese::{Error, pi};

async fn work(session: &mut Option<String>, attempt: u32) -> Result<String, Error> {
    let client = pi::Client::spawn(std::env::args().skip(1))?;
    let message = match session.as_deref() {
        None => "Begin with the work.",
        Some(file) => {
            client.switch_session(file).await?;
            "You were interrupted. Continue with the work."
        }
    };
    *session = client.get_state().await?.session_file;
    let run = client.prompt(message).await?;
    println!("attempt {attempt}: process {} works", client.process_id().unwrap_or_default());
    run.result().await?;
    let text = client.get_last_assistant_text().await?.text.into_option().unwrap_or_default();
    client.close().await;
    Ok(text)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut session = None;
    for attempt in 1.. {
        match work(&mut session, attempt).await {
            Ok(text) => {
                println!("done: {text}");
                break;
            }
            Err(Error::Terminated(end)) if attempt < 5 => println!("attempt {attempt}: {end}"),
            Err(error) => return Err(error),
        }
        tokio::time::sleep(Duration::from_millis(100 << attempt)).await;
    }
    Ok(())
}
