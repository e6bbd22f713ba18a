//! Tests of hooks: extensions observe and change the work of the agent.

use serde_json::{Value, json};

use super::host::{agent, command, plain, runs};
use crate::support::process::{Agent, Place};

#[test]
fn input_can_be_handled_and_changed() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], plain());
    agent.prompt("ping");
    let frames = agent.until("the answer", |frame| frame["id"] == "ping");
    assert_eq!(frames[0]["message"], "pong source=rpc");
    assert_eq!((frames.len(), &frames[1]["success"]), (2, &json!(true)));
    agent.prompt("?explain");
    let frames = agent.until_event("agent_end");
    assert_eq!(frames.last().unwrap()["messages"][0]["content"][0]["text"], "Briefly: explain");
}

#[test]
fn last_handler_decides_unless_an_earlier_one_handles_the_input() {
    let place = Place::new();
    let mut agent = agent(&place, &["order"], plain());
    for (text, becomes) in [("both", "second"), ("one", "first")] {
        agent.prompt(text);
        let frames = agent.until_event("agent_end");
        assert!(frames.iter().any(|frame| frame["message"] == "second"));
        assert_eq!(frames.last().unwrap()["messages"][0]["content"][0]["text"], becomes);
    }
    agent.prompt("mine");
    let frames = agent.until("the answer", |frame| frame["id"] == "mine");
    assert_eq!((frames.len(), &frames[0]["success"]), (1, &json!(true)), "{frames:#?}");
}

#[test]
fn context_can_ask_after_its_handler_ended() {
    let place = Place::new();
    let mut agent = agent(&place, &["order"], plain());
    agent.prompt("remembered");
    let dialog = agent.next_dialog();
    assert_eq!(dialog["title"], "Remembered?");
    agent.answer(&dialog, "confirmed", true);
    assert_eq!(agent.next_notice(), "True");
}

#[test]
fn switches_forks_and_compactions_can_be_stopped() {
    let place = Place::new();
    let mut agent = agent(&place, &["cancel"], plain());
    agent.prompt("first");
    agent.until_event("agent_end");
    let before = agent.request(json!({"type": "get_state"}))["data"].clone();
    agent.send(json!({"id": "n", "type": "new_session"}));
    let dialog = agent.next_dialog();
    assert_eq!((&dialog["title"], &dialog["message"]), (&json!("Switch (new)?"), &json!("target=None")));
    agent.answer(&dialog, "confirmed", false);
    let answer = agent.until("the answer", |frame| frame["id"] == "n").pop().unwrap();
    assert_eq!(answer["data"], json!({"cancelled": true}));

    let other = place.work().join("other.jsonl");
    agent.send(json!({"id": "s", "type": "switch_session", "sessionPath": other}));
    let dialog = agent.next_dialog();
    assert_eq!(dialog["message"], json!(format!("target={}", other.display())));
    agent.answer(&dialog, "cancelled", true);
    let answer = agent.until("the answer", |frame| frame["id"] == "s").pop().unwrap();
    assert_eq!(answer["data"], json!({"cancelled": true}));

    let entry = agent.request(json!({"type": "get_fork_messages"}))["data"]["messages"][0]["entryId"].clone();
    let answer = agent.request(json!({"type": "fork", "entryId": entry}));
    assert_eq!(answer["data"], json!({"text": "first", "cancelled": true}));

    let answer = agent.request(json!({"type": "compact"}));
    assert_eq!((&answer["success"], &answer["error"]), (&json!(false), &json!("Compaction cancelled")));
    assert_eq!(agent.request(json!({"type": "get_state"}))["data"], before);

    agent.send(json!({"id": "m", "type": "new_session"}));
    let dialog = agent.next_dialog();
    agent.answer(&dialog, "confirmed", true);
    let frames = agent.until("the answer", |frame| frame["id"] == "m");
    assert_eq!(frames[0]["message"], "switched new");
    assert_eq!(frames[1]["data"], json!({"cancelled": false}));
}

