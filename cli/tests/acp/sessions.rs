//! Tests of sessions: opening, loading, listing, closing and deleting, and several sessions at
//! once.

use serde_json::json;

use crate::editor::{Editor, all_capabilities, call, text, updates};
use crate::support::process::Place;
use crate::turns::hanging_script;

#[test]
fn a_session_is_loaded_by_another_process_with_its_history_as_updates() {
    let script = json!({"responses": [
        {"blocks": [{"thinking": "Hm."}, {"text": "I write."}, {"tool": {"name": "write", "args": {"path": "a", "content": "A"}}}]},
        {"text": "Done."},
    ]});
    let mut editor = Editor::plain(script);
    let session = editor.session();
    assert_eq!(editor.run_turn(&session, "go"), "end_turn");
    let place = editor.end();
    let script = json!({"responses": [{"when": {"user": "on"}, "text": "further"}]});
    let mut editor = Editor::start(place, script, json!({}));
    let work = editor.place.work();
    let listed = editor.query("session/list", json!({"cwd": work}));
    let known = &listed["result"]["sessions"][0];
    assert_eq!((&known["sessionId"], &known["title"]), (&json!(session), &json!("go")));
    assert_eq!(editor.query("session/list", json!({"cwd": "/elsewhere"}))["result"]["sessions"], json!([]));
    let id = editor.request("session/load", json!({"sessionId": session, "cwd": work, "mcpServers": []}));
    let frames = editor.until_answer(id);
    let order: Vec<_> =
        frames.iter().filter_map(|frame| frame["params"]["update"]["sessionUpdate"].as_str()).collect();
    assert_eq!(
        order,
        [
            "user_message_chunk",
            "agent_thought_chunk",
            "agent_message_chunk",
            "tool_call",
            "agent_message_chunk",
            "usage_update"
        ]
    );
    assert_eq!(text(&frames, "user_message_chunk"), "go");
    assert_eq!(text(&frames, "agent_message_chunk"), "I write.Done.");
    let told = updates(&frames, "tool_call")[0];
    let diff = json!({"type": "diff", "path": work.join("a"), "newText": "A"});
    assert_eq!((&told["status"], &told["content"][0]), (&json!("completed"), &diff));
    assert_eq!(editor.run_turn(&session, "on"), "end_turn");
    // A session can be cancelled after it was loaded, and loaded while it is open.
    editor.notify("session/cancel", json!({"sessionId": session}));
    let id = editor.request("session/load", json!({"sessionId": session, "cwd": work, "mcpServers": []}));
    assert_eq!(text(&editor.until_answer(id), "user_message_chunk"), "goon");
}

#[test]
fn a_session_is_resumed_without_its_history_closed_and_deleted() {
    let mut editor = Editor::plain(json!({"responses": [], "default": {"text": "ok"}}));
    let session = editor.session();
    let work = editor.place.work();
    editor.run_turn(&session, "one");
    assert_eq!(editor.query("session/close", json!({"sessionId": session}))["result"], json!({}));
    let closed = editor.query("session/close", json!({"sessionId": session}));
    assert_eq!(closed["error"]["code"], -32002);
    let id = editor.prompt(&session, "two");
    assert_eq!(editor.until_answer(id).pop().unwrap()["error"]["code"], -32002);
    let id = editor.request("session/resume", json!({"sessionId": session, "cwd": work}));
    let frames = editor.until_answer(id);
    assert!(updates(&frames, "user_message_chunk").is_empty());
    assert_eq!(editor.run_turn(&session, "three"), "end_turn");
    assert_eq!(editor.query("session/delete", json!({"sessionId": session}))["result"], json!({}));
    assert_eq!(editor.query("session/list", json!({}))["result"]["sessions"], json!([]));
    for method in ["session/load", "session/resume"] {
        let params = json!({"sessionId": session, "cwd": work, "mcpServers": []});
        assert_eq!(editor.query(method, params)["error"]["code"], -32002, "{method}");
    }
    assert_eq!(editor.query("session/delete", json!({"sessionId": session}))["error"]["code"], -32002);
    // A prefix of an id is invalid, and a path is too.
    let other = editor.session();
    editor.run_turn(&other, "one");
    for wrong in [&other[..8], "../x", ""] {
        let params = json!({"sessionId": wrong, "cwd": work});
        assert_eq!(editor.query("session/resume", params)["error"]["code"], -32002, "{wrong}");
    }
}

#[test]
fn closing_a_session_cancels_its_turn() {
    let mut editor = Editor::plain(json!({"responses": [{"hang_after": -1}]}));
    let session = editor.session();
    let turn = editor.prompt(&session, "go");
    let close = editor.request("session/close", json!({"sessionId": session}));
    let mut frames = editor.until_answer(close);
    if !frames.iter().any(|frame| frame["id"] == turn) {
        frames.extend(editor.until_answer(turn));
    }
    let ended = frames.iter().find(|frame| frame["id"] == turn).unwrap();
    assert_eq!(ended["result"]["stopReason"], "cancelled");
}

