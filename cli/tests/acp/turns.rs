//! Tests of turns: their updates and their ends.

use serde_json::{Value, json};

use crate::editor::{Editor, all_capabilities, call, text, updates};
use crate::support::process::{Place, assert_gone, pid_in};

#[test]
fn a_turn_streams_thoughts_text_and_calls_and_ends_with_its_answer() {
    let script = json!({"responses": [
        {"blocks": [
            {"thinking": "A file."}, {"text": ["I ", "look."]},
            {"tool": {"name": "edit", "args": {"path": "a.txt", "oldText": "world", "newText": "moon"}}},
        ]},
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "echo out; echo more"}}}]},
        {"blocks": [{"tool": {"name": "read", "args": {"path": "none.txt"}}}]},
        {"text": "Done."},
    ]});
    let mut editor = Editor::plain(script);
    let file = editor.place.put("work/a.txt", "hello\nworld\n");
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    let frames = editor.until_answer(id);
    assert_eq!(frames.last().unwrap()["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(text(&frames, "agent_thought_chunk"), "A file.");
    assert_eq!(text(&frames, "agent_message_chunk"), "I look.Done.");
    let calls = updates(&frames, "tool_call");
    let kinds: Vec<_> = calls.iter().map(|call| &call["kind"]).collect();
    assert_eq!(kinds, ["edit", "execute", "read"]);
    let of = |kind: &str| -> Vec<&Value> {
        let id = &calls.iter().find(|call| call["kind"] == kind).unwrap()["toolCallId"];
        updates(&frames, "tool_call_update")
            .into_iter()
            .filter(|update| update["toolCallId"] == *id)
            .collect()
    };
    let edit = of("edit");
    let statuses: Vec<_> = edit.iter().map(|update| &update["status"]).collect();
    assert_eq!(statuses, ["pending", "in_progress", "completed"]);
    assert_eq!(edit[1]["title"], "edit a.txt");
    assert_eq!(edit[1]["locations"], json!([{"path": file}]));
    let diff = json!({"type": "diff", "path": file, "oldText": "world", "newText": "moon"});
    assert_eq!((&edit[1]["content"][0], &edit[2]["content"][0]), (&diff, &diff));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello\nmoon\n");
    let bash = of("execute").pop().unwrap();
    assert_eq!(bash["content"][0]["content"]["text"].as_str().unwrap().trim(), "out\nmore");
    assert_eq!(of("read").pop().unwrap()["status"], "failed");
    let usage = updates(&frames, "usage_update");
    assert!(usage.iter().all(|usage| usage["size"].as_u64() > usage["used"].as_u64()), "{usage:?}");
    assert_eq!(usage.len(), 4);
}

#[test]
fn a_new_file_is_a_diff_without_a_past_and_todos_are_a_plan() {
    let todo = json!({"ops": [{"op": "replace", "phases": [{"name": "P", "tasks": [
        {"content": "one", "status": "in_progress"}, {"content": "two"},
    ]}]}]});
    let script = json!({"responses": [
        call("write", json!({"path": "new.txt", "content": "fresh"})), call("todo_write", todo), {"text": "ok"},
    ]});
    let place = Place::new();
    place.put("home/.pi/agent/settings.json", "{}");
    let file = place.script(script);
    let agent = ["--mode", "acp", "--script", &file, "--tools", "write,todo_write"];
    let mut editor = Editor::with_command(place.command(&agent), place, json!({}));
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    let frames = editor.until_answer(id);
    let written = updates(&frames, "tool_call_update");
    let written = written.iter().find(|update| update["status"] == "completed").unwrap();
    let path = editor.place.work().join("new.txt");
    assert_eq!(written["content"][0], json!({"type": "diff", "path": path, "newText": "fresh"}));
    let plan = updates(&frames, "plan").pop().unwrap().clone();
    let entry =
        |content: &str, status: &str| json!({"content": content, "priority": "medium", "status": status});
    assert_eq!(plan["entries"], json!([entry("one", "in_progress"), entry("two", "pending")]));
}

#[test]
fn a_turn_stays_open_through_retries_and_its_failure_is_an_error() {
    let overloaded = json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}});
    let script = json!({"responses": [
        overloaded, {"text": "at last"},
        {"error": {"status": 400, "type": "invalid_request_error", "message": "no such thing"}},
        {"text": "half", "stop": "length"},
    ]});
    let place = Place::new();
    place.put("home/.pi/agent/settings.json", r#"{"retry": {"baseDelayMs": 1}}"#);
    let mut editor = Editor::start(place, script, all_capabilities());
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    let frames = editor.until_answer(id);
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    assert_eq!(text(&frames, "agent_message_chunk"), "at last");
    let notice = updates(&frames, "notice").pop().unwrap();
    assert!(notice["title"].as_str().unwrap().starts_with("Trying again in"), "{notice}");
    let id = editor.prompt(&session, "again");
    let failed = editor.until_answer(id).pop().unwrap();
    assert_eq!(failed["error"]["code"], -32603);
    assert!(failed["error"]["message"].as_str().unwrap().contains("no such thing"), "{failed}");
    assert_eq!(editor.run_turn(&session, "more"), "max_tokens");
}

