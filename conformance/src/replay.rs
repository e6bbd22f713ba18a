//! Replay of an agent from a transcript.
//!
//! The player waits for each command of the recorded client, and then sends the lines of the recorded agent.
//! Each recorded id is replaced by the id that this client sent in its place. The client may send a
//! command that the transcript does not contain. A read-only command, such as a query of the state, gets the
//! last answer to the same command, or a success without data. The player rejects any other such command,
//! because the agent's reaction is unknown.
//!
//! Deviations from the recorded client are not failures, because clients omit different members. A callback
//! can receive each [`Deviation`].

use std::collections::HashMap;

use agentese::framing::{FrameReader, FrameText, Incoming};
use agentese::route::{RoutedFrame, route};
use agentese::spec::{AnswerTiming, RunEffect, Spec};
use agentese::transport::{BoxReader, BoxWriter, Transport};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::transcript::{Record, Transcript};

/// Error code of a rejection in JSON-RPC, from the range that is reserved for servers.
const REFUSED_CODE: i32 = -32000;

/// Error of a replay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The client ended although the transcript has further commands.
    #[error("the client ended; the transcript expects {waiting}")]
    ClientEnded {
        /// The command that the player waited for.
        waiting: String,
    },
    /// Reading from the client or writing to it failed.
    #[error("the pipe failed: {0}")]
    Pipe(#[from] std::io::Error),
}

/// Plays the agent's side of a transcript to the client at the other end of a transport. Resolves when the
/// client closes its end after the last line, or at the recorded end of the agent.
///
/// # Errors
/// If the client ends early, or if the pipe fails.
pub async fn replay(
    spec: &'static Spec,
    transcript: &Transcript,
    transport: Transport,
) -> Result<(), ReplayError> {
    replay_with(spec, transcript, transport, |_| {}).await
}

/// A deviation of the client from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deviation {
    /// The client sent a command that the transcript does not have at this position.
    Unexpected {
        /// The line of the client.
        line: String,
        /// The command that the transcript has next; `None` after its last command.
        waiting: Option<String>,
    },
    /// The command has other members than the recorded one.
    Different {
        /// The line of the client.
        line: String,
        /// The line of the recorded client.
        recorded: String,
    },
    /// A line that is not a frame.
    Unreadable {
        /// Description of the error.
        reason: String,
    },
}

/// Plays as [`replay`] does, and calls `on_deviation` for each deviation of the client.
///
/// # Errors
/// If the client ends early, or if the pipe fails.
pub async fn replay_with(
    spec: &'static Spec,
    transcript: &Transcript,
    transport: Transport,
    on_deviation: impl FnMut(Deviation) + Send,
) -> Result<(), ReplayError> {
    let Transport { reader, writer, .. } = transport;
    let mut player = ReplayPlayer {
        spec,
        frames: FrameReader::new(reader),
        writer,
        pending_lines: Vec::new(),
        ids: HashMap::new(),
        anonymous: Vec::new(),
        last: HashMap::new(),
        is_run_active: false,
        on_deviation,
    };
    for record in &transcript.records {
        match record {
            Record::Sent(line) => player.expect_command(line).await?,
            Record::Received(line) => player.send_line(line).await?,
            Record::Control(control) if control.event == "exit" => {
                // If the recorded agent ended during a run, the output ends here.
                if ends_during_run(spec, transcript) {
                    player.writer.shutdown().await?;
                    return Ok(());
                }
                break;
            }
            Record::Control(_) => {}
        }
    }
    // Further commands are answered until the client closes its end.
    while let Some(line) = player.next().await? {
        (player.on_deviation)(Deviation::Unexpected { line: line.as_str().to_owned(), waiting: None });
        player.answer_unrecorded(&line).await?;
    }
    player.writer.shutdown().await?;
    Ok(())
}

/// Returns `true` if the transcript ends while a run is active.
pub fn ends_during_run(spec: &Spec, transcript: &Transcript) -> bool {
    transcript
        .received()
        .map(|line| run_effect(spec, line))
        .filter(|effect| *effect != RunEffect::None)
        .last()
        .is_some_and(|effect| matches!(effect, RunEffect::Begins | RunEffect::Holds))
}

