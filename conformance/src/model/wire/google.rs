//! Streaming format of Google Generative AI. A tool call is sent in a single piece, because the
//! API does not stream arguments.

use agentese::types::ScriptStop;
use agentese_script::Kind;
use serde_json::{Value, json};

use super::{Answer, StreamParts};

pub(super) fn write(out: &mut StreamParts, answer: &Answer<'_>) {
    let chunk = |part: Value| {
        json!({
            "candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}],
            "modelVersion": answer.model, "responseId": format!("resp_{:04}", answer.number),
        })
    };
    for block in &answer.blocks {
        match &block.kind {
            Kind::Text => {
                for piece in &block.pieces {
                    out.data(true, &chunk(json!({"text": piece})));
                }
            }
            Kind::Thinking { signature } => {
                for piece in &block.pieces {
                    out.data(true, &chunk(json!({"text": piece, "thought": true})));
                }
                if let Some(signature) = signature {
                    let part = json!({"text": "", "thought": true, "thoughtSignature": signature});
                    out.data(false, &chunk(part));
                }
            }
            Kind::ToolCall { id, name } => {
                let text = block.pieces.concat();
                // Arguments that are not JSON cannot be sent in this API.
                let arguments: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({}));
                let mut call = json!({"name": name, "args": arguments});
                if let Some(id) = id {
                    call["id"] = json!(id);
                }
                out.data(true, &chunk(json!({"functionCall": call})));
            }
        }
    }
    let reason = match &answer.stop {
        // In this API, a turn with tool calls has the same stop reason as any other.
        ScriptStop::Stop | ScriptStop::ToolUse => "STOP".to_owned(),
        ScriptStop::Length => "MAX_TOKENS".to_owned(),
        other => other.to_string(),
    };
    if !answer.ends {
        return;
    }
    let mut last = chunk(json!({"text": ""}));
    last["candidates"][0]["finishReason"] = json!(reason);
    if let Some(tokens) = answer.tokens {
        let input = tokens.input + tokens.cache_read;
        last["usageMetadata"] = json!({
            "promptTokenCount": input, "cachedContentTokenCount": tokens.cache_read,
            "candidatesTokenCount": tokens.output, "totalTokenCount": input + tokens.output,
        });
    }
    out.data(false, &last);
}
