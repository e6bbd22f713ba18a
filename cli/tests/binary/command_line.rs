//! Tests of options, and of messages about them.

use serde_json::{Value, json};

use crate::support::process::{Agent, Place};

/// Checks that the binary rejects its command line, with the reason on stderr and an empty stdout.
#[track_caller]
fn refused(arguments: &[&str], text: &str) {
    fails(2, arguments, text);
}

/// Checks that the binary ends with the exit code, with the reason on stderr and an empty stdout.
#[track_caller]
fn fails(code: i32, arguments: &[&str], text: &str) {
    let (status, stdout, stderr) = Place::new().output(arguments);
    assert_eq!((status.code(), stdout.as_str()), (Some(code), ""), "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("Error: ") && stderr.contains(text), "{arguments:?}: {stderr}");
}

#[test]
fn file_arguments_are_refused() {
    let (status, stdout, stderr) =
        Place::new().output(&["--mode", "rpc", "--provider", "scripted", "@a.txt"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(2), ""));
    assert_eq!(stderr, "Error: @file arguments are not supported in RPC mode\n");
}

/// If a script is given, the scripted model answers, even if the environment contains a key for
/// another model.
#[test]
fn a_script_is_played_despite_configured_keys() {
    let place = Place::new();
    let script = place.script(json!({"responses": [{"text": "from the script"}]}));
    for (words, provider) in [
        (&[][..], "scripted"),
        (&["--model", "scripted"], "scripted"),
        (&["--provider", "anthropic"], "anthropic"),
        (&["--model", "anthropic/claude-haiku-4-5"], "anthropic"),
    ] {
        let mut command = place.command(&[&["--mode", "rpc", "--script", &script], words].concat());
        command.env("ANTHROPIC_API_KEY", "sk-ant-none").env("OPENAI_API_KEY", "sk-none");
        let mut agent = Agent::start(command);
        let state = agent.request(json!({"type": "get_state"}));
        assert_eq!(state["data"]["model"]["provider"], provider, "{words:?}: {state}");
        if provider == "scripted" {
            agent.send(json!({"type": "prompt", "message": "go"}));
            let events = agent.until_event("agent_end");
            assert!(json!(events).to_string().contains("from the script"), "{events:?}");
        }
        assert_eq!(agent.finish().0.code(), Some(0));
    }
}

#[test]
fn messages_and_unknown_options_are_warnings() {
    let place = Place::new();
    let mut agent = Agent::start(place.command(&[
        "--mode",
        "rpc",
        "--provider",
        "scripted",
        "hello",
        "--frobnicate",
        "--no-session",
        "--trust",
    ]));
    assert_eq!(agent.request(json!({"type": "get_state"}))["success"], true);
    let (status, stdout, stderr) = agent.finish();
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""));
    assert_eq!(
        stderr,
        "Warning: messages on the command line are ignored in RPC mode\nWarning: unknown option --frobnicate is ignored\n"
    );
}

