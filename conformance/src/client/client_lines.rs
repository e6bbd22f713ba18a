//! Judgement of the client's lines, one by one.

use agentese::framing::FrameText;
use agentese::types::Direction;
use serde_json::{Value, json};

use super::case_runner::{ClientCaseRunner, EarlyEnd, ExpectedLine, line_excerpt};
use super::compare::{ValueAllowance, ValueDifference, brief, difference};
use super::input::ClientLine;
use super::plan::{answer_content, command_name, is_answer};
use super::report_tracker::RecordedLine;
use crate::verdict::Mismatch;

impl ClientCaseRunner<'_> {
    /// Judges a line of the client.
    pub(super) async fn judge_line(&mut self, received: ClientLine) -> Result<(), EarlyEnd> {
        let text = String::from_utf8_lossy(&received.bytes);
        self.recorder.sent(&if received.whole { format!("{text}\n") } else { text.to_string() });
        let recorded = self.record(Direction::C2s, FrameText::from(text.into_owned()));
        let frame = match parse_frame(&received) {
            Ok(frame) => frame,
            Err(message) => {
                return Err(self.fail_check("framing", self.line_mismatch(message, "", &recorded)));
            }
        };
        if received.bytes.ends_with(b"\r") {
            let mismatch = self.line_mismatch(
                "the line ends with a carriage return and a line feed".to_owned(),
                "",
                &recorded,
            );
            self.checks.allow("framing", "carriage-return", mismatch);
        }
        self.checks.hold("framing");
        if is_answer(self.spec, &frame) {
            return self.judge_dialog_answer(&frame, &recorded);
        }
        self.judge_command(frame, &recorded).await
    }

    async fn judge_command(&mut self, frame: Value, recorded: &RecordedLine) -> Result<(), EarlyEnd> {
        let name = command_name(self.spec, &frame).unwrap_or_default().to_owned();
        let id = frame.get("id").cloned();
        let calls = &self.tracker.calls;
        let open = calls.iter().filter(|call| call.answer.is_none() && !call.settled);
        if id.is_some() && open.into_iter().any(|call| call.sent.as_ref() == Some(&id)) {
            let message = "the id belongs to a pending call".to_owned();
            return Err(self.fail_check("commands", self.line_mismatch(message, "id", recorded)));
        }
        match self.expected_line.take() {
            Some(ExpectedLine::Call(at)) if self.tracker.calls[at].planned.command == name => {
                self.compare_command(at, frame, recorded);
                self.tracker.calls[at].sent = Some(id);
                Ok(())
            }
            awaited => {
                self.expected_line = awaited;
                if self
                    .ready
                    .as_ref()
                    .and_then(|ready| ready.sends.as_ref())
                    .is_some_and(|own| own.contains(&name))
                {
                    return self.answer_library_command(&name, id).await;
                }
                let message = match &self.expected_line {
                    Some(ExpectedLine::Call(at)) => {
                        let wanted = &self.tracker.calls[*at].planned.command;
                        format!("the client sent `{name}` instead of the called `{wanted}`")
                    }
                    _ => format!("unexpected `{name}`: not called, and not in `sends` of the driver"),
                };
                Err(self.fail_check("commands", self.line_mismatch(message, "", recorded)))
            }
        }
    }

    /// Compares a command with the recorded one. Ignores the id, because the client chooses it.
    fn compare_command(&mut self, at: usize, mut frame: Value, recorded: &RecordedLine) {
        let line = self.tracker.calls[at].planned.line.clone();
        let mut expected: Value = agentese::wire::decode(line.as_str()).unwrap_or_default();
        for side in [&mut expected, &mut frame] {
            if let Some(members) = side.as_object_mut() {
                members.shift_remove("id");
                if !self.spec.framing_is_flat() && members.get("params").is_none_or(Value::is_null) {
                    members.insert("params".to_owned(), json!({}));
                }
            }
        }
        // A client may send null or omit the member.
        let is_free = |found: &ValueDifference| found.allowance == Some(ValueAllowance::NullOrAbsent);
        match difference(&expected, &frame).filter(|found| !is_free(found)) {
            None => self.checks.hold("commands"),
            Some(difference) => {
                let mut mismatch = self.line_mismatch(difference.message, &difference.path, recorded);
                mismatch.expected = Some(line_excerpt(recorded.record, Direction::C2s, line.as_str()));
                self.checks.fail("commands", mismatch);
            }
        }
    }

    fn judge_dialog_answer(&mut self, frame: &Value, recorded: &RecordedLine) -> Result<(), EarlyEnd> {
        let id = frame.get("id").cloned().unwrap_or(Value::Null);
        let Some(ExpectedLine::Answer(planned)) =
            self.expected_line.take_if(|it| matches!(it, ExpectedLine::Answer(_)))
        else {
            let sent_dialog = self.tracker.dialogs.iter().find(|asked| asked.id == id);
            // The library answers dialogs without a handler by itself, and dialogs that are open when
            // the connection closes.
            if self.closing || self.tracker.unknown_dialogs.contains(&id) {
                return Ok(());
            }
            let message = match sent_dialog {
                Some(asked) => format!("the client answered `{}` without an instruction", asked.method),
                None => "unknown dialog id".to_owned(),
            };
            return Err(self.fail_check("dialogs", self.line_mismatch(message, "id", recorded)));
        };
        let expected: Value = agentese::wire::decode(planned.line.as_str()).unwrap_or_default();
        let difference = match id == planned.id {
            true => difference(
                &answer_content(self.spec, &expected).unwrap_or_default(),
                &dialog_answer(self, frame),
            ),
            false => Some(ValueDifference {
                path: "id".to_owned(),
                message: format!("the answer to {} has the id {}", brief(&planned.id), brief(&id)),
                allowance: None,
            }),
        };
        match difference {
            None => self.checks.hold("dialogs"),
            Some(difference) => {
                let mut mismatch = self.line_mismatch(difference.message, &difference.path, recorded);
                mismatch.expected =
                    Some(line_excerpt(recorded.record, Direction::C2s, planned.line.as_str()));
                return Err(self.fail_check("dialogs", mismatch));
            }
        }
        Ok(())
    }

    /// Creates a mismatch for a line of the client.
    pub(super) fn line_mismatch(&self, message: String, path: &str, recorded: &RecordedLine) -> Mismatch {
        Mismatch {
            message,
            path: path.to_owned(),
            expected: None,
            found: Some(line_excerpt(recorded.record, Direction::C2s, recorded.line.as_str())),
            before: self.before(recorded.record),
        }
    }
}

fn dialog_answer(runner: &ClientCaseRunner<'_>, frame: &Value) -> Value {
    answer_content(runner.spec, frame).unwrap_or_else(|| frame.get("error").cloned().unwrap_or_default())
}

/// Parses the frame of a line.
///
/// # Errors
/// If the line is not a frame; the error describes the problem.
fn parse_frame(line: &ClientLine) -> Result<Value, String> {
    let text = std::str::from_utf8(&line.bytes)
        .map_err(|error| format!("the line is not valid UTF-8 after {} bytes", error.valid_up_to()))?;
    if !line.whole {
        return Err("the last line does not end with a line feed".to_owned());
    }
    let frame: Value =
        agentese::wire::decode(text).map_err(|error| format!("the line is not JSON: {error}"))?;
    if !frame.is_object() {
        return Err("the line is not a JSON object".to_owned());
    }
    Ok(frame)
}
