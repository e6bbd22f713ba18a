//! The frames of a transcript, sorted into streams.

use std::collections::HashMap;

use agentese::spec::{Framing, Spec};
use serde_json::Value;

use crate::transcript::{Record, Transcript};

/// A frame of the agent, with its record.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// Index of the transcript's record.
    pub(super) record: usize,
    /// The value to compare: the answer, the event without its envelope, or the dialog.
    pub(super) value: Value,
    /// Name of the answered command, type of the event, or method of the dialog.
    pub(super) name: String,
    /// Id as text; `None` if the frame has no id.
    pub(super) id: Option<String>,
}

/// A line of the client.
#[derive(Debug)]
pub(super) struct SentLine {
    pub(super) record: usize,
    /// The parsed line; `None` if the line is not JSON.
    pub(super) value: Option<Value>,
    /// Name of the command; `None` for the answer to a question.
    pub(super) command: Option<String>,
    pub(super) id: Option<String>,
    /// `true` if the line answers a question of the agent.
    pub(super) is_answer: bool,
}

/// The streams of a transcript.
#[derive(Debug)]
pub(super) struct TranscriptStreams<'a> {
    pub(super) transcript: &'a Transcript,
    pub(super) sent: Vec<SentLine>,
    pub(super) answers: Vec<Frame>,
    pub(super) events: Vec<Frame>,
    pub(super) dialogs: Vec<Frame>,
    /// Records of lines that are not JSON objects.
    pub(super) noise: Vec<usize>,
    /// Records of frames with a wrong envelope, each with a description.
    pub(super) misshapen: Vec<(usize, String)>,
    /// Undeclared members of envelopes, with their records. They are not failures, because clients ignore
    /// them.
    pub(super) undeclared: Vec<(usize, String)>,
    by_id: HashMap<String, usize>,
}

impl<'a> TranscriptStreams<'a> {
    pub(super) fn new(spec: &'static Spec, transcript: &'a Transcript) -> Self {
        let mut streams = Self {
            transcript,
            sent: Vec::new(),
            answers: Vec::new(),
            events: Vec::new(),
            dialogs: Vec::new(),
            noise: Vec::new(),
            misshapen: Vec::new(),
            undeclared: Vec::new(),
            by_id: HashMap::new(),
        };
        for (record, entry) in transcript.records.iter().enumerate() {
            match entry {
                Record::Sent(line) => streams.add_sent(spec, record, line.as_str()),
                Record::Received(line) => match serde_json::from_str::<Value>(line.as_str()) {
                    Ok(value @ Value::Object(_)) => streams.add_received(spec, record, value),
                    _ => streams.noise.push(record),
                },
                Record::Control(_) => {}
            }
        }
        streams
    }

    /// Returns `true` if the transcript was derived from the dialect's document. It contains only some
    /// members and events. An agent may send other declared ones in addition.
    pub(super) fn is_derived(&self) -> bool {
        let origin = self.transcript.header.extra.get("origin").and_then(Value::as_str);
        origin == Some("derived from the document")
    }

    fn add_sent(&mut self, spec: &Spec, record: usize, line: &str) {
        let value: Option<Value> = serde_json::from_str(line).ok();
        let name = if matches!(spec.framing, Framing::JsonRpc { .. }) { "method" } else { "type" };
        let text = |name: &str| value.as_ref()?.get(name)?.as_str().map(str::to_owned);
        let command = text(name).filter(|name| !spec.is_answer(name));
        let id = value.as_ref().and_then(|value| value.get("id")).map(id_text);
        let has = |name: &str| value.as_ref().is_some_and(|value| value.get(name).is_some());
        let is_answer = match spec.dialog_frames {
            Some(_) => text("type").is_some_and(|kind| spec.is_answer(&kind)),
            None => command.is_none() && (has("result") || has("error")),
        };
        if let Some(id) = id.as_ref().filter(|_| !is_answer) {
            self.by_id.entry(id.clone()).or_insert(self.sent.len());
        }
        self.sent.push(SentLine { record, value, command, id, is_answer });
    }

