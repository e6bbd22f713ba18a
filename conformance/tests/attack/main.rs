//! Attacks find the defects of an agent, and report nothing about an agent without a defect.

mod areas;

use std::process::Command;

use serde_json::Value;

/// Attacks the agent `agent.py` with one of its defects, always with the same seed. Returns the exit code and
/// the report.
fn attacked(defect: &str, only: &[&str], more: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report.json");
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/agent.py");
    let output = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"))
        .args(["attack", "--dialect", "pi", "--seed", "5", "--seconds", "0", "--starts", "8", "--json"])
        .arg(&report)
        .arg("--only")
        .args(only)
        .args(more)
        .args(["--", "python3", agent, defect])
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&report)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code(), serde_json::from_str(&text).unwrap())
}

/// Returns the finding of a report on a single attack.
fn found(report: &Value) -> &str {
    let attack = &report["attacks"][0];
    assert_eq!(attack["outcome"], "found", "{report:#}");
    attack["reason"].as_str().unwrap()
}

#[test]
fn an_agent_without_a_defect_holds() {
    let (code, report) = attacked("none", &["lines", "commands", "aborts", "kills", "starts"], &[]);
    assert_eq!(code, Some(0), "{report:#}");
    let attacks = report["attacks"].as_array().unwrap();
    assert_eq!(attacks.len(), 5);
    for attack in attacks {
        assert_eq!(attack["outcome"], "held", "{report:#}");
        let counts = attack["counts"].as_object().unwrap();
        assert!(counts.values().next().unwrap().as_u64().unwrap() > 0, "{report:#}");
    }
    assert_eq!((&report["seed"], &report["attack_report"]), (&5.into(), &1.into()));
}

#[test]
fn each_defect_is_found_by_its_attack() {
    for (defect, attack, says) in [
        ("dies-of-garbage", "lines", "the agent ended before"),
        ("babbles", "lines", "invalid frame from the agent: cannot read that"),
        ("keeps-lines", "lines", "MiB of memory; the limit is 150 MiB"),
        ("answers-twice", "commands", "was answered 2 times"),
        ("leaves-a-process", "aborts", "processes are still running: sleep"),
        ("ends-badly", "starts", "an agent ended with"),
        ("forgets", "kills", "completed messages is lost"),
    ] {
        let more: &[&str] = if defect == "keeps-lines" { &["--memory", "150"] } else { &[] };
        let (code, report) = attacked(defect, &[attack], more);
        assert_eq!(code, Some(1), "{defect}: {report:#}");
        assert!(found(&report).contains(says), "{defect}: {report:#}");
    }
}

#[test]
fn a_wrong_command_line_lists_the_valid_names() {
    let output = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"))
        .args(["attack", "--dialect", "pi", "--only", "kill", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("unknown attack `kill`; did you mean `kills`?"), "{stderr}");
    let output = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"))
        .args(["attack", "--dialect", "pi", "--", "/no/such/agent"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
}
