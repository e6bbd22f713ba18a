//! The suite judges itself: what real agents did passes the cases that were recorded from them.

use std::collections::BTreeMap;
use std::path::Path;

use agentese::types::{CheckLevel, Profile, Scenario, TranscriptRecord};
use agentese_conformance::Suite;
use agentese_conformance::judge::{Judged, judge};
use agentese_conformance::player::Played;
use agentese_conformance::recording::Recording;
use agentese_conformance::verdict::{Outcome, Verdict};

/// A golden transcript as if it had just been recorded.
fn played(dialect: &str, name: &str) -> Played {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("transcripts/{dialect}/{name}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut records: Vec<TranscriptRecord> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let TranscriptRecord::Header(header) = records.remove(0) else { panic!("{name}") };
    Played { recording: Recording { header, records }, requests: Vec::new(), broke_off: None, directory: None }
}

/// The case without what only the model's log could show.
fn without_requests(mut case: Scenario) -> Scenario {
    (case.request_count, case.requests) = (None, None);
    case
}

/// Checks that fail on a golden transcript: real agents that do not keep to their document.
fn failures(judged: &Judged) -> Vec<String> {
    let failed = judged.findings.iter().filter_map(|finding| match &finding.outcome {
        Outcome::Held | Outcome::Allowed { .. } => None,
        Outcome::Failed(mismatch) => Some(format!("{} ({}): {}", finding.check, finding.level, mismatch.says)),
        Outcome::Unclear(reason) => Some(format!("{} is unclear: {reason}", finding.check)),
    });
    failed.collect()
}

#[test]
fn what_real_agents_did_passes_their_own_cases() {
    let suite = Suite::embedded();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut passed = 0;
    for dialect in suite.dialects() {
        for case in suite.cases(&dialect).unwrap() {
            let Some(golden) = suite.golden(&dialect, &case.name).unwrap() else { continue };
            let profile = Profile::new(1, "golden", &case.dialect, &golden.header.agent);
            let case = without_requests(case);
            let judged = judge(&case, &profile, &played(&dialect, &case.name), &suite).unwrap();
            match judged.verdict(CheckLevel::Should) {
                Verdict::Pass => passed += 1,
                _ => drop(found.insert(format!("{dialect}/{}", case.name), failures(&judged))),
            }
        }
    }
    assert!(found.is_empty(), "{passed} pass, these do not: {found:#?}");
}
