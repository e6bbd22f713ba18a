//! Tests of `agentese bridge --to acp`, with which an editor uses agents of other dialects. Each
//! session has its own agent process.

use std::process::Command;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use crate::editor::{Editor, all_capabilities, call, text, updates};
use crate::support::agentese;
use crate::support::process::{Place, assert_gone};

/// Returns the bridge with the reference agent of a dialect behind it.
fn bridge(place: &Place, named: bool, dialect: &str, script: Value, more: &[&str]) -> Command {
    let (program, script) = (agentese(), place.script(script));
    let program = program.to_str().unwrap();
    let mut words = vec!["bridge", "--to", "acp"];
    if named {
        words.extend(["--from", dialect]);
    }
    words.extend(["--", program, "--mode", "rpc", "--dialect", dialect, "--script", &script]);
    words.extend(more);
    place.command(&words)
}

fn editor(dialect: &str, script: Value, can: Value) -> Editor {
    let place = Place::new();
    place.put("home/.pi/agent/settings.json", r#"{"retry": {"baseDelayMs": 1}}"#);
    let command = bridge(&place, true, dialect, script, &[]);
    Editor::with_command(command, place, can)
}

#[test]
fn a_turn_of_an_agent_of_each_dialect_streams_and_ends() {
    for (dialect, shell) in
        [("pi", "bash"), ("omp", "bash"), ("pisces", "bash"), ("opal", "shell"), ("operator", "bash")]
    {
        let script = json!({"responses": [
            {"blocks": [
                {"thinking": "A file."}, {"text": ["I ", "look."]},
                {"tool": {"name": shell, "args": {"command": "echo out"}}},
            ]},
            {"text": "Done."},
        ]});
        let mut editor = editor(dialect, script, json!({}));
        let session = editor.session();
        let id = editor.prompt(&session, "go");
        let frames = editor.until_answer(id);
        assert_eq!(frames.last().unwrap()["result"], json!({"stopReason": "end_turn"}), "{dialect}");
        assert_eq!(text(&frames, "agent_thought_chunk"), "A file.", "{dialect}");
        assert_eq!(text(&frames, "agent_message_chunk"), "I look.Done.", "{dialect}");
        let told = updates(&frames, "tool_call")[0];
        assert_eq!((&told["kind"], &told["name"]), (&json!("execute"), &json!(shell)), "{dialect}");
        let ended = updates(&frames, "tool_call_update").pop().unwrap();
        assert_eq!(ended["status"], "completed", "{dialect}");
        let said = ended["content"][0]["content"]["text"].as_str().unwrap();
        assert!(said.contains("out"), "{dialect}: {said}");
        assert_eq!(editor.query("session/close", json!({"sessionId": session}))["result"], json!({}));
        editor.end();
    }
}

#[test]
fn an_edit_is_a_diff_and_usage_is_reported() {
    let edit = json!({"path": "a.txt", "oldText": "world", "newText": "moon"});
    let script = json!({"responses": [
        {"blocks": [{"tool": {"name": "edit", "args": edit}}], "usage": {"input": 900, "output": 100}},
        {"text": "Done."},
    ]});
    let mut editor = editor("pi", script, json!({}));
    let file = editor.place.put("work/a.txt", "hello\nworld\n");
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    let frames = editor.until_answer(id);
    let ended = updates(&frames, "tool_call_update").pop().unwrap();
    let diff = json!({"type": "diff", "path": file, "oldText": "world", "newText": "moon"});
    assert_eq!((&ended["status"], &ended["content"][0]), (&json!("completed"), &diff));
    let placed = updates(&frames, "tool_call_update");
    assert!(placed.iter().any(|update| update["locations"] == json!([{"path": file}])), "{placed:#?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "hello\nmoon\n");
    let usage = updates(&frames, "usage_update");
    assert!(usage[0]["used"].as_u64().unwrap() > 0 && usage[0]["size"].as_u64() > usage[0]["used"].as_u64());
}

#[test]
fn a_question_of_the_agent_is_a_permission_and_a_rejection_does_not_end_the_turn() {
    for (answer, ran) in [("allow", true), ("reject", false)] {
        let place = Place::new();
        place.put("home/.pi/agent/settings.json", r#"{"approval": {"tools": ["bash"]}}"#);
        let script =
            json!({"responses": [call("bash", json!({"command": "touch here"})), {"text": "I see."}]});
        let command = bridge(&place, true, "pi", script, &[]);
        let mut editor = Editor::with_command(command, place, json!({}));
        let session = editor.session();
        let turn = editor.prompt(&session, "go");
        let asked = editor.until_request("session/request_permission");
        let kinds =
            asked["params"]["options"].as_array().unwrap().iter().map(|option| option["kind"].clone());
        assert_eq!(kinds.collect::<Vec<_>>(), ["allow_once", "reject_once"]);
        editor.answer(&asked, json!({"outcome": {"outcome": "selected", "optionId": answer}}));
        let frames = editor.until_answer(turn);
        assert_eq!(text(&frames, "agent_message_chunk"), "I see.");
        assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
        assert_eq!(editor.place.work().join("here").exists(), ran);
    }
}

#[test]
fn a_turn_of_a_bridged_agent_stays_open_through_retries() {
    let overloaded = json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}});
    let refused =
        json!({"error": {"status": 400, "type": "invalid_request_error", "message": "no such thing"}});
    let script = json!({"responses": [overloaded, {"text": "at last"}, refused]});
    let mut editor = editor("pi", script, all_capabilities());
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    let frames = editor.until_answer(id);
    assert_eq!(frames.last().unwrap()["result"]["stopReason"], "end_turn");
    assert_eq!(text(&frames, "agent_message_chunk"), "at last");
    let notice = updates(&frames, "notice").pop().unwrap();
    assert!(notice["title"].as_str().unwrap().starts_with("Trying again in"), "{notice}");
    let id = editor.prompt(&session, "again");
    let failed = editor.until_answer(id).pop().unwrap();
    assert!(failed["error"]["message"].as_str().unwrap().contains("no such thing"), "{failed}");
}