/// Returns the declared effect of an agent's line on a run.
fn run_effect(spec: &Spec, line: &FrameText) -> RunEffect {
    match route(spec, line) {
        Ok(RoutedFrame::Event { kind, .. }) => kind.spec().map_or(RunEffect::None, |event| event.run),
        _ => RunEffect::None,
    }
}

struct ReplayPlayer<R> {
    spec: &'static Spec,
    frames: FrameReader<BoxReader>,
    writer: BoxWriter,
    /// Lines of the client that are not handled yet.
    pending_lines: Vec<FrameText>,
    /// Ids of this client, by the JSON text of the recorded ids that they replace.
    ids: HashMap<String, Option<Value>>,
    /// Commands without an id in the transcript, with the ids that this client gave them.
    anonymous: Vec<(String, Option<Value>)>,
    /// Last answer to each command.
    last: HashMap<String, Value>,
    /// `true` if a run is active after all lines so far.
    is_run_active: bool,
    on_deviation: R,
}

impl<R: FnMut(Deviation) + Send> ReplayPlayer<R> {
    async fn next(&mut self) -> Result<Option<FrameText>, ReplayError> {
        while self.pending_lines.is_empty() {
            let mut batch = Vec::new();
            if self.frames.next_batch(&mut batch).await? == 0 {
                return Ok(None);
            }
            for incoming in batch {
                match incoming {
                    Incoming::Frame(frame) => self.pending_lines.push(frame),
                    Incoming::Fault(fault) => {
                        (self.on_deviation)(Deviation::Unreadable { reason: fault.to_string() });
                    }
                }
            }
        }
        Ok(Some(self.pending_lines.remove(0)))
    }

    fn command_name(&self, frame: &Value) -> Option<String> {
        let member = if self.spec.framing_is_flat() { "type" } else { "method" };
        frame.get(member).and_then(Value::as_str).map(str::to_owned)
    }

    /// Waits until the client sends the recorded command. Answers other commands in the meantime.
    async fn expect_command(&mut self, recorded: &FrameText) -> Result<(), ReplayError> {
        let expected: Value = serde_json::from_str(recorded.as_str()).unwrap_or(Value::Null);
        let name = self.command_name(&expected);
        loop {
            let Some(line) = self.next().await? else {
                let waiting = name.unwrap_or_else(|| expected.to_string());
                return Err(ReplayError::ClientEnded { waiting });
            };
            let actual: Value = serde_json::from_str(line.as_str()).unwrap_or(Value::Null);
            if self.command_name(&actual) == name {
                if !is_equivalent(&actual, &expected) {
                    let (line, recorded) = (line.as_str().to_owned(), recorded.as_str().to_owned());
                    (self.on_deviation)(Deviation::Different { line, recorded });
                }
                if let Some(id) = expected.get("id") {
                    self.ids.insert(id.to_string(), actual.get("id").cloned());
                    if let Some(name) = name {
                        self.ids.insert(format!("command {id}"), Some(Value::from(name)));
                    }
                } else if let Some(name) = name {
                    self.anonymous.push((name, actual.get("id").cloned()));
                }
                return Ok(());
            }
            let waiting = Some(name.clone().unwrap_or_else(|| recorded.as_str().to_owned()));
            (self.on_deviation)(Deviation::Unexpected { line: line.as_str().to_owned(), waiting });
            self.answer_unrecorded(&line).await?;
        }
    }

