//! Clients with a defect: the expected check finds each defect.

use agentese_conformance::judge::Judgement;
use agentese_conformance::verdict::{Outcome, Verdict};
use futures::StreamExt as _;

use crate::support::{cases, client, example, failure_texts, judge, verdict};

const TEXT: &str = "prompt-text-anthropic";
const DIALOGS: &str = "ext-ui-two-at-once";
const REFUSED: &str = "prompt-no-api-key";
const LATER: &str = "client-undeclared";
const SEPARATORS: &str = "client-separators";
const CROSSED: &str = "client-out-of-order";
const DIES: &str = "client-agent-dies";

/// Defects: name, a case that reveals it, and the check that finds it.
const DEFECTS: &[(&str, &str, &str)] = &[
    ("drops-event", TEXT, "events"),
    ("repeats-event", TEXT, "events"),
    ("reorders", TEXT, "events"),
    ("numbers-as-text", TEXT, "events"),
    ("splits-u2028", SEPARATORS, "events"),
    ("loses-undeclared", LATER, "events"),
    ("loses-nested", LATER, "events"),
    ("drops-unknown", LATER, "events"),
    ("loses-undeclared-data", LATER, "answers"),
    ("ignores-ids", CROSSED, "answers"),
    ("silent-answers", TEXT, "answers"),
    ("answers-twice", TEXT, "answers"),
    ("success-always", REFUSED, "answers"),
    ("own-words", REFUSED, "answers"),
    ("newest-fails", "ext-command-queue", "attribution"),
    ("same-id", CROSSED, "commands"),
    ("wrong-member", TEXT, "commands"),
    ("changes-member", TEXT, "commands"),
    ("adds-member", TEXT, "commands"),
    ("sends-more", TEXT, "commands"),
    ("sends-nothing", TEXT, "commands"),
    ("wrong-command", TEXT, "commands"),
    ("not-utf8", TEXT, "framing"),
    ("blank-lines", TEXT, "framing"),
    ("pretty-prints", TEXT, "framing"),
    ("two-in-a-line", TEXT, "framing"),
    ("silent-dialog", DIALOGS, "dialogs"),
    ("drops-dialogs", DIALOGS, "dialogs"),
    ("changes-dialogs", DIALOGS, "dialogs"),
    ("wrong-dialog-id", DIALOGS, "dialogs"),
    ("swaps-dialogs", DIALOGS, "dialogs"),
    ("wrong-answer", DIALOGS, "dialogs"),
    ("denies", DIALOGS, "dialogs"),
    ("drops-notices", DIALOGS, "notices"),
    ("hangs-at-end", DIES, "end"),
    ("times-out-at-end", DIES, "end"),
    ("silent-end", DIES, "end"),
    ("keeps-stdin", TEXT, "end"),
    ("never-closed", TEXT, "driver"),
    ("wrong-exit-code", DIES, "exit-code"),
    ("crashes", TEXT, "driver"),
    ("babbles", TEXT, "driver"),
    ("wrong-version", TEXT, "driver"),
    ("says-closed-early", TEXT, "driver"),
];

async fn play(arguments: &[&str], name: &str) -> Judgement {
    let (mut cases, extra) = cases("pi");
    cases.retain(|case| case.name == name);
    let program = example("broken_driver");
    let driver: Vec<&str> = std::iter::once(program.as_str()).chain(arguments.iter().copied()).collect();
    judge(&cases, &extra, &client(&driver, 0.5)).await.pop().unwrap_or_else(|| panic!("no case {name}"))
}

#[tokio::test]
async fn each_defect_is_caught() {
    let playing = DEFECTS.iter().map(|(defect, name, check)| async move {
        let judged = play(&["--break", defect], name).await;
        let mut findings = judged.findings.iter().filter(|finding| finding.check == *check);
        let caught = findings.any(|finding| matches!(finding.outcome, Outcome::Failed(_)));
        (!caught).then(|| format!("{defect}: {:?} {}", verdict(&judged), failure_texts(&judged).join("; ")))
    });
    let missed: Vec<_> = futures::stream::iter(playing).buffer_unordered(8).collect().await;
    let missed: Vec<String> = missed.into_iter().flatten().collect();
    assert!(
        missed.is_empty(),
        "{} of {} are not caught:\n{}",
        missed.len(),
        DEFECTS.len(),
        missed.join("\n")
    );
}

/// Without a defect, the same client passes. So the checks find nothing but the defects.
#[tokio::test]
async fn without_a_defect_the_same_client_passes() {
    for name in [TEXT, DIALOGS, REFUSED, LATER, SEPARATORS, CROSSED, DIES, "ext-command-queue"] {
        let judged = play(&[], name).await;
        assert_eq!(verdict(&judged), Verdict::Pass, "{name}: {}", failure_texts(&judged).join("; "));
    }
}

#[tokio::test]
async fn a_carriage_return_is_reported_and_allowed() {
    let judged = play(&["--break", "crlf"], TEXT).await;
    assert_eq!(verdict(&judged), Verdict::Lenient);
    assert_eq!(
        failure_texts(&judged),
        ["framing by carriage-return : the line ends with a carriage return and a line feed"]
    );
}

#[tokio::test]
async fn a_driver_that_does_not_start_is_no_verdict_on_the_client() {
    let (mut cases, extra) = cases("pi");
    cases.retain(|case| case.name == TEXT);
    for (driver, says) in [
        (&["/no/such/driver"][..], "the driver does not start: "),
        (&["sh", "-c", "echo broken >&2; exit 3"][..], "last line of stderr: broken"),
    ] {
        let judged = judge(&cases, &extra, &client(driver, 0.5)).await.pop().unwrap();
        assert_eq!(verdict(&judged), Verdict::Inconclusive);
        assert!(failure_texts(&judged)[0].contains(says), "{:?}", failure_texts(&judged));
    }
}