#[test]
fn a_turn_of_a_bridged_agent_is_cancelled() {
    for dialect in ["pi", "omp"] {
        let script = json!({"responses": [
            {"blocks": [{"text": ["half ", "way"]}], "hang_after": 1}, {"text": "whole"},
        ]});
        let mut editor = editor(dialect, script, json!({}));
        let session = editor.session();
        let id = editor.prompt(&session, "go");
        editor.until("the beginning", |frame| {
            frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        });
        editor.notify("session/cancel", json!({"sessionId": session}));
        let ended = editor.until_answer(id).pop().unwrap();
        assert_eq!(ended["result"], json!({"stopReason": "cancelled"}), "{dialect}");
        assert_eq!(editor.run_turn(&session, "again"), "end_turn", "{dialect}");
    }
}

#[test]
fn a_bridged_session_is_listed_loaded_and_resumed_by_another_bridge() {
    for dialect in ["pi", "omp"] {
        let script = json!({"responses": [
            {"blocks": [{"text": "I write."}, {"tool": {"name": "write", "args": {"path": "a", "content": "A"}}}]},
            {"text": "Done."},
        ]});
        let mut before = editor(dialect, script, json!({}));
        let session = before.session();
        assert_eq!(before.run_turn(&session, "go"), "end_turn");
        let place = before.end();
        let script = json!({"responses": [], "default": {"text": "further"}});
        // Without a name, the bridge detects the dialect.
        let command = bridge(&place, false, dialect, script, &[]);
        let mut editor = Editor::with_command(command, place, json!({}));
        let work = editor.place.work();
        let listed = editor.query("session/list", json!({"cwd": work}));
        let known = &listed["result"]["sessions"][0];
        assert_eq!((&known["sessionId"], &known["title"]), (&json!(session), &json!("go")), "{dialect}");
        let id = editor.request("session/load", json!({"sessionId": session, "cwd": work, "mcpServers": []}));
        let frames = editor.until_answer(id);
        assert_eq!(text(&frames, "user_message_chunk"), "go", "{dialect}");
        assert_eq!(text(&frames, "agent_message_chunk"), "I write.Done.", "{dialect}");
        let told = updates(&frames, "tool_call")[0];
        let diff = json!({"type": "diff", "path": work.join("a"), "newText": "A"});
        assert_eq!((&told["status"], &told["content"][0]), (&json!("completed"), &diff), "{dialect}");
        assert_eq!(editor.run_turn(&session, "on"), "end_turn");
        let params = json!({"sessionId": session, "cwd": work});
        let id = editor.request("session/resume", params);
        assert!(updates(&editor.until_answer(id), "user_message_chunk").is_empty());
        assert_eq!(editor.run_turn(&session, "on"), "end_turn");
        for wrong in ["nobody", "../x"] {
            let params = json!({"sessionId": wrong, "cwd": work, "mcpServers": []});
            assert_eq!(editor.query("session/load", params)["error"]["code"], -32002, "{dialect}");
        }
        let refused = editor.query("session/delete", json!({"sessionId": session}));
        assert_eq!(refused["error"]["code"], -32602, "{dialect}: {refused}");
    }
}

