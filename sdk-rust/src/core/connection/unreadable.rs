//! Handling of unreadable lines. If the line is an answer, its call fails. Runs request the agent's state.

use std::sync::Arc;
use std::time::Duration;

use super::shared::{Shared, Waiter};
use crate::error::Error;
use crate::frame_header::{FrameHeader, read_header};
use crate::framing::FrameText;
use crate::run_tracker::TrackerInput;
use crate::scan;
use crate::spec::{Framing, RunRole};

/// Time that a call waits for its real response after a line that only quotes it.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The id in an answer.
pub(super) enum AnswerId {
    /// The id is the key of a call in the table.
    Key(String),
    /// The id has a JSON type that ids of this client never have.
    OtherType(String),
}

impl Shared {
    fn is_json_rpc(&self) -> bool {
        matches!(self.spec.framing, Framing::JsonRpc { .. })
    }

    /// Reads the id of an answer, which is a text in flat dialects and a number in JSON-RPC.
    pub(super) fn answer_id(&self, raw: &str) -> AnswerId {
        match (self.is_json_rpc(), scan::string(raw)) {
            (false, Some(text)) => AnswerId::Key(text.into_owned()),
            (true, None) => match raw.parse::<f64>() {
                // The notation of the number does not matter.
                Ok(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                    AnswerId::Key(format!("{number:.0}"))
                }
                Ok(_) => AnswerId::Key(raw.to_owned()),
                Err(_) => AnswerId::OtherType(raw.to_owned()),
            },
            // A text in place of a number may be the id of another client's call.
            (true, Some(text)) if !self.state().pending.has_waiter(&text) => AnswerId::Key(text.into_owned()),
            (_, text) => AnswerId::OtherType(text.map_or_else(|| raw.to_owned(), |text| text.into_owned())),
        }
    }

    /// Returns the key of the call that an answer with an id of the wrong JSON type belongs to. This is the
    /// call with the same id as text, otherwise the only waiting call. `command` is the command that the answer
    /// names.
    pub(super) fn call_of_other_id(&self, id: &str, command: Option<&str>) -> Option<String> {
        let state = self.state();
        if state.pending.has_waiter(id) {
            return Some(id.to_owned());
        }
        match (self.is_json_rpc(), command) {
            (false, None) => None,
            _ => state.pending.only_waiting(command).map(str::to_owned),
        }
    }

    /// Fails a call whose answer is unreadable. Returns `true` if a caller or a run waited for the answer.
    pub(super) fn fail_call(self: &Arc<Self>, key: &str, reason: &str, frame: &str) -> bool {
        let settled = self.state().pending.settle(key);
        let Some(settled) = settled else { return false };
        let error = Error::Decode {
            what: format!("the answer to `{}`", settled.command),
            reason: reason.to_owned(),
            frame: FrameText::from(frame),
        };
        let starts = self.spec.command(&settled.command).is_some_and(|row| row.run == RunRole::Starts);
        if starts && let Some(token) = self.run_of_command(&settled.id) {
            self.attach_handle(token);
            self.finish_run(token, Err(error.clone()));
        }
        match settled.waiter {
            None => return false,
            Some(Waiter::Caller(caller)) => drop(caller.send(Err(error))),
            Some(Waiter::Run { token }) => self.handle_state(token, TrackerInput::NoState),
        }
        true
    }

    /// Fails a call because of an answer that follows other text in its line. The line may be a log that quotes
    /// the answer. The call therefore fails only if no real answer arrives within [`ANSWER_WITHIN`].
    fn fail_call_later(self: &Arc<Self>, key: String, reason: &str, frame: &str) {
        if !self.state().pending.has_waiter(&key) {
            return;
        }
        let (reason, frame) = (reason.to_owned(), frame.to_owned());
        self.schedule(ANSWER_WITHIN, move |shared| {
            shared.fail_call(&key, &reason, &frame);
        });
    }

    /// Handles an unreadable line; `text` is its beginning.
    pub(super) fn handle_unreadable(self: &Arc<Self>, text: &str, reason: &str) {
        let FrameHeader { id, kind, method, is_own } = read_header(text);
        let is_answer = match self.is_json_rpc() {
            true => method.is_none() && id.is_some(),
            false => kind.as_deref() == Some("response"),
        };
        if is_answer && let Some(raw) = id {
            let key = match self.answer_id(raw) {
                AnswerId::Key(key) => Some(key),
                AnswerId::OtherType(id) if is_own => self.call_of_other_id(&id, None),
                AnswerId::OtherType(_) => None,
            };
            match key {
                Some(key) if !is_own => self.fail_call_later(key, reason, text),
                Some(key) if self.fail_call(&key, reason, text) => return,
                _ => {}
            }
        }
        // Text without a brace comes from another source and is no line of the run.
        if text.contains('{') {
            self.feed_runs(None, TrackerInput::LineLost);
        }
    }
}