#[test]
fn two_sessions_work_at_once_each_in_its_own_directory() {
    let here = call("bash", json!({"command": "pwd; while [ ! -e go ]; do sleep 0.05; done"}));
    let mut here = here;
    here["when"] = json!({"user": "where", "tool_results": false});
    here["keep"] = json!(true);
    let script = json!({"responses": [
        here,
        {"when": {"system": "Speak of apples."}, "keep": true, "text": "apples"},
        {"when": {"system": "Speak of pears."}, "keep": true, "text": "pears"},
    ]});
    let mut editor = Editor::plain(script);
    let one = editor.place.put("one/AGENTS.md", "Speak of apples.").parent().unwrap().to_owned();
    let two = editor.place.put("two/AGENTS.md", "Speak of pears.").parent().unwrap().to_owned();
    let first = editor.session_in(&one);
    let second = editor.session_in(&two);
    let (turn, other) = (editor.prompt(&first, "where"), editor.prompt(&second, "where"));
    // The turn that started later ends first, without waiting for the other.
    editor.place.put("two/go", "");
    let mut frames = editor.until_answer(other);
    assert!(!frames.iter().any(|frame| frame["id"] == turn));
    editor.place.put("one/go", "");
    frames.extend(editor.until_answer(turn));
    for (session, cwd, word) in [(&first, &one, "apples"), (&second, &two, "pears")] {
        let own: Vec<_> =
            frames.iter().filter(|frame| frame["params"]["sessionId"] == **session).cloned().collect();
        assert_eq!(text(&own, "agent_message_chunk"), word);
        let ended = updates(&own, "tool_call_update").pop().unwrap().clone();
        let said = ended["content"][0]["content"]["text"].as_str().unwrap().trim().to_owned();
        assert_eq!(said, cwd.canonicalize().unwrap().to_str().unwrap());
    }
}

#[test]
fn models_and_levels_are_options() {
    let mut editor = Editor::plain(json!({"responses": [], "default": {"text": "ok"}}));
    let work = editor.place.work();
    let opened = editor.query("session/new", json!({"cwd": work, "mcpServers": []}));
    let session = opened["result"]["sessionId"].clone();
    let options = &opened["result"]["configOptions"];
    assert_eq!(
        (&options[0]["category"], &options[1]["category"]),
        (&json!("model"), &json!("thought_level"))
    );
    let mut set = |option: &str, value: serde_json::Value| {
        let params = json!({"sessionId": session, "configId": option, "value": value});
        editor.query("session/set_config_option", params)
    };
    let set_to = set("thinking", json!("high"));
    assert_eq!(set_to["result"]["configOptions"][1]["currentValue"], "high");
    let model = options[0]["currentValue"].clone();
    assert_eq!(set("model", model.clone())["result"]["configOptions"][0]["currentValue"], model);
    for (option, value) in
        [("model", json!("none/such")), ("thinking", json!(true)), ("colour", json!("red"))]
    {
        assert_eq!(set(option, value)["error"]["code"], -32602, "{option}");
    }
}

#[test]
fn servers_that_cannot_be_used_are_refused_with_a_notice() {
    let mut editor =
        Editor::start(Place::new(), json!({"responses": [], "default": {"text": "ok"}}), all_capabilities());
    let work = editor.place.work();
    let servers = json!([
        {"type": "sse", "name": "old", "url": "http://127.0.0.1:9/", "headers": []},
        {"name": "none", "command": "", "args": [], "env": []},
    ]);
    let opened = editor.query("session/new", json!({"cwd": work, "mcpServers": servers}));
    let session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    let turn = editor.prompt(&session, "go");
    let frames = editor.until_answer(turn);
    let notices = updates(&frames, "notice");
    let titles: Vec<_> = notices.iter().map(|notice| notice["title"].as_str().unwrap()).collect();
    assert!(titles[0].contains("\"old\"") && titles[0].contains("sse"), "{titles:?}");
    assert!(titles[1].contains("\"none\""), "{titles:?}");
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
}

#[test]
fn a_load_that_is_refused_leaves_the_open_session_as_it_is() {
    for (keeping, cwd, code) in
        [(true, "/no/such/place", -32602), (true, "here", -32602), (false, "", -32002)]
    {
        let place = Place::new();
        let script = place.script(hanging_script());
        let mut command = place.command(&["--mode", "acp", "--script", &script]);
        if !keeping {
            command.arg("--no-session");
        }
        let mut editor = Editor::with_command(command, place, json!({}));
        let work = editor.place.work();
        let cwd = if cwd.is_empty() { work.to_str().unwrap() } else { cwd };
        let session = editor.session();
        let turn = editor.prompt(&session, "go");
        for method in ["session/load", "session/resume"] {
            let refused = editor.query(method, json!({"sessionId": session, "cwd": cwd, "mcpServers": []}));
            assert_eq!(refused["error"]["code"], code, "{method}: {refused}");
        }
        assert!(!editor.seen.iter().any(|frame| frame["id"] == turn), "the turn continues");
        editor.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(editor.until_answer(turn).pop().unwrap()["result"]["stopReason"], "cancelled");
        assert_eq!(editor.run_turn(&session, "again"), "end_turn");
    }
}
