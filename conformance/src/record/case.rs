//! Converts a recorded session to a case. The client's actions become steps, and the model's answers become
//! the model's script.
//!
//! A step waits for frames that the recorded client had received before its next action: answers to its
//! commands, ends of runs, and dialogs that it answered.
//!
//! The client may send values that the agent generated: paths, and ids of sessions, entries and dialogs. The
//! step that waits for the frame with such a value stores it in a variable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::route::{RoutedFrame, route};
use agentese::spec::{Framing, RunEffect, Spec};
use agentese::types::Scenario;
use agentese::view::{Block, Message, MessageState, Role, View};
use agentese::wire::Maybe;
use serde_json::{Value, json};

use crate::client::covered_items;
use crate::recording::Recording;
use crate::transcript::{Record, Transcript};

/// Time limit for the end of the agent, in milliseconds.
const EXIT: u64 = 5000;
/// Directories of a run, by their names in transcripts and in cases.
const RUN_DIRECTORIES: [(&str, &str); 3] =
    [("/work-dir", "${WORK}"), ("/home-dir", "${HOME}"), ("/tmp-dir", "${TMP}")];
/// Minimum length in bytes of a text that may be a generated value of the agent.
const MIN_GENERATED: usize = 6;

/// Creates the case of a session, with this name. The author has to add facts that no frame contains: the
/// model's usage and pauses, and the agent's settings and files.
///
/// # Errors
/// If the session is not a transcript, or if the result is not a valid case.
pub fn case(spec: &'static Spec, name: &str, session: &Recording) -> Result<Scenario, String> {
    let transcript = session.transcript().map_err(|error| error.to_string())?;
    let mut maker = CaseBuilder {
        spec,
        steps: Vec::new(),
        frames: Vec::new(),
        waits: Vec::new(),
        captured: BTreeMap::new(),
    };
    for record in &transcript.records {
        match record {
            Record::Received(line) => maker.frames.push(line.clone()),
            Record::Sent(line) => maker.sent(line),
            Record::Control(control) if control.event == "stdin_closed" => {
                maker.wait(true);
                maker.steps.push(json!({"close_stdin": true}));
            }
            Record::Control(control) if control.event == "exit" => {
                maker.wait(true);
                maker.steps.push(json!({"wait_exit_ms": EXIT}));
            }
            Record::Control(_) => {}
        }
    }
    maker.wait(true);
    let title = match &session.header.title {
        Maybe::Value(title) => title.clone(),
        _ => format!("recorded session of {}", session.header.agent),
    };
    let covers = covered_items(&spec.id(), &session.records);
    let responses = responses(spec, &transcript)?;
    let case = json!({
        "scenario": 1, "name": name, "dialect": spec.id(), "title": title, "covers": covers,
        "model": {"responses": responses, "default": {"text": "(no scripted turn left)"}},
        "steps": maker.steps,
    });
    serde_json::from_value(case).map_err(|error| error.to_string())
}

struct CaseBuilder {
    spec: &'static Spec,
    steps: Vec<Value>,
    /// Frames since the client's last action.
    frames: Vec<FrameText>,
    /// Waits so far, each with the index of its step and the frame it waits for.
    waits: Vec<(usize, Value)>,
    /// Values that the agent generated, with the names of their variables.
    captured: BTreeMap<String, String>,
}

impl CaseBuilder {
    /// Adds waits for frames that the client had received before its next action. At the end of the session,
    /// adds waits only for answers, dialogs and ends of runs.
    fn wait(&mut self, at_the_end: bool) {
        let seen = std::mem::take(&mut self.frames);
        let last = seen.len().saturating_sub(1);
        for (at, line) in seen.iter().enumerate() {
            let Ok(frame) = agentese::wire::decode::<Value>(line.as_str()) else { continue };
            let step = match route(self.spec, line) {
                Ok(RoutedFrame::Answer { id, command, .. }) => {
                    Some(self.answer(id.as_ref(), command.as_deref()))
                }
                Ok(RoutedFrame::Event { kind, .. }) => {
                    let ends = kind.spec().is_some_and(|event| {
                        matches!(event.run.of(line.as_str()), RunEffect::MayEnd | RunEffect::Ends)
                    });
                    (ends || (at == last && !at_the_end)).then(|| json!({"wait": self.event(&kind)}))
                }
                Ok(RoutedFrame::Dialog { method, .. }) => {
                    let asks = self.spec.dialog(&method).is_some_and(|row| row.answered);
                    asks.then(|| json!({"wait": self.question(&frame, &method)}))
                }
                Err(_) => None,
            };
            if let Some(step) = step {
                self.waits.push((self.steps.len(), frame));
                self.steps.push(step);
            }
        }
    }

