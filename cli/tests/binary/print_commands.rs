//! Tests of commands that print and exit.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};

#[test]
fn models_are_listed() {
    let place = Place::new();
    let models = r#"{"providers": {"acme": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
        "apiKey": "sk-canary", "models": [{"id": "one"}, {"id": "\u001b[2J", "name": "Road Runner"}]}}}"#;
    place.put("home/.pi/agent/models.json", models);
    let (status, stdout, stderr) = place.output(&["--list-models"]);
    assert_eq!(status.code(), Some(0), "{stderr}");
    let rows: Vec<Vec<&str>> = stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(rows[0].starts_with(&["provider", "model"]), "{stdout}");
    assert!(rows[1].starts_with(&["acme", "one"]) && rows[1].ends_with(&["yes"]), "{stdout}");
    let unavailable = rows.iter().find(|row| row[0] == "anthropic").unwrap();
    assert!(unavailable.ends_with(&["no"]), "{stdout}");
    assert_eq!(
        stderr
            .matches("No API key found for anthropic. Set the environment variable ANTHROPIC_API_KEY")
            .count(),
        1,
        "{stderr}"
    );
    assert!(stdout.contains("\\u{1b}[2J") && !stdout.contains('\u{1b}'), "{stdout}");
    assert!(!stdout.contains("canary"), "{stdout}");
    assert_eq!(place.output(&["--list-models", "runner ACME"]).1.lines().count(), 2);
    let (status, stdout, stderr) = place.output(&["--list-models", "nosuch"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""));
    assert_eq!(stderr, "No model name contains \"nosuch\".\n");
}

#[test]
fn help_of_a_command_is_its_own_help() {
    for words in [&["call"][..], &["call", "prompt"], &["web"], &["bridge"]] {
        let help = Place::new().output(&[&["help"], words].concat());
        assert_eq!(help, Place::new().output(&[words, &["--help"]].concat()), "{words:?}");
        assert_eq!(help.0.code(), Some(0), "{words:?}");
        assert!(help.1.contains("Usage: agentese "), "{}", help.1);
    }
}

#[test]
fn the_manual_page_has_the_options_of_the_help() {
    let (status, page, _) = Place::new().output(&["man"]);
    assert_eq!(status.code(), Some(0));
    assert!(page.contains(".TH agentese 1") && page.contains(r"\-\-list\-models"), "{page}");
}

#[test]
fn a_session_is_exported_by_a_prefix_of_its_id() {
    let place = Place::new();
    let script = place.script(json!({"responses": [{"text": "An answer."}]}));
    let mut agent = Agent::start(place.command(&["--mode", "rpc", "--script", &script]));
    let id = agent.request(json!({"type": "get_state"}))["data"]["sessionId"].as_str().unwrap().to_owned();
    agent.send(json!({"type": "prompt", "message": "A question?"}));
    agent.until_event("agent_end");
    assert_eq!(agent.finish().0.code(), Some(0));
    let (status, stdout, stderr) = place.output(&["--export", &id[..8], "page.html"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(0), "page.html\n"), "{stderr}");
    assert!(std::fs::read_to_string(place.work().join("page.html")).unwrap().contains("A question?"));
}

#[test]
fn sessions_of_other_dialects_are_listed_from_their_own_folders() {
    let place = Place::new();
    std::fs::create_dir_all(place.work().with_file_name("home").join(".omp/agent")).unwrap();
    let script = place.script(json!({"responses": [{"text": "An answer."}]}));
    let mut agent = Agent::start(place.command(&["--mode", "rpc", "--dialect", "omp", "--script", &script]));
    agent.send(json!({"type": "prompt", "message": "A question?"}));
    while agent.next_line().is_some_and(|line| !line.contains("agent_end")) {}
    assert_eq!(agent.finish().0.code(), Some(0));
    let listed = |dialect: &[&str]| place.output(&[&["sessions", "--json"], dialect].concat()).1;
    assert!(listed(&["--dialect", "omp"]).contains("A question?"));
    assert_eq!(listed(&[]), "[]\n");
    let (status, _, stderr) = place.output(&["sessions", "--dialect", "moon"]);
    assert!(!status.success() && stderr.contains("unknown dialect \"moon\""), "{stderr}");
}

/// The file contains an entry of every kind that pi 1.5 writes.
#[test]
fn a_session_of_the_newest_pi_is_listed_by_its_name() {
    let place = Place::new();
    let made_up = include_str!("../../../server/tests/sessions/pi-1.5.jsonl");
    place.put("home/.pi/agent/sessions/----/made-up.jsonl", made_up);
    let (status, stdout, stderr) = place.output(&["sessions", "--json", "--all", "--dialect", "pi@1.5"]);
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    let listed: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(listed[0]["name"], "the garden gate", "{listed}");
    assert_eq!(listed[0]["firstMessage"], "Who left the gate open?");
}

#[test]
fn sessions_are_stored_listed_and_exported() {
    let place = Place::new();
    let script = place.script(json!({"responses": [{"text": "An answer."}]}));
    let mut agent = Agent::start(place.command(&["--mode", "rpc", "--script", &script]));
    agent.send(json!({"type": "prompt", "message": "A question?"}));
    agent.until_event("agent_end");
    assert_eq!(agent.finish().0.code(), Some(0));

    let (status, stdout, stderr) = place.output(&["sessions", "--json"]);
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    let listed: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&listed[0]["messageCount"], &listed[0]["firstMessage"]), (&json!(2), &json!("A question?")));
    let (_, table, _) = place.output(&["sessions"]);
    assert!(table.lines().nth(1).is_some_and(|line| line.ends_with("A question?")), "{table}");

    let session = listed[0]["path"].as_str().unwrap();
    let (status, stdout, stderr) = place.output(&["--export", session, "page.html"]);
    assert_eq!((status.code(), stdout.as_str(), stderr.as_str()), (Some(0), "page.html\n", ""));
    let page = std::fs::read_to_string(place.work().join("page.html")).unwrap();
    assert!(page.contains("An answer."), "{page}");

    // For each way to name the session, another process continues it.
    let id = listed[0]["id"].as_str().unwrap();
    for choice in [&["--continue"][..], &["--resume"], &["--session", session], &["--session", &id[..8]]] {
        let mut agent =
            Agent::start(place.command(&[&["--mode", "rpc", "--script", &script], choice].concat()));
        assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["messageCount"], 2, "{choice:?}");
        assert_eq!(agent.finish().0.code(), Some(0));
    }
}

#[test]
fn every_shell_gets_a_script_with_every_option() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (status, stdout, stderr) = place.output(&["completions", shell]);
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["session-dir", "append-system-prompt", "schema", "completions"] {
            assert!(stdout.contains(word), "{shell}: {word} is missing");
        }
    }
}

#[test]
fn bash_understands_its_script() {
    let script = Place::new().output(&["completions", "bash"]).1;
    let probe = "COMP_WORDS=(agentese --no-se); COMP_CWORD=1; _agentese agentese --no-se agentese; echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let mut bash = bash.arg("--norc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(format!("{script}\n{probe}\n").as_bytes()).unwrap();
    let output = bash.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--no-session\n");
}
