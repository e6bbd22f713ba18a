//! The driver of the Rust library passes every case that a client can play, in all dialects.

use agentese_conformance::verdict::Verdict;

use crate::support::{example, judge_all, told};

/// `counts`: cases that passed, and cases that no client can play.
async fn passes(dialect: &str, counts: (usize, usize)) {
    let driver = std::env::var("DRIVER").map_or_else(|_| vec![example("rust_driver")], |it| it.split(' ').map(str::to_owned).collect());
    let judged = judge_all(dialect, &driver).await;
    let wrong: Vec<String> = judged
        .iter()
        .filter(|(_, judged)| !matches!(judged.verdict, Verdict::Pass | Verdict::NotApplicable))
        .map(|(name, judged)| format!("{name} {:?}: {}", judged.verdict, told(judged).join("; ")))
        .collect();
    assert!(wrong.is_empty(), "{dialect}:\n{}", wrong.join("\n"));
    for (name, judged) in judged.iter().filter(|(_, judged)| judged.reason.is_some()) {
        println!("{name}: {}", judged.reason.as_deref().unwrap_or_default());
    }
    let count = |verdict| judged.iter().filter(|(_, judged)| judged.verdict == verdict).count();
    assert_eq!((count(Verdict::Pass), count(Verdict::NotApplicable)), counts, "{dialect}");
}

#[tokio::test]
async fn pi() {
    passes("pi", (0, 0)).await;
}

#[tokio::test]
async fn omp() {
    passes("omp", (0, 0)).await;
}

#[tokio::test]
async fn pisces() {
    passes("pisces", (0, 0)).await;
}

#[tokio::test]
async fn operator() {
    passes("operator", (0, 0)).await;
}

#[tokio::test]
async fn opal() {
    passes("opal", (0, 0)).await;
}
