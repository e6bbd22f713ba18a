//! Tests of questions to the user of an editor.

use serde_json::{Value, json};

use crate::editor::{Editor, all_capabilities, call, text, updates};
use crate::support::process::Place;

/// Starts an agent that requires approval of commands.
fn editor_with_approval(script: Value) -> Editor {
    let place = Place::new();
    place.put("home/.pi/agent/settings.json", r#"{"approval": {"tools": ["bash"]}}"#);
    Editor::start(place, script, json!({}))
}

fn running(command: &str) -> Value {
    json!({"responses": [call("bash", json!({"command": command})), {"text": "I see."}], "default": {"text": "ok"}})
}

fn chosen(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

#[test]
fn a_permission_request_names_its_call() {
    let mut editor = editor_with_approval(running("touch here"));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let asked = editor.until_request("session/request_permission");
    let call = &asked["params"]["toolCall"];
    assert_eq!((&call["title"], &call["kind"]), (&json!("`touch here`"), &json!("execute")));
    let told = updates(&editor.seen, "tool_call")[0];
    assert_eq!(told["toolCallId"], call["toolCallId"]);
    let kinds: Vec<_> =
        asked["params"]["options"].as_array().unwrap().iter().map(|option| option["kind"].clone()).collect();
    assert_eq!(kinds, ["allow_once", "reject_once"]);
    editor.answer(&asked, chosen("allow"));
    let frames = editor.until_answer(turn);
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    assert!(editor.place.work().join("here").exists());
}

#[test]
fn a_rejection_does_not_end_the_turn() {
    for answer in [json!({"result": chosen("reject")}), json!({"error": {"code": -32601, "message": "no"}})] {
        let mut editor = editor_with_approval(running("touch here"));
        let session = editor.session();
        let turn = editor.prompt(&session, "go");
        let asked = editor.until_request("session/request_permission");
        let mut frame = json!({"jsonrpc": "2.0", "id": asked["id"]});
        frame.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        editor.agent.send(frame);
        let frames = editor.until_answer(turn);
        assert_eq!(updates(&frames, "tool_call_update").pop().unwrap()["status"], "failed");
        assert_eq!(text(&frames, "agent_message_chunk"), "I see.");
        assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
        assert!(!editor.place.work().join("here").exists());
    }
}

#[test]
fn a_cancelled_turn_withdraws_its_question() {
    let mut editor = editor_with_approval(running("touch here"));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let asked = editor.until_request("session/request_permission");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let frames = editor.until_answer(turn);
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "cancelled");
    let withdrawn = frames.iter().find(|frame| frame["method"] == "$/cancel_request").unwrap();
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    // The protocol requires this answer from editors, but it arrives too late.
    editor.answer(&asked, json!({"outcome": {"outcome": "cancelled"}}));
    assert_eq!(editor.run_turn(&session, "again"), "end_turn");
    assert!(!editor.place.work().join("here").exists());
}

/// Starts an agent with an extension that opens every kind of dialog.
fn editor_with_dialogs(can: Value) -> Editor {
    let place = Place::new();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../extensions/examples/python");
    let script = place.script(json!({"responses": [], "default": {"text": "ok"}}));
    let extension = format!("{examples}/dialogs.py");
    let command = place.command(&["--mode", "acp", "--script", &script, "--extension", &extension]);
    Editor::with_command(command, place, can)
}

#[test]
fn questions_of_extensions_are_permissions_and_forms() {
    let mut editor = editor_with_dialogs(all_capabilities());
    let session = editor.session();
    let turn = editor.prompt(&session, "/dialogs");
    let colour = editor.until_request("session/request_permission");
    let options = &colour["params"]["options"];
    assert_eq!(
        (&colour["params"]["toolCall"]["title"], &options[1]["name"]),
        (&json!("Which colour?"), &json!("green"))
    );
    editor.answer(&colour, chosen(options[1]["optionId"].as_str().unwrap()));
    let sure = editor.until_request("session/request_permission");
    assert_eq!(sure["params"]["toolCall"]["content"][0]["content"]["text"], "It will be green.");
    editor.answer(&sure, chosen("allow"));
    let name = editor.until_request("elicitation/create");
    let field = &name["params"]["requestedSchema"]["properties"]["value"];
    assert_eq!(
        (&name["params"]["message"], &field["description"]),
        (&json!("What is it called?"), &json!("a name"))
    );
    editor.answer(&name, json!({"action": "accept", "content": {"value": "moss"}}));
    let described = editor.until_request("elicitation/create");
    let field = &described["params"]["requestedSchema"]["properties"]["value"];
    assert_eq!(field["default"], "line 1\nline 2");
    editor.answer(&described, json!({"action": "decline"}));
    let frames = editor.until_answer(turn);
    assert_eq!(updates(&frames, "notice").pop().unwrap()["title"], "That is all.");
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    // The tool calls that stand for questions have ended.
    let made = updates(&editor.seen, "tool_call_update");
    assert_eq!(made.iter().filter(|update| update["status"] == "completed").count(), 2);
}

#[test]
fn an_unsupported_form_is_dismissed_and_reported() {
    let mut editor = editor_with_dialogs(json!({}));
    let session = editor.session();
    let turn = editor.prompt(&session, "/dialogs");
    for _ in 0..2 {
        let asked = editor.until_request("session/request_permission");
        editor.answer(&asked, json!({"outcome": {"outcome": "cancelled"}}));
    }
    let frames = editor.until_answer(turn);
    let said = text(&frames, "agent_message_chunk");
    assert!(
        said.contains(
            "the question \"What is it called?\" was dismissed: this client does not support forms"
        ) && said.contains("That is all."),
        "{said}"
    );
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
}

#[test]
fn a_choice_that_refuses_trust_is_a_rejection() {
    let place = Place::new();
    place.put("work/.pi/settings.json", r#"{"steeringMode": "all"}"#);
    let mut editor = Editor::start(place, json!({"responses": [], "default": {"text": "ok"}}), json!({}));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let asked = editor.until_request("session/request_permission");
    let options = asked["params"]["options"].as_array().unwrap();
    let kinds: Vec<_> = options.iter().map(|option| (&option["name"], &option["kind"])).collect();
    assert_eq!(
        kinds,
        [
            (&json!("Do not trust it"), &json!("reject_once")),
            (&json!("Trust it for now"), &json!("allow_once")),
            (&json!("Trust it from now on"), &json!("allow_once")),
        ]
    );
    editor.answer(&asked, chosen(options[0]["optionId"].as_str().unwrap()));
    assert_eq!(editor.until_answer(turn).pop().unwrap()["result"]["stopReason"], "end_turn");
}
