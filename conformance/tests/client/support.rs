//! What the tests share: the drivers' programs, and playing many cases at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese_conformance::Suite;
use agentese_conformance::client::{ClientJudged, ClientOptions, judge_client};
use agentese_conformance::verdict::{Outcome, Verdict};

/// The suite's program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_agentese-conformance");

/// The program of a driver, an example of this crate.
pub fn example(name: &str) -> String {
    let path = Path::new(PROGRAM).with_file_name("examples").join(name);
    assert!(path.exists(), "{} is not built: cargo build -p agentese-conformance --examples", path.display());
    path.to_string_lossy().into_owned()
}

pub fn options() -> ClientOptions {
    ClientOptions { program: PathBuf::from(PROGRAM), patience: std::env::var("PATIENCE").map_or(3.0, |it| it.parse().unwrap()) }
}

/// Plays a case to a driver.
pub async fn judge(dialect: &str, name: &str, driver: &[String]) -> ClientJudged {
    let suite = Suite::embedded();
    let case = suite.case(dialect, name).unwrap();
    let golden = suite.golden(dialect, name).unwrap().unwrap_or_else(|| panic!("{name} has no transcript"));
    judge_client(&case, &golden, driver, &options()).await
}

/// Plays all cases of a dialect to a driver, a few at a time, in order of their names.
pub async fn judge_all(dialect: &str, driver: &[String]) -> Vec<(String, ClientJudged)> {
    let suite = Suite::embedded();
    let places = Arc::new(tokio::sync::Semaphore::new(4));
    let mut playing = tokio::task::JoinSet::new();
    for case in suite.cases(dialect).unwrap() {
        let Some(golden) = suite.golden(dialect, &case.name).unwrap() else { continue };
        let (driver, places) = (driver.to_vec(), places.clone());
        playing.spawn(async move {
            let _place = places.acquire().await.unwrap();
            let judged = judge_client(&case, &golden, &driver, &options()).await;
            (case.name, judged)
        });
    }
    let mut judged = playing.join_all().await;
    judged.sort_by(|one, other| one.0.cmp(&other.0));
    judged
}

/// What is wrong, in words; nothing where a case passed or is not applicable.
pub fn told(judged: &ClientJudged) -> Vec<String> {
    let mut told: Vec<String> = judged
        .findings
        .iter()
        .filter_map(|finding| match &finding.outcome {
            Outcome::Failed(mismatch) => Some(format!("{} {}: {}", finding.check, mismatch.path, mismatch.says)),
            Outcome::Allowed { allowance, mismatch } => {
                Some(format!("{} allowed by {allowance} {}: {}", finding.check, mismatch.path, mismatch.says))
            }
            _ => None,
        })
        .collect();
    if judged.verdict == Verdict::Inconclusive {
        told.extend(judged.reason.clone());
    }
    told
}