    fn add_received(&mut self, spec: &Spec, record: usize, value: Value) {
        let id = value.get("id").map(id_text);
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        match spec.framing {
            Framing::JsonRpc { notification } => {
                let method = text("method");
                self.check_envelope(
                    record,
                    &value,
                    &["jsonrpc", "id", "method", "params", "result", "error"],
                );
                match (method, &id) {
                    (Some(name), Some(_)) => self.dialogs.push(Frame { record, value, name, id }),
                    (Some(name), None) if name == notification => {
                        let mut value = value;
                        let value = value.get_mut("params").map(Value::take).unwrap_or_default();
                        let name = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                        self.events.push(Frame { record, value, name, id });
                    }
                    (Some(name), None) => self.events.push(Frame { record, value, name, id }),
                    (None, _) => {
                        let sent = id.as_ref().and_then(|id| self.by_id.get(id)).map(|at| &self.sent[*at]);
                        let name = sent.and_then(|sent| sent.command.clone()).unwrap_or_default();
                        self.answers.push(Frame { record, value, name, id });
                    }
                }
            }
            Framing::Flat | Framing::Enveloped => {
                let kind = text("type").unwrap_or_default();
                if kind == "response" {
                    let name = text("command").unwrap_or_default();
                    self.answers.push(Frame { record, value, name, id });
                } else if spec.dialog_frames.is_some_and(|frames| frames.request == kind) {
                    let name = text("method").unwrap_or_default();
                    self.dialogs.push(Frame { record, value, name, id });
                } else if kind == "event" && value.get("event").is_some_and(Value::is_object) {
                    self.check_envelope(record, &value, &["type", "event"]);
                    if spec.framing != Framing::Enveloped {
                        self.misshapen.push((record, "the event has an envelope".to_owned()));
                    }
                    let mut value = value;
                    let value = value.get_mut("event").map(Value::take).unwrap_or_default();
                    let name = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
                    self.events.push(Frame { record, value, name, id });
                } else {
                    if spec.framing == Framing::Enveloped {
                        self.misshapen.push((record, "the event has no envelope".to_owned()));
                    }
                    self.events.push(Frame { record, value, name: kind, id });
                }
            }
        }
    }

    fn check_envelope(&mut self, record: usize, value: &Value, members: &[&str]) {
        let names = value.as_object().into_iter().flatten().map(|(name, _)| name);
        for name in names.filter(|name| !members.contains(&name.as_str())) {
            self.undeclared.push((record, format!("the envelope has the undeclared member `{name}`")));
        }
        if members[0] == "jsonrpc" && value.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            self.misshapen.push((record, "`jsonrpc` is not \"2.0\"".to_owned()));
        }
    }

    /// Returns `true` if the client's line is blank.
    pub(super) fn is_blank(&self, sent: &SentLine) -> bool {
        matches!(&self.transcript.records[sent.record], Record::Sent(line) if line.as_str().trim().is_empty())
    }

    /// Returns the command with this id.
    pub(super) fn by_id(&self, id: &str) -> Option<&SentLine> {
        self.by_id.get(id).map(|at| &self.sent[*at])
    }

    /// Returns the number of lines from the client before a record.
    pub(super) fn sent_before(&self, record: usize) -> usize {
        self.sent.partition_point(|sent| sent.record < record)
    }

    /// Returns the record of this transcript that corresponds to a record of another transcript. Both follow
    /// the same number of client lines.
    pub(super) fn corresponding_record(&self, other: &TranscriptStreams<'_>, record: usize) -> usize {
        let sent = other.sent_before(record).min(self.sent.len());
        if sent == 0 { 0 } else { self.sent[sent - 1].record }
    }

    /// Returns all commands of the client.
    pub(super) fn commands(&self) -> impl Iterator<Item = &SentLine> {
        self.sent.iter().filter(|sent| sent.command.is_some())
    }
}

/// Formats an id as text. Numbers with the same value have the same text.
pub(super) fn id_text(id: &Value) -> String {
    id.as_f64().map_or_else(|| id.to_string(), |number| format!("#{number:?}"))
}
