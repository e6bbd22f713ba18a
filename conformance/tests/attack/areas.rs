//! Attacks that need a complete agent: their results for an agent with a defect, and for one without.

use std::process::Command;

use serde_json::Value;

/// The reference agent's program.
fn program() -> String {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("agentese");
    assert!(program.exists(), "{} is missing: cargo build -p agentese-cli", program.display());
    program.to_str().unwrap().to_owned()
}

const SPOIL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/spoil.py");

/// Runs one attack on the reference agent in a dialect, always with the same seed. `spoiled` is the
/// defect that a wrapper adds to the agent.
fn attacked(area: &str, dialect: &str, spoiled: Option<&str>, more: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let program = program();
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"));
    command.args(["attack", "--profile", &format!("agentese-{dialect}"), "--seed", "5", "--seconds", "0"]);
    command.arg("--json").arg(&report).args(["--only", area]).args(more).arg("--");
    command.args(spoiled.map(|defect| ["python3", SPOIL, defect]).into_iter().flatten());
    let output = command.args([&program, "--mode", "rpc"]).output().unwrap();
    let text = std::fs::read_to_string(&report)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)));
    let report: Value = serde_json::from_str(&text).unwrap();
    (output.status.code(), report["attacks"][0].clone())
}

fn holds(area: &str, dialect: &str) {
    let (code, report) = attacked(area, dialect, None, &[]);
    assert_eq!((code, &report["outcome"]), (Some(0), &"held".into()), "{report:#}");
    let counts = report["counts"].as_object().unwrap();
    assert!(counts.values().next().unwrap().as_u64().unwrap() > 0, "{report:#}");
}

fn finds(area: &str, dialect: &str, spoiled: Option<&str>, more: &[&str], message: &str) {
    let (code, report) = attacked(area, dialect, spoiled, more);
    assert_eq!((code, &report["outcome"]), (Some(1), &"found".into()), "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains(message), "{report:#}");
}

/// Returns the command line of a program around the agent, through a wrapper that adds a defect.
fn spoiled(defect: &str, line: &str) -> String {
    format!("python3 {SPOIL} {defect} {} {line}", program())
}

#[test]
fn tools_hold_with_an_agent_without_a_defect() {
    holds("tools", "pi");
}

#[test]
fn tools_find_a_process_that_is_left_behind() {
    finds("tools", "pi", Some("leaves-a-process"), &[], "processes are still running: sleep");
}

#[test]
fn opal_holds_with_an_agent_without_a_defect() {
    holds("opal", "opal");
}

#[test]
fn opal_finds_descriptors_that_are_held() {
    finds("opal", "opal", Some("keeps-files"), &[], "descriptors; the limit is 64");
}

#[test]
fn mcp_holds_with_an_agent_without_a_defect() {
    holds("mcp", "pi");
}

#[test]
fn mcp_finds_a_process_that_is_left_behind() {
    finds("mcp", "pi", Some("leaves-a-process"), &[], "processes are still running: sleep");
}

#[test]
fn subagents_hold_with_an_agent_without_a_defect() {
    holds("subagents", "pi");
    holds("subagents", "pisces");
}

#[test]
fn subagents_find_a_change_of_the_users_repository() {
    finds("subagents", "pi", Some("meddles"), &[], "the user's .git has changed: config");
}

#[test]
fn acp_holds_with_an_agent_without_a_defect() {
    holds("acp", "pi");
}

#[test]
fn acp_finds_an_answer_that_comes_twice() {
    let line = spoiled("answers-twice", "--mode acp --provider scripted --script {script}");
    finds("acp", "pi", None, &["--acp", &line], "was answered 2 times");
}

/// An attack that cannot be carried out is reported as broken, not as held.
#[test]
fn acp_reports_an_agent_without_requests_to_the_editor() {
    let line = spoiled("ignores-the-editor", "--mode acp --provider scripted --script {script}");
    let (code, report) = attacked("acp", "pi", None, &["--acp", &line]);
    assert_eq!((code, &report["outcome"]), (Some(2), &"broken".into()), "{report:#}");
    assert!(
        report["reason"].as_str().unwrap().contains("never requested the file from the editor"),
        "{report:#}"
    );
}

#[test]
fn bridge_holds_with_an_agent_without_a_defect() {
    holds("bridge", "pi");
}

#[test]
fn bridge_finds_an_answer_that_comes_twice() {
    let line = spoiled("answers-twice", "bridge --to {front} --from {dialect} -- {agent}");
    finds("bridge", "pi", None, &["--bridge", &line], "was answered 2 times");
}

#[test]
fn web_holds_with_a_page_without_a_defect() {
    holds("web", "pi");
}

#[test]
fn web_finds_rights_that_a_page_ignores() {
    let line =
        format!("env RIGHTS={{rights}} {} web --no-open --dialect {{dialect}} -- {{agent}}", program());
    finds("web", "opal", None, &["--web", &line], "reached the agent despite [\"--read-only\"]");
}

#[test]
fn an_area_that_is_not_there_is_skipped_with_its_reason() {
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/agent.py");
    let output = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"))
        .args(["attack", "--dialect", "pi", "--seed", "5", "--seconds", "0", "--only"])
        .args(["tools", "opal", "mcp", "subagents", "acp", "bridge", "web", "--", "python3", agent, "none"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for line in [
        "skipped: tools (the agent offers no tools to the model of its profile)",
        "skipped: opal (the dialect has one session per connection)",
        "skipped: mcp (--mcp is not given)",
        "skipped: subagents (the agent does not offer its model the tool `task`)",
        "skipped: acp (--acp is not given)",
        "skipped: bridge (--bridge is not given)",
        "skipped: web (--web is not given)",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
