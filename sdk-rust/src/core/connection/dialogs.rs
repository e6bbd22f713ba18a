//! Dialogs of the agent: passed to the handler, answered on the same connection, and withdrawn by the agent.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::open_dialogs::DialogEntry;
use super::shared::Shared;
use crate::dialog::{DialogError, answer_frame, check_answer, policy_frame};
use crate::framing::FrameText;
use crate::scan;
use crate::tap::Diagnostic;

/// Guard of an open question: dropping it closes the question.
struct OpenDialog {
    shared: Arc<Shared>,
    number: u64,
    withdrawn: CancellationToken,
}

impl OpenDialog {
    fn new(shared: Arc<Shared>, id: &FrameText) -> Self {
        let number = shared.dialogs.next_number.fetch_add(1, Ordering::Relaxed);
        let withdrawn = CancellationToken::new();
        let id = decode_id(id.as_str());
        shared.dialogs.entries().push(DialogEntry { number, id, withdrawn: withdrawn.clone() });
        Self { shared, number, withdrawn }
    }
}

impl Drop for OpenDialog {
    fn drop(&mut self) {
        self.shared.dialogs.entries().retain(|question| question.number != self.number);
    }
}

/// Returns the failure of a handler, with the message of its panic.
fn failure(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the handler failed: {}", text.unwrap_or("it panicked"))
}

/// Decodes an id into text, independent of the escapes in its JSON form.
fn decode_id(raw: &str) -> String {
    scan::string(raw).map_or_else(|| raw.to_owned(), |text| text.into_owned())
}

impl Shared {
    /// Passes a dialog to its handler, or answers it by the declared policy. Never waits.
    pub(super) fn dialog(self: &Arc<Self>, id: FrameText, method: String, params: FrameText) {
        if let Some(member) = self.spec.dialog(&method).and_then(|dialog| dialog.withdraws) {
            return self.withdraw_dialog(method, member, &params);
        }
        let asked = match &self.settings.dialogs {
            None => Err(DialogError::Unknown),
            Some(sink) => catch_unwind(AssertUnwindSafe(|| sink.answer(&method, params.as_str())))
                .unwrap_or_else(|panic| Err(DialogError::Failed(failure(&*panic)))),
        };
        let answer = match asked {
            Ok(answer) => answer,
            Err(misfit) => return self.answer_by_policy(&id, method, misfit),
        };
        // If a handler panics, the declared policy answers.
        let mut answer = AssertUnwindSafe(answer).catch_unwind();
        let notice = self.spec.dialog(&method).is_some_and(|dialog| !dialog.answered);
        // Notices are delivered in the order of their arrival, because the newest status applies.
        if notice && let Some(taken) = (&mut answer).now_or_never() {
            if let Err(panic) = taken {
                self.report_handler(method, &*panic);
            }
            return;
        }
        let shared = self.clone();
        let open = (!notice).then(|| OpenDialog::new(self.clone(), &id));
        let expires = self.expires(&method, &params);
        tokio::spawn(async move {
            let withdrawn = async {
                match &open {
                    Some(open) => open.withdrawn.cancelled().await,
                    None => std::future::pending().await,
                }
            };
            let expired = async {
                match expires {
                    Some(after) => tokio::time::sleep(after).await,
                    None => std::future::pending().await,
                }
            };
            // The handler's future is dropped at the end of the question and at the end of the connection.
            let answer = tokio::select! {
                biased;
                () = shared.stop.cancelled() => return,
                () = withdrawn => return,
                // The agent answers the question itself now and ignores later answers.
                () = expired => return,
                answer = answer => answer,
            };
            let line = match answer {
                Ok(Some(members)) => match check_answer(shared.spec, &method, &members) {
                    Ok(()) => Some(answer_frame(shared.spec, id.as_str(), &method, &members)),
                    Err(reason) => return shared.answer_by_policy(&id, method, DialogError::Failed(reason)),
                },
                Ok(None) => policy_frame(shared.spec, id.as_str(), &method),
                Err(panic) if notice => return shared.report_handler(method, &*panic),
                Err(panic) => {
                    return shared.answer_by_policy(&id, method, DialogError::Failed(failure(&*panic)));
                }
            };
            let Some(line) = line else { return };
            match shared.is_short_enough(&method, &line) {
                Ok(()) => {
                    let _ = shared.send_line(line);
                }
                Err(error) => shared.answer_by_policy(&id, method, DialogError::Malformed(error.to_string())),
            }
        });
    }

    /// Returns the time after which the agent answers a question itself; `None` if the agent waits for this
    /// client.
    fn expires(&self, method: &str, params: &FrameText) -> Option<Duration> {
        let member = self.spec.dialog(method)?.expires?;
        let mut limit = None;
        let scanned = scan::members(params.as_str(), |name, value| {
            if scan::is_named(name, member) {
                limit = value.parse::<u64>().ok();
            }
        });
        scanned.ok().and(limit).filter(|limit| *limit > 0).map(Duration::from_millis)
    }

    /// Reports the failed handler of a notice. Notices have no answer.
    fn report_handler(&self, method: String, panic: &(dyn Any + Send)) {
        self.diagnose(Diagnostic::DialogByPolicy { method, reason: Some(failure(panic)) });
    }

    fn answer_by_policy(&self, id: &FrameText, method: String, misfit: DialogError) {
        let reason = match misfit {
            DialogError::Unknown => None,
            DialogError::Failed(reason) => Some(reason),
            DialogError::Malformed(reason) => {
                self.diagnose(Diagnostic::DialogMalformed { method: method.clone(), reason });
                None
            }
        };
        if let Some(line) = policy_frame(self.spec, id.as_str(), &method) {
            self.diagnose(Diagnostic::DialogByPolicy { method, reason });
            let _ = self.send_line(line);
        }
    }

    /// Withdraws a question at the agent's request: its handler is dropped, and no answer is sent.
    fn withdraw_dialog(&self, method: String, member: &str, params: &FrameText) {
        let mut target = None;
        let scanned = scan::members(params.as_str(), |name, value| {
            if scan::is_named(name, member) {
                target = Some(value);
            }
        });
        match (target, scanned) {
            (Some(target), Ok(())) => self.dialogs.withdraw(&decode_id(target)),
            _ => {
                let reason = format!("no `{member}`");
                self.diagnose(Diagnostic::DialogMalformed { method, reason });
            }
        }
    }
}
