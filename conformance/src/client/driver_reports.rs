//! Judgement of the driver's reports, one by one.

use agentese::framing::FrameText;
use agentese::types::{
    Direction, DriverDialog, DriverError, DriverFailure, DriverReport, DriverResult, DriverRunEnd,
};
use serde_json::{Map, Value};

use super::agent_output::ENVELOPE;
use super::case_runner::{ClientCaseRunner, EarlyEnd, line_excerpt};
use super::compare::{ValueDifference, brief, difference};
use super::report_tracker::{AnswerError, RecordedLine};
use crate::verdict::Mismatch;

impl ClientCaseRunner<'_> {
    /// Judges a report of the driver.
    pub(super) fn judge_report(&mut self, line: &FrameText) -> Result<(), EarlyEnd> {
        let report: DriverReport = match agentese::wire::decode(line.as_str()) {
            Ok(report) => report,
            Err(error) => {
                let shown: String = line.as_str().chars().take(200).collect();
                return Err(self.fail_with_message(
                    "driver",
                    format!("invalid report from the driver: {error}: {shown}"),
                ));
            }
        };
        if self.closed {
            return Err(self.fail_with_message("driver", format!("report after `closed`: {}", line.as_str())));
        }
        self.checks.hold("driver");
        match report {
            DriverReport::Ready(ready) if self.ready.is_none() && ready.driver == 1 => {
                self.ready = Some(ready)
            }
            DriverReport::Ready(_) => {
                return Err(
                    self.fail_with_message("driver", "expected one `ready`, with `driver` 1".to_owned())
                );
            }
            DriverReport::Unsupported(what) => return Err(EarlyEnd::Unsupported(what.reason)),
            DriverReport::Event(event) => self.judge_event(&Value::Object(event.event))?,
            DriverReport::Result(result) => self.judge_result(&result)?,
            DriverReport::Error(error) => self.judge_error(&error)?,
            DriverReport::Dialog(dialog) => self.judge_dialog(dialog)?,
            DriverReport::RunEnd(end) => self.judge_run_end(&end)?,
            DriverReport::Terminated(end) => {
                if !self.agent_ended && !self.agent_stdin_closed {
                    return Err(self.fail_with_message(
                        "end",
                        "the driver reported the end of the agent, but the agent is still running".to_owned(),
                    ));
                }
                self.checks.hold("end");
                self.tracker.terminated = Some(end);
            }
            DriverReport::Closed(_) if self.closing => self.closed = true,
            DriverReport::Closed(_) => {
                return Err(self.fail_with_message(
                    "driver",
                    "the driver reported `closed` without an instruction to close".to_owned(),
                ));
            }
        }
        Ok(())
    }

    fn judge_event(&mut self, event: &Value) -> Result<(), EarlyEnd> {
        let at = self.tracker.reported;
        let Some(sent_event) = self.tracker.events.get(at) else {
            let message = match self
                .tracker
                .events
                .iter()
                .any(|sent_event| difference(&sent_event.event, event).is_none())
            {
                true => format!("the event was reported more often than the agent sent it: {}", brief(event)),
                false => format!("the agent sent no such event: {}", brief(event)),
            };
            return Err(self.fail_with_message("events", message));
        };
        self.tracker.reported += 1;
        let Some(found) = difference(&sent_event.event, event) else {
            self.checks.hold("events");
            return Ok(());
        };
        let is = |other: &Value| difference(other, event).is_none();
        let message = match () {
            () if found.allowance.is_some() => found.message.clone(),
            () if self.tracker.events[at + 1..].iter().any(|later| is(&later.event)) => {
                "the event was not reported, or only after a later event".to_owned()
            }
            () if self.tracker.events[..at].iter().any(|earlier| is(&earlier.event)) => {
                "an earlier event was reported again in its place".to_owned()
            }
            () => found.message.clone(),
        };
        let mismatch =
            self.value_mismatch(ValueDifference { message, ..found.clone() }, &sent_event.recorded, event);
        self.judge_difference("events", &found, mismatch)
    }

    fn judge_result(&mut self, result: &DriverResult) -> Result<(), EarlyEnd> {
        let value = result.value.clone().unwrap_or(Value::Null);
        self.require_unsettled(&result.call)?;
        let Some(call) = self.tracker.call(&result.call) else { return Ok(()) };
        call.settled = true;
        let command = call.planned.command.clone();
        let Some(answer) = call.answer.clone() else {
            // The library also sends this command by itself, so the answers to the two calls may be
            // swapped.
            if self.last_answers.contains_key(&command) && self.is_library_command(&command) {
                return Ok(());
            }
            let message =
                format!("the driver reported a result of `{command}`, but the agent has not answered");
            return Err(self.fail_with_message("answers", message));
        };
        match &answer.outcome {
            Err(failure) => {
                let message = format!(
                    "the driver reported a result of `{command}`, which failed with {:?}",
                    failure.message
                );
                Err(self.fail_check("answers", self.agent_line_mismatch(message, &answer.recorded)))
            }
            Ok(expected) => {
                let found = match difference(expected, &value) {
                    // An empty object in an answer is equivalent to no data.
                    Some(_) if value.is_null() && expected.as_object().is_some_and(Map::is_empty) => None,
                    Some(_)
                        if self.is_library_command(&command) && self.is_library_answer(&command, &value) =>
                    {
                        None
                    }
                    found => found,
                };
                let Some(found) = found else {
                    self.checks.hold("answers");
                    return Ok(());
                };
                let mismatch = self.value_mismatch(found.clone(), &answer.recorded, &value);
                self.judge_difference("answers", &found, mismatch)
            }
        }
    }

    fn judge_error(&mut self, error: &DriverError) -> Result<(), EarlyEnd> {
        let failure = AnswerError { message: error.message.clone(), code: error.code.as_option().copied() };
        if let Some(call) = self.tracker.call(&error.call)
            && call.settled
            && call.late_error.as_ref().is_some_and(|late| same_error(late, &failure))
        {
            return Ok(());
        }
        self.require_unsettled(&error.call)?;
        let Some(at) = self.tracker.calls.iter().position(|call| call.name == error.call) else {
            return Ok(());
        };
        self.tracker.calls[at].settled = true;
        let command = self.tracker.calls[at].planned.command.clone();
        let stray =
            self.tracker.unattributed_errors.iter().any(|it| !it.settled && same_error(&it.error, &failure));
        match self.tracker.calls[at].answer.clone() {
            // The call received a failure without an id that belongs to another call.
            Some(answered) if stray && answered.outcome.is_ok() => {
                self.failed_without_answer(at, &command, &failure, &error.kind)
            }
            Some(answered) => match &answered.outcome {
                Err(expected) if same_error(expected, &failure) && error.kind == DriverFailure::Refused => {
                    self.checks.hold("answers");
                    Ok(())
                }
                _ if answered.is_late => Ok(()),
                expected => {
                    let recorded = match expected {
                        Ok(_) => "succeeded".to_owned(),
                        Err(expected) => format!("was rejected with {:?}", expected.message),
                    };
                    let (kind, message) = (&error.kind, &error.message);
                    let message = format!(
                        "`{command}` {recorded}, but the driver reported a failure: {kind}, {message:?}"
                    );
                    Err(self.fail_check("answers", self.agent_line_mismatch(message, &answered.recorded)))
                }
            },
            None => self.failed_without_answer(at, &command, &failure, &error.kind),
        }
    }

    /// Judges a reported failure of a call to which the agent sent no failed answer.
    fn failed_without_answer(
        &mut self,
        at: usize,
        command: &str,
        failure: &AnswerError,
        kind: &DriverFailure,
    ) -> Result<(), EarlyEnd> {
        let mut strays: Vec<_> =
            self.tracker.unattributed_errors.iter_mut().filter(|stray| !stray.settled).collect();
        strays.sort_by_key(|stray| stray.call != at);
        if let Some(stray) = strays.into_iter().find(|stray| same_error(&stray.error, failure)) {
            stray.settled = true;
            let (owner, recorded) = (stray.call, stray.recorded.clone());
            if owner == at {
                self.checks.hold("attribution");
            } else {
                let owner = self.tracker.calls[owner].name.clone();
                let message =
                    format!("the failure was assigned to `{command}`; the older call `{owner}` is pending");
                self.checks.fail("attribution", self.agent_line_mismatch(message, &recorded));
            }
            return Ok(());
        }
        if !self.agent_ended && !self.closing && !self.agent_stdin_closed {
            let message = format!(
                "the driver reported a failure of `{command}`, but the agent has not answered: {}",
                failure.message
            );
            return Err(self.fail_with_message("answers", message));
        }
        match kind {
            DriverFailure::Terminated => self.checks.hold("end"),
            // The client could not send the call, because the agent had closed its stdin.
            DriverFailure::Failed if self.agent_stdin_closed => self.checks.hold("end"),
            other => {
                let message =
                    format!("`{command}` was pending when the connection ended, but failed as {other}");
                self.checks.fail("end", self.plain_mismatch(message));
            }
        }
        Ok(())
    }

    fn judge_dialog(&mut self, dialog: DriverDialog) -> Result<(), EarlyEnd> {
        let mut params = dialog.params;
        // Libraries that report the whole frame include its id.
        let id = if self.spec.framing_is_flat() { params.get("id").cloned() } else { None };
        if self.spec.framing_is_flat() {
            ENVELOPE.iter().for_each(|name| drop(params.shift_remove(*name)));
        }
        let params = Value::Object(params);
        let open = |sent_dialog: &super::report_tracker::SentDialog| {
            let right = id.as_ref().is_none_or(|id| *id == sent_dialog.id);
            right && sent_dialog.reported.is_none() && sent_dialog.method == dialog.method
        };
        let mut closest: Option<(ValueDifference, RecordedLine)> = None;
        for sent_dialog in self.tracker.dialogs.iter_mut().filter(|asked| open(asked)) {
            match difference(&sent_dialog.params, &params).filter(|found| found.allowance.is_none()) {
                None => {
                    sent_dialog.reported = Some(dialog.dialog);
                    let check = if sent_dialog.needs_answer { "dialogs" } else { "notices" };
                    self.checks.hold(check);
                    return Ok(());
                }
                Some(found) => {
                    closest.get_or_insert((found, sent_dialog.recorded.clone()));
                }
            }
        }
        let Some((found, recorded)) = closest else {
            let message = format!("`{}` was reported more often than the agent sent it", dialog.method);
            return Err(self.fail_with_message("dialogs", message));
        };
        let mismatch = self.value_mismatch(found, &recorded, &params);
        Err(self.fail_check("dialogs", mismatch))
    }

    fn judge_run_end(&mut self, end: &DriverRunEnd) -> Result<(), EarlyEnd> {
        let over = self.agent_ended || self.closing || self.agent_stdin_closed;
        let Some(call) = self.tracker.call(&end.call) else {
            return Err(self.fail_with_message("driver", format!("report of an unknown call: {}", end.call)));
        };
        let again = std::mem::replace(&mut call.run_ended, true);
        let command = call.planned.command.clone();
        let refused = call.late_error.is_some() || call.answer.as_ref().is_some_and(|it| it.outcome.is_err());
        let message = match end.error.as_option() {
            _ if again => Some("ended twice".to_owned()),
            None => None,
            Some(DriverFailure::Refused) if refused => None,
            Some(DriverFailure::Terminated) if over => None,
            Some(kind) => Some(format!("failed as {kind}: {:?}", end.message.as_deref().unwrap_or_default())),
        };
        match message {
            None => self.checks.hold("runs"),
            Some(message) => {
                self.checks.fail("runs", self.plain_mismatch(format!("the run of `{command}` {message}")))
            }
        }
        Ok(())
    }

    /// Fails the case if the call does not exist, or if the driver has already reported its end.
    fn require_unsettled(&mut self, name: &str) -> Result<(), EarlyEnd> {
        match self.tracker.call(name) {
            None => Err(self.fail_with_message("driver", format!("report of an unknown call: {name}"))),
            Some(call) if call.settled => {
                let message = format!("the end of `{}` was reported twice", call.planned.command);
                Err(self.fail_with_message("answers", message))
            }
            Some(_) => Ok(()),
        }
    }

    fn is_library_command(&self, command: &str) -> bool {
        let own = self.ready.as_ref().and_then(|ready| ready.sends.as_ref());
        own.is_some_and(|own| own.iter().any(|name| name == command))
    }

    /// Returns `true` if the value is the data that the agent sent in answer to the library's own
    /// command.
    fn is_library_answer(&self, command: &str, value: &Value) -> bool {
        self.library_answer_data(command).is_some_and(|data| difference(&data, value).is_none())
    }

    /// Records a difference that an allowance permits. Ends the case at any other difference.
    fn judge_difference(
        &mut self,
        check: &'static str,
        found: &ValueDifference,
        mismatch: Mismatch,
    ) -> Result<(), EarlyEnd> {
        if let Some(allowance) = found.allowance {
            self.checks.allow(check, allowance.name(), mismatch);
            return Ok(());
        }
        Err(self.fail_check(check, mismatch))
    }

    fn value_mismatch(&self, found: ValueDifference, recorded: &RecordedLine, value: &Value) -> Mismatch {
        Mismatch {
            message: found.message,
            path: found.path,
            expected: Some(line_excerpt(recorded.record, Direction::S2c, recorded.line.as_str())),
            found: Some(line_excerpt(recorded.record, Direction::S2c, &value.to_string())),
            before: self.before(recorded.record),
        }
    }
}

fn same_error(ours: &AnswerError, theirs: &AnswerError) -> bool {
    ours.message == theirs.message && (theirs.code.is_none() || ours.code == theirs.code)
}
