//! Tests of the start of a connection, and of invalid requests.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::support::process::Place;

fn uninitialized_editor() -> Editor {
    let place = Place::new();
    let script = place.script(json!({"responses": [], "default": {"text": "ok"}}));
    Editor::uninitialized(place.command(&["--mode", "acp", "--script", &script]), place)
}

#[test]
fn one_version_is_spoken_and_no_login_is_needed() {
    for proposed in [0, 1, 2, 99] {
        let mut editor = uninitialized_editor();
        let answer = editor.query("initialize", json!({"protocolVersion": proposed, "clientInfo": null}));
        let initialized = &answer["result"];
        assert_eq!((&initialized["protocolVersion"], &initialized["authMethods"]), (&json!(1), &json!([])));
        let can = &initialized["agentCapabilities"];
        assert_eq!((&can["loadSession"], &can["promptCapabilities"]["image"]), (&json!(true), &json!(true)));
        for method in ["list", "delete", "resume", "close"] {
            assert_eq!(can["sessionCapabilities"][method], json!({}), "{method}");
        }
        let refused = editor.query("authenticate", json!({"methodId": "login"}));
        assert_eq!(refused["error"]["code"], -32602);
        // The connection still works.
        let session = editor.session();
        assert_eq!(editor.run_turn(&session, "hello"), "end_turn");
    }
}

#[test]
fn invalid_requests_get_the_documented_error_code() {
    let mut editor = uninitialized_editor();
    let mut raw = |line: &str| {
        editor.agent.send_raw(line.as_bytes());
        let frame = editor.read();
        (frame["id"].clone(), frame["error"]["code"].as_i64().unwrap())
    };
    for (line, id, code) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\n", Value::Null, -32700),
        ("[]\n", Value::Null, -32600),
        ("{\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n", Value::Null, -32600),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"session/fork\",\"params\":{}}\n",
            json!("a"),
            -32601,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"_mine/own\"}\n", json!("b"), -32601),
        // A request with the name of a notification is rejected.
        (
            "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"x\"}}\n",
            json!(7),
            -32601,
        ),
        ("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\"}\n", json!(2), -32602),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"session/new\",\"params\":{\"cwd\":7,\"mcpServers\":[]}}\n",
            json!(3),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"session/new\",\"params\":{\"cwd\":\"here\",\"mcpServers\":[]}}\n",
            json!(4),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"session/new\",\"params\":{\"cwd\":\"/no/such/place\",\"mcpServers\":[]}}\n",
            json!(5),
            -32602,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"x\",\"prompt\":[]}}\n",
            json!(6),
            -32002,
        ),
    ] {
        assert_eq!(raw(line), (id, code), "{line}");
    }
}

#[test]
fn notifications_are_never_answered_and_unknown_ones_are_ignored() {
    let mut editor = uninitialized_editor();
    editor.notify("session/cancel", json!({"sessionId": "nobody"}));
    editor.notify("session/cancel", json!({"sessionId": 7}));
    editor.notify("$/cancel_request", json!({"requestId": null}));
    editor.notify("$/progress", json!({}));
    editor.notify("initialize", json!({"protocolVersion": 1}));
    // A response to an unknown request is ignored.
    editor.agent.send(json!({"jsonrpc": "2.0", "id": "forged", "result": {}}));
    let session = editor.session();
    assert_eq!(editor.run_turn(&session, "hello"), "end_turn");
    let answers = editor.seen.iter().filter(|frame| frame.get("method").is_none()).count();
    assert_eq!(answers, 2);
}

#[test]
fn session_options_are_rejected_in_acp_mode() {
    let place = Place::new();
    for (arguments, part) in [
        (&["--mode", "acp", "--continue"][..], "--continue and --resume cannot be combined with --mode acp"),
        (&["--mode", "acp", "--dialect", "omp"], "--dialect cannot be combined with --mode acp"),
        (&["--mode", "rpc", "--dialect", "acp"], "unknown dialect \"acp\""),
    ] {
        let (status, stdout, stderr) = place.output(arguments);
        assert!(!status.success() && stdout.is_empty(), "{arguments:?}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_blank_prompt_is_rejected_before_it_is_stored() {
    let mut editor = uninitialized_editor();
    editor.query("initialize", json!({"protocolVersion": 1, "clientInfo": null}));
    let session = editor.session();
    let text = |text: &str| json!({"type": "text", "text": text});
    for prompt in [json!([]), json!([text("")]), json!([text(" "), text("\n\t")]), json!([text("\u{200b}")])]
    {
        let refused = editor.query("session/prompt", json!({"sessionId": session, "prompt": prompt}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let message = refused["error"].to_string();
        assert!(
            message.contains("The message is blank: it has neither visible text nor an image"),
            "{message}"
        );
    }
    assert_eq!(editor.run_turn(&session, "hello"), "end_turn");
}

#[test]
fn limits_on_the_command_line_end_a_run_with_an_error() {
    let failing = json!({"blocks": [{"tool": {"name": "read", "args": {"path": "nope"}}}]});
    let hanging = json!({"hang_after": -1});
    for (options, answer, reason) in [
        (&["--max-turns", "2"], &failing, "it has had 2 turns"),
        (&["--max-equal-calls", "4"], &failing, "has failed 4 times"),
        (&["--max-time", "0.2"], &hanging, "it has lasted 0.2 s"),
    ] {
        let place = Place::new();
        let script = place
            .script(json!({"responses": [{"when": {"user": "again"}, "text": "ok"}], "default": answer}));
        let words = ["--mode", "acp", "--script", &script, options[0], options[1]];
        let mut editor = Editor::uninitialized(place.command(&words), place);
        editor.query("initialize", json!({"protocolVersion": 1, "clientInfo": null}));
        let session = editor.session();
        let id = editor.prompt(&session, "go");
        let ended = editor.until_answer(id).pop().unwrap();
        assert!(ended["error"]["message"].as_str().unwrap().contains(reason), "{ended}");
        assert_eq!(editor.run_turn(&session, "again"), "end_turn");
    }
}