#[test]
fn a_cancelled_turn_is_reported_and_the_next_turn_works() {
    let script = json!({"responses": [
        {"blocks": [{"text": ["half ", "way"]}], "hang_after": 1}, {"text": "whole"},
    ]});
    let mut editor = Editor::plain(script);
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    editor
        .until("the beginning", |frame| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    editor.notify("session/cancel", json!({"sessionId": session}));
    let ended = editor.until_answer(id).pop().unwrap();
    assert_eq!(ended["result"], json!({"stopReason": "cancelled"}));
    // A cancellation without a running turn is not an error.
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.run_turn(&session, "again"), "end_turn");
}

/// Returns a model script that never finishes the answer to the prompt `go`.
pub fn hanging_script() -> Value {
    json!({"responses": [{"when": {"user": "go"}, "keep": true, "hang_after": -1}], "default": {"text": "ok"}})
}

#[test]
fn waiting_prompts_are_cancelled_with_the_first_one() {
    let mut editor = Editor::plain(hanging_script());
    let session = editor.session();
    let first = editor.prompt(&session, "go");
    let second = editor.prompt(&session, "and go on");
    editor.notify("session/cancel", json!({"sessionId": session}));
    for _ in 0..2 {
        let ended = editor.until("an end", |frame| frame.get("result").is_some()).pop().unwrap();
        assert!([first, second].contains(&ended["id"].as_u64().unwrap()));
        assert_eq!(ended["result"]["stopReason"], "cancelled");
    }
    assert_eq!(editor.run_turn(&session, "again"), "end_turn");
}

#[test]
fn a_request_that_is_cancelled_is_answered_as_cancelled() {
    let mut editor = Editor::plain(hanging_script());
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    editor.notify("$/cancel_request", json!({"requestId": 4711}));
    editor.notify("$/cancel_request", json!({"requestId": id}));
    let ended = editor.until_answer(id).pop().unwrap();
    assert_eq!(ended["error"]["code"], -32800);
    assert_eq!(editor.run_turn(&session, "again"), "end_turn");
}

#[test]
fn a_prompt_during_a_turn_steers_it() {
    let script = json!({"responses": [
        {"when": {"user": "go", "tool_results": false}, "blocks": [{"tool": {"name": "bash", "args": {"command": "echo started; while [ ! -e go ]; do sleep 0.05; done"}}}]},
        {"when": {"user": "turn left"}, "text": "left it is"},
    ], "default": {"text": "on"}});
    let mut editor = Editor::plain(script);
    let session = editor.session();
    let first = editor.prompt(&session, "go");
    editor.until("the call", |frame| frame["params"]["update"]["status"] == "in_progress");
    let second = editor.prompt(&session, "turn left");
    // The response to a later request shows that the input was queued before the command ends.
    let unknown = editor.query("session/close", json!({"sessionId": "nobody"}));
    assert_eq!(unknown["error"]["code"], -32002);
    editor.place.put("work/go", "");
    let mut frames = editor.until_answer(first);
    if !frames.iter().any(|frame| frame["id"] == second) {
        frames.extend(editor.until_answer(second));
    }
    assert!(text(&frames, "agent_message_chunk").ends_with("left it is"), "{frames:#?}");
}

#[test]
fn templates_and_skills_are_commands_of_prompts() {
    let place = Place::new();
    place.put("home/.pi/agent/prompts/review.md", "---\ndescription: Looks again\n---\nReview $1 with care.");
    let script = json!({"responses": [{"when": {"user": "Review main.rs with care."}, "text": "reviewed"}]});
    let mut editor = Editor::start(place, script, json!({}));
    let session = editor.session();
    let listed = editor
        .until("commands", |frame| frame["params"]["update"]["sessionUpdate"] == "available_commands_update");
    let commands = &updates(&listed, "available_commands_update")[0]["availableCommands"];
    assert_eq!(
        (&commands[0]["name"], &commands[0]["description"]),
        (&json!("review"), &json!("Looks again"))
    );
    let id = editor.prompt(&session, "/review main.rs");
    assert_eq!(text(&editor.until_answer(id), "agent_message_chunk"), "reviewed");
}

#[test]
fn a_slow_client_receives_everything_in_order() {
    let script = json!({"responses": [{"blocks": [{"text_repeat": {"chunk": "{i} lorem ipsum dolor\n", "n": 5000}}]}]});
    let mut editor = Editor::plain(script);
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    // The pipe is full long before the end of the answer, so the response to this request comes
    // later.
    let list = editor.request("session/list", json!({}));
    let mut frames = editor.until_answer(id);
    if !frames.iter().any(|frame| frame["id"] == list) {
        frames.extend(editor.until_answer(list));
    }
    let said = text(&frames, "agent_message_chunk");
    assert_eq!(said.lines().count(), 5000);
    assert!(said.lines().enumerate().all(|(at, line)| line.starts_with(&format!("{at} "))));
}

#[test]
fn an_editor_that_dies_leaves_no_command_behind() {
    let script = json!({"responses": [call("bash", json!({"command": "echo $$ > pid; sleep 600"}))]});
    let mut editor = Editor::plain(script);
    let session = editor.session();
    editor.prompt(&session, "go");
    editor.until("the call", |frame| frame["params"]["update"]["status"] == "in_progress");
    let pid = pid_in(&editor.place.work().join("pid"));
    drop(editor.end());
    assert_gone(pid);
}