#[test]
fn missing_files_and_unknown_names_are_rejected() {
    refused(&[], "--mode rpc");
    refused(&["--mode", "json"], "--mode json is not available");
    refused(&["--mode", "rpc", "--dialect", "klingon"], "unknown dialect \"klingon\"; known: pi@0.55");
    refused(&["--mode", "rpc", "--dialect", "pi@9.9"], "unknown dialect");
    fails(1, &["--export", "a.jsonl", "a.html"], "ENOENT: no such file or directory, open");
    fails(1, &["--export", "0b81"], "0b81");
    fails(1, &["--mode", "rpc", "--script", "/no/such/file"], "/no/such/file");
    let place = Place::new();
    let script = place.file("bad.json", r#"{"responses": [{"blocks": 7}]}"#);
    fails(1, &["--mode", "rpc", "--script", &script], "blocks");
    fails(1, &["inspect", &script], "expected a recording");
    refused(&["cal"], "unknown command \"cal\"; did you mean `call`?");
    refused(&["wbe"], "did you mean `web`?");
    refused(&["teleport"], "see agentese --help");
    refused(&["web", "--dialect", "klingon"], "unknown dialect \"klingon\"");
}

#[test]
fn invalid_options_are_rejected() {
    refused(&["--mode", "rpc", "--thinking", "loud"], "off, minimal, low, medium, high, xhigh");
    refused(&["--mode", "rpc", "--max-line", "7"], "at least 64 bytes");
    refused(&["--mode", "rpc", "--updates", "sometimes"], "snapshots");
    refused(&["--mode", "rpc", "--no-session", "--continue"], "--no-session cannot be combined");
    refused(&["--mode", "rpc", "--session", "a", "-r"], "--session cannot be combined");
    fails(1, &["--mode", "rpc", "--session", "../"], "directory");
    fails(1, &["--mode", "rpc", "--session", "0b81"], "0b81");
    refused(&["--mode", "rpc", "--session", ".."], "neither a file nor the prefix of a session id");
    refused(&["--mode", "rpc", "--trust", "--no-trust"], "cannot be used with");
    refused(&["--mode", "rpc", "--api-key", "k"], "--provider or --model");
    refused(&["completions", "cobol"], "bash");
}

#[test]
fn a_mistyped_option_is_suggested() {
    let (status, stdout, stderr) =
        Place::new().output(&["--mode", "rpc", "--provider", "scripted", "--no-sesion"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""));
    assert_eq!(stderr, "Warning: unknown option --no-sesion is ignored; did you mean --no-session?\n");
}

#[test]
fn fm_f118_a_key_on_the_command_line_is_never_repeated() {
    let place = Place::new();
    let arguments = ["--mode", "rpc", "--provider", "scripted", "--api-key", "sk-canary", "--frobnicate"];
    let mut command = place.command(&arguments);
    command.env("AGENTESE_LOG", "trace");
    let (_, stdout, stderr) = Agent::start(command).finish();
    assert!(stderr.contains("Warning: --api-key is visible"), "{stderr}");
    assert!(!stderr.contains("canary") && !stdout.contains("canary"), "{stderr}");
}

#[test]
fn an_unknown_model_is_refused() {
    let model = "Use --list-models to see available models.";
    let provider = "Use --list-models to see available providers/models.";
    let cases = [
        (&["--model", "nosuch/model"][..], format!("Model \"nosuch/model\" not found. {model}\n")),
        (&["--provider", "nosuch"], format!("Unknown provider \"nosuch\". {provider}\n")),
        (&["--provider", "nosuch", "--model", "m"], format!("Unknown provider \"nosuch\". {provider}\n")),
    ];
    for (arguments, text) in cases {
        let (status, stdout, stderr) = Place::new().output(&[&["--mode", "rpc"], arguments].concat());
        assert_eq!((status.code(), stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert_eq!(stderr, text);
    }
}

#[test]
fn without_any_model_the_server_starts_and_refuses_prompts() {
    for (file, text) in [("models.json", r#"{"providers": {}}"#), ("models.json", "{ broken")] {
        let place = Place::new();
        place.put(&format!("home/.pi/agent/{file}"), text);
        let mut agent = Agent::start(place.command(&["--mode", "rpc"]));
        assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["model"], Value::Null);
        let refused = agent.request(json!({"type": "prompt", "message": "hi"}));
        assert!(refused["error"].as_str().unwrap().starts_with("No model is selected: "), "{refused}");
        let (status, _, stderr) = agent.finish();
        assert_eq!(status.code(), Some(0));
        assert!(stderr.contains("Warning: no model is selected"), "{stderr}");
        let mut agent = Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted"]));
        assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["model"]["id"], "scripted");
    }
}

/// An agent of this revision exits without a model, although its document does not require that.
#[test]
fn an_agent_of_omp_13_19_needs_a_model() {
    let place = Place::new();
    place.put("home/.omp/agent/models.yml", "providers: {}\n");
    let (status, stdout, stderr) = place.output(&["--mode", "rpc", "--dialect", "omp@13.19"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.starts_with("Error: no model is available: no provider has a key"), "{stderr}");
    for arguments in [&["--dialect", "omp@13.19", "--provider", "scripted"][..], &["--dialect", "omp@12.7"]] {
        let (status, _, stderr) = place.output(&[&["--mode", "rpc"], arguments].concat());
        assert_eq!(status.code(), Some(0), "{stderr}");
    }
}

#[test]
fn models_levels_and_tools_are_chosen() {
    let place = Place::new();
    let script = place.script(json!({"responses": [
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "true"}}}, {"tool": {"name": "read", "args": {"path": "x"}}}]},
    ], "default": {"text": "ok"}}));
    let arguments = [
        "--mode",
        "rpc",
        "--dialect",
        "pi@0.55",
        "--provider",
        "scripted",
        "--model",
        "scripted/scripted:low",
        "--tools",
        "read,teleport",
        "--system-prompt",
        "-be brief-",
        "--script",
        &script,
    ];
    let mut agent = Agent::start(place.command(&arguments));
    let state = agent.request(json!({"type": "get_state"}))["data"].clone();
    assert_eq!((&state["model"]["id"], &state["thinkingLevel"]), (&json!("scripted"), &json!("low")));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let frames = agent.until_event("agent_end");
    assert_eq!(crate::support::trace::results(&frames)[0], "Tool bash not found");
    let (_, _, stderr) = agent.finish();
    assert_eq!(
        stderr,
        "Warning: unknown tool \"teleport\"; known: read, bash, edit, write, grep, find, ls, todo_write, task\n"
    );
    let mut agent =
        Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted", "--thinking", "off"]));
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"]["thinkingLevel"], "off");
}

