//! The driver of the Rust library passes every case for clients, in all dialects.

use agentese::types::TranscriptRecord;
use agentese_conformance::verdict::Verdict;

use crate::support::{cases, client, example, failure_texts, judge, verdict};

/// Checks the driver in a dialect. `client_only` is the expected number of cases that only clients can
/// play, and `least` the minimum number of passed cases. All other cases must be not applicable.
async fn passes(dialect: &str, client_only: usize, least: usize) {
    let (cases, extra) = cases(dialect);
    assert_eq!(extra.len(), client_only, "{dialect}: cases that are made for clients");
    let judged = judge(&cases, &extra, &client(&[&example("rust_driver")], 3.0)).await;
    let wrong: Vec<String> = judged
        .iter()
        .filter(|judged| !matches!(verdict(judged), Verdict::Pass | Verdict::NotApplicable))
        .map(|judged| {
            format!("{} {:?}: {}", judged.case.name, verdict(judged), failure_texts(judged).join("; "))
        })
        .collect();
    assert!(wrong.is_empty(), "{dialect}:\n{}", wrong.join("\n"));
    let passed = judged.iter().filter(|judged| verdict(judged) == Verdict::Pass).count();
    assert!(passed >= least, "{dialect}: only {passed} cases were played");
    // Coverage lists only items that the client has received or sent, so edges of agents are not included.
    for judged in judged.iter().filter(|judged| verdict(judged) == Verdict::Pass) {
        let shown = judged.case.covers.clone().unwrap_or_default();
        assert!(!shown.iter().any(|what| what.starts_with("edge ")), "{dialect}/{}", judged.case.name);
        let mut records = judged.recording.iter().flat_map(|recording| &recording.records);
        // In some cases the agent or the client ends at once.
        let is_silent = !records.any(|record| matches!(record, TranscriptRecord::Line(_)));
        assert!(is_silent || !shown.is_empty(), "{dialect}/{} shows nothing", judged.case.name);
    }
    for judged in judged.iter().filter(|judged| verdict(judged) == Verdict::NotApplicable) {
        assert_eq!(
            failure_texts(judged).len(),
            1,
            "{dialect}/{} has a reason for its exclusion",
            judged.case.name
        );
    }
}

#[tokio::test]
async fn pi() {
    passes("pi", 4, 88).await;
}

#[tokio::test]
async fn omp() {
    passes("omp", 4, 73).await;
}

#[tokio::test]
async fn pisces() {
    passes("pisces", 4, 40).await;
}

#[tokio::test]
async fn operator() {
    passes("operator", 2, 5).await;
}

#[tokio::test]
async fn opal() {
    passes("opal", 4, 21).await;
}
