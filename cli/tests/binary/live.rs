//! Tests of the program and of the clients with a live agent of Operator.

use agentese::ChildOptions;
use agentese::any::{Agent, Answer, Event, Intent, Options, Question};
use agentese::operator;
use agentese::websocket;
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::live_operator::{COMMAND, KEY, PROGRAM};
use crate::support::LONG;
use crate::support::process::Place;
use crate::web_client::Web;

/// Runs `agentese call` with those arguments, and returns its exit code and output.
fn run_call(words: &[&str]) -> (Option<i32>, String, String) {
    let words = [&["call"], words, &["--"], &COMMAND].concat();
    let (status, stdout, stderr) = Place::new().output(&words);
    for said in [&stdout, &stderr] {
        assert!(!said.contains(KEY), "{words:?}: {said}");
    }
    (status.code(), stdout, stderr)
}

#[test]
fn a_prompt_prints_until_its_run_is_over() {
    for (prompt, text) in [
        ("hello", "Hello there.\n"),
        ("retry", "Hello there.\n"),
        ("tool", "Hello there.\n"),
        // The call cannot prompt a user.
        ("ask", "You said None.\n"),
    ] {
        // For a named revision, options have the names of that revision.
        for (dialect, option) in [("operator@live", "--message"), ("operator", "--text")] {
            let (code, stdout, stderr) = run_call(&["--dialect", dialect, "prompt", option, prompt]);
            assert_eq!((code, stdout.as_str()), (Some(0), text), "{dialect}, {prompt}: {stderr}");
            assert_eq!(stderr.is_empty(), prompt != "ask", "{dialect}, {prompt}: {stderr}");
        }
    }
}

#[test]
fn a_failed_run_reports_its_reason() {
    let (code, _, stderr) = run_call(&["--dialect", "operator@live", "prompt", "--message", "fail"]);
    assert_eq!((code, stderr.as_str()), (Some(1), "Error: the run failed: no such model\n"));
}

#[test]
fn only_the_type_of_a_request_with_a_key_is_printed() {
    let (code, stdout, _) =
        run_call(&["--dialect", "operator@live", "--events", "prompt", "--message", "retry"]);
    let events: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests = events.iter().filter(|event| event["type"] == "before_provider_request");
    let requests: Vec<_> = requests.collect();
    assert_eq!((code, requests.len()), (Some(0), 2), "{stdout}");
    assert!(
        requests.iter().all(|event| **event == json!({"type": "before_provider_request"})),
        "{requests:?}"
    );
    assert_eq!(events.last().unwrap()["type"], "settled");
}

#[test]
fn commands_of_the_live_revision_can_be_called() {
    let data = |words: &[&str]| {
        let (code, stdout, stderr) = run_call(&[&["--dialect", "operator@live"], words].concat());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{words:?}");
        serde_json::from_str::<Value>(&stdout).unwrap_or_default()
    };
    assert_eq!(data(&["get_last_assistant_text"]), json!({"text": null}));
    assert_eq!(data(&["set_thinking_level", "--level", "high"]), json!({"level": "high"}));
    assert_eq!(data(&["switch_session", "--session_path", "/s/a.jsonl"]), json!({"cancelled": false}));
    assert_eq!(data(&["get_session_stats"])["session_id"], "s1");
}

/// Commands of the page reach the agent, and no frame for the page contains the key.
#[tokio::test]
async fn the_page_prompts_a_live_operator_without_its_key() {
    let web = Web::start_with(&Place::new(), "operator", &COMMAND);
    let talk = async {
        let (reader, mut writer, _) = websocket::connect(&web.address).await.unwrap().into_parts();
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"{\"type\":\"prompt\",\"id\":\"p\",\"text\":\"hello\"}\n").await.unwrap();
        let mut seen = Vec::new();
        loop {
            let line = lines.next_line().await.unwrap().expect("a frame");
            assert!(!line.contains(KEY), "{line}");
            let frame: Value = serde_json::from_str(&line).unwrap();
            let is_over = frame["type"] == "settled";
            seen.push(frame);
            if is_over {
                break seen;
            }
        }
    };
    let seen = tokio::time::timeout(LONG, talk).await.unwrap();
    assert!(seen.contains(&json!({"type": "before_provider_request"})), "{seen:?}");
    assert!(seen.iter().any(|frame| frame["id"] == "p" && frame["success"] == true), "{seen:?}");
    let end = seen.iter().find(|frame| frame["type"] == "message_end").unwrap();
    assert_eq!(end["message"]["contents"][0]["content"], "Hello there.");
}

#[tokio::test]
async fn a_live_operator_is_detected_and_its_questions_are_answered() {
    let asked = |question: Question| async move { Some(Answer::Text(question.options[1].clone())) }.boxed();
    let talk = async {
        let child = ChildOptions::new(COMMAND[0]).arg(PROGRAM);
        let agent = Agent::spawn(child, Options::new().on_question(asked)).await.unwrap();
        assert_eq!(agent.dialect(), "operator");
        let mut run = agent.prompt("ask tool retry").await.unwrap();
        let mut grown = String::new();
        let mut tools = 0;
        while let Some(Ok(event)) = run.next().await {
            assert!(!format!("{event:?}").contains(KEY));
            match event {
                Event::TextGrew { text, .. } => grown.push_str(&text),
                Event::ToolEnded { .. } => tools += 1,
                _ => {}
            }
        }
        assert_eq!(
            (run.result().await.unwrap().text().as_str(), grown.as_str(), tools),
            ("You said right.", "You said right.", 1)
        );
        assert_eq!(agent.state().await.unwrap().working, Some(false));
        // The agent would accept a model, but continue with its own.
        assert!(agent.supports(Intent::SetThinking) && !agent.supports(Intent::SetModel));
        assert!(agent.set_model("openai", "gpt-x").await.is_err());
        agent.close().await;
        // The same agent with the typed client of its dialect.
        let client = operator::Client::spawn(COMMAND).unwrap();
        let done = client.prompt("hello").await.unwrap().result().await.unwrap();
        assert_eq!(done.last.unwrap().kind(), "settled");
        let refused = client.set_session_name(" ").await.unwrap_err().to_string();
        assert!(refused.contains("'name' is required"), "{refused}");
    };
    tokio::time::timeout(LONG, talk).await.unwrap();
}
