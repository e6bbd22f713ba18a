//! Streaming format of Anthropic Messages.

use agentese::types::ScriptStop;
use agentese_script::Kind;
use serde_json::json;

use super::{Answer, StreamParts};

/// Signature of a thinking block if it is not in the script. The API always sends one.
const SIGNATURE: &str = "c2ln";

pub(super) fn write(out: &mut StreamParts, answer: &Answer<'_>) {
    let mut start = json!({"type": "message_start", "message": {
        "id": format!("msg_{:04}", answer.number), "type": "message", "role": "assistant", "content": [],
        "model": answer.model, "stop_reason": null, "stop_sequence": null,
    }});
    if let Some(tokens) = answer.tokens {
        start["message"]["usage"] = json!({
            "input_tokens": tokens.input, "output_tokens": 1,
            "cache_read_input_tokens": tokens.cache_read, "cache_creation_input_tokens": tokens.cache_write,
        });
    }
    out.event(false, &start);
    for (index, block) in answer.blocks.iter().enumerate() {
        let (start, kind, member) = match &block.kind {
            Kind::Text => (json!({"type": "text", "text": ""}), "text_delta", "text"),
            Kind::Thinking { .. } => {
                (json!({"type": "thinking", "thinking": "", "signature": ""}), "thinking_delta", "thinking")
            }
            Kind::ToolCall { id, name } => {
                let id = id.clone().unwrap_or_else(|| format!("toolu_{}_{index}", answer.number));
                let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                (start, "input_json_delta", "partial_json")
            }
        };
        out.event(false, &json!({"type": "content_block_start", "index": index, "content_block": start}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        for piece in &block.pieces {
            out.event(true, &delta(json!({"type": kind, member: piece})));
        }
        if let Kind::Thinking { signature } = &block.kind {
            let signature = signature.as_deref().unwrap_or(SIGNATURE);
            out.event(false, &delta(json!({"type": "signature_delta", "signature": signature})));
        }
        out.event(false, &json!({"type": "content_block_stop", "index": index}));
    }
    let stop = match &answer.stop {
        ScriptStop::Stop => "end_turn".to_owned(),
        ScriptStop::Length => "max_tokens".to_owned(),
        ScriptStop::ToolUse => "tool_use".to_owned(),
        other => other.to_string(),
    };
    if !answer.ends {
        return;
    }
    let mut last = json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}});
    if let Some(tokens) = answer.tokens {
        last["usage"] = json!({"output_tokens": tokens.output});
    }
    out.event(false, &last);
    out.event(false, &json!({"type": "message_stop"}));
}
