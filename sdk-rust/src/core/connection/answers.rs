//! Delivery of responses to their calls.

use std::sync::Arc;

use super::shared::{RawAnswer, Shared, Waiter};
use super::unreadable::AnswerId;
use crate::error::{Error, RefusedError};
use crate::failure;
use crate::framing::FrameText;
use crate::run_tracker::TrackerInput;
use crate::spec::{HandlerFailure, RunRole, Spec};
use crate::tap::Diagnostic;

impl Shared {
    /// Delivers a response to its call.
    pub(super) fn answer(
        self: &Arc<Self>,
        id: Option<&FrameText>,
        command: Option<String>,
        result: Result<RawAnswer, RefusedError>,
        frame: &FrameText,
    ) {
        let key = match id.map(|id| self.answer_id(id.as_str())) {
            None => None,
            Some(AnswerId::Key(key)) => Some(key),
            Some(AnswerId::OtherType(id)) => {
                let call = self.call_of_other_id(&id, command.as_deref());
                let reason = || format!("its id is {id}, of another JSON type than the id that was sent");
                if !call.is_some_and(|call| self.fail_call(&call, &reason(), frame.as_str())) {
                    self.diagnose(Diagnostic::UnmatchedAnswer { id: Some(id), command });
                }
                return;
            }
        };
        let settled = {
            let mut state = self.state();
            match &key {
                Some(key) => state.pending.settle(key),
                None if result.is_err() => {
                    let unlikely = |command: &str, waiter: Option<&Waiter>| self.keeps_id(command, waiter);
                    state.pending.attribute(command.as_deref(), self.spec.edges.parse_command, unlikely)
                }
                None => None,
            }
        };
        let Some(settled) = settled else {
            // A failure after the acknowledgement belongs to the run that the command started.
            if let (Some(key), Err(refused)) = (&key, &result)
                && let Some(token) = self.run_of_command(key)
            {
                return self.finish_run(token, Err(Error::Refused(Box::new(refused.clone()))));
            }
            return self.diagnose(Diagnostic::UnmatchedAnswer { id: key, command });
        };
        let result = result.map_err(|mut refused| {
            refused.attributed = settled.attributed;
            refused.command.get_or_insert_with(|| settled.command.clone());
            if refused.attributed {
                refused.command = Some(settled.command.clone());
            }
            refused
        });
        if let Ok(answer) = &result {
            self.inspect_answer(&settled.command, answer.data.as_ref().map(FrameText::as_str));
        }
        let result = result.map_err(|refused| self.failure(&settled.command, refused));
        let role = self.spec.command(&settled.command).map_or(RunRole::None, |spec| spec.run);
        // Some agents omit the closing events of a replaced run, so the run requests the agent's state.
        if role == RunRole::Replaces && result.is_ok() && self.run_end().barrier.is_some() {
            self.feed_runs(None, TrackerInput::Replaced);
        }
        let stopped = self.state().take_stop(&settled.id);
        if let (Some(session), Ok(_)) = (stopped, &result) {
            self.stop_runs(session.as_deref());
        }
        if role == RunRole::Starts
            && let Some(token) = self.run_of_command(&settled.id)
        {
            self.attach_handle(token);
            match &result {
                Ok(_) => self.feed_run(token, TrackerInput::Answered),
                Err(error) => self.finish_run(token, Err(error.clone())),
            }
        }
        match settled.waiter {
            // The call timed out or its caller was dropped: the response is late.
            None => self.diagnose(Diagnostic::UnmatchedAnswer { id: key, command }),
            Some(Waiter::Caller(caller)) => {
                let _ = caller.send(result);
            }
            Some(Waiter::Run { token }) => {
                let busy = result.ok().and_then(|answer| {
                    let state = self.run_end().state?;
                    crate::route::is_busy(answer.data?.as_str(), &state)
                });
                self.handle_state(
                    token,
                    busy.map_or(TrackerInput::NoState, |busy| TrackerInput::State { busy }),
                );
            }
        }
    }

    /// Returns `true` if failures of the call carry its id, according to the dialect's document.
    fn keeps_id(&self, command: &str, waiter: Option<&Waiter>) -> bool {
        let excepted = match self.spec.edges.handler_failure {
            HandlerFailure::ParseWithoutId { except, .. } => except.contains(&command),
            _ => false,
        };
        excepted || matches!(waiter, Some(Waiter::Run { .. }))
    }
}

/// Reads the error of a response.
pub(super) fn read_rejection(
    spec: &Spec,
    command: Option<String>,
    error: Option<&FrameText>,
) -> RefusedError {
    let error = error.map(|error| serde_json::from_str(error.as_str()).unwrap_or(serde_json::Value::Null));
    let (message, code, data) = match error {
        Some(serde_json::Value::String(message)) => (message, None, None),
        Some(serde_json::Value::Object(mut members)) => (
            members.get("message").and_then(|message| message.as_str()).unwrap_or_default().to_owned(),
            members.get("code").and_then(serde_json::Value::as_i64),
            members.remove("data"),
        ),
        _ => ("the agent gave no reason".to_owned(), None, None),
    };
    let failure = failure::kind_of(spec, command.as_deref(), code, &message);
    RefusedError { command, message, code, data, attributed: false, failure }
}
