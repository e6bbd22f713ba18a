//! Tests that decoding and encoding returns every frame of the recordings: byte for byte if the decoder
//! keeps the original text, otherwise with the same JSON value.

#![allow(clippy::print_stdout, reason = "the counts are shown with --nocapture")]

use std::collections::HashMap;

use agentese::frame::{ClientFrame, ServerFrame};
use agentese::framing::{FrameText, Framer};
use agentese::spec::Dialect;
use agentese::{omp, opal, operator, pi, pisces};
use agentese_conformance::transcript::{Record, recorded};
use serde_json::Value;

/// Returns the frames that no decoder can accept, which are listed as exceptions to the schemas.
fn listed() -> Vec<String> {
    let text = include_str!("../schema-exceptions.txt");
    let key = |line: &str| line.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" ");
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(key).collect()
}

/// Passes a line through the framer in small chunks, and returns the resulting line.
fn framed(line: &FrameText) -> Vec<u8> {
    let mut framer = Framer::default();
    let mut out = Vec::new();
    let mut bytes = line.as_bytes().to_vec();
    bytes.push(b'\n');
    for chunk in bytes.chunks(4096) {
        framer.push(chunk, &mut |line| out.extend_from_slice(line.expect("a line").text.as_bytes()));
    }
    out
}

fn check<D: Dialect>(dialect: &str) {
    let listed = listed();
    let mut frames = 0;
    let mut problems = Vec::new();
    for (name, transcript) in recorded(dialect).unwrap() {
        if dialect == "operator" && name.starts_with("d02") {
            continue;
        }
        let mut methods: HashMap<String, String> = HashMap::new();
        let mut numbers = [0usize; 2];
        for record in &transcript.records {
            let (line, side) = match record {
                Record::Sent(line) => (line, 0),
                Record::Received(line) => (line, 1),
                Record::Control(_) => continue,
            };
            numbers[side] += 1;
            let what = format!("{dialect}/{name} {} {}", ["client", "server"][side], numbers[side]);
            if !line.as_str().contains(['\n', '\r', '\u{feff}']) {
                assert_eq!(framed(line), line.as_bytes(), "{what}: the framer changed it");
            }
            let Ok(value) = serde_json::from_str::<Value>(line.as_str()) else { continue };
            if side == 0
                && let (Some(id), Some(method)) = (value.get("id"), value["method"].as_str())
            {
                methods.insert(id.to_string(), method.to_owned());
            }
            if listed.contains(&what) {
                continue;
            }
            frames += 1;
            let encoded = if side == 1 {
                ServerFrame::<D>::decode(line, |id| methods.get(&id.to_string()).cloned())
                    .and_then(|frame| frame.encode())
            } else {
                ClientFrame::<D>::decode(line).and_then(|frame| frame.encode())
            };
            match encoded {
                Err(error) => problems.push(format!("{what}: {error}")),
                Ok(text) => {
                    let again: Value = serde_json::from_str(&text).expect("our encoder writes JSON");
                    if again != value {
                        problems.push(format!("{what}:\n  {}\n  {}", clip(line.as_str()), clip(&text)));
                    }
                }
            }
        }
    }
    println!("{dialect}: {frames} frames");
    assert!(frames > 15, "{dialect}: only {frames} frames");
    assert!(
        problems.is_empty(),
        "{} frames of {dialect} change:\n{}",
        problems.len(),
        problems[..problems.len().min(12)].join("\n")
    );
}

fn clip(text: &str) -> String {
    text.chars().take(700).collect()
}

#[test]
fn pi_frames() {
    check::<pi::Pi>("pi");
}

#[test]
fn omp_frames() {
    check::<omp::Omp>("omp");
}

#[test]
fn pisces_frames() {
    check::<pisces::Pisces>("pisces");
}

#[test]
fn operator_frames() {
    check::<operator::Operator>("operator");
}

#[test]
fn opal_frames() {
    check::<opal::Opal>("opal");
}
