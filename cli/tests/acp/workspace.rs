//! Tests of the files and terminals that the editor provides.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::editor::{Editor, call, text, updates};
use crate::support::process::Place;

fn script_with_calls(calls: Vec<Value>) -> Value {
    let mut responses = calls;
    responses.push(json!({"text": "Done."}));
    json!({"responses": responses})
}

#[test]
fn files_are_read_and_written_through_the_editor() {
    let script = script_with_calls(vec![
        call("read", json!({"path": "a.txt"})),
        call("edit", json!({"path": "a.txt", "oldText": "unsaved", "newText": "changed"})),
        call("write", json!({"path": "sub/new.txt", "content": "fresh"})),
        call("write", json!({"path": "a.txt", "content": "anew"})),
        call("read", json!({"path": "a.txt", "offset": 9})),
    ]);
    let place = Place::new();
    place.put("work/a.txt", "saved\n");
    let can = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::start(place, script, can);
    let work = editor.place.work();
    let (a, new) = (work.join("a.txt"), work.join("sub/new.txt"));
    let name = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let mut buffers = BTreeMap::from([(name(&a), "first\nunsaved\n".to_owned())]);
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let frames = editor.until_answer_with(turn, |method, params| {
        let path = params["path"].as_str().unwrap().to_owned();
        match method {
            "fs/read_text_file" => match buffers.get(&path) {
                Some(text) => json!({"result": {"content": text}}),
                None => json!({"error": {"code": -32002, "message": "no such file"}}),
            },
            "fs/write_text_file" => {
                buffers.insert(path, params["content"].as_str().unwrap().to_owned());
                json!({"result": {}})
            }
            other => panic!("{other}"),
        }
    });
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    assert_eq!(buffers, BTreeMap::from([(name(&a), "anew".to_owned()), (name(&new), "fresh".to_owned())]));
    // The agent itself has written no file.
    assert_eq!(std::fs::read_to_string(&a).unwrap(), "saved\n");
    assert!(!new.exists());
    let over: Vec<_> = updates(&frames, "tool_call_update")
        .into_iter()
        .filter(|update| ["completed", "failed"].contains(&update["status"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(over[0]["content"][0]["content"]["text"], "first\nunsaved\n");
    let diff = |old: Value, new: &str, path: &std::path::Path| {
        let mut diff = json!({"type": "diff", "path": path, "newText": new});
        if !old.is_null() {
            diff["oldText"] = old;
        }
        diff
    };
    assert_eq!(over[1]["content"][0], diff(json!("unsaved"), "changed", &a));
    assert_eq!(over[2]["content"][0], diff(Value::Null, "fresh", &new));
    assert_eq!(over[3]["content"][0], diff(json!("first\nchanged\n"), "anew", &a));
    assert_eq!(over[4]["status"], "failed");
}

#[test]
fn paths_in_updates_are_those_of_the_tools() {
    let script = script_with_calls(vec![
        call("edit", json!({"path": "@a.txt", "oldText": "one", "newText": "two"})),
        call("write", json!({"path": "~/b.txt", "content": "new"})),
    ]);
    let place = Place::new();
    let a = place.put("work/a.txt", "one");
    let b = place.put("home/b.txt", "old");
    let mut editor = Editor::start(place, script, json!({}));
    let session = editor.session();
    assert_eq!(editor.run_turn(&session, "go"), "end_turn");
    assert_eq!((std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap()), (b"two".to_vec(), b"new".to_vec()));
    let over: Vec<_> = updates(&editor.seen, "tool_call_update")
        .into_iter()
        .filter(|update| update["status"] == "completed")
        .map(|update| &update["content"][0])
        .collect();
    let diff = |path, old, new| json!({"type": "diff", "path": path, "oldText": old, "newText": new});
    assert_eq!(over, [&diff(&a, "one", "two"), &diff(&b, "old", "new")]);
    let places: Vec<_> = updates(&editor.seen, "tool_call_update")
        .into_iter()
        .filter_map(|update| update["locations"][0]["path"].as_str())
        .collect();
    assert!(places.iter().all(|path| [a.to_str(), b.to_str()].contains(&Some(path))), "{places:?}");
    assert!(places.contains(&b.to_str().unwrap()), "{places:?}");
}

#[test]
fn a_file_missing_in_the_editor_is_read_from_disk() {
    let script = script_with_calls(vec![
        call("read", json!({"path": "a.txt"})),
        call("read", json!({"path": "dot.png"})),
    ]);
    let place = Place::new();
    place.put("work/a.txt", "here\n");
    place.put("work/dot.png", b"\x89PNG\r\n\x1a\n");
    let mut editor = Editor::start(place, script, json!({"fs": {"readTextFile": true}}));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let mut asked = Vec::new();
    let frames = editor.until_answer_with(turn, |method, params| {
        asked.push(format!("{method} {}", params["path"].as_str().unwrap().rsplit('/').next().unwrap()));
        json!({"error": {"code": -32603, "message": "the editor has no such buffer"}})
    });
    // An image is not requested as a text file.
    assert_eq!(asked, ["fs/read_text_file a.txt"]);
    let over: Vec<_> = updates(&frames, "tool_call_update")
        .into_iter()
        .filter(|update| update["status"] == "completed" || update["status"] == "failed")
        .collect();
    assert_eq!(over[0]["content"][0]["content"]["text"], "here\n");
}

/// Answers the agent's requests about terminals of the editor.
fn terminal(method: &str, params: &Value, ends: &Value) -> Value {
    match method {
        "terminal/create" => {
            assert_eq!(params["args"][0], "-c", "{params}");
            json!({"result": {"terminalId": "t1"}})
        }
        "terminal/wait_for_exit" => json!({"result": ends}),
        "terminal/output" => json!({"result": {"output": "from the terminal\n", "truncated": false}}),
        "terminal/release" => json!({"result": {}}),
        other => panic!("{other}"),
    }
}

#[test]
fn commands_run_in_a_terminal_of_the_editor() {
    for (ends, status, said) in [
        (json!({"exitCode": 0, "signal": null}), "completed", "from the terminal\n"),
        (json!({"exitCode": 3}), "failed", "Command exited with code 3"),
        (json!({"exitCode": null, "signal": "SIGTERM"}), "failed", "Command was killed by signal SIGTERM"),
    ] {
        let script = script_with_calls(vec![call("bash", json!({"command": "touch here"}))]);
        let mut editor = Editor::start(Place::new(), script, json!({"terminal": true}));
        let session = editor.session();
        let turn = editor.prompt(&session, "go");
        let mut methods = Vec::new();
        let frames = editor.until_answer_with(turn, |method, params| {
            methods.push(method.to_owned());
            terminal(method, params, &ends)
        });
        assert_eq!(
            methods,
            ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
        );
        assert!(!editor.place.work().join("here").exists());
        let last = updates(&frames, "tool_call_update").pop().unwrap();
        assert_eq!(last["status"], status, "{last}");
        assert_eq!(last["content"], json!([{"type": "terminal", "terminalId": "t1"}]));
        assert!(last["rawOutput"]["text"].as_str().unwrap().contains(said), "{last}");
        assert_eq!(text(&frames, "agent_message_chunk"), "Done.");
    }
}

#[test]
fn a_cancelled_turn_ends_its_command_in_the_terminal() {
    let script = script_with_calls(vec![call("bash", json!({"command": "sleep 600"}))]);
    let mut editor = Editor::start(Place::new(), script, json!({"terminal": true}));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let create = editor.until_request("terminal/create");
    editor.answer(&create, json!({"terminalId": "t1"}));
    let first = editor.until_request("terminal/wait_for_exit");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let kill = editor.until_request("terminal/kill");
    editor.answer(&kill, json!({}));
    let withdrawn = editor.seen.iter().any(|frame| frame["params"]["requestId"] == first["id"]);
    assert!(withdrawn, "the first wait is taken back");
    let again = editor.until_request("terminal/wait_for_exit");
    editor.answer(&again, json!({"exitCode": null, "signal": "SIGKILL"}));
    let output = editor.until_request("terminal/output");
    editor.answer(&output, json!({"output": "half", "truncated": true}));
    let ended = editor.until_answer(turn).pop().unwrap();
    assert_eq!(ended["result"]["stopReason"], "cancelled");
}

#[test]
fn a_terminal_that_fails_to_open_fails_its_call() {
    let script = script_with_calls(vec![call("bash", json!({"command": "ls"}))]);
    let mut editor = Editor::start(Place::new(), script, json!({"terminal": true}));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let frames = editor
        .until_answer_with(turn, |_, _| json!({"error": {"code": -32603, "message": "no more terminals"}}));
    let last = updates(&frames, "tool_call_update").pop().unwrap();
    assert_eq!(last["status"], "failed");
    assert!(last["rawOutput"]["text"].as_str().unwrap().contains("no more terminals"), "{last}");
}

#[test]
fn an_answer_of_the_editor_over_the_limit_fails_its_request() {
    let script = script_with_calls(vec![
        call("write", json!({"path": "a.txt", "content": "a"})),
        call("write", json!({"path": "b.txt", "content": "b"})),
    ]);
    let mut editor = Editor::start(Place::new(), script, json!({"fs": {"writeTextFile": true}}));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let asked = editor.until_request("fs/write_text_file");
    editor.answer(&asked, json!({"_meta": {"long": "x".repeat((64 << 20) + 1)}}));
    let asked = editor.until_request("fs/write_text_file");
    editor.answer(&asked, json!({}));
    let frames = editor.until_answer(turn);
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    let over: Vec<_> = updates(&editor.seen, "tool_call_update")
        .into_iter()
        .filter(|update| ["completed", "failed"].contains(&update["status"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!((&over[0]["status"], &over[1]["status"]), (&json!("failed"), &json!("completed")), "{over:?}");
    let said = over[0]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("the client's answer cannot be read"), "{said}");
}
