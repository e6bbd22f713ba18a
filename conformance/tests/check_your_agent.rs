//! Tests of docs/check-your-agent.md. Its commands run unchanged in a folder with the layout of a clone of
//! this repository, and its files fit their formats.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use agentese::types::{ExpectedFailures, Profile, ProfileClaims};
use agentese_conformance::{Suite, file};
use serde_json::Value;

const PAGE: &str = include_str!("../../docs/check-your-agent.md");
const AGENT: &str = include_str!("../examples/echo_agent.py");

/// Lock that tests hold while they play cases, because concurrent tests would slow down each other's agents.
static PLAYING: Mutex<()> = Mutex::new(());

/// Returns the code blocks of the page with this label.
fn blocks(label: &str) -> Vec<&'static str> {
    let fence = format!("```{label}\n");
    let found = PAGE.match_indices(&fence).map(|(at, _)| {
        let rest = &PAGE[at + fence.len()..];
        &rest[..rest.find("```").unwrap()]
    });
    found.collect()
}

fn commands() -> Vec<&'static str> {
    let lines = blocks("console").into_iter().flat_map(str::lines);
    lines.map(|line| line.strip_prefix("$ ").unwrap_or_else(|| panic!("{line}"))).collect()
}

/// Folder with the layout of a clone of this repository, which contains `conformance`. A second folder
/// contains the installed program.
struct RepositoryClone {
    folder: tempfile::TempDir,
}

impl RepositoryClone {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let link = |from: &Path, to: PathBuf| std::os::unix::fs::symlink(from, to).unwrap();
        link(Path::new(env!("CARGO_MANIFEST_DIR")), folder.path().join("conformance"));
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        link(Path::new(env!("CARGO_BIN_EXE_agentese-conformance")), bin.join("agentese-conformance"));
        Self { folder }
    }

    fn run(&self, command: &str) -> Output {
        let path = format!("{}:{}", self.folder.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]).current_dir(self.folder.path()).env("PATH", path);
        let output = shell.output().unwrap();
        assert!(
            output.status.success(),
            "{command}: {}\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }
}

/// Every command of the page runs. Only the installation is skipped, because its result is the program under
/// test.
#[test]
fn every_command_of_the_page_runs() {
    let _playing = PLAYING.lock().unwrap_or_else(PoisonError::into_inner);
    let clone = RepositoryClone::new();
    let (installs, commands): (Vec<_>, Vec<_>) =
        commands().into_iter().partition(|command| command.starts_with("cargo install "));
    assert_eq!(installs, ["cargo install --path conformance"]);
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        let output = clone.run(command);
        let said =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        match command.split(' ').nth(1).unwrap() {
            "detect" => assert!(said.contains("pi@0.55"), "{said}"),
            "list" => assert!(said.contains("framing-crlf"), "{said}"),
            "run" if command.contains("--show") => {
                let shown = ["  -> {", "  <- {", "\"id\":\"after\"", "  -- exit 0"];
                assert!(shown.iter().all(|part| said.contains(part)), "{said}");
            }
            "run" => check_report(&said),
            other => panic!("`{other}` runs without a check of its output"),
        }
    }
    for report in ["report.html", "report.xml"] {
        let text = std::fs::read_to_string(clone.folder.path().join(report)).unwrap();
        assert!(text.contains("framing-slow-reader"), "{report}");
    }
}

/// Checks the report of the example: some cases pass, the others are not applicable, and no case fails.
fn check_report(said: &str) {
    let summary = said
        .lines()
        .find(|line| line.contains(" against echo_agent in "))
        .unwrap_or_else(|| panic!("{said}"));
    let count = |word: &str| {
        let words: Vec<&str> = summary.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|found| *found == word).unwrap_or(0);
        words.get(at.wrapping_sub(1)).and_then(|count| count.parse::<usize>().ok()).unwrap_or(0)
    };
    assert!(count("pass") >= 10 && count("fail") == 0 && count("inconclusive") == 0, "{said}");
    assert!(summary.contains("not applicable"), "{said}");
}

#[test]
fn the_agent_has_sixty_lines_and_no_dependencies() {
    let lines = AGENT.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '"']));
    assert!(lines.count() <= 60);
    let imports: Vec<&str> = AGENT.lines().filter(|line| line.contains("import ")).collect();
    assert_eq!(imports, ["import json, os, sys, threading, time, urllib.request as http"]);
}