/// An extension that reports the selected model at each change.
const MODELS: &str = r#"
export default function (pi: any) {
  pi.on("session_switch", (_event: unknown, ctx: any) => ctx.ui.notify("switched"));
  pi.on("model_select", (event: any, ctx: any) =>
    ctx.ui.notify(`${event.source} ${event.previousModel?.id} ${event.model.id} ${ctx.model.id}`));
}
"#;

#[test]
fn every_model_change_is_reported() {
    let place = Place::new();
    let file = place.put("installed/models.ts", MODELS);
    place.put(
        "home/.pi/agent/models.json",
        json!({"providers": {"fake": {"baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "k",
            "models": [{"id": "one"}, {"id": "two"}]}}})
        .to_string(),
    );
    let mut command = command(&place, &[], plain());
    command.args(["--provider", "scripted", "--models", "fake/*"]);
    command.arg("-e").arg(file);
    let mut agent = Agent::start(command);
    let scripted =
        agent.request(json!({"type": "get_state"}))["data"]["model"]["id"].as_str().unwrap().to_owned();
    agent.prompt("keep");
    agent.until_event("agent_end");
    let kept = agent.request(json!({"type": "get_state"}))["data"]["sessionFile"].clone();
    agent.send(json!({"type": "new_session"}));
    assert_eq!(agent.next_notice(), "switched");
    let set = json!({"type": "set_model", "provider": "fake", "modelId": "one"});
    agent.send(set.clone());
    assert_eq!(agent.next_notice(), format!("set {scripted} one one"));
    // Selecting the same model is not a change.
    agent.request(set);
    agent.send(json!({"type": "cycle_model"}));
    assert_eq!(agent.next_notice(), "cycle one two two");
    agent.send(json!({"type": "switch_session", "sessionPath": kept}));
    assert_eq!(agent.next_notice(), "switched");
    assert_eq!(agent.next_notice(), format!("restore two {scripted} {scripted}"));
    agent.send(json!({"type": "switch_session", "sessionPath": kept}));
    assert_eq!(agent.next_notice(), "switched");
    agent.send(json!({"type": "cycle_model"}));
    assert_eq!(agent.next_notice(), format!("cycle {scripted} one one"));
}

#[test]
fn hooks_change_runs() {
    let place = Place::new();
    // The model gives this answer only if its input contains the changes.
    let script = json!({"responses": [
        {"when": {"system": "Say SHAPED.", "body": "only the model sees this", "tool_results": false},
         "blocks": [{"tool": {"id": "call", "name": "bash", "args": {"command": "echo quiet"}}}]},
        {"when": {"system": "Say SHAPED.", "tool_results": true}, "text": "heard"},
    ], "default": {"text": "nobody said so"}});
    let mut agent = agent(&place, &["shape"], script);
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    let messages = frames.last().unwrap()["messages"].as_array().unwrap().clone();
    let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "custom", "assistant", "toolResult", "assistant"], "{messages:#?}");
    assert_eq!((&messages[1]["content"], &messages[1]["display"]), (&json!("a hint"), &json!(false)));
    assert_eq!(messages[3]["content"][0]["text"], "QUIET\n");
    assert_eq!(messages[3]["details"], json!({"shaped": true}));
    let compacted = agent.request(json!({"type": "compact"}));
    assert_eq!(
        (&compacted["data"]["summary"], &compacted["data"]["tokensBefore"]),
        (&json!("in short"), &json!(7))
    );
    assert!(agent.seen.iter().any(|frame| frame["message"] == "compacted True in short"));
    // Events without an answer are handled before the next request.
    let turns: Vec<_> =
        agent.seen.iter().filter(|frame| frame["method"] == "notify").map(|f| &f["message"]).collect();
    assert_eq!(turns.first(), Some(&&json!("turn 0")));
}

