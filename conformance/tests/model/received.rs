//! Tests of the recorded requests, which have the same form for all APIs.

use agentese::types::ModelRequest;
use agentese_conformance::model::{ModelOptions, ScriptedModel};
use serde_json::{Value, json};

use crate::http::{post, start};

/// Returns a request whose conversation has all features: system prompt, image, thinking, tool call, results.
fn anthropic() -> Value {
    json!({
        "model": "m", "max_tokens": 10, "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "bash", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Look"}, {"type": "image", "source": {}}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"},
                {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "no"}]},
            ]},
        ],
    })
}

fn completions() -> Value {
    json!({
        "model": "m", "max_tokens": 10, "tools": [{"type": "function", "function": {"name": "bash"}}],
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:"}},
            ]},
            {"role": "assistant", "content": "I look.", "reasoning_content": "Hm.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}},
                {"id": "c2", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
            {"role": "tool", "tool_call_id": "c2", "content": "no"},
        ],
    })
}

fn responses() -> Value {
    json!({
        "model": "m", "max_tokens": 10, "instructions": "Be brief.", "tools": [{"type": "function", "name": "bash"}],
        "input": [
            {"role": "user", "content": [
                {"type": "input_text", "text": "Look"}, {"type": "input_image", "image_url": "data:"},
            ]},
            {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{\"command\":\"ls\"}"},
            {"type": "function_call", "call_id": "c2", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
            {"type": "function_call_output", "call_id": "c2", "output": "no"},
        ],
    })
}

fn google() -> Value {
    json!({
        "max_tokens": 10, "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "bash"}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": ""}}]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": true}, {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "bash", "args": {"command": "ls"}}},
                {"functionCall": {"id": "c2", "name": "bash", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "c1", "name": "bash", "response": {"output": "a.txt"}}},
                {"functionResponse": {"id": "c2", "name": "bash", "response": {"output": "no"}}},
            ]},
        ],
    })
}

#[tokio::test]
async fn one_conversation_reads_the_same_in_every_api() {
    let wanted = json!([
        {"role": "user", "text": "Look", "images": 1},
        {"role": "assistant", "text": "I look.", "thinking": "Hm.", "calls": [
            {"id": "c1", "name": "bash", "arguments": {"command": "ls"}},
            {"id": "c2", "name": "bash", "arguments": {}},
        ]},
        {"role": "tool", "results": [{"id": "c1", "text": "a.txt"}, {"id": "c2", "text": "no"}]},
    ]);
    let table = [
        ("/v1/messages", "anthropic-messages", anthropic()),
        ("/v1/chat/completions", "openai-completions", completions()),
        ("/v1/responses", "openai-responses", responses()),
        ("/v1beta/models/m:streamGenerateContent", "google-generative-ai", google()),
    ];
    let model = start(json!({"responses": []})).await;
    for (n, (path, api, body)) in table.into_iter().enumerate() {
        post(model.address(), path, &body).await;
        let request = serde_json::to_value(model.requests().last().unwrap()).unwrap();
        let mut messages = request["messages"].clone();
        for result in messages[2]["results"].as_array_mut().unwrap() {
            // Only one API includes an error flag in each tool result.
            if result["is_error"] == false {
                result.as_object_mut().unwrap().shift_remove("is_error");
            }
        }
        assert_eq!(messages, wanted, "{api}");
        assert_eq!(
            json!([request["n"], request["api"], request["model"], request["system"], request["tools"]]),
            json!([n, api, "m", "Be brief.", ["bash"]])
        );
        assert_eq!(request["options"], json!({"max_tokens": 10}), "{api}");
        assert_eq!(request.get("answer"), None);
    }
}

#[tokio::test]
async fn answers_with_conditions_go_to_their_requests() {
    let script = json!({"responses": [
        {"when": {"user": "Look", "tool_results": true, "system": "brief"}, "text": "seen"},
        {"when": {"body": "c2"}, "text": "by its body"},
        {"text": "first"},
    ]});
    let model = start(script).await;
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "Look"}]});
    let mut said = Vec::new();
    for body in [&plain, &anthropic(), &anthropic()] {
        said.push(post(model.address(), "/v1/messages", body).await.body);
    }
    for (said, wanted) in said.iter().zip(["first", "seen", "by its body"]) {
        assert!(said.contains(wanted), "{said}");
    }
    let answers: Vec<_> = model.requests().iter().map(|request| request.answer).collect();
    assert_eq!(answers, [Some(2), Some(0), Some(1)]);
}

#[tokio::test]
async fn the_log_is_the_declared_format_and_shortens_long_texts() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.jsonl");
    let options = ModelOptions { log: Some(log.clone()), ..ModelOptions::default() };
    let script = serde_json::from_value(json!({"responses": []})).unwrap();
    let model = ScriptedModel::start_with(script, options).await.unwrap();
    let long = "x".repeat(10_000);
    post(model.address(), "/v1/messages", &json!({"messages": [{"role": "user", "content": long}]})).await;
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.len() < 1000, "{text}");
    let request: ModelRequest = serde_json::from_str(text.trim()).unwrap();
    assert!(request.messages[0].text.as_ref().unwrap().ends_with("…[10000 characters]"));
    // Texts are shortened only in the log; the recorded request is complete.
    assert_eq!(model.requests()[0].messages[0].text.as_deref(), Some(long.as_str()));
}

/// The login by device code follows the script.
#[tokio::test]
async fn the_device_login_follows_the_script() {
    let model = start(json!({"responses": [], "device": {"pending": 1}})).await;
    let code = post(model.address(), "/login/device/code", &json!({})).await;
    assert!(code.body.contains("ABCD-1234"), "{}", code.body);
    for wanted in ["authorization_pending", "gho_fake"] {
        let answer = post(model.address(), "/login/oauth/access_token", &json!({})).await;
        assert!(answer.body.contains(wanted), "{}", answer.body);
    }
    assert!(model.requests().is_empty());
    let refusing = start(json!({"responses": [], "device": {"code_status": 503}})).await;
    assert_eq!(post(refusing.address(), "/login/device/code", &json!({})).await.status, 503);
}
