//! Sends a prompt to ten agents at once, waits for the first five answers, and stops the other agents. cargo
//! run --example ten_at_once -- agentese --mode rpc --provider scripted --no-session
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use agentese::{Error, pi};
use tokio_util::sync::CancellationToken;

async fn ask(number: usize, enough: CancellationToken) -> Result<Option<String>, Error> {
    let client = pi::Client::spawn(std::env::args().skip(1))?;
    let run = client.prompt(format!("Tell me about {number}.")).await?;
    let ended = tokio::select! {
        ended = run.result() => Some(ended?),
        () = enough.cancelled() => None,
    };
    if ended.is_none() {
        return client.abort().await.map(|()| None);
    }
    let answer = client.get_last_assistant_text().await?;
    Ok(answer.text.into_option().map(|text| format!("{number}: {text}")))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let enough = CancellationToken::new();
    let mut agents: tokio::task::JoinSet<_> = (0..10).map(|number| ask(number, enough.clone())).collect();
    let (mut answers, mut stopped) = (Vec::new(), 0);
    while let Some(answer) = agents.join_next().await {
        match answer.expect("the task does not panic")? {
            Some(answer) if answers.len() < 5 => answers.push(answer),
            _ => stopped += 1,
        }
        if answers.len() == 5 {
            enough.cancel();
        }
    }
    answers.sort();
    println!("{}\n{stopped} were stopped", answers.join("\n"));
    Ok(())
}
