//! Neutral events: every recorded session tells what the vectors say, which are the same in every language.

mod recorded;

use std::collections::BTreeMap;

use agentese::any::{Event, differences};
use agentese::view::View;
use recorded::{conformance, digest, frames};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    transcript: String,
    /// How many events of each type.
    events: BTreeMap<String, u64>,
    /// The digest of all of them, in order.
    digest: String,
}

#[derive(Deserialize)]
struct Vectors {
    sessions: Vec<Told>,
}

fn events(transcript: &str) -> Vec<Event> {
    let (dialect, _) = transcript.split_once('/').unwrap();
    let mut view = View::open(dialect).unwrap();
    let mut events = Vec::new();
    for (direction, line, at) in frames(transcript) {
        let before = view.conversation();
        view.line(direction, &line, at);
        events.extend(differences(&before, &view.conversation()));
    }
    events
}

fn told(transcript: &str) -> Told {
    let all: Vec<Value> = events(transcript).iter().map(|event| json!(event)).collect();
    let mut events = BTreeMap::new();
    for event in &all {
        *events.entry(event["type"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    Told { transcript: transcript.to_owned(), events, digest: digest(&Value::Array(all)) }
}

#[test]
fn every_recorded_session_tells_what_the_vectors_say() {
    let text = std::fs::read_to_string(conformance().join("vectors/any.json")).unwrap();
    let vectors: Vectors = serde_json::from_str(&text).unwrap();
    assert!(vectors.sessions.len() > 200);
    let wrong: Vec<String> = vectors
        .sessions
        .iter()
        .filter_map(|wanted| {
            let told = told(&wanted.transcript);
            (told != *wanted).then(|| format!("{}\n{}", json!(wanted), json!(told)))
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// What has grown, put together, is what the message has at its end.
#[test]
fn what_grows_adds_up_to_what_a_message_is_at_its_end() {
    let text = std::fs::read_to_string(conformance().join("vectors/any.json")).unwrap();
    let vectors: Vectors = serde_json::from_str(&text).unwrap();
    let mut whole = 0;
    for session in &vectors.sessions {
        let mut grown: BTreeMap<String, String> = BTreeMap::new();
        let mut is_plain = true;
        for event in events(&session.transcript) {
            match event {
                Event::TextGrew { message, text, .. } => grown.entry(message).or_default().push_str(&text),
                Event::BlockChanged { .. } | Event::Replaced { .. } => is_plain = false,
                Event::MessageEnded { message } if is_plain && grown.contains_key(&message.key) => {
                    assert_eq!(grown[&message.key], message.text(), "{}", session.transcript);
                    whole += 1;
                }
                _ => {}
            }
        }
    }
    assert!(whole > 200, "{whole}");
}
