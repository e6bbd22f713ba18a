//! `agentese run` and `agentese -p`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::agentese;
use crate::support::process::Place;

/// Dialects of the agents under test.
const DIALECTS: [&str; 6] = ["pi", "pi@1.6", "omp", "pisces", "operator", "opal"];

/// Runs `agentese` with a text on stdin. Returns the exit code, stdout and stderr.
fn run_with_stdin(place: &Place, words: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut command = place.command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may end without reading its input.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs a prompt against this program with a model script.
fn run_prompt(place: &Place, words: &[&str], dialect: &str, script: Value) -> (Option<i32>, String, String) {
    let (program, script) = (agentese(), place.script(script));
    let agent = ["--", program.to_str().unwrap(), "--mode", "rpc", "--dialect", dialect, "--script", &script];
    run_with_stdin(place, &[&["run"], words, &agent].concat(), "")
}

fn one_tool(name: &str, arguments: Value) -> Value {
    json!({"responses": [{"blocks": [{"tool": {"name": name, "args": arguments}}]}, {"text": "Done."}]})
}

#[test]
fn text_is_on_stdout_and_tools_are_on_stderr_in_every_dialect() {
    for dialect in DIALECTS {
        let place = Place::new();
        let script = json!({"responses": [
            {"blocks": [{"text": "I look."}, {"tool": {"name": "read", "args": {"path": "a.txt"}}}]},
            {"text": "One. Two."},
        ]});
        place.put("work/a.txt", "content");
        let words = ["Hello", "--dialect", dialect];
        let (code, stdout, stderr) = run_prompt(&place, &words, dialect, script);
        assert_eq!((code, stdout.as_str()), (Some(0), "I look.\nOne. Two.\n"), "{dialect}: {stderr}");
        assert!(stderr.contains("read {\"path\":\"a.txt\"}"), "{dialect}: {stderr}");
    }
}

#[test]
fn the_text_on_stdin_follows_the_prompt() {
    let place = Place::new();
    let script = place.script(json!({"responses": [
        {"when": {"user": "Review\n\ndiff --git"}, "text": "Reviewed."},
        {"when": {"user": "only stdin"}, "text": "Read."},
    ], "default": {"text": "Another prompt."}}));
    let program = agentese();
    let agent = ["--", program.to_str().unwrap(), "--mode", "rpc", "--script", &script];
    let run =
        |words: &[&str], stdin: &str| run_with_stdin(&place, &[&["run"], words, &agent].concat(), stdin);
    assert_eq!(run(&["Review"], "diff --git\n").1, "Reviewed.\n");
    assert_eq!(run(&[], "only stdin\n").1, "Read.\n");
    let (code, stdout, stderr) = run(&[], " \n");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("no prompt given"), "{stderr}");
}

#[test]
fn print_mode_runs_one_prompt() {
    let place = Place::new();
    let (code, stdout, stderr) = run_with_stdin(&place, &["--provider", "scripted", "-p", "Hello"], "");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("Hello"), "{stdout}");
    let (code, _, stderr) = run_with_stdin(&place, &["-p", "one", "two"], "");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("-p takes one prompt, found 2"), "{stderr}");
}

#[test]
fn events_are_json_lines_on_request() {
    let place = Place::new();
    let (code, stdout, stderr) =
        run_prompt(&place, &["Hello", "--json"], "pi", json!({"responses": [{"text": "Here."}]}));
    let events: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(code, Some(0), "{stderr}");
    let text = events.iter().filter(|event| event["type"] == "textGrew").map(|event| event["text"].as_str());
    assert_eq!(text.flatten().collect::<String>(), "Here.");
}

#[test]
fn a_failed_run_is_a_failure() {
    for dialect in DIALECTS {
        let place = Place::new();
        let error = json!({"status": 400, "type": "invalid_request_error", "message": "no such thing"});
        let (code, stdout, stderr) =
            run_prompt(&place, &["Hello"], dialect, json!({"responses": [{"error": error}]}));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{dialect}: {stderr}");
        assert!(stderr.contains("no such thing"), "{dialect}: {stderr}");
    }
}