#[test]
fn a_session_of_opal_is_deleted_by_the_agent() {
    let mut editor = editor("opal", json!({"responses": [], "default": {"text": "ok"}}), json!({}));
    let session = editor.session();
    assert_eq!(editor.run_turn(&session, "go"), "end_turn");
    let work = editor.place.work();
    let listed = editor.query("session/list", json!({"cwd": work}));
    assert_eq!(listed["result"]["sessions"][0]["sessionId"], session.as_str(), "{listed}");
    assert_eq!(editor.query("session/delete", json!({"sessionId": session}))["result"], json!({}));
    assert_eq!(editor.query("session/list", json!({"cwd": work}))["result"]["sessions"], json!([]));
    assert_eq!(editor.query("session/delete", json!({"sessionId": session}))["error"]["code"], -32002);
}

#[test]
fn an_unsupported_load_leaves_the_open_session_unchanged() {
    // Tested are pi without a session file, and Operator, which never has one.
    for dialect in ["pi", "operator"] {
        let place = Place::new();
        let hangs = json!({"responses": [{"blocks": [{"text": ["half ", "way"]}], "hang_after": 1}],
            "default": {"text": "ok"}});
        let command = bridge(&place, true, dialect, hangs, &["--no-session"]);
        let mut editor = Editor::with_command(command, place, json!({}));
        let work = editor.place.work();
        let session = editor.session();
        let turn = editor.prompt(&session, "go");
        let params = json!({"sessionId": session, "cwd": work, "mcpServers": []});
        let refused = editor.query("session/resume", params);
        assert_eq!(refused["error"]["code"], -32002, "{dialect}: {refused}");
        assert!(!editor.seen.iter().any(|frame| frame["id"] == turn), "{dialect}: the turn continues");
        editor.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(
            editor.until_answer(turn).pop().unwrap()["result"]["stopReason"],
            "cancelled",
            "{dialect}"
        );
        assert_eq!(editor.run_turn(&session, "again"), "end_turn", "{dialect}");
        assert_eq!(children(&editor).len(), 1, "{dialect}");
    }
}

#[test]
fn opal_sessions_are_listed_with_their_directory_if_known() {
    let script = || json!({"responses": [], "default": {"text": "ok"}});
    let mut before = editor("opal", script(), json!({}));
    let (work, session) = (before.place.work(), before.session());
    assert_eq!(before.run_turn(&session, "go"), "end_turn");
    let listed = |editor: &mut Editor, params: Value| {
        editor.query("session/list", params)["result"]["sessions"].clone()
    };
    let first = listed(&mut before, json!({}))[0].clone();
    assert_eq!((&first["sessionId"], &first["cwd"]), (&json!(session), &json!(work)));
    assert!(!first["title"].to_string().contains("unknown directory"), "{first}");
    for wrong in ["work", "/nowhere/at/all"] {
        assert_eq!(before.query("session/list", json!({"cwd": wrong}))["error"]["code"], -32602, "{wrong}");
    }
    let place = before.end();
    let command = bridge(&place, true, "opal", script(), &[]);
    let mut after = Editor::with_command(command, place, json!({}));
    let told = listed(&mut after, json!({}))[0].clone();
    assert_eq!(told["sessionId"], session.as_str());
    assert!(told["title"].as_str().unwrap().ends_with("(unknown directory)"), "{told}");
    let told = listed(&mut after, json!({"cwd": work}))[0].clone();
    assert_eq!((&told["sessionId"], &told["cwd"]), (&json!(session), &json!(work)));
    assert!(!told["title"].to_string().contains("unknown directory"), "{told}");
}