#[test]
fn failed_handler_is_reported_and_the_event_continues() {
    let place = Place::new();
    let mut agent = agent(&place, &["throw"], runs("touch ran"));
    let state = agent.request(json!({"type": "get_state"}));
    assert_eq!(state["success"], true);
    assert_eq!(agent.seen[0]["event"], "session_start");
    agent.prompt("go");
    agent.until_event("agent_end");
    // Events without an answer may fail a moment later.
    while agent.failures().iter().filter(|frame| frame["event"] == "turn_end").count() < 2 {
        agent.until_event("extension_error");
    }
    let failures: Vec<_> =
        agent.failures().into_iter().map(|frame| frame["event"].as_str().unwrap()).collect();
    let counts =
        [("session_start", 1), ("input", 1), ("before_agent_start", 1), ("context", 2), ("agent_start", 1)];
    for (event, count) in counts.into_iter().chain([("turn_end", 2), ("tool_call", 0), ("tool_result", 0)]) {
        assert_eq!(failures.iter().filter(|name| **name == event).count(), count, "{event}: {failures:?}");
    }
    let errors: Vec<&Value> = agent.failures().into_iter().map(|frame| &frame["error"]).collect();
    assert!(errors.contains(&&json!("before_agent_start failed")), "{errors:?}");
    // A failing guard permits no call.
    let result = agent.seen.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(
        (&result["isError"], &result["result"]),
        (&json!(true), &json!({"content": [{"type": "text", "text": "tool_call failed"}], "details": {}}))
    );
    assert!(!place.work().join("ran").exists());
}

fn rolls(sides: i64) -> Value {
    json!({"responses": [
        {"when": {"system": "rolls a die of any size"},
         "blocks": [{"tool": {"id": "d1", "name": "dice", "args": {"sides": sides}}}]},
    ], "default": {"text": "rolled"}})
}

#[test]
fn tools_of_extensions_are_called() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], rolls(6));
    agent.prompt("roll a die");
    let frames = agent.until_event("agent_end");
    let of = |kind: &str| frames.iter().find(|frame| frame["type"] == kind).unwrap();
    assert_eq!(
        of("tool_execution_update")["partialResult"],
        json!({"content": [{"type": "text", "text": "rolling"}], "details": {"step": 1}})
    );
    assert_eq!(
        (&of("tool_execution_end")["isError"], &of("tool_execution_end")["result"]),
        (&json!(false), &json!({"content": [{"type": "text", "text": "4 of 6"}], "details": {"roll": 4}}))
    );
    super::host::check_runs(&agent.seen);
}

#[test]
fn a_tool_that_fails_is_a_result() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], rolls(0));
    agent.prompt("roll a die");
    let frames = agent.until_event("agent_end");
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(
        (&end["isError"], &end["result"]["content"][0]["text"]),
        (&json!(true), &json!("a die has sides"))
    );
}

#[test]
fn a_tool_is_stopped_by_an_abort() {
    let place = Place::new();
    let mut agent = agent(&place, &["misc"], rolls(-1));
    agent.prompt("roll a die");
    agent.until_event("tool_execution_update");
    agent.send(json!({"id": "abort", "type": "abort"}));
    let frames = agent.until("abort", |frame| frame["id"] == "abort");
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "Operation aborted");
    // The tool was notified of the abort, and the agent did not have to abandon the tool.
    if !frames.iter().any(|frame| frame["message"] == "the die is put away") {
        assert_eq!(agent.next_notice(), "the die is put away");
    }
    let (status, _, stderr) = agent.finish();
    assert_eq!(status.code(), Some(0));
    assert!(!stderr.contains("is dropped"), "{stderr}");
}

#[test]
fn input_blanked_by_extensions_or_templates_is_rejected() {
    let place = Place::new();
    place.put("work/.pi/prompts/nothing.md", "$1");
    let mut agent = agent(&place, &["misc"], plain());
    for message in ["erase", "/nothing"] {
        let refused = agent.request(json!({"type": "prompt", "message": message}));
        assert_eq!(refused["success"], false, "{message}: {refused}");
        assert!(
            refused["error"].as_str().unwrap().starts_with("The message is blank"),
            "{message}: {refused}"
        );
    }
    let refused = agent.request(json!({"type": "steer", "message": "/nothing"}));
    assert!(refused["error"].as_str().unwrap().starts_with("The message is blank"), "{refused}");
    let messages = agent.request(json!({"type": "get_messages"}))["data"]["messages"].clone();
    assert_eq!(messages, json!([]));
}