    fn answer(&self, id: Option<&FrameText>, command: Option<&str>) -> Value {
        let id: Option<Value> = id.and_then(|id| agentese::wire::decode(id.as_str()).ok());
        let pattern = match (self.spec.framing_is_flat(), id) {
            (true, Some(id)) => json!({"type": "response", "id": id}),
            (true, None) => json!({"type": "response", "command": command}),
            (false, id) => json!({"jsonrpc": "2.0", "id": id}),
        };
        json!({"wait": pattern, "from": "start"})
    }

    fn event(&self, kind: &str) -> Value {
        match self.spec.framing {
            Framing::JsonRpc { notification } => json!({"method": notification, "params": {"type": kind}}),
            Framing::Enveloped => json!({"type": "event", "event": {"type": kind}}),
            Framing::Flat => json!({"type": kind}),
        }
    }

    fn question(&self, frame: &Value, method: &str) -> Value {
        match self.spec.framing_is_flat() {
            true => json!({"type": frame["type"], "method": method}),
            false => json!({"method": method}),
        }
    }

    fn sent(&mut self, line: &FrameText) {
        self.wait(false);
        let step = match agentese::wire::decode::<Value>(line.as_str()) {
            Ok(mut frame @ Value::Object(_)) => {
                self.replace_question_id(&mut frame);
                self.replace_generated_values(&mut frame);
                json!({"send": frame})
            }
            _ => json!({"raw": line.as_str()}),
        };
        self.steps.push(step);
    }

    /// Replaces the id of the answered question with a variable.
    fn replace_question_id(&mut self, frame: &mut Value) {
        let Some(id) = frame.get("id").and_then(Value::as_str).map(str::to_owned) else { return };
        let asked = |(_, frame): &(usize, Value)| {
            let line = FrameText::from(frame.to_string());
            frame["id"] == id.as_str() && matches!(route(self.spec, &line), Ok(RoutedFrame::Dialog { .. }))
        };
        if self.waits.iter().any(asked)
            && let Some(name) = self.capture(&id)
        {
            frame["id"] = Value::from(format!("${{{name}}}"));
        }
    }

    /// Replaces values that the agent generated, and the directories of the run, with variables.
    fn replace_generated_values(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.values_mut().for_each(|value| self.replace_generated_values(value));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace_generated_values(item)),
            Value::String(text) => {
                let looks_made_up = text.len() >= MIN_GENERATED
                    && text.contains(|letter: char| letter.is_ascii_digit() || letter == '/');
                if looks_made_up && let Some(name) = self.capture(text) {
                    *text = format!("${{{name}}}");
                }
                for (place, name) in RUN_DIRECTORIES {
                    *text = text.replace(place, name);
                }
            }
            _ => {}
        }
    }

    /// Returns the variable for a text, if the text occurs in a frame that an earlier step waits for.
    fn capture(&mut self, text: &str) -> Option<String> {
        if let Some(name) = self.captured.get(text) {
            return Some(name.clone());
        }
        let (step, path) = self
            .waits
            .iter()
            .rev()
            .find_map(|(step, frame)| Some((*step, path_of_text(frame, text, self.spec)?)))?;
        let name = format!("V{}", self.captured.len() + 1);
        self.steps[step]["capture"][&name] = Value::from(path);
        self.captured.insert(text.to_owned(), name.clone());
        Some(name)
    }
}

