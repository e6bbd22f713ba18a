//! Output of the simulated agent: the lines of the transcript, with the ids that this client uses.

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::types::Direction;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::case_runner::{ClientCaseRunner, EarlyEnd};
use super::report_tracker::{
    AgentAnswer, AnswerError, RecordedLine, SentDialog, SentEvent, UnattributedError,
};

/// Members of a dialog that are not its parameters, in dialects with flat frames.
pub(super) const ENVELOPE: [&str; 3] = ["type", "id", "method"];

impl ClientCaseRunner<'_> {
    /// Sends a line of the transcript, and records the reports that the driver has to make about it.
    pub(super) async fn send_line(&mut self, line: &FrameText) -> Result<(), EarlyEnd> {
        let routed = route(self.spec, line);
        let line = match &routed {
            Ok(RoutedFrame::Answer { id, command, .. }) => {
                let id = id.as_ref().map(FrameText::as_str);
                match self.tracker.call_of(id, command.as_deref()) {
                    Some(call) => with_id(line, self.tracker.calls[call].sent.clone().flatten()),
                    None => line.clone(),
                }
            }
            _ => line.clone(),
        };
        let recorded = self.write(&line).await?;
        match routed {
            Ok(RoutedFrame::Answer { id, command, success, data, error }) => {
                let id = id.as_ref().map(FrameText::as_str);
                let call = self.tracker.call_of(id, command.as_deref());
                let value = |text: Option<FrameText>| {
                    text.and_then(|text| agentese::wire::decode(text.as_str()).ok()).unwrap_or(Value::Null)
                };
                let outcome = if success { Ok(value(data)) } else { Err(AnswerError::parse(&value(error))) };
                self.record_answer(
                    call,
                    id.is_none().then_some(command).flatten(),
                    AgentAnswer { recorded, outcome, is_late: self.closing },
                );
                self.store_answer(&line).await?;
            }
            Ok(RoutedFrame::Event { body, .. }) => {
                let body = body.as_ref().unwrap_or(&line);
                let event = agentese::wire::decode(body.as_str()).unwrap_or(Value::Null);
                self.tracker.events.push(SentEvent { recorded, event });
                if !self.closing {
                    self.tracker.required = self.tracker.events.len();
                }
            }
            Ok(RoutedFrame::Dialog { id, method, params }) => {
                self.record_dialog(recorded, &id, method, &params)
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn record_dialog(&mut self, recorded: RecordedLine, id: &FrameText, method: String, params: &FrameText) {
        if self.closing {
            return;
        }
        let Some(dialog) = self.spec.dialog(&method) else {
            // The library passes an unknown dialog to no handler, but may answer it by itself.
            self.tracker.unknown_dialogs.push(agentese::wire::decode(id.as_str()).unwrap_or_default());
            return;
        };
        let mut params: Value = agentese::wire::decode(params.as_str()).unwrap_or_default();
        if let Some(members) = params.as_object_mut().filter(|_| self.spec.framing_is_flat()) {
            ENVELOPE.iter().for_each(|name| drop(members.shift_remove(*name)));
        }
        if let Some(member) = dialog.withdraws {
            // The library withdraws the question by itself. Its handler may or may not have received the
            // question.
            let taken_back = self.tracker.dialogs.iter_mut().filter(|asked| asked.id == params[member]);
            taken_back.for_each(|sent_dialog| sent_dialog.withdrawn = true);
            return;
        }
        let id = agentese::wire::decode(id.as_str()).unwrap_or_default();
        let (answered, withdrawn) = (dialog.answered, false);
        self.tracker.dialogs.push(SentDialog {
            recorded,
            id,
            method,
            params,
            needs_answer: answered,
            withdrawn,
            reported: None,
        });
    }

    fn record_answer(&mut self, call: Option<usize>, anonymous: Option<String>, answered: AgentAnswer) {
        match call {
            Some(at) => {
                let call = &mut self.tracker.calls[at];
                match (&call.answer, &answered.outcome) {
                    (Some(_), Err(failure)) => call.late_error = Some(failure.clone()),
                    (Some(_), Ok(_)) => {}
                    (None, _) => call.answer = Some(answered),
                }
            }
            None => {
                let Err(failure) = answered.outcome else { return };
                let names = |name: &str| anonymous.as_deref() == Some(name);
                let parse = names(self.spec.edges.parse_command);
                let strays = &self.tracker.unattributed_errors;
                let open = self.tracker.calls.iter().enumerate().position(|(at, call)| {
                    let waits =
                        call.answer.is_none() && !call.settled && !strays.iter().any(|it| it.call == at);
                    waits && (parse || names(&call.planned.command))
                });
                if let Some(call) = open.filter(|_| !answered.is_late) {
                    self.tracker.unattributed_errors.push(UnattributedError {
                        recorded: answered.recorded,
                        error: failure,
                        call,
                        settled: false,
                    });
                }
            }
        }
    }

    /// Answers a command that the library sends by itself. If a call of the same command is open, waits for
    /// the recorded answer and repeats it. If there is no such call, answers at once.
    pub(super) async fn answer_library_command(
        &mut self,
        command: &str,
        id: Option<Value>,
    ) -> Result<(), EarlyEnd> {
        self.library_commands.push((command.to_owned(), id));
        let calls = &self.tracker.calls;
        let soon = calls
            .iter()
            .any(|call| call.sent.is_some() && call.answer.is_none() && call.planned.command == command);
        if soon { Ok(()) } else { self.answer_library_commands(Some(command)).await }
    }

    /// Stores an answer as the template for answers to the library's own commands of this name. Then
    /// answers the library's commands that wait for it.
    async fn store_answer(&mut self, line: &FrameText) -> Result<(), EarlyEnd> {
        let Ok(frame) = agentese::wire::decode::<Value>(line.as_str()) else { return Ok(()) };
        let Some(command) = frame["command"].as_str().map(str::to_owned) else { return Ok(()) };
        if frame["success"] == json!(true) {
            self.last_answers.insert(command.clone(), frame);
        }
        self.answer_library_commands(Some(&command)).await
    }

    /// Answers the waiting commands that the library sent by itself: all of them, or only commands with the
    /// name `only`.
    pub(super) async fn answer_library_commands(&mut self, only: Option<&str>) -> Result<(), EarlyEnd> {
        let owed = std::mem::take(&mut self.library_commands);
        for (command, id) in owed {
            if only.is_some_and(|only| only != command) {
                self.library_commands.push((command, id));
                continue;
            }
            let answer = self.library_answer(&command, id);
            self.write(&FrameText::from(answer.to_string())).await?;
        }
        Ok(())
    }

    fn library_answer(&self, command: &str, id: Option<Value>) -> Value {
        let mut answer = match self.last_answers.get(command) {
            Some(answer) => answer.clone(),
            None if self.spec.framing_is_flat() => {
                json!({"type": "response", "command": command, "success": true, "data": {}})
            }
            None => json!({"jsonrpc": "2.0", "result": {}}),
        };
        let barrier = self.spec.run_end.barrier.filter(|barrier| barrier.command == command);
        if let (Some(barrier), Some(data)) = (barrier, answer.get_mut("data")) {
            // The library queries if the agent is busy. All later events are already in the transcript.
            data[barrier.busy] = Value::Bool(false);
        }
        set_id(&mut answer, id);
        answer
    }

    /// Returns the data for an answer to one of the library's own commands.
    pub(super) fn library_answer_data(&self, command: &str) -> Option<Value> {
        self.library_answer(command, None).get("data").cloned()
    }

    /// Writes a line to the client, or buffers it until further lines follow.
    async fn write(&mut self, line: &FrameText) -> Result<RecordedLine, EarlyEnd> {
        let line = self.encoder.encode(line);
        let end = self.encoder.line_end();
        self.buffer_line(line, end).await
    }

    /// Writes the beginning of a line without the rest.
    pub(super) async fn send_partial_line(&mut self, text: &str) -> Result<(), EarlyEnd> {
        self.buffer_line(FrameText::from(text), "").await.map(drop)
    }

    async fn buffer_line(&mut self, line: FrameText, end: &str) -> Result<RecordedLine, EarlyEnd> {
        self.recorder.received(line.as_str(), (end != "\n").then_some(end));
        self.encoder.buffer(line.as_str(), end);
        let recorded = self.record(Direction::S2c, line);
        if !self.encoder.may_wait() {
            self.flush().await?;
        }
        Ok(recorded)
    }

    /// Writes all pending output to the client.
    pub(super) async fn flush(&mut self) -> Result<(), EarlyEnd> {
        let limit = self.limit();
        for piece in self.encoder.take_chunks() {
            let Some(writer) = &mut self.agent_writer else { return Ok(()) };
            match timeout(limit, writer.write(&piece)).await {
                // Another task can now read, so the client receives this piece separately.
                Ok(Ok(())) => tokio::task::yield_now().await,
                // A client that has closed the connection need not read further.
                Ok(Err(_)) if self.closing || self.agent_stdin_closed => return Ok(()),
                Ok(Err(error)) => {
                    let message =
                        format!("the client ended the agent before the instruction to close: {error}");
                    return Err(self.fail_with_message("end", message));
                }
                Err(_) => {
                    let message = format!("the client read nothing for {} s", limit.as_secs());
                    return Err(self.fail_with_message("reading", message));
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
