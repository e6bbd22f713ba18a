//! Typed decoding and encoding leaves frames of real agents in later revisions unchanged. The frames are in
//! `conformance/vectors/revisions.jsonl`.

use agentese::frame::{ClientFrame, ServerFrame};
use agentese::framing::FrameText;
use agentese::spec::Dialect;
use agentese::{omp::Omp, operator::Operator, pi::Pi};
use serde_json::Value;

const FRAMES: &str = include_str!("../../../conformance/vectors/revisions.jsonl");

fn again<D: Dialect>(revision: &str, side: &str, line: &str) -> Result<String, String> {
    let line = FrameText::from(line);
    let spec = D::REVISIONS.iter().find(|spec| spec.id() == revision).expect("the revision is declared");
    let text = match side {
        "server" => ServerFrame::<D>::decode(&line, |_| None).and_then(|frame| frame.encode_in(spec)),
        _ => ClientFrame::<D>::decode(&line).and_then(|frame| frame.encode_in(spec)),
    };
    text.map_err(|error| error.to_string())
}

#[test]
fn frames_of_later_revisions_come_back_as_they_were() {
    let mut problems = Vec::new();
    let mut checked = 0;
    for (number, line) in FRAMES.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case.get("refused").is_some() {
            continue;
        }
        let (side, frame) = (case["side"].as_str().unwrap(), case["frame"].to_string());
        let revision = case["revision"].as_str().unwrap();
        let encoded = match revision.split('@').next() {
            Some("pi") => again::<Pi>(revision, side, &frame),
            Some("operator") => again::<Operator>(revision, side, &frame),
            _ => again::<Omp>(revision, side, &frame),
        };
        checked += 1;
        match encoded.map(|text| serde_json::from_str::<Value>(&text).unwrap()) {
            Ok(value) if value == case["frame"] => {}
            other => problems.push(format!("line {}: {other:?}", number + 1)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(checked > 300, "{checked}");
}