    /// Sends a line of the recorded agent. Replaces the recorded id with this client's id.
    async fn send_line(&mut self, line: &FrameText) -> Result<(), ReplayError> {
        match run_effect(self.spec, line) {
            RunEffect::None => {}
            effect => self.is_run_active = matches!(effect, RunEffect::Begins | RunEffect::Holds),
        }
        let Ok(mut frame) = serde_json::from_str::<Value>(line.as_str()) else {
            return self.write(line.as_str()).await;
        };
        let is_answer =
            frame["type"] == "response" || frame.get("result").is_some() || frame.get("error").is_some();
        if !is_answer {
            return self.write(line.as_str()).await;
        }
        let id = frame.get("id").map(Value::to_string);
        let command = frame["command"].as_str().map(str::to_owned).or_else(|| {
            let command = self.ids.get(&format!("command {}", id.as_deref()?))?.clone()?;
            command.as_str().map(str::to_owned)
        });
        let mut anonymous = None;
        if let Some(command) = command {
            if id.is_none() {
                let position = self.anonymous.iter().position(|(name, _)| *name == command);
                anonymous = position.map(|position| self.anonymous.remove(position).1);
            }
            self.last.insert(command, frame.clone());
        }
        if let Some(id) = anonymous {
            set_id(&mut frame, id);
            return self.write(&frame.to_string()).await;
        }
        match id.and_then(|id| self.ids.get(&id).cloned()) {
            None => self.write(line.as_str()).await,
            Some(id) => {
                set_id(&mut frame, id);
                self.write(&frame.to_string()).await
            }
        }
    }

    /// Answers a command that the transcript does not have at this position.
    async fn answer_unrecorded(&mut self, line: &FrameText) -> Result<(), ReplayError> {
        let actual: Value = serde_json::from_str(line.as_str()).unwrap_or(Value::Null);
        let Some(name) = self.command_name(&actual) else { return Ok(()) };
        let Some(command) = self.spec.command(&name).filter(|command| command.answer != AnswerTiming::Never)
        else {
            return Ok(());
        };
        let is_flat = self.spec.framing_is_flat();
        let busy =
            self.spec.run_end.barrier.filter(|barrier| barrier.command == name).map(|barrier| barrier.busy);
        let rejection = format!("the recording has no `{name}` here");
        let mut answer = match self.last.get(&name).filter(|_| command.reads) {
            Some(answer) => answer.clone(),
            None if is_flat && command.reads => {
                json!({"type": "response", "command": name, "success": true, "data": {}})
            }
            None if is_flat => {
                json!({"type": "response", "command": name, "success": false, "error": rejection})
            }
            None if command.reads => json!({"jsonrpc": "2.0", "result": {}}),
            None => json!({"jsonrpc": "2.0", "error": {"code": REFUSED_CODE, "message": rejection}}),
        };
        let data = if is_flat { "data" } else { "result" };
        if let (Some(busy), Some(data)) = (busy, answer.get_mut(data)) {
            // The client queries if the agent is busy. Later events of the transcript have not been sent yet.
            data[busy] = Value::Bool(self.is_run_active);
        }
        set_id(&mut answer, actual.get("id").cloned());
        self.write(&answer.to_string()).await
    }

    async fn write(&mut self, line: &str) -> Result<(), ReplayError> {
        self.writer.write_all(line.as_bytes()).await?;
        self.writer.write_all(b"\n").await?;
        self.writer.flush().await?;
        Ok(())
    }
}

fn set_id(frame: &mut Value, id: Option<Value>) {
    match id {
        Some(id) => frame["id"] = id,
        None => {
            if let Some(members) = frame.as_object_mut() {
                members.shift_remove("id");
            }
        }
    }
}

/// Returns `true` if two lines of a client are equivalent. Ids may differ, because each client chooses its
/// own. Paths may differ, because they depend on the machine. Null equals an absent member.
fn is_equivalent(actual: &Value, recorded: &Value) -> bool {
    match (actual, recorded) {
        (Value::Object(said), Value::Object(recorded)) => {
            let names = said.keys().chain(recorded.keys()).filter(|name| *name != "id");
            names.into_iter().all(|name| {
                is_equivalent(
                    said.get(name).unwrap_or(&Value::Null),
                    recorded.get(name).unwrap_or(&Value::Null),
                )
            })
        }
        (Value::Array(said), Value::Array(recorded)) => {
            said.len() == recorded.len()
                && said.iter().zip(recorded).all(|(said, recorded)| is_equivalent(said, recorded))
        }
        (Value::String(said), Value::String(recorded)) => {
            said == recorded || said.contains('/') && recorded.contains('/') || recorded.starts_with("<prose")
        }
        (said, recorded) => said == recorded,
    }
}
