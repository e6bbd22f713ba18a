//! Rows of the table for tests of allowances. Each has a recording, a permitted difference, and a similar
//! difference that is not permitted.

use serde_json::{Value, json};

pub type Lines = Vec<(char, Value)>;

/// A row of the table: recorded lines, observed lines that the allowance permits, and observed lines that it
/// does not.
pub struct Row {
    pub dialect: &'static str,
    pub allowance: &'static str,
    pub golden: Lines,
    pub holds: Lines,
    pub misses: Lines,
}

pub fn event(value: Value) -> Lines {
    vec![('<', value)]
}

pub fn command_and_answer(command: Value, answer: Value) -> Lines {
    vec![('>', command), ('<', answer)]
}

/// Creates a command, and a successful answer with this data.
pub fn data(command: &str, data: Value) -> Lines {
    let answer = json!({"id": "a", "type": "response", "command": command, "success": true, "data": data});
    command_and_answer(json!({"id": "a", "type": command}), answer)
}

pub fn failure(id: Option<&str>, command: &str, error: &str) -> Value {
    let mut answer = json!({"type": "response", "command": command, "success": false, "error": error});
    if let Some(id) = id {
        answer["id"] = json!(id);
    }
    answer
}

pub fn with(mut value: Value, pointer: &str, new: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    value.pointer_mut(parent).unwrap()[name] = new;
    value
}

pub fn tool(details: Option<Value>) -> Lines {
    let mut result = json!({"content": [{"type": "text", "text": "out"}]});
    if let Some(details) = details {
        result["details"] = details;
    }
    event(
        json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "bash", "result": result, "isError": false}),
    )
}

pub fn user(more: Value) -> Lines {
    let mut message = json!({"role": "user", "content": [{"type": "text", "text": "Hi"}], "timestamp": 1_795_293_436_469_u64});
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event(json!({"type": "message_end", "message": message}))
}

pub fn assistant(usage: Value) -> Lines {
    event(json!({"type": "message_end", "message": {
        "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m", "stopReason": "stop",
        "timestamp": 1_795_293_436_469_u64, "usage": usage
    }}))
}

pub fn update(kind: Value) -> (char, Value) {
    ('<', json!({"type": "message_update", "assistantMessageEvent": kind}))
}

pub fn exit(signal: bool, code: i64) -> Lines {
    let control = |event: &str| json!({"t": 1, "dir": "ctl", "event": event});
    let mut lines: Lines = if signal { vec![('!', control("signal SIGTERM"))] } else { Vec::new() };
    lines.push(('!', json!({"t": 2, "dir": "ctl", "event": "exit", "code": code, "stderr": ""})));
    lines
}

pub fn bash(more: Value) -> Lines {
    let mut result =
        json!({"output": "one\ntwo\nthree\n", "exitCode": 0, "cancelled": false, "truncated": false});
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    data("bash", result)
}

pub fn set_mode(mode: &str, answer: Value, later: &str) -> Lines {
    let command = json!({"id": "m", "type": "set_steering_mode", "mode": mode});
    [
        command_and_answer(command, answer),
        data("get_state", json!({"steeringMode": later, "followUpMode": "all"})),
    ]
    .concat()
}

pub fn switch(path: &str, answer: Value, count: u64) -> Lines {
    let command = json!({"id": "s", "type": "switch_session", "sessionPath": path});
    [
        command_and_answer(command, answer),
        data("get_state", json!({"messageCount": count, "isStreaming": false})),
    ]
    .concat()
}

pub fn succeeded(id: &str, command: &str) -> Value {
    json!({"id": id, "type": "response", "command": command, "success": true})
}

pub fn rpc(result: Value) -> Lines {
    answered("models/list", result)
}

/// Creates a request without parameters, and its answer.
pub fn answered(method: &str, result: Value) -> Lines {
    let command = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}});
    let mut answer = json!({"jsonrpc": "2.0", "id": 1});
    answer.as_object_mut().unwrap().extend(result.as_object().unwrap().clone());
    command_and_answer(command, answer)
}
