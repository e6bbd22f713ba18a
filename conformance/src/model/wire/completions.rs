//! Streaming format of OpenAI Chat Completions.

use agentese::types::ScriptStop;
use agentese_script::Kind;
use serde_json::{Value, json};

use super::{Answer, StreamParts};

pub(super) fn write(out: &mut StreamParts, answer: &Answer<'_>) {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{:04}", answer.number), "object": "chat.completion.chunk",
            "created": 1_700_000_000, "model": answer.model, "choices": choices,
        })
    };
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]))
    };
    out.data(false, &delta(json!({"role": "assistant", "content": ""}), None));
    let mut calls = 0;
    for block in &answer.blocks {
        match &block.kind {
            Kind::Text => {
                for piece in &block.pieces {
                    out.data(true, &delta(json!({"content": piece}), None));
                }
            }
            Kind::Thinking { .. } => {
                for piece in &block.pieces {
                    out.data(true, &delta(json!({"reasoning_content": piece}), None));
                }
            }
            Kind::ToolCall { id, name } => {
                let id = id.clone().unwrap_or_else(|| format!("call_{}_{calls}", answer.number));
                let function = json!({"name": name, "arguments": ""});
                let call = json!({"index": calls, "id": id, "type": "function", "function": function});
                out.data(false, &delta(json!({"tool_calls": [call]}), None));
                for piece in &block.pieces {
                    let call = json!({"index": calls, "function": {"arguments": piece}});
                    out.data(true, &delta(json!({"tool_calls": [call]}), None));
                }
                calls += 1;
            }
        }
    }
    let stop = match &answer.stop {
        ScriptStop::Stop => "stop".to_owned(),
        ScriptStop::Length => "length".to_owned(),
        ScriptStop::ToolUse => "tool_calls".to_owned(),
        other => other.to_string(),
    };
    if !answer.ends {
        return;
    }
    out.data(false, &delta(json!({}), Some(&stop)));
    if let Some(tokens) = answer.tokens {
        // In this API, the number of input tokens includes the cached ones.
        let (input, output) = (tokens.input + tokens.cache_read, tokens.output);
        let mut last = chunk(json!([]));
        last["usage"] = json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        });
        out.data(false, &last);
    }
    out.text("[DONE]");
}
