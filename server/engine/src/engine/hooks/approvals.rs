//! Approval of tool calls by the user, as the settings require it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentese::types::{ConfirmQuestion, ToolCall};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::config::{ApprovalSettings, Settings};
use crate::engine::Hooks;
use crate::resources::Resources;
use crate::runtime::Clock;
use crate::ui::{Answer, Dialog, Ui};

/// Requests approval of tool calls from the user of the client. Only an explicit confirmation permits the call. An
/// answer of another type, a timeout, or an absent client rejects it. An abort withdraws the question.
pub struct Approvals {
    settings: Mutex<ApprovalSettings>,
    ui: OnceLock<Arc<dyn Ui>>,
    clock: Arc<dyn Clock>,
}

impl Approvals {
    /// Creates the hook with the given settings. Without a client ([`Approvals::connect`]), every call that
    /// needs approval is rejected.
    pub fn new(settings: ApprovalSettings, clock: Arc<dyn Clock>) -> Self {
        Self { settings: Mutex::new(settings), ui: OnceLock::new(), clock }
    }

    /// Sets the client that displays the questions. Only the first call has an effect.
    pub fn connect(&self, ui: Arc<dyn Ui>) {
        let _ = self.ui.set(ui);
    }

    /// Returns the time limit for an answer; zero means no limit. Returns `None` if the tool needs no approval.
    fn approval_timeout(&self, tool: &str) -> Option<Duration> {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        settings.requires(tool).then(|| Duration::from_millis(settings.timeout_ms))
    }

    async fn request_approval(&self, call: &ToolCall, limit: Duration) -> Result<(), String> {
        let name = &call.name;
        let refused = |why: &str| Err(format!("The call was not approved: {why}."));
        let mut question = ConfirmQuestion::new(&call.id, format!("Allow {name}?"), describe_call(call));
        question.timeout = u64::try_from(limit.as_millis()).ok().filter(|limit| *limit > 0);
        let Some(ui) = self.ui.get() else { return refused("no client can show the question") };
        ui.wait_for_reader().await;
        let Some(answer) = ui.show_dialog(&Dialog::Confirm(question)) else {
            return refused("no client can show the question");
        };
        let timed_out = async {
            match limit {
                Duration::ZERO => std::future::pending().await,
                limit => self.clock.sleep(limit).await,
            }
        };
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            () = timed_out => return refused("no answer arrived in time"),
        };
        match answer {
            Some(Answer::Confirmed(true)) => Ok(()),
            Some(Answer::Confirmed(false) | Answer::Cancelled) => refused("the user rejected it"),
            Some(Answer::Value(_) | Answer::Other(_) | Answer::Unreadable(_)) => {
                refused("the answer was neither yes nor no")
            }
            None => refused("the client has disconnected"),
        }
    }
}

impl Hooks for Approvals {
    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Result<(), String>> {
        match self.approval_timeout(&call.name) {
            Some(limit) => self.request_approval(call, limit).boxed(),
            None => futures::future::ready(Ok(())).boxed(),
        }
    }

    fn trusted(&self, settings: &Settings, _: &Resources) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings.approval.clone();
    }
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Approvals").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Returns the description of a call for the user: one line per argument, with texts unquoted.
fn describe_call(call: &ToolCall) -> String {
    let lines = call.arguments.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        value => format!("{name}: {value}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runtime::SystemClock;
    use crate::ui::Notice;

    /// A client that always gives the same answer. Without an answer, it never responds.
    struct FixedAnswer(Option<Answer>);

    impl Ui for FixedAnswer {
        fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
            futures::future::ready(()).boxed()
        }
        fn show(&self, _: &Notice) {}
        fn show_dialog(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
            let Dialog::Confirm(question) = dialog else { panic!("{dialog:?}") };
            assert_eq!((&*question.title, &*question.message), ("Allow bash?", "command: ls\ntimeout: 5"));
            let answer = self.0.clone();
            Some(match answer {
                Some(answer) => futures::future::ready(Some(answer)).boxed(),
                None => futures::future::pending().boxed(),
            })
        }
    }

    /// A client that has disconnected.
    struct DisconnectedClient;

    impl Ui for DisconnectedClient {
        fn wait_for_reader(&self) -> BoxFuture<'_, ()> {
            futures::future::ready(()).boxed()
        }
        fn show(&self, _: &Notice) {}
        fn show_dialog(&self, _: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>> {
            None
        }
    }

    fn approvals(timeout_ms: u64, ui: Option<Arc<dyn Ui>>) -> Approvals {
        let settings = ApprovalSettings { tools: vec!["bash".to_owned()], timeout_ms };
        let approvals = Approvals::new(settings, Arc::new(SystemClock));
        if let Some(ui) = ui {
            approvals.connect(ui);
        }
        approvals
    }

    fn call(name: &str) -> ToolCall {
        let arguments = json!({"command": "ls", "timeout": 5});
        ToolCall::new("1", name, arguments.as_object().unwrap().clone())
    }

    #[tokio::test]
    async fn only_a_confirmation_permits_the_call() {
        for (answer, expected) in [
            (Answer::Confirmed(true), Ok(())),
            (Answer::Confirmed(false), Err("the user rejected it")),
            (Answer::Cancelled, Err("the user rejected it")),
            (Answer::Value("true".to_owned()), Err("the answer was neither yes nor no")),
            (Answer::Unreadable("7".to_owned()), Err("the answer was neither yes nor no")),
        ] {
            let approvals = approvals(0, Some(Arc::new(FixedAnswer(Some(answer)))));
            let expected = expected.map_err(|why| format!("The call was not approved: {why}."));
            assert_eq!(approvals.tool_call(&call("bash")).await, expected);
            assert_eq!(approvals.tool_call(&call("read")).await, Ok(()));
        }
    }

    #[tokio::test]
    async fn unanswered_question_rejects_the_call() {
        for (ui, why) in [
            (None, "no client can show the question"),
            (Some(Arc::new(DisconnectedClient) as Arc<dyn Ui>), "no client can show the question"),
            (Some(Arc::new(FixedAnswer(None))), "no answer arrived in time"),
        ] {
            let result = approvals(1, ui).tool_call(&call("bash")).await;
            assert_eq!(result, Err(format!("The call was not approved: {why}.")));
        }
    }
}
