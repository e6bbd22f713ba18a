//! Passes the agent's questions to the user: one line of stdin for each answer, an empty line for no answer.
//! cargo run --example dialogs -- agentese --mode rpc -e extensions/examples/python/dialogs.py
#![expect(clippy::print_stdout, reason = "it is a program of its own")]

use agentese::{ChildOptions, pi};

struct Terminal;

impl Terminal {
    async fn ask(&self, question: &str) -> Option<String> {
        println!("{question}");
        let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await.ok()??;
        line.ok().filter(|line| !line.is_empty())
    }
}

impl pi::Dialogs for Terminal {
    async fn select(&self, dialog: pi::SelectDialog) -> Option<String> {
        let answer = self.ask(&format!("{} ({})", dialog.title, dialog.options.join(", "))).await?;
        dialog.options.contains(&answer).then_some(answer)
    }

    async fn confirm(&self, dialog: pi::ConfirmDialog) -> Option<bool> {
        Some(self.ask(&format!("{} {} (yes, no)", dialog.title, dialog.message)).await? == "yes")
    }

    fn notify(&self, notice: pi::NotifyNotice) {
        println!("{}", notice.message);
    }
}

#[tokio::main]
async fn main() -> Result<(), agentese::Error> {
    let mut words = std::env::args().skip(1);
    let agent = ChildOptions::new(words.next().unwrap_or_default()).args(words);
    let client = pi::Client::builder().dialogs(Terminal).spawn(agent)?;
    client.prompt("/dialogs").await?.result().await?;
    client.close().await;
    Ok(())
}
