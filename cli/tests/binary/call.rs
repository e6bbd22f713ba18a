//! Tests of `agentese call`.

use serde_json::{Value, json};

use crate::support::agentese;
use crate::support::process::Place;

/// Command line of a prompt in each dialect.
const PROMPTS: [(&str, [&str; 2]); 6] = [
    ("pi", ["prompt", "--message"]),
    ("pi@1.5", ["prompt", "--message"]),
    ("omp", ["prompt", "--message"]),
    ("pisces", ["prompt", "--message"]),
    ("operator", ["prompt", "--text"]),
    ("opal", ["agent/prompt", "--text"]),
];

/// Runs `agentese call` with this program and a model script as the agent.
fn run_call(place: &Place, words: &[&str], dialect: &str, script: Value) -> (Option<i32>, String, String) {
    let (program, script) = (agentese(), place.script(script));
    let agent = ["--", program.to_str().unwrap(), "--mode", "rpc", "--dialect", dialect, "--script", &script];
    let (status, stdout, stderr) = place.output(&[&["call"], words, &agent].concat());
    (status.code(), stdout, stderr)
}

#[test]
fn a_prompt_prints_the_text_of_its_run() {
    for (dialect, command) in PROMPTS {
        let place = Place::new();
        let script = json!({"responses": [{"text": "One. Two."}], "default": {"text": "Not asked for."}});
        let words = [&["--dialect", dialect][..], &command, &["Hello"]].concat();
        let answer = run_call(&place, &words, dialect, script);
        assert_eq!(answer, (Some(0), "One. Two.\n".to_owned(), String::new()), "{dialect}");
    }
}

#[test]
fn a_prompt_prints_its_events_or_one_object_on_request() {
    let place = Place::new();
    let script = json!({"responses": [{"text": "Here."}]});
    let (code, stdout, _) =
        run_call(&place, &["--events", "prompt", "--message", "Hello"], "pi", script.clone());
    let events: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, &events[0]["type"]), (Some(0), &json!("agent_start")), "{stdout}");
    assert_eq!(events.last().unwrap()["type"], "agent_end");
    let words = ["--output", "json", "prompt", "--message", "Hello"];
    let (_, stdout, _) = run_call(&place, &words, "pi", script);
    assert_eq!(serde_json::from_str::<Value>(&stdout).unwrap(), json!({"answer": null, "text": "Here."}));
}

#[test]
fn a_failed_run_reports_its_reason_and_exits_with_1() {
    for (dialect, command) in PROMPTS {
        for output in ["text", "json"] {
            let place = Place::new();
            let error = json!({"status": 400, "type": "invalid_request_error", "message": "no such thing"});
            let script = json!({"responses": [{"error": error}]});
            let words = [&["--dialect", dialect, "--output", output][..], &command, &["Hello"]].concat();
            let (code, _, stderr) = run_call(&place, &words, dialect, script);
            assert_eq!(code, Some(1), "{dialect}: {stderr}");
            assert!(
                stderr.starts_with("Error: the run failed: ") && stderr.contains("no such thing"),
                "{dialect}: {stderr}"
            );
        }
    }
}

/// Runs `agentese call` with a shell script as the agent.
fn run_call_with_shell(words: &[&str], script: &str) -> (Option<i32>, String) {
    let (status, _, stderr) = Place::new().output(&[&["call"], words, &["--", "sh", "-c", script]].concat());
    (status.code(), stderr)
}

#[test]
fn a_time_limit_holds_for_prompts_and_their_runs() {
    let accepts = r#"read line; echo '{"id":"req-1","type":"response","command":"prompt","success":true}'; "#;
    let words = ["--timeout", "1", "prompt", "--message", "Hello"];
    for script in ["cat > /dev/null", &format!("{accepts} cat > /dev/null")] {
        let (code, stderr) = run_call_with_shell(&words, script);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("`prompt`") && stderr.contains("1s"), "{stderr}");
    }
}

#[test]
fn an_agent_of_another_dialect_is_reported_with_both_names() {
    for (command, [speaks, asked]) in [
        (&["get_state"][..], ["opal", "pi"]),
        (&["prompt", "--message", "Hello"], ["opal", "omp"]),
        (&["agent/prompt", "--text", "Hello"], ["pi", "opal"]),
        (&["opal/ping"], ["omp", "opal"]),
    ] {
        let place = Place::new();
        let words = [&["--dialect", asked][..], command].concat();
        let (code, stdout, stderr) = run_call(&place, &words, speaks, json!({"responses": []}));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.contains(&format!("does not speak {asked}")), "{stderr}");
        assert!(stderr.contains(speaks), "{stderr}");
    }
}

#[test]
fn the_data_of_an_answer_are_json_or_text() {
    let place = Place::new();
    let (code, stdout, stderr) =
        run_call(&place, &["bash", "--command", "echo hi"], "pi", json!({"responses": []}));
    let data: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &data["output"], stderr.as_str()), (Some(0), &json!("hi\n"), ""));
    let words = ["--output", "text", "bash", "--command", "exit 3"];
    let (_, stdout, _) = run_call(&place, &words, "pi", json!({"responses": []}));
    assert!(stdout.lines().any(|line| line == "exitCode: 3"), "{stdout}");
}

#[test]
fn exit_codes_distinguish_rejections_from_usage_errors() {
    let place = Place::new();
    let (code, stdout, stderr) =
        run_call(&place, &["fork", "--entryId", "nowhere"], "pi", json!({"responses": []}));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("Error: `fork` failed: "), "{stderr}");
    let (code, _, stderr) = run_call(&place, &["get_stat"], "pi", json!({"responses": []}));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("get_state"), "{stderr}");
    let (status, _, stderr) = place.output(&["call", "get_state", "--", "false"]);
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("exited with code 1"), "{stderr}");
}

#[test]
fn questions_are_printed_and_answered() {
    let question = r"
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame['type'] == 'bash':
        called = frame['id']
        print(json.dumps({'type': 'extension_ui_request', 'id': 'q', 'method': 'confirm', 'title': 'Sure?', 'message': ''}), flush=True)
    elif frame['type'] == 'extension_ui_response':
        data = {'output': json.dumps(frame), 'exitCode': 0, 'cancelled': False, 'truncated': False}
        print(json.dumps({'id': called, 'type': 'response', 'command': 'bash', 'success': True, 'data': data}), flush=True)
";
    let place = Place::new();
    let agent = place.file("agent.py", question);
    let call = |answer: &[&str]| {
        let words =
            [&["call", "--output", "text"], answer, &["bash", "--command", "x", "--", "python3", &agent]];
        let (status, stdout, stderr) = place.output(&words.concat());
        assert_eq!(status.code(), Some(0), "{stderr}");
        (stdout, stderr)
    };
    let (stdout, stderr) = call(&[]);
    assert!(stdout.contains("cancelled"), "{stdout}");
    assert!(stderr.contains("confirm") && stderr.contains("dismissed"), "{stderr}");
    let (stdout, stderr) = call(&["--answer", r#"confirm={"confirmed":true}"#]);
    assert!(stdout.contains("\"confirmed\": true"), "{stdout}");
    assert!(stderr.contains("answered {\"confirmed\":true}"), "{stderr}");
}

#[test]
fn shells_complete_commands_and_their_parameters() {
    let (_, script, _) = Place::new().output(&["completions", "bash"]);
    for word in ["get_state", "agent/prompt", "--streamingBehavior"] {
        assert!(script.contains(word), "{word}");
    }
}