/// Returns the path of a text in a frame. Ignores the id of an answer, because the client chose that id.
fn path_of_text(frame: &Value, text: &str, spec: &Spec) -> Option<String> {
    fn walk(value: &Value, text: &str, path: &str) -> Option<String> {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value {
            Value::String(found) if found == text => Some(path.to_owned()),
            Value::Array(items) => {
                items.iter().enumerate().find_map(|(at, item)| walk(item, text, &below(&at.to_string())))
            }
            // A name with a dot cannot be part of a path.
            Value::Object(members) => members
                .iter()
                .filter(|(name, _)| !name.contains('.') && !name.is_empty())
                .find_map(|(name, value)| walk(value, text, &below(name))),
            _ => None,
        }
    }
    let line = FrameText::from(frame.to_string());
    let is_answer = matches!(route(spec, &line), Ok(RoutedFrame::Answer { .. }));
    walk(frame, text, "").filter(|path| !(is_answer && path == "id"))
}

/// Returns the model's answers, one after the other.
fn responses(spec: &Spec, transcript: &Transcript) -> Result<Vec<Value>, String> {
    let mut view = View::open(spec.name).map_err(|error| error.to_string())?;
    // A message that occurs only in an answer was part of the conversation before.
    let mut grew = BTreeSet::new();
    let mut told: Vec<Arc<Message>> = Vec::new();
    // Messages that are no longer in the conversation, because the client opened another session.
    let mut left: Vec<Arc<Message>> = Vec::new();
    for record in &transcript.records {
        match record {
            Record::Received(line) => view.received(line.as_str()),
            Record::Sent(line) => view.sent(line.as_str()),
            Record::Control(_) => continue,
        }
        let messages = &view.conversation().messages;
        if messages.len() < told.len() {
            left.append(&mut told);
        }
        grew.extend(
            messages.iter().filter(|message| message.is_growing()).map(|message| message.key.clone()),
        );
        told.clone_from(messages);
    }
    left.extend(told);
    let said = left.iter().filter(|message| message.role == Role::Assistant && grew.remove(&message.key));
    Ok(said.map(|message| response(message)).collect())
}

fn response(message: &Message) -> Value {
    if message.state == MessageState::Failed {
        let text = match &message.error {
            Some(Value::String(text)) => text.clone(),
            Some(error) => error["message"].as_str().unwrap_or("the request failed").to_owned(),
            None => "the request failed".to_owned(),
        };
        return json!({"error": {"status": 400, "type": "invalid_request_error", "message": text}});
    }
    let blocks: Vec<Value> = message.blocks.iter().filter_map(block).collect();
    match message.state {
        MessageState::Aborted | MessageState::Growing if blocks.is_empty() => json!({"hang_after": -1}),
        MessageState::Aborted | MessageState::Growing => {
            let pieces = blocks.len();
            json!({"blocks": blocks, "hang_after": pieces})
        }
        _ => json!({"blocks": blocks}),
    }
}

fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text { text } if !text.is_empty() => Some(json!({"text": [text]})),
        Block::Thinking { text, .. } if !text.is_empty() => Some(json!({"thinking": [text]})),
        Block::Tool(tool) => {
            let arguments = tool.arguments.as_ref().map(Value::to_string);
            let arguments =
                arguments.or_else(|| tool.arguments_text.clone()).unwrap_or_else(|| "{}".to_owned());
            Some(json!({"tool": {"id": tool.call_id, "name": tool.name, "args": [arguments]}}))
        }
        _ => None,
    }
}

/// Formats a case as a file, with one line for each step and for each answer of the model.
#[must_use]
pub fn text(case: &Scenario) -> String {
    let lines = |items: &[Value], indent: &str| {
        let items: Vec<String> = items.iter().map(|item| format!("{indent}  {item}")).collect();
        if items.is_empty() { "[]".to_owned() } else { format!("[\n{}\n{indent}]", items.join(",\n")) }
    };
    let case = serde_json::to_value(case).unwrap_or_default();
    let members = case.as_object().into_iter().flatten().map(|(name, value)| {
        let value = match (name.as_str(), value) {
            ("steps", Value::Array(steps)) => lines(steps, "  "),
            ("model", Value::Object(model)) => {
                let parts: Vec<String> = model
                    .iter()
                    .map(|(name, value)| match value {
                        Value::Array(answers) => format!("    \"{name}\": {}", lines(answers, "    ")),
                        value => format!("    \"{name}\": {value}"),
                    })
                    .collect();
                format!("{{\n{}\n  }}", parts.join(",\n"))
            }
            (_, value) => value.to_string(),
        };
        format!("  \"{name}\": {value}")
    });
    format!("{{\n{}\n}}\n", members.collect::<Vec<_>>().join(",\n"))
}
