//! Torture of clients: correct clients pass, clients with a defect fail.

use agentese::types::CheckLevel;
use agentese_conformance::Suite;
use agentese_conformance::client::torture::torture;
use agentese_conformance::judge::Judgement;
use agentese_conformance::run::{CaseResult, RunOptions};
use agentese_conformance::verdict::{Outcome, Verdict};

use crate::support::{client, example, failure_texts};

async fn play(dialect: &str, seeds: std::ops::Range<u64>, driver: &[&str], patience: f64) -> Vec<Judgement> {
    let options = RunOptions { jobs: 4, ..RunOptions::default() };
    let run =
        torture(&Suite::embedded(), dialect, seeds, &[], &client(driver, patience), &options, &mut |_| {})
            .await;
    run.unwrap().ran.into_iter().map(|CaseResult { judgement: judged, .. }| judged).collect()
}

async fn passes(dialect: &str, seeds: std::ops::Range<u64>, driver: &[&str]) {
    for judged in play(dialect, seeds, driver, 3.0).await {
        let (verdict, case) = (judged.verdict(CheckLevel::Should), &judged.case);
        assert_eq!(
            verdict,
            Verdict::Pass,
            "{dialect}, {}, {}: {}",
            case.name,
            case.title,
            failure_texts(&judged).join("; ")
        );
        assert!(judged.recording.is_none(), "a passed case has no recording");
    }
}

#[tokio::test]
async fn our_client_passes_in_every_dialect() {
    let driver = example("rust_driver");
    for dialect in ["pi", "omp", "pisces", "operator", "opal"] {
        passes(dialect, 1..13, &[&driver]).await;
    }
}

#[tokio::test]
async fn a_client_that_is_written_by_hand_passes() {
    passes("pi", 1..30, &[&example("broken_driver")]).await;
}

#[tokio::test]
async fn a_line_of_64_mib_is_accepted() {
    passes("pi", 0..1, &[&example("rust_driver")]).await;
}

/// Defects, and the checks that find them within 40 seeds.
const DEFECTS: &[(&str, &str)] = &[
    ("splits-u2028", "events"),
    ("drops-halves", "events"),
    ("loses-undeclared", "events"),
    ("drops-unknown", "events"),
    ("loses-undeclared-data", "answers"),
    ("ignores-ids", "answers"),
    ("swaps-dialogs", "dialogs"),
    ("drops-notices", "notices"),
    ("silent-end", "end"),
    ("hangs-at-end", "end"),
    ("wrong-exit-code", "exit-code"),
    ("forgets-signals", "exit-code"),
];

#[tokio::test]
async fn clients_with_wrong_assumptions_are_caught() {
    let program = example("broken_driver");
    for (defect, check) in DEFECTS {
        let driver = [program.as_str(), "--break", defect];
        let mut is_caught = false;
        for first in (1..41).step_by(8) {
            let judged = play("pi", first..first + 8, &driver, 0.2).await;
            is_caught = judged
                .iter()
                .flat_map(|judged| &judged.findings)
                .any(|finding| finding.check == *check && matches!(finding.outcome, Outcome::Failed(_)));
            if is_caught {
                break;
            }
        }
        assert!(is_caught, "{defect} is not caught by `{check}`");
    }
}

#[tokio::test]
async fn a_dialect_without_recorded_sessions_is_refused() {
    let options = RunOptions::default();
    let suite = Suite::embedded();
    let refused = torture(&suite, "pi@1.5", 0..1, &[], &client(&["true"], 1.0), &options, &mut |_| {}).await;
    let error = refused.unwrap_err().to_string();
    assert_eq!(error, "the suite has no recorded session of pi@1.5");
}
