//! Recorded sessions, and values in a canonical text form that is equal in all languages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use agentese::view::Direction;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub fn conformance() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance")
}

/// Returns direction, line and time of each frame of a transcript.
pub fn frames(transcript: &str) -> Vec<(Direction, String, Option<f64>)> {
    let path = conformance().join(format!("transcripts/{transcript}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut frames = Vec::new();
    for record in text.lines().filter(|line| !line.trim().is_empty()).skip(1) {
        let record: Value = serde_json::from_str(record).unwrap();
        let direction = match record["dir"].as_str() {
            Some("c2s") => Direction::Sent,
            Some("s2c") => Direction::Received,
            _ => continue,
        };
        let line = match (&record["line"], &record["line_parts"]) {
            (Value::String(line), _) => line.clone(),
            (_, Value::Array(parts)) => parts.iter().map(part).collect(),
            _ => continue,
        };
        frames.push((direction, line, record["t"].as_f64()));
    }
    frames
}

fn part(part: &Value) -> String {
    match part.as_str() {
        Some(text) => text.to_owned(),
        None => part["repeat"].as_str().unwrap().repeat(part["n"].as_u64().unwrap().try_into().unwrap()),
    }
}

/// Returns the digest of a value.
pub fn digest(value: &Value) -> String {
    let hash = Sha256::digest(canonical(value).as_bytes());
    hash[..8].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the canonical text of a value: names sorted, numbers in millionths.
pub fn canonical(value: &Value) -> String {
    match value {
        Value::Null => "n".to_owned(),
        Value::Bool(flag) => if *flag { "t" } else { "f" }.to_owned(),
        Value::Number(number) => format!("#{:.0}", (number.as_f64().unwrap() * 1e6 + 0.5).floor()),
        Value::String(text) => format!("'{text}'"),
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let sorted: BTreeMap<_, _> = members.iter().collect();
            let members = sorted.iter().map(|(name, member)| format!("{name}:{}", canonical(member)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
    }
}
