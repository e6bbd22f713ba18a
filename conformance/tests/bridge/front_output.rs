//! Output of a bridge to its client, with events taken out of their envelopes.

use agentese::spec::Spec;
use agentese_conformance::transcript::{Record, Transcript};
use agentese_protocol::dialects::DIALECTS;
use agentese_protocol::matching::Matching;
use serde_json::Value;

/// A frame from the bridge.
pub enum FrontFrame {
    /// An event with its type.
    Event(String, Value),
    /// The data of an answer.
    Answer(Value),
}

/// Returns the declared rules of a dialect for comparisons.
pub fn matching(front: &Spec) -> Matching {
    DIALECTS.iter().find(|dialect| dialect.name == front.name).unwrap().matching
}

/// Returns the events and the answers, in order.
pub fn front_frames(observed: &Transcript) -> impl Iterator<Item = FrontFrame> + '_ {
    observed.records.iter().filter_map(|record| match record {
        Record::Received(line) => frame(serde_json::from_str(line.as_str()).ok()?),
        _ => None,
    })
}

fn frame(mut frame: Value) -> Option<FrontFrame> {
    let event = match frame["type"].as_str() {
        Some("response") => return Some(FrontFrame::Answer(frame["data"].take())),
        Some("event") => frame["event"].take(),
        Some(_) => frame,
        None if frame.get("method").is_some() => frame["params"].take(),
        None => return Some(FrontFrame::Answer(frame["result"].take())),
    };
    Some(FrontFrame::Event(event["type"].as_str()?.to_owned(), event))
}

/// Creates a session with these frames, each in a line of its own.
#[cfg(test)]
pub fn session_of(frames: &[Value]) -> Transcript {
    let line = |frame: &Value| Record::Received(frame.to_string().into());
    let header = agentese::types::TranscriptHeader::new(1, "front");
    Transcript { header, records: frames.iter().map(line).collect() }
}
