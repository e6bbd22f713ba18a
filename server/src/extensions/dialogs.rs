//! Dialogs of extensions: opened in order, ended with whoever opened them.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{ConfirmedResult, ValueResult};
use tokio_util::sync::CancellationToken;

use super::Host;
use super::process::Process;
use super::requests::answer;
use crate::ui::{Answer, Dialog};

impl Host {
    /// Opens a dialog. Its answer is the default where nobody answers in time, where it is withdrawn, and
    /// where its owner ends: the question in whose handling it was opened, the session, the agent.
    pub(super) fn open(&self, process: &Arc<Process>, dialog: Dialog) {
        let (extension, during) = dialog.owner();
        let owner = match during {
            Some(during) => process.calls.get(during),
            None => process.calls.newest(extension),
        };
        // A question that is over has no dialogs.
        let late = during.is_some() && owner.is_none();
        let taken_back = process.withdrawn.take(dialog.id());
        let asked = match (&self.ui.get(), late || taken_back || self.is_closing()) {
            (Some(ui), false) => ui.ask(&dialog),
            _ => None,
        };
        if let Some(owner) = &owner {
            owner.accept();
        }
        // Whoever waits for the agent to be ready may be the one who has to answer.
        self.get_ready();
        let Some(asked) = asked else { return reply(process, &dialog, None) };
        let limit = dialog.timeout().map(Duration::from_millis).or(self.options.limits.dialog);
        let ends = [
            process.withdrawn.open(dialog.id()),
            self.state().dialogs.clone(),
            owner.as_ref().map_or_else(CancellationToken::new, |owner| owner.over.clone()),
        ];
        let process = process.clone();
        // Who would answer is gone. An event goes on as if nobody had answered, for a run waits for it; a
        // command stays where it is until the agent ends.
        let stays = owner.as_ref().is_some_and(|owner| owner.is_command);
        let asked = async move {
            match asked.await {
                None if stays => std::future::pending().await,
                answer => answer,
            }
        };
        let before = owner.as_ref().filter(|owner| owner.is_before).map(|_| self.before.dialog());
        let open = owner.map(|owner| owner.dialog());
        tokio::spawn(async move {
            let over = futures::future::select_all(ends.iter().map(|end| Box::pin(end.cancelled())));
            let answer = tokio::select! {
                biased;
                _ = over => None,
                answer = asked => answer,
                () = patience(limit) => None,
            };
            process.withdrawn.close(dialog.id());
            reply(&process, &dialog, answer);
            drop((open, before));
        });
    }

    /// An extension takes its question back.
    pub(super) fn withdraw(&self, process: &Process, id: &str) {
        process.withdrawn.withdraw(id);
    }
}

async fn patience(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Answers the extension. An answer that does not fit the question counts as none.
fn reply(process: &Process, dialog: &Dialog, said: Option<Answer>) {
    let unfit = |what: &str| {
        tracing::warn!(
            "{}: {what} is not a valid answer to its dialog; the dialog counts as unanswered",
            process.name()
        );
    };
    if let Dialog::Confirm(_) = dialog {
        let confirmed = match said {
            Some(Answer::Confirmed(confirmed)) => confirmed,
            Some(Answer::Value(_) | Answer::Other(_)) => {
                unfit("a value");
                false
            }
            Some(Answer::Unreadable(what)) => {
                unfit(&what);
                false
            }
            Some(Answer::Cancelled) | None => false,
        };
        return answer(process, dialog.id(), &ConfirmedResult::new(confirmed));
    }
    let mut result = ValueResult::new();
    match (said, dialog) {
        (Some(Answer::Value(value)), Dialog::Select(select, _)) if !select.options.contains(&value) => {
            unfit("a value that was not among the options");
        }
        (Some(Answer::Other(_)), Dialog::Select(..)) => unfit("a value that was not among the options"),
        (Some(Answer::Value(value)), _) => result.value = Some(value),
        (Some(Answer::Other(value)), _) => result.other = Some(value),
        (Some(Answer::Confirmed(_)), _) => unfit("yes or no"),
        (Some(Answer::Unreadable(what)), _) => unfit(&what),
        (Some(Answer::Cancelled) | None, _) => {}
    }
    answer(process, dialog.id(), &result);
}
