//! Judgement of the client's lines, one by one.

use agentese::framing::FrameText;
use agentese::types::Direction;
use serde_json::{Value, json};

use super::compare::{Allowance, Difference, brief, difference};
use super::input::Heard;
use super::ledger::Said;
use super::plan::{answer_of, is_answer, name_of};
use super::stage::{Awaited, Stage, Stop, shown};
use crate::verdict::Mismatch;

impl Stage<'_> {
    /// Judges a line of the client.
    pub(super) async fn heard(&mut self, heard: Heard) -> Result<(), Stop> {
        let text = String::from_utf8_lossy(&heard.bytes);
        self.recorder.sent(&if heard.whole { format!("{text}\n") } else { text.to_string() });
        let said = self.record(Direction::C2s, FrameText::from(text.into_owned()));
        let frame = match framed(&heard) {
            Ok(frame) => frame,
            Err(says) => return Err(self.failed("framing", self.found(says, "", &said))),
        };
        if heard.bytes.ends_with(b"\r") {
            let mismatch =
                self.found("the line ends with a carriage return and a line feed".to_owned(), "", &said);
            self.checks.allow("framing", "carriage-return", mismatch);
        }
        self.checks.hold("framing");
        if is_answer(self.spec, &frame) {
            return self.heard_answer(&frame, &said);
        }
        self.heard_command(frame, &said).await
    }

    async fn heard_command(&mut self, frame: Value, said: &Said) -> Result<(), Stop> {
        let name = name_of(self.spec, &frame).unwrap_or_default().to_owned();
        let id = frame.get("id").cloned();
        let calls = &self.ledger.calls;
        let open = calls.iter().filter(|call| call.answered.is_none() && !call.settled);
        if id.is_some() && open.into_iter().any(|call| call.sent.as_ref() == Some(&id)) {
            let says = "the id is that of a call that has no answer yet".to_owned();
            return Err(self.failed("commands", self.found(says, "id", said)));
        }
        match self.awaited.take() {
            Some(Awaited::Call(at)) if self.ledger.calls[at].planned.command == name => {
                self.expected_command(at, frame, said);
                self.ledger.calls[at].sent = Some(id);
                Ok(())
            }
            awaited => {
                self.awaited = awaited;
                if self
                    .ready
                    .as_ref()
                    .and_then(|ready| ready.sends.as_ref())
                    .is_some_and(|own| own.contains(&name))
                {
                    return self.owe(&name, id).await;
                }
                let says = match &self.awaited {
                    Some(Awaited::Call(at)) => {
                        let wanted = &self.ledger.calls[*at].planned.command;
                        format!("`{wanted}` was called, and the client sends `{name}`")
                    }
                    _ => format!(
                        "nobody called `{name}`, and the client does not say that it sends it by itself"
                    ),
                };
                Err(self.failed("commands", self.found(says, "", said)))
            }
        }
    }

    /// Compares a command with the recorded one: all members but the id, which the client chooses.
    fn expected_command(&mut self, at: usize, mut frame: Value, said: &Said) {
        let line = self.ledger.calls[at].planned.line.clone();
        let mut expected: Value = agentese::wire::decode(line.as_str()).unwrap_or_default();
        for side in [&mut expected, &mut frame] {
            if let Some(members) = side.as_object_mut() {
                members.shift_remove("id");
                if !self.spec.framing_is_flat() && members.get("params").is_none_or(Value::is_null) {
                    members.insert("params".to_owned(), json!({}));
                }
            }
        }
        // A client may send null or leave the member out.
        let is_free = |found: &Difference| found.allowance == Some(Allowance::NullOrAbsent);
        match difference(&expected, &frame).filter(|found| !is_free(found)) {
            None => self.checks.hold("commands"),
            Some(difference) => {
                let mut mismatch = self.found(difference.says, &difference.path, said);
                mismatch.expected = Some(shown(said.record, Direction::C2s, line.as_str()));
                self.checks.fail("commands", mismatch);
            }
        }
    }

    fn heard_answer(&mut self, frame: &Value, said: &Said) -> Result<(), Stop> {
        let id = frame.get("id").cloned().unwrap_or(Value::Null);
        let Some(Awaited::Answer(planned)) = self.awaited.take_if(|it| matches!(it, Awaited::Answer(_)))
        else {
            let asked = self.ledger.asked.iter().find(|asked| asked.id == id);
            // The library itself answers dialogs without a handler, and dialogs that are open when the
            // connection closes.
            if self.closing || self.ledger.foreign.contains(&id) {
                return Ok(());
            }
            let says = match asked {
                Some(asked) => format!("nobody answered this `{}` yet", asked.method),
                None => "no dialog has this id".to_owned(),
            };
            return Err(self.failed("dialogs", self.found(says, "id", said)));
        };
        let expected: Value = agentese::wire::decode(planned.line.as_str()).unwrap_or_default();
        let difference = match id == planned.id {
            true => {
                difference(&answer_of(self.spec, &expected).unwrap_or_default(), &said_answer(self, frame))
            }
            false => Some(Difference {
                path: "id".to_owned(),
                says: format!("the answer is for {}, and carries {}", brief(&planned.id), brief(&id)),
                allowance: None,
            }),
        };
        match difference {
            None => self.checks.hold("dialogs"),
            Some(difference) => {
                let mut mismatch = self.found(difference.says, &difference.path, said);
                mismatch.expected = Some(shown(said.record, Direction::C2s, planned.line.as_str()));
                return Err(self.failed("dialogs", mismatch));
            }
        }
        Ok(())
    }

    /// Creates a mismatch for a line of the client.
    pub(super) fn found(&self, says: String, path: &str, said: &Said) -> Mismatch {
        Mismatch {
            says,
            path: path.to_owned(),
            expected: None,
            found: Some(shown(said.record, Direction::C2s, said.line.as_str())),
            before: self.before(said.record),
        }
    }
}

fn said_answer(stage: &Stage<'_>, frame: &Value) -> Value {
    answer_of(stage.spec, frame).unwrap_or_else(|| frame.get("error").cloned().unwrap_or_default())
}

/// Parses the frame of a line. Fails with a description of the problem.
fn framed(heard: &Heard) -> Result<Value, String> {
    let text = std::str::from_utf8(&heard.bytes)
        .map_err(|error| format!("the line is no UTF-8 after {} bytes", error.valid_up_to()))?;
    if !heard.whole {
        return Err("the last line does not end with a line feed".to_owned());
    }
    let frame: Value =
        agentese::wire::decode(text).map_err(|error| format!("the line is not JSON: {error}"))?;
    if !frame.is_object() {
        return Err("the line is not a JSON object".to_owned());
    }
    Ok(frame)
}