#[test]
fn models_and_levels_of_a_bridged_agent_are_options() {
    let mut editor = editor("pi", json!({"responses": [], "default": {"text": "ok"}}), json!({}));
    let work = editor.place.work();
    let opened = editor.query("session/new", json!({"cwd": work, "mcpServers": []}));
    let session = opened["result"]["sessionId"].clone();
    let options = &opened["result"]["configOptions"];
    assert_eq!(
        (&options[0]["category"], &options[1]["category"]),
        (&json!("model"), &json!("thought_level"))
    );
    let params = json!({"sessionId": session, "configId": "thinking", "value": "high"});
    let set = editor.query("session/set_config_option", params);
    assert_eq!(set["result"]["configOptions"][1]["currentValue"], "high");
    assert_eq!(editor.run_turn(session.as_str().unwrap(), "go"), "end_turn");
    // An agent that offers no choices has no session options.
    let mut editor = self::editor("operator", json!({"responses": [], "default": {"text": "ok"}}), json!({}));
    let opened = editor.query("session/new", json!({"cwd": work, "mcpServers": []}));
    assert_eq!(opened["result"]["configOptions"], json!([]));
    let session = opened["result"]["sessionId"].clone();
    let params = json!({"sessionId": session, "configId": "model", "value": "a/b"});
    assert_eq!(editor.query("session/set_config_option", params)["error"]["code"], -32602);
}

#[test]
fn mcp_servers_are_refused_with_a_notice_and_the_session_works() {
    let mut editor = editor("pi", json!({"responses": [], "default": {"text": "ok"}}), all_capabilities());
    let work = editor.place.work();
    let server = json!({"name": "db", "command": "/bin/db", "args": [], "env": []});
    let opened = editor.query("session/new", json!({"cwd": work, "mcpServers": [server]}));
    let session = opened["result"]["sessionId"].as_str().unwrap().to_owned();
    let id = editor.prompt(&session, "go");
    let frames = editor.until_answer(id);
    let notice = updates(&editor.seen, "notice")[0];
    assert!(notice["title"].as_str().unwrap().contains("\"db\" is ignored"), "{notice}");
    assert_eq!(text(&frames, "agent_message_chunk"), "ok");
}

/// Returns the live child processes of the bridge.
fn children(editor: &Editor) -> Vec<Pid> {
    let bridge = editor.agent.pid().as_raw_nonzero();
    let listed = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
    listed.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect()
}

#[test]
fn each_session_is_a_process_in_its_directory_that_ends_with_it() {
    let here = call("bash", json!({"command": "pwd"}));
    let script = json!({"responses": [here, {"text": "ok"}], "default": {"text": "ok"}});
    let mut editor = editor("pi", script, json!({}));
    let mut sessions = Vec::new();
    for name in ["one", "two"] {
        let directory = editor.place.put(&format!("{name}/file"), "").parent().unwrap().to_owned();
        let session = editor.session_in(&directory);
        let id = editor.prompt(&session, "go");
        let frames = editor.until_answer(id);
        let ended = updates(&frames, "tool_call_update").pop().unwrap();
        let said = ended["content"][0]["content"]["text"].as_str().unwrap().trim().to_owned();
        assert_eq!(said, directory.canonicalize().unwrap().to_str().unwrap());
        sessions.push(session);
    }
    let agents = children(&editor);
    assert_eq!(agents.len(), 2);
    assert_eq!(editor.query("session/close", json!({"sessionId": sessions[0]}))["result"], json!({}));
    assert_eq!(children(&editor).len(), 1);
    assert_eq!(editor.run_turn(&sessions[1], "on"), "end_turn");
    editor.end();
    agents.into_iter().for_each(assert_gone);
}

#[test]
fn an_agent_that_fails_to_start_or_dies_is_reported() {
    let place = Place::new();
    let command = place.command(&["bridge", "--to", "acp", "--from", "pi", "--", "/nowhere/agent"]);
    let mut editor = Editor::with_command(command, place, json!({}));
    let work = editor.place.work();
    let refused = editor.query("session/new", json!({"cwd": work, "mcpServers": []}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("/nowhere/agent"), "{refused}");
    let hangs = json!({"responses": [{"blocks": [{"text": ["half ", "way"]}], "hang_after": 1}]});
    let mut editor = self::editor("pi", hangs, json!({}));
    let session = editor.session();
    let id = editor.prompt(&session, "go");
    editor
        .until("the beginning", |frame| frame["params"]["update"]["sessionUpdate"] == "agent_message_chunk");
    rustix::process::kill_process(children(&editor)[0], Signal::KILL).unwrap();
    let failed = editor.until_answer(id).pop().unwrap();
    assert!(failed["error"]["message"].as_str().unwrap().contains("SIGKILL"), "{failed}");
    let id = editor.prompt(&session, "and now");
    assert!(editor.until_answer(id).pop().unwrap()["error"]["message"].as_str().unwrap().contains("SIGKILL"));
    // The other sessions are unaffected.
    assert_ne!(session, editor.session());
}
