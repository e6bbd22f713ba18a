//! The agent's output: the lines of the transcript, with the ids of this client.

use agentese::framing::FrameText;
use agentese::route::{Routed, route};
use agentese::types::Direction;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::ledger::{Answered, Asked, Failure, Said, Stray, Told};
use super::stage::{Stage, Stop};

/// Members around the parameters of a dialog, in flat dialects.
pub(super) const ENVELOPE: [&str; 3] = ["type", "id", "method"];

impl Stage<'_> {
    /// Sends a line of the transcript, and records the reports that it requires.
    pub(super) async fn say(&mut self, line: &FrameText) -> Result<(), Stop> {
        let routed = route(self.spec, line);
        let line = match &routed {
            Ok(Routed::Answer { id, command, .. }) => {
                let id = id.as_ref().map(FrameText::as_str);
                match self.ledger.call_of(id, command.as_deref()) {
                    Some(call) => with_id(line, self.ledger.calls[call].sent.clone().flatten()),
                    None => line.clone(),
                }
            }
            _ => line.clone(),
        };
        let said = self.write(&line).await?;
        match routed {
            Ok(Routed::Answer { id, command, success, data, error }) => {
                let id = id.as_ref().map(FrameText::as_str);
                let call = self.ledger.call_of(id, command.as_deref());
                let value = |text: Option<FrameText>| {
                    text.and_then(|text| agentese::wire::decode(text.as_str()).ok()).unwrap_or(Value::Null)
                };
                let outcome = if success { Ok(value(data)) } else { Err(Failure::of(&value(error))) };
                self.answered(
                    call,
                    id.is_none().then_some(command).flatten(),
                    Answered { said, outcome, late: self.closing },
                );
                self.pay(&line).await?;
            }
            Ok(Routed::Event { body, .. }) => {
                let body = body.as_ref().unwrap_or(&line);
                let event = agentese::wire::decode(body.as_str()).unwrap_or(Value::Null);
                self.ledger.events.push(Told { said, event });
                if !self.closing {
                    self.ledger.required = self.ledger.events.len();
                }
            }
            Ok(Routed::Dialog { id, method, params }) => self.asks(said, &id, method, &params),
            Err(_) => {}
        }
        Ok(())
    }

    fn asks(&mut self, said: Said, id: &FrameText, method: String, params: &FrameText) {
        if self.closing {
            return;
        }
        let Some(dialog) = self.spec.dialog(&method) else {
            // An unknown dialog reaches no handler; the library may answer it by itself.
            self.ledger.foreign.push(agentese::wire::decode(id.as_str()).unwrap_or_default());
            return;
        };
        let mut params: Value = agentese::wire::decode(params.as_str()).unwrap_or_default();
        if let Some(members) = params.as_object_mut().filter(|_| self.spec.framing_is_flat()) {
            ENVELOPE.iter().for_each(|name| drop(members.shift_remove(*name)));
        }
        if let Some(member) = dialog.withdraws {
            // The library withdraws the question by itself; its handler may or may not have seen the
            // question.
            let taken_back = self.ledger.asked.iter_mut().filter(|asked| asked.id == params[member]);
            taken_back.for_each(|asked| asked.withdrawn = true);
            return;
        }
        let id = agentese::wire::decode(id.as_str()).unwrap_or_default();
        let (answered, withdrawn) = (dialog.answered, false);
        self.ledger.asked.push(Asked { said, id, method, params, answered, withdrawn, reported: None });
    }

    fn answered(&mut self, call: Option<usize>, anonymous: Option<String>, answered: Answered) {
        match call {
            Some(at) => {
                let call = &mut self.ledger.calls[at];
                match (&call.answered, &answered.outcome) {
                    (Some(_), Err(failure)) => call.late = Some(failure.clone()),
                    (Some(_), Ok(_)) => {}
                    (None, _) => call.answered = Some(answered),
                }
            }
            None => {
                let Err(failure) = answered.outcome else { return };
                let names = |name: &str| anonymous.as_deref() == Some(name);
                let parse = names(self.spec.edges.parse_command);
                let strays = &self.ledger.strays;
                let open = self.ledger.calls.iter().enumerate().position(|(at, call)| {
                    let waits =
                        call.answered.is_none() && !call.settled && !strays.iter().any(|it| it.call == at);
                    waits && (parse || names(&call.planned.command))
                });
                if let Some(call) = open.filter(|_| !answered.late) {
                    self.ledger.strays.push(Stray { said: answered.said, failure, call, settled: false });
                }
            }
        }
    }

    /// Answers a command that the library sends by itself: now, or with the next recorded answer to the same
    /// command.
    pub(super) async fn owe(&mut self, command: &str, id: Option<Value>) -> Result<(), Stop> {
        self.owed.push((command.to_owned(), id));
        let calls = &self.ledger.calls;
        let soon = calls
            .iter()
            .any(|call| call.sent.is_some() && call.answered.is_none() && call.planned.command == command);
        if soon { Ok(()) } else { self.pay_all(Some(command)).await }
    }

    /// Keeps an answer for commands that the library sends by itself, and answers the ones that wait.
    async fn pay(&mut self, line: &FrameText) -> Result<(), Stop> {
        let Ok(frame) = agentese::wire::decode::<Value>(line.as_str()) else { return Ok(()) };
        let Some(command) = frame["command"].as_str().map(str::to_owned) else { return Ok(()) };
        if frame["success"] == json!(true) {
            self.last.insert(command.clone(), frame);
        }
        self.pay_all(Some(&command)).await
    }

    /// Answers all waiting commands of the library itself, or only those with the name `only`.
    pub(super) async fn pay_all(&mut self, only: Option<&str>) -> Result<(), Stop> {
        let owed = std::mem::take(&mut self.owed);
        for (command, id) in owed {
            if only.is_some_and(|only| only != command) {
                self.owed.push((command, id));
                continue;
            }
            let answer = self.own_answer(&command, id);
            self.write(&FrameText::from(answer.to_string())).await?;
        }
        Ok(())
    }

    fn own_answer(&self, command: &str, id: Option<Value>) -> Value {
        let mut answer = match self.last.get(command) {
            Some(answer) => answer.clone(),
            None if self.spec.framing_is_flat() => {
                json!({"type": "response", "command": command, "success": true, "data": {}})
            }
            None => json!({"jsonrpc": "2.0", "result": {}}),
        };
        let barrier = self.spec.run_end.barrier.filter(|barrier| barrier.command == command);
        if let (Some(barrier), Some(data)) = (barrier, answer.get_mut("data")) {
            // A client asks if the agent is busy. The transcript already contains all later events.
            data[barrier.busy] = Value::Bool(false);
        }
        set_id(&mut answer, id);
        answer
    }

    /// Returns the data of the answer to a command of the library itself.
    pub(super) fn own_data(&self, command: &str) -> Option<Value> {
        self.own_answer(command, None).get("data").cloned()
    }

    /// Writes a line to the client: now, or with the next lines.
    async fn write(&mut self, line: &FrameText) -> Result<Said, Stop> {
        let line = self.manner.written(line);
        let end = self.manner.end();
        self.keep(line, end).await
    }

    /// Writes the beginning of a line, but not its rest.
    pub(super) async fn tear(&mut self, text: &str) -> Result<(), Stop> {
        self.keep(FrameText::from(text), "").await.map(drop)
    }

    async fn keep(&mut self, line: FrameText, end: &str) -> Result<Said, Stop> {
        self.recorder.received(line.as_str(), (end != "\n").then_some(end));
        self.manner.keep(line.as_str(), end);
        let said = self.record(Direction::S2c, line);
        if !self.manner.waits() {
            self.flush().await?;
        }
        Ok(said)
    }

    /// Writes all pending output to the client.
    pub(super) async fn flush(&mut self) -> Result<(), Stop> {
        let limit = self.limit();
        for piece in self.manner.pieces() {
            let Some(mouth) = &mut self.mouth else { return Ok(()) };
            match timeout(limit, mouth.say(&piece)).await {
                // Lets the reader on the other side run, so that it receives the piece alone.
                Ok(Ok(())) => tokio::task::yield_now().await,
                // A client that has closed the connection need not read on.
                Ok(Err(_)) if self.closing || self.deaf => return Ok(()),
                Ok(Err(error)) => {
                    let says = format!("the client took the agent down before it was told to close: {error}");
                    return Err(self.off("end", says));
                }
                Err(_) => {
                    let says = format!("the client has read nothing for {} s", limit.as_secs());
                    return Err(self.off("reading", says));
                }
            }
        }
        Ok(())
    }
}

/// Returns the line with another id.
fn with_id(line: &FrameText, id: Option<Value>) -> FrameText {
    let Ok(mut frame) = agentese::wire::decode::<Value>(line.as_str()) else { return line.clone() };
    set_id(&mut frame, id);
    FrameText::from(frame.to_string())
}

fn set_id(frame: &mut Value, id: Option<Value>) {
    let Some(members) = frame.as_object_mut() else { return };
    match id {
        Some(id) => {
            members.insert("id".to_owned(), id);
        }
        None => {
            members.shift_remove("id");
        }
    }
}