#[test]
fn the_files_of_the_page_are_of_their_formats() {
    let place = Path::new("page");
    let one = |label: &str| {
        let found = blocks(label);
        assert_eq!(found.len(), 1, "{label}");
        found[0]
    };
    let profile: Profile = file::parse(place, one("json profile"), "profile").unwrap();
    let failures: ExpectedFailures =
        file::parse(place, one("json expected-failures"), "expected-failures").unwrap();
    let claims: ProfileClaims = serde_json::from_str(one("json claims")).unwrap();
    let suite = Suite::embedded();
    for failure in failures.failures {
        let case = suite.case(&profile.dialect, &failure.case).unwrap();
        let names = case.expect.iter().flatten().map(agentese_conformance::matching::expectations::name);
        assert!(
            names.map(|name| format!("expect {name}")).any(|name| name == failure.check),
            "{}",
            failure.check
        );
    }
    // The page and the example make the same claims.
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/echo_agent.profile.json");
    assert_eq!(file::load::<Profile>(Path::new(example), "profile").unwrap().claims, Some(claims));
    // The CI example uses the same commands as the page.
    let ci = blocks("yaml").concat();
    assert!(
        ci.contains("agentese-conformance run --profile my_agent.profile.json --junit report.xml"),
        "{ci}"
    );
}

/// Every link of the page leads to an existing file.
#[test]
fn the_links_of_the_page_lead_to_files() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let targets: Vec<&str> = PAGE.split("](").skip(1).map(|rest| &rest[..rest.find(')').unwrap()]).collect();
    assert!(targets.len() > 5);
    for target in targets {
        let file = target.split('#').next().unwrap();
        assert!(docs.join(file).exists(), "{target}");
    }
}

/// Each claim of the example must exclude at least one case; otherwise it would have no effect.
#[test]
fn a_claim_excludes_cases() {
    let suite = Suite::embedded();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/echo_agent.profile.json");
    let mut profile: Profile = file::load(Path::new(example), "profile").unwrap();
    let cases = suite.cases("pi").unwrap();
    let left = |profile: &Profile| {
        cases
            .iter()
            .filter(|case| agentese_conformance::player::not_applicable(case, profile).is_none())
            .count()
    };
    let claimed = left(&profile);
    assert!(claimed > 15 && claimed < cases.len() / 2, "{claimed}");
    let all: Value = serde_json::json!({});
    profile.claims = serde_json::from_value(all).unwrap();
    assert_eq!(left(&profile), cases.len());
}

/// Cases that need only three commands, so that an agent with a part of the pi dialect can play them.
const PLAIN: &[&str] = &["plain-history", "plain-second-prompt", "plain-state"];

/// Defects of the example agent: description, original text, replacement, the case that finds the defect,
/// and its check.
const BROKEN: &[(&str, &str, &str, &str, &str)] = &[
    (
        "the model is sent the last two messages and no others",
        "for it in messages if it",
        "for it in messages[-2:] if it",
        "plain-history",
        "requests",
    ),
    (
        "the state never says that the agent is streaming",
        "{**STATE, \"messageCount\"",
        "{**STATE, \"isStreaming\": False, \"messageCount\"",
        "plain-state",
        "expect during",
    ),
    (
        "a second prompt during a run is taken",
        "if starts and STATE[\"isStreaming\"]: raise",
        "if False: raise",
        "plain-second-prompt",
        "expect refused",
    ),
    (
        "the end of a run has the whole history",
        "messages=messages[-2:])",
        "messages=messages)",
        "plain-history",
        "expect messages-of-the-run",
    ),
];

/// Returns the report on these cases for an agent with the given source.
fn report(agent: &str, cases: &[&str]) -> Value {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("echo_agent.py"), agent).unwrap();
    std::fs::set_permissions(at("echo_agent.py"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(at("profile.json"), include_str!("../examples/echo_agent.profile.json")).unwrap();
    let mut suite = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"));
    suite.args(["run", "--level", "must", "--timeout", "60", "--only"]).args(cases);
    suite.arg("--profile").arg(at("profile.json")).arg("--json").arg(at("report.json"));
    let output = suite.output().unwrap();
    let text = std::fs::read_to_string(at("report.json"))
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["exit_code"], output.status.code().unwrap());
    report
}

/// Returns the failed `must` checks, as case and check.
fn failures(report: &Value) -> Vec<(&str, &str)> {
    let cases = report["cases"].as_array().unwrap();
    let checks = cases.iter().flat_map(|case| {
        let name = case["name"].as_str().unwrap();
        case["checks"].as_array().unwrap().iter().map(move |check| (name, check))
    });
    let failed = checks.filter(|(_, check)| check["level"] == "must" && check["outcome"] == "failed");
    failed.map(|(name, check)| (name, check["check"].as_str().unwrap())).collect()
}

#[test]
fn each_defect_of_a_small_agent_is_caught() {
    let _playing = PLAYING.lock().unwrap_or_else(PoisonError::into_inner);
    let sound = report(AGENT, PLAIN);
    assert_eq!(failures(&sound), [], "{sound:#}");
    assert_eq!((&sound["totals"]["pass"], &sound["exit_code"]), (&PLAIN.len().into(), &0.into()));
    for (what, from, to, case, check) in BROKEN {
        assert_eq!(AGENT.matches(from).count(), 1, "{what}: `{from}` must occur once");
        let report = report(&AGENT.replace(from, to), &[case]);
        let failed = failures(&report);
        assert!(failed.contains(&(case, check)), "{what}: {failed:?}");
        assert_eq!(report["exit_code"], 1, "{what}");
    }
}
