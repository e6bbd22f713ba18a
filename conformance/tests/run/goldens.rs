//! Tests of the suite with its own golden transcripts: real agents pass the cases that were recorded from
//! them.

use std::collections::BTreeMap;
use std::path::Path;

use agentese::types::{
    CheckLevel, ExpectedFailure, ExpectedFailures, ProfileBuilder, Scenario, TranscriptRecord,
};
use agentese_conformance::Suite;
use agentese_conformance::judge::{Judgement, judge};
use agentese_conformance::player::PlayResult;
use agentese_conformance::recording::Recording;
use agentese_conformance::verdict::{Outcome, Verdict};

/// Returns the known failures of a real agent: checks in which it violates the document of its dialect.
fn known(text: &str) -> Vec<ExpectedFailure> {
    serde_json::from_str::<ExpectedFailures>(text).unwrap().failures
}

/// Returns a golden transcript as if it had just been recorded.
fn played(dialect: &str, name: &str) -> PlayResult {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("transcripts/{dialect}/{name}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut records: Vec<TranscriptRecord> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let TranscriptRecord::Header(header) = records.remove(0) else { panic!("{name}") };
    PlayResult {
        recording: Recording { header, records },
        requests: Vec::new(),
        broke_off: None,
        not_applicable: None,
        wait_timed_out: false,
        unsent: false,
        patience: 1.0,
        directory: None,
    }
}

/// Removes the checks of requests from a case.
fn without_requests(mut case: Scenario) -> Scenario {
    (case.request_count, case.requests) = (None, None);
    case
}

/// Returns the failed checks of a golden transcript, with their messages. In these checks the real agent
/// violates its document.
fn failures(judged: &Judgement) -> BTreeMap<String, String> {
    let failed = judged.findings.iter().filter_map(|finding| match &finding.outcome {
        Outcome::Held | Outcome::Allowed { .. } => None,
        Outcome::Failed(mismatch) => Some((finding.check.clone(), mismatch.message.clone())),
        Outcome::Unclear(reason) => Some((finding.check.clone(), reason.clone())),
    });
    failed.collect()
}

/// Returns the number of golden transcripts that pass, and the failures of the others.
fn judge_goldens(dialect: &str) -> (usize, BTreeMap<String, BTreeMap<String, String>>) {
    let suite = Suite::embedded();
    let (mut passed, mut found) = (0, BTreeMap::new());
    for case in suite.cases(dialect).unwrap() {
        let Some(golden) = suite.golden(dialect, &case.name).unwrap() else { continue };
        let profile = ProfileBuilder {
            profile: 1,
            name: "golden".to_owned(),
            dialect: case.dialect.clone(),
            agent: golden.header.agent.clone(),
        }
        .build();
        let case = without_requests(case);
        let judged = judge(&case, &profile, &played(dialect, &case.name), &suite).unwrap();
        match judged.verdict(CheckLevel::Should) {
            Verdict::Pass => passed += 1,
            _ => drop(found.insert(format!("{dialect}/{}", case.name), failures(&judged))),
        }
    }
    (passed, found)
}

#[test]
fn recorded_sessions_pass_their_own_cases() {
    let dialects = Suite::embedded().dialects();
    let (mut passed, mut found) = (0, BTreeMap::new());
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            dialects.iter().map(|dialect| scope.spawn(move || judge_goldens(dialect))).collect();
        for thread in threads {
            let (of_dialect, failed) = thread.join().unwrap();
            passed += of_dialect;
            found.extend(failed);
        }
    });
    for ExpectedFailure { case, check, reason, .. } in known(include_str!("../../expected/pi.json")) {
        let failed = found.remove(&format!("pi/{case}")).unwrap_or_default();
        let names: Vec<&String> = failed.keys().collect();
        assert_eq!(names, [&check], "{case}: {reason}: {failed:?}");
    }
    // Some known failures of the real omp also occur in its golden transcripts.
    for ExpectedFailure { case, check, .. } in known(include_str!("../../expected/omp.json")) {
        if let Some(failed) = found.get_mut(&format!("omp/{case}")) {
            failed.remove(&check);
        }
    }
    found.retain(|_, failed| !failed.is_empty());
    assert!(found.is_empty(), "{passed} pass, these do not: {found:#?}");
    assert!(passed > 240, "{passed}");
}

/// A golden transcript with one change must fail; otherwise the checks would prove nothing.
#[test]
fn a_session_that_went_wrong_does_not_pass() {
    use agentese::types::{Direction, TranscriptControl, TranscriptLine};
    let suite = Suite::embedded();
    let case = without_requests(suite.case("pi", "bash-basic").unwrap());
    let profile = ProfileBuilder {
        profile: 1,
        name: "golden".to_owned(),
        dialect: case.dialect.clone(),
        agent: "pi".to_owned(),
    }
    .build();
    let line = |text: &str| {
        let mut line = TranscriptLine::new(Direction::S2c);
        line.line = Some(text.to_owned());
        TranscriptRecord::Line(line)
    };
    let control = |event: &str, code: i64| {
        let mut control = TranscriptControl::new(event);
        control.code = agentese::wire::Maybe::Value(code);
        TranscriptRecord::Control(control)
    };
    type Change<'a> = Box<dyn Fn(&mut Vec<TranscriptRecord>) + 'a>;
    let table: [(&str, Change<'_>); 5] = [
        ("frames", Box::new(|records| records.insert(2, line(r#"{"type":"turn_end","message":7}"#)))),
        ("framing", Box::new(|records| records.insert(2, line("loose talk")))),
        ("lines", Box::new(|records| records.insert(2, control("not_utf8", 0)))),
        (
            "leaks",
            Box::new(|records| {
                records.insert(2, line(r#"{"type":"agent_start","key":"sk-ant-api03-abcdefghijklmnopqrst"}"#))
            }),
        ),
        ("end", Box::new(|records| records.push(control("exit", -11)))),
    ];
    for (check, change) in table {
        let mut played = played("pi", "bash-basic");
        change(&mut played.recording.records);
        let judged = judge(&case, &profile, &played, &suite).unwrap();
        assert_eq!(judged.verdict(CheckLevel::Should), Verdict::Fail, "{check}");
        assert!(failures(&judged).contains_key(check), "{check}: {:?}", failures(&judged));
    }
    let mut broken = played("pi", "bash-basic");
    broken.broke_off = Some("step 3: nothing came".to_owned());
    let judged = judge(&case, &profile, &broken, &suite).unwrap();
    assert!(failures(&judged)["scenario"].starts_with("step 3: nothing came"), "{:?}", failures(&judged));
}
