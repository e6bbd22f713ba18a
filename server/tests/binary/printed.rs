//! What is printed instead of serving.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::process::Place;

#[test]
fn models_are_listed() {
    let place = Place::new();
    let models = r#"{"providers": {"acme": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions",
        "apiKey": "sk-canary", "models": [{"id": "one"}, {"id": "\u001b[2J", "name": "Road Runner"}]}}}"#;
    place.put("home/.pi/agent/models.json", models);
    let (status, stdout, stderr) = place.output(&["--list-models"]);
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("provider  model "), "{stdout}");
    assert!(stdout.contains("\nacme      one "), "{stdout}");
    assert!(stdout.contains("\\u{1b}[2J") && !stdout.contains('\u{1b}'), "{stdout}");
    assert!(!stdout.contains("canary"), "{stdout}");
    assert_eq!(place.output(&["--list-models", "runner ACME"]).1.lines().count(), 2);
    let (status, stdout, stderr) = place.output(&["--list-models", "nosuch"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""));
    assert_eq!(stderr, "No model's name has \"nosuch\" in it.\n");
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
