//! Helpers for tests: the built program, model scripts for its agents, and waits with a time
//! limit.

use std::path::PathBuf;

use serde_json::{Value, json};

#[path = "../../../sdk-rust/tests/support/long.rs"]
mod long;
pub use long::LONG;

/// Returns the path of the program that Cargo has built.
pub fn agentese() -> PathBuf {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("agentese");
    assert!(program.exists(), "{} is missing: cargo build -p agentese-cli", program.display());
    program
}

/// Returns the result of a future. Fails after [`LONG`].
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: nothing within {LONG:?}"),
    }
}

/// Returns a model script that calls the tool `shell`.
pub fn script(shell: &str) -> Value {
    let call =
        json!({"tool": {"id": "c1", "name": shell, "args": {"command": "echo out-of-it; touch made"}}});
    let several =
        |id: &str| json!({"tool": {"id": id, "name": shell, "args": {"command": format!("echo {id}")}}});
    json!({"responses": [
        {"when": {"user": "tool", "tool_results": false}, "keep": true, "blocks": [{"text": "I look."}, call]},
        {"when": {"user": "tool"}, "keep": true, "text": "I see."},
        {"when": {"user": "hello"}, "keep": true,
            "blocks": [{"thinking": ["h", "m"]}, {"text": ["Hello", " there"]}]},
        {"when": {"user": "hang"}, "keep": true, "blocks": [{"text": ["so ", "far ", "so"]}], "hang_after": 2},
        {"when": {"user": "fail"}, "keep": true, "error": {"status": 400, "type": "invalid_request_error", "message": "no such thing"}},
        {"when": {"user": "slow"}, "keep": true, "blocks": [{"text": ["a", "b", "c", "d", "e", "f"]}], "delay_ms": 120},
        {"when": {"user": "several", "tool_results": false}, "keep": true, "blocks": [
            {"text": ["I ", "look."]}, several("p1"), several("p2"), several("p3")]},
        {"when": {"user": "several"}, "keep": true, "text": "All done."},
        {"when": {"user": "second"}, "keep": true, "text": "To the second."},
    ], "default": {"text": "Not asked for."}})
}
