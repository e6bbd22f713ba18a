//! Rows for the allowances of the pi family.

use serde_json::{Value, json};

use crate::rows::*;

pub fn pi() -> Vec<Row> {
    let row = |allowance, golden, holds, misses| Row { dialect: "pi", allowance, golden, holds, misses };
    let totals = json!({"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}});
    let without = |name: &str| {
        let mut totals = totals.clone();
        totals.as_object_mut().unwrap().remove(name);
        assistant(totals)
    };
    let retry = |success: bool, attempt: u64| {
        event(json!({"type": "auto_retry_end", "success": success, "attempt": attempt}))
    };
    let compaction = |more: Value| {
        let mut end = json!({"type": "auto_compaction_end", "aborted": true, "willRetry": false});
        end.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event(end)
    };
    let commands = |description: &str| {
        data(
            "get_commands",
            json!({"commands": [{"name": "fix", "description": description, "source": "prompt"}]}),
        )
    };
    let path = json!("/tmp/x.log");
    let cut = |text: &str| {
        let truncation = json!({"truncated": true, "outputLines": text.len()});
        event(
            json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "bash", "isError": false, "result": {
                "content": [{"type": "text", "text": text}], "details": {"truncation": truncation}
            }}),
        )
    };
    let uncut = event(
        json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "bash", "isError": false, "result": {
            "content": [{"type": "text", "text": "tail"}], "details": {"truncation": {"truncated": false, "outputLines": 4}}
        }}),
    );
    let parse = "Failed to parse command: no";
    let refused =
        |answer: Value| command_and_answer(json!({"id": "f", "type": "fork", "entryId": "gone"}), answer);
    let written = |text: &str, tool: &str| {
        event(json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": tool, "isError": false,
        "result": {"content": [{"type": "text", "text": text}]}}))
    };
    let prompt = ('>', json!({"id": "p", "type": "prompt", "message": "Hi"}));
    let one = ('<', failure(Some("p"), "prompt", "no"));
    let two = ('<', succeeded("p", "prompt"));
    let start = ('<', json!({"type": "agent_start"}));
    let end = ('<', json!({"type": "agent_end", "messages": []}));
    let new = ('>', json!({"id": "n", "type": "new_session"}));
    let renewed = (
        '<',
        json!({"id": "n", "type": "response", "command": "new_session", "success": true, "data": {"cancelled": false}}),
    );
    let big = |id: Value| {
        command_and_answer(
            serde_json::from_str(r#"{"id": 9007199254740993, "type": "abort"}"#).unwrap(),
            json!({"id": id, "type": "response", "command": "abort", "success": true}),
        )
    };
    let sent_id: Value = serde_json::from_str("9007199254740993").unwrap();
    let delta = json!({"type": "text_delta", "contentIndex": 0, "delta": "a"});
    let snapshot = |with_snapshot: bool, text: &str| {
        let mut frame = update(delta.clone()).1;
        if with_snapshot {
            let mut message = assistant(totals.clone())[0].1["message"].clone();
            message["content"] = json!([{"type": "text", "text": text}]);
            frame["message"] = message;
        }
        vec![('<', frame)]
    };
    let session = |file: &str| data("get_session_stats", json!({"sessionFile": file}));
    vec![
        row(
            "refused-argument",
            set_mode("never", succeeded("m", "set_steering_mode"), "never"),
            set_mode("never", failure(Some("m"), "set_steering_mode", "no such mode"), "all"),
            set_mode("never", failure(Some("m"), "set_steering_mode", ""), "all"),
        ),
        row(
            "exact-id",
            big(json!(9_007_199_254_740_992_u64)),
            big(sent_id),
            big(json!(9_007_199_254_740_994_u64)),
        ),
        row(
            "null-text",
            data("get_last_assistant_text", json!({})),
            data("get_last_assistant_text", json!({"text": null})),
            data("get_last_assistant_text", json!({"text": ""})),
        ),
        row(
            "null-result",
            compaction(json!({})),
            compaction(json!({"result": null})),
            compaction(json!({"result": {}})),
        ),
        row(
            "refused-session",
            switch("/work/none.jsonl", succeeded("s", "switch_session"), 0),
            switch("/work/none.jsonl", failure(Some("s"), "switch_session", "no"), 2),
            switch(
                "/work/none.jsonl",
                json!({"id": "s", "type": "response", "command": "switch_session", "success": false, "error": "no", "data": {}}),
                2,
            ),
        ),
        row(
            "closing-events",
            vec![start.clone(), new.clone(), renewed.clone()],
            vec![start.clone(), new.clone(), end.clone(), renewed.clone()],
            vec![start.clone(), new, ('<', json!({"type": "turn_start"})), renewed],
        ),
        row("session-folder", session("/a/b.jsonl"), session("/c/d.jsonl"), session("/c/d.html")),
        row(
            "tool-words",
            written("Wrote 3 bytes", "write"),
            written("3 bytes", "write"),
            written("3 bytes", "read"),
        ),
        row("delta-only", snapshot(true, "a"), snapshot(false, ""), snapshot(true, "")),
        row(
            "skips-blank-lines",
            [
                command_and_answer(json!(""), failure(None, "parse", "no")),
                command_and_answer(json!("x"), failure(None, "parse", "no")),
            ]
            .concat(),
            [vec![('>', json!(""))], command_and_answer(json!("x"), failure(None, "parse", "no"))].concat(),
            vec![('>', json!("")), ('>', json!("x"))],
        ),
        row("start-code", exit(false, 1), exit(false, 2), exit(false, 0)),
        row("signal-exit", exit(true, -15), exit(true, 0), exit(true, 1)),
        row(
            "own-name-and-id",
            refused(failure(None, "parse", parse)),
            refused(failure(Some("f"), "fork", "no")),
            refused(failure(Some("f"), "clone", "no")),
        ),
        row(
            "any-name",
            command_and_answer(json!({"x": 1}), failure(None, "parse", parse)),
            command_and_answer(json!({"x": 1}), failure(None, "unknown", parse)),
            command_and_answer(
                json!({"x": 1}),
                json!({"type": "response", "command": "unknown", "success": true}),
            ),
        ),
        row(
            "one-answer",
            vec![prompt.clone(), one.clone(), two.clone()],
            vec![prompt.clone(), one.clone()],
            vec![prompt, two],
        ),
        row(
            "null-bash",
            data("bash", json!({"output": "", "cancelled": true, "truncated": false})),
            data("bash", json!({"output": "", "exitCode": null, "cancelled": true, "truncated": false})),
            data("bash", json!({"output": "", "exitCode": 1, "cancelled": true, "truncated": false})),
        ),
        row(
            "empty-details",
            tool(Some(json!({}))),
            tool(Some(json!({"truncation": null}))),
            tool(Some(json!({"truncation": 1}))),
        ),
        row(
            "cut-elsewhere",
            bash(json!({"truncated": true})),
            bash(json!({"truncated": true, "output": "three\n"})),
            bash(json!({"truncated": true, "output": "one\n"})),
        ),
        row("cut-facts", cut("long tail"), cut("tail"), uncut),
        row(
            "full-output",
            bash(json!({"truncated": true})),
            bash(json!({"truncated": true, "fullOutputPath": path})),
            bash(json!({"truncated": true, "fullOutputPath": 7})),
        ),
        row(
            "text-for-blocks",
            user(json!({})),
            user(json!({"content": "Hi"})),
            user(json!({"content": "Ho"})),
        ),
        row(
            "no-attachments",
            user(json!({})),
            user(json!({"attachments": []})),
            user(json!({"attachments": [1]})),
        ),
        row("no-total", assistant(totals.clone()), without("totalTokens"), without("output")),
        row(
            "stream-marks",
            vec![update(delta.clone())],
            vec![update(json!({"type": "start"})), update(delta.clone())],
            vec![update(json!({"type": "begin"})), update(delta.clone())],
        ),
        row("retry-attempt", retry(true, 1), retry(true, 2), retry(true, 3)),
        row("plain-description", commands("Fixes (user)"), commands("Fixes"), commands("Mends")),
    ]
}
