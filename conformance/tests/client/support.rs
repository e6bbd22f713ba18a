//! Helpers for the tests: the programs of the drivers, and functions that play many cases.

use std::path::{Path, PathBuf};

use agentese::types::{CheckLevel, Scenario};
use agentese_conformance::Suite;
use agentese_conformance::client::{Client, ClientOnlyCase, client_only_cases, run_client};
use agentese_conformance::judge::Judgement;
use agentese_conformance::run::{CaseResult, RunOptions};
use agentese_conformance::verdict::{Outcome, Verdict};

/// Path of the suite's program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_agentese-conformance");

/// Returns the path of a driver that is an example of this crate.
pub fn example(name: &str) -> String {
    let path = Path::new(PROGRAM).with_file_name("examples").join(name);
    assert!(path.exists(), "{} is not built: cargo build -p agentese-conformance --examples", path.display());
    path.to_string_lossy().into_owned()
}

/// Creates a client for the suite to judge. `patience` is a factor for all time limits.
pub fn client(driver: &[&str], patience: f64) -> Client {
    let driver = driver.iter().map(|word| (*word).to_owned()).collect();
    Client { driver, program: PathBuf::from(PROGRAM), patience }
}

/// Returns all cases of a dialect for clients. The second value contains the cases that only clients can
/// play.
pub fn cases(dialect: &str) -> (Vec<Scenario>, Vec<ClientOnlyCase>) {
    let suite = Suite::embedded();
    let extra = client_only_cases(&suite, agentese::dynamic::spec(dialect).unwrap()).unwrap();
    let mut cases = suite.cases(dialect).unwrap();
    cases.extend(extra.iter().map(|(case, _)| case.clone()));
    (cases, extra)
}

/// Plays cases to a client, four at a time.
pub async fn judge(cases: &[Scenario], extra: &[ClientOnlyCase], client: &Client) -> Vec<Judgement> {
    let options = RunOptions { jobs: 4, ..RunOptions::default() };
    let run = run_client(&Suite::embedded(), cases, extra, client, &options, &mut |_| {}).await.unwrap();
    run.ran.into_iter().map(|CaseResult { judgement: judged, .. }| judged).collect()
}

/// Returns the verdict that follows from the checks of the levels *must* and *should*.
pub fn verdict(judged: &Judgement) -> Verdict {
    judged.verdict(CheckLevel::Should)
}

/// Returns descriptions of the failed checks. The list is empty if the case passed.
pub fn failure_texts(judged: &Judgement) -> Vec<String> {
    let findings = judged.findings.iter().filter_map(|finding| match &finding.outcome {
        Outcome::Failed(mismatch) => {
            Some(format!("{} {}: {}", finding.check, mismatch.path, mismatch.message))
        }
        Outcome::Allowed { allowance, mismatch } => {
            Some(format!("{} by {allowance} {}: {}", finding.check, mismatch.path, mismatch.message))
        }
        _ => None,
    });
    findings.chain(judged.early_verdict.iter().map(|(_, reason)| reason.clone())).collect()
}