#[test]
fn schemas_are_printed() {
    let place = Place::new();
    for dialect in ["pi", "omp", "pisces", "operator", "opal", "pi@0.55"] {
        for side in ["server", "client"] {
            let (status, stdout, stderr) = place.output(&["schema", "--dialect", dialect, "--side", side]);
            assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
            let schema: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        }
    }
    let (status, stdout, _) = place.output(&["schema", "--dialect", "opal", "--openrpc"]);
    assert_eq!(status.code(), Some(0));
    assert!(serde_json::from_str::<Value>(&stdout).unwrap()["openrpc"].is_string());
    refused(&["schema", "--dialect", "klingon", "--side", "server"], "unknown dialect");
    refused(&["schema", "--dialect", "pi", "--openrpc"], "JSON-RPC");
}

#[test]
fn changes_between_revisions_are_printed() {
    let place = Place::new();
    let (status, stdout, stderr) = place.output(&["schema", "--diff", "pi@0.55", "pi@1.5"]);
    assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    for line in [
        "Added:",
        "  command get_entries: it never sends it",
        "Made optional:",
        "! member SessionState.model: a member that it reads may be missing",
        "! event compaction_start (was auto_compaction_start): it waits for an event that never comes",
    ] {
        assert!(stdout.lines().any(|printed| printed == line), "{line} is missing:\n{stdout}");
    }
    let (_, stdout, _) = place.output(&["schema", "--diff", "pi@0.55", "pi@1.5", "--json"]);
    let document: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&document["from"], &document["survives"]), (&json!("pi@0.55"), &json!(false)));
    let changes = document["changes"].as_array().unwrap();
    assert!(changes.iter().any(|change| change["change"] == "added" && change["name"] == "get_entries"));
    let (_, stdout, _) = place.output(&["schema", "--diff", "omp@12.7", "omp@13.19"]);
    assert!(stdout.contains("A client of omp@12.7 survives all of them."), "{stdout}");
    refused(&["schema", "--diff", "pi@1.5", "pi@0.55"], "pi@0.55 pi@1.5");
    refused(&["schema", "--diff", "pi@0.55"], "--diff");
    refused(&["schema", "--json", "--dialect", "pi", "--side", "server"], "--json");
    refused(&["schema", "--json"], "--diff");
}

#[test]
fn help_and_version_go_to_stdout() {
    let place = Place::new();
    let (status, stdout, _) = place.output(&["--help"]);
    assert_eq!(status.code(), Some(0));
    for word in [
        "Model:",
        "Session:",
        "Tools:",
        "Examples:",
        "--mode",
        "--dialect",
        "--script",
        "--model",
        "schema",
        "AGENTESE_LOG",
    ] {
        assert!(stdout.contains(word), "{word} is missing:\n{stdout}");
    }
    assert!(stdout.lines().all(|line| line.chars().count() <= 100), "{stdout}");
    let (status, stdout, _) = place.output(&["--version"]);
    assert_eq!((status.code(), stdout), (Some(0), format!("agentese {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn fm_f12_the_longest_line_can_be_chosen() {
    let place = Place::new();
    let mut agent =
        Agent::start(place.command(&["--mode", "rpc", "--provider", "scripted", "--max-line", "1000"]));
    agent.send(json!({"id": 1, "type": "set_session_name", "name": "x".repeat(2000)}));
    let answer = agent.next().unwrap();
    assert_eq!((&answer["command"], &answer["success"]), (&json!("parse"), &json!(false)));
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"].get("sessionName"), None);
}
