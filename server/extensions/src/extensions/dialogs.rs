//! Dialogs of extensions: they are opened in the order of their requests, and end with their owner.

use std::sync::Arc;
use std::time::Duration;

use agentese::types::{ConfirmationResult, ValueResult};
use tokio_util::sync::CancellationToken;

use super::Host;
use super::process::Process;
use super::response::respond;
use crate::ui::{Answer, Dialog};

impl Host {
    /// Opens a dialog. Its owner is the request whose handler opened it, else the session or the agent. The dialog has
    /// its default answer if the user does not answer in time, the extension withdraws it, or its owner ends.
    pub(super) fn open_dialog(&self, process: &Arc<Process>, dialog: Dialog) {
        let (extension, during) = dialog.owner();
        let owner = match during {
            Some(during) => process.calls.get(during),
            None => process.calls.newest(extension),
        };
        // A request that is over opens no dialogs.
        let late = during.is_some() && owner.is_none();
        let was_withdrawn = process.cancelled_dialogs.take_withdrawn(dialog.id());
        let pending_answer = match (&self.ui.get(), late || was_withdrawn || self.is_closing()) {
            (Some(ui), false) => ui.show_dialog(&dialog),
            _ => None,
        };
        if let Some(owner) = &owner {
            owner.accept();
        }
        // The client that has to answer may wait for the agent to be ready.
        self.set_ready();
        let Some(pending_answer) = pending_answer else { return reply(process, &dialog, None) };
        let limit = dialog.timeout().map(Duration::from_millis).or(self.options.limits.dialog);
        let ends = [
            process.cancelled_dialogs.open(dialog.id()),
            self.registry().dialogs.clone(),
            owner.as_ref().map_or_else(CancellationToken::new, |owner| owner.ended.clone()),
        ];
        let process = process.clone();
        // The client is disconnected. An event continues with the default answer, because a run waits for it.
        // A command waits until the agent ends.
        let stays = owner.as_ref().is_some_and(|owner| owner.is_command);
        let pending_answer = async move {
            match pending_answer.await {
                None if stays => std::future::pending().await,
                answer => answer,
            }
        };
        let pre_hook_guard =
            owner.as_ref().filter(|owner| owner.is_pre_hook).map(|_| self.pre_hooks.open_dialog());
        let dialog_guard = owner.map(|owner| owner.open_dialog());
        tokio::spawn(async move {
            let owner_ended = futures::future::select_all(ends.iter().map(|end| Box::pin(end.cancelled())));
            let answer = tokio::select! {
                biased;
                _ = owner_ended => None,
                answer = pending_answer => answer,
                () = wait_limit(limit) => None,
            };
            process.cancelled_dialogs.close(dialog.id());
            reply(&process, &dialog, answer);
            drop((dialog_guard, pre_hook_guard));
        });
    }

    /// Withdraws a dialog at the request of the extension.
    pub(super) fn withdraw(&self, process: &Process, id: &str) {
        process.cancelled_dialogs.withdraw(id);
    }
}

async fn wait_limit(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Sends the answer to the extension. An answer that does not fit the dialog counts as no answer.
fn reply(process: &Process, dialog: &Dialog, user_answer: Option<Answer>) {
    let unfit = |what: &str| {
        tracing::warn!(
            "{}: {what} is not a valid answer to its dialog; the dialog is treated as unanswered",
            process.name()
        );
    };
    if let Dialog::Confirm(_) = dialog {
        let confirmed = match user_answer {
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
        return respond(process, dialog.id(), &ConfirmationResult::new(confirmed));
    }
    let mut result = ValueResult::new();
    match (user_answer, dialog) {
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
    respond(process, dialog.id(), &result);
}
