//! Rows for the allowances of Opal, Operator and other dialects outside the pi family.

use serde_json::{Value, json};

use crate::rows::*;

pub fn others() -> Vec<Row> {
    let row = |dialect, allowance, golden, holds, misses| Row { dialect, allowance, golden, holds, misses };
    let start = event(json!({"type": "agent_start"}));
    let ready = [event(json!({"type": "ready"})), start.clone()].concat();
    let twice = [event(json!({"type": "ready"})), ready.clone()].concat();
    let widget = |key: &str| {
        event(json!({"type": "extension_ui_request", "id": "w", "method": "setWidget", "widgetKey": key}))
    };
    let developer = |attribution: Value| {
        let message = json!({"role": "developer", "content": [], "attribution": attribution});
        event(json!({"type": "message_start", "message": message}))
    };
    let nobody = event(json!({"type": "message_start", "message": {"role": "developer", "content": []}}));
    let note = user(json!({"attribution": "user"}));
    let prompt = |answers: &[Value]| -> Lines {
        let mut lines = vec![('>', json!({"id": "p", "type": "prompt", "message": "Hi"}))];
        lines.extend(answers.iter().map(|answer| ('<', answer.clone())));
        lines
    };
    let (no, yes) = (failure(Some("p"), "prompt", "no"), succeeded("p", "prompt"));
    let state = |more: Value| data("get_state", more);
    let typeless = |name: &str, success: bool| {
        command_and_answer(
            json!({"x": 1}),
            json!({"type": "response", "command": name, "success": success, "error": "no"}),
        )
    };
    let verified = |status: &str| {
        event(json!({"type": "subagent_end", "id": "s", "verification": {
            "requested": true, "status": status, "attempts": []
        }}))
    };
    let notice = |kind: &str| {
        event(
            json!({"jsonrpc": "2.0", "method": "agent/event", "params": {"type": kind, "session_id": "s", "raw": "x"}}),
        )
    };
    let models = |name: &str, id: &str| {
        rpc(json!({"result": {"models": [
            {"id": "a", "name": name, "provider": "p", "supports_thinking": false}, {"id": id, "name": "B", "provider": "p", "supports_thinking": false}
        ]}}))
    };
    let typed = |name: Value| with(models("A", "b")[1].1.clone(), "/result/models/0/name", name);
    let sent = |method: &str, params: Value, answer: Value| {
        let mut lines = answered(method, answer);
        lines[0].1["params"] = params;
        lines
    };
    let refused = |code: Value| json!({"error": {"code": code, "message": "no"}});
    let level = |level: &str| json!({"session_id": "s", "level": level});
    let model_level = |level: &str| json!({"session_id": "s", "model_id": "gpt-4o", "thinking_level": level});
    let chosen = json!({"provider": "copilot", "id": "gpt-4o", "thinking_level": "off"});
    let error = |code: i64| rpc(json!({"error": {"code": code, "message": "wrong"}}));
    let end = |output: Value| {
        event(json!({"jsonrpc": "2.0", "method": "agent/event", "params": {
            "type": "tool_execution_end", "session_id": "s", "tool": "shell", "call_id": "c", "result": {"ok": true, "output": output}
        }}))
    };
    let started = |result: Value| answered("session/start", json!({"result": result}));
    let opened = |folder: &str| started(json!({"session_id": "s", "session_dir": folder}));
    let operator_state = |more: Value| {
        command_and_answer(
            json!({"id": "a", "type": "get_state"}),
            json!({"type": "response", "command": "get_state", "id": "a", "success": true, "data": more}),
        )
    };
    vec![
        row("omp", "not-ready", ready.clone(), start.clone(), twice),
        row("omp", "bundled-widget", widget("autoresearch"), Vec::new(), widget("other")),
        row("omp", "not-in-the-document", note.clone(), user(json!({})), user(json!({"timestamp": "x"}))),
        row("omp", "no-attribution", developer(json!("agent")), nobody, developer(json!("user"))),
        row(
            "omp",
            "acknowledged-first",
            prompt(&[no.clone(), yes.clone()]),
            prompt(&[yes.clone(), no.clone()]),
            prompt(&[no]),
        ),
        row(
            "omp",
            "thinking-off",
            state(json!({"isStreaming": false})),
            state(json!({"isStreaming": false, "thinkingLevel": "off"})),
            state(json!({"isStreaming": false, "thinkingLevel": "low"})),
        ),
        row("omp", "any-name", typeless("x", false), typeless("y", false), typeless("y", true)),
        row(
            "pisces",
            "repaired-is-passed",
            verified("retried_passed"),
            verified("passed"),
            verified("failed"),
        ),
        row("opal", "undocumented-events", notice("unknown"), Vec::new(), notice("agent_start")),
        row(
            "opal",
            "other-models",
            models("A", "b"),
            models("Other", "c"),
            vec![models("A", "b")[0].clone(), ('<', typed(json!(7)))],
        ),
        row(
            "opal",
            "refused-argument",
            sent("session/start", json!({"system_prompt": 5}), json!({"result": {"session_id": "s"}})),
            sent("session/start", json!({"system_prompt": 5}), refused(json!(-32602))),
            sent("session/start", json!({"system_prompt": 5}), refused(json!("no"))),
        ),
        row(
            "opal",
            "refused-directory",
            sent("session/start", json!({"working_dir": "/no/such"}), json!({"result": {"session_id": "s"}})),
            sent("session/start", json!({"working_dir": "/no/such"}), refused(json!(-32602))),
            sent("session/start", json!({"working_dir": "/no/such"}), refused(json!("no"))),
        ),
        row(
            "opal",
            "refused-level",
            sent("thinking/set", level("bogus"), json!({"result": {"thinking_level": "off"}})),
            sent("thinking/set", level("bogus"), refused(json!(-32602))),
            sent("thinking/set", level("bogus"), refused(json!("no"))),
        ),
        row(
            "opal",
            "refused-model-level",
            sent("model/set", model_level("extreme"), json!({"result": {"model": chosen.clone()}})),
            sent("model/set", model_level("extreme"), refused(json!(-32602))),
            sent("model/set", model_level("extreme"), refused(json!("no"))),
        ),
        row("opal", "invalid-params", error(-32603), error(-32602), error(-32601)),
        row("opal", "tool-words", end(json!("a")), end(json!("b")), end(json!(7))),
        row("opal", "session-folder", opened("/a/b"), opened("/c/d"), opened("/c/d.x")),
        row(
            "opal",
            "no-node",
            started(json!({"session_id": "s", "node_name": "x"})),
            started(json!({"session_id": "s"})),
            started(json!({"session_id": "s", "node_name": "y"})),
        ),
        row(
            "opal",
            "not-in-the-document",
            rpc(json!({"result": {"models": [], "more": 1}})),
            rpc(json!({"result": {"models": []}})),
            rpc(json!({"result": {"more": 1}})),
        ),
        row("opal", "signal-exit", exit(true, -15), exit(true, 143), exit(true, 2)),
        row("operator", "signal-exit", exit(true, -15), exit(true, 143), exit(true, 2)),
        row(
            "operator",
            "session-folder",
            operator_state(json!({"phase": "idle", "session_file": "/a/b.jsonl"})),
            operator_state(json!({"phase": "idle", "session_file": "/c/d.jsonl"})),
            operator_state(json!({"phase": "idle", "session_file": "/c/d.txt"})),
        ),
        row(
            "operator",
            "not-in-the-document",
            operator_state(json!({"phase": "idle", "more": 1})),
            operator_state(json!({"phase": "idle"})),
            operator_state(json!({"more": 1})),
        ),
    ]
}