#[test]
fn a_question_is_denied_unless_its_tool_was_approved() {
    for (words, code, is_written) in [
        (&["Hello"][..], Some(3), false),
        (&["Hello", "--approve", "bash"], Some(3), false),
        (&["Hello", "--approve", "bash,write"], Some(0), true),
    ] {
        let place = Place::new();
        place.put("home/.pi/agent/settings.json", json!({"approval": {"tools": ["write"]}}).to_string());
        let script = one_tool("write", json!({"path": "made.txt", "content": "x"}));
        let (ended, stdout, stderr) = run_prompt(&place, words, "pi", script);
        assert_eq!((ended, stdout.as_str()), (code, "Done.\n"), "{words:?}: {stderr}");
        assert_eq!(place.work().join("made.txt").exists(), is_written, "{words:?}");
        let is_reported = stderr.contains("Denied: Allow write?") && stderr.contains("pass --approve write");
        assert_eq!(is_reported, !is_written, "{stderr}");
    }
}

#[test]
fn an_answer_that_does_not_match_its_schema_is_requested_again() {
    let schema =
        json!({"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}}});
    for (answers, code, stdout, prompts) in [
        (&["{\"count\": 3}"][..], 0, "{\n  \"count\": 3\n}\n", 0),
        (&["There are 3.", "```json\n{\"count\":3}\n```"], 0, "{\n  \"count\": 3\n}\n", 1),
        (&["a", "b", "c", "{\"count\":3}"], 1, "", 2),
    ] {
        let place = Place::new();
        place.put("work/schema.json", schema.to_string());
        let responses: Vec<Value> = answers.iter().map(|text| json!({"text": text})).collect();
        let words = ["How many?", "--output-schema", "schema.json"];
        let (ended, printed, stderr) = run_prompt(&place, &words, "pi", json!({"responses": responses}));
        assert_eq!((ended, printed.as_str()), (Some(code), stdout), "{answers:?}: {stderr}");
        assert_eq!(stderr.matches("asking again").count(), prompts, "{stderr}");
    }
    let place = Place::new();
    place.put("work/schema.json", "{\"type\": 7}");
    let (code, _, stderr) = run_with_stdin(&place, &["run", "Hello", "--output-schema", "schema.json"], "");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("not a JSON Schema"), "{stderr}");
}

#[test]
fn a_session_is_continued() {
    let place = Place::new();
    let (code, _, stderr) = run_with_stdin(&place, &["run", "first words", "--provider", "scripted"], "");
    assert_eq!(code, Some(0), "{stderr}");
    let (code, _, stderr) =
        run_with_stdin(&place, &["run", "second words", "--continue", "--provider", "scripted"], "");
    assert_eq!(code, Some(0), "{stderr}");
    let sessions: Value = serde_json::from_str(&place.output(&["sessions", "--json"]).1).unwrap();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
    assert_eq!(sessions[0]["firstMessage"], "first words");
}

#[test]
fn options_without_effect_and_unusable_agents_are_rejected() {
    let place = Place::new();
    for (words, code, reason) in [
        (&["run", "x", "--model", "m", "--", "true"][..], 2, "--model selects a model of agentese"),
        (&["run", "x", "--image", "a.bmp"], 2, "unknown type of image; known: png"),
        (&["run", "x", "--image", "none.png"], 1, "--image none.png: "),
        (&["run", "x", "--dialect", "pi"], 2, "AGENT"),
        (&["run", "x", "--", "/nowhere/agent"], 1, "/nowhere/agent"),
        (&["run", "x", "--", "true"], 1, "not recognised"),
        (&["run", "x"], 1, "No model is selected"),
    ] {
        let (ended, stdout, stderr) = run_with_stdin(&place, words, "");
        assert_eq!((ended, stdout.as_str()), (Some(code), ""), "{words:?}: {stderr}");
        assert!(stderr.contains(reason), "{words:?}: {stderr}");
    }
}
