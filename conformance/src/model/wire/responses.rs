//! Streaming format of OpenAI Responses.

use agentese::types::ScriptStop;
use agentese_script::{Block, Kind};
use serde_json::{Value, json};

use super::{Answer, StreamParts};

/// A stream with numbered events.
struct NumberedEvents<'a> {
    out: &'a mut StreamParts,
    number: u64,
}

impl NumberedEvents<'_> {
    fn event(&mut self, is_piece: bool, mut data: Value) {
        data["sequence_number"] = self.number.into();
        self.number += 1;
        self.out.event(is_piece, &data);
    }
}

pub(super) fn write(out: &mut StreamParts, answer: &Answer<'_>) {
    let mut out = NumberedEvents { out, number: 0 };
    let response = |status: &str, output: &[Value], usage: Value| {
        json!({
            "id": format!("resp_{:04}", answer.number), "object": "response", "created_at": 1_700_000_000,
            "status": status, "error": null, "incomplete_details": null, "model": answer.model,
            "output": output, "usage": usage,
        })
    };
    for kind in ["response.created", "response.in_progress"] {
        out.event(false, json!({"type": kind, "response": response("in_progress", &[], Value::Null)}));
    }
    let mut output = Vec::new();
    for (index, block) in answer.blocks.iter().enumerate() {
        output.push(write_block(&mut out, answer.number, index, block));
    }
    if !answer.ends {
        return;
    }
    let usage = answer.tokens.map_or(Value::Null, |tokens| {
        let input = tokens.input + tokens.cache_read;
        json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": tokens.cache_read},
            "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + tokens.output,
        })
    });
    if answer.stop == ScriptStop::Length {
        let mut response = response("incomplete", &output, usage);
        response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        out.event(false, json!({"type": "response.incomplete", "response": response}));
    } else {
        let response = response("completed", &output, usage);
        out.event(false, json!({"type": "response.completed", "response": response}));
    }
}

/// Writes a block, and returns its complete item.
fn write_block(out: &mut NumberedEvents<'_>, number: u64, index: usize, block: &Block) -> Value {
    let whole = block.pieces.concat();
    match &block.kind {
        Kind::Text => {
            let id = format!("msg_{number}_{index}");
            let item = |status: &str, content: Value| json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content});
            let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
            added(out, index, item("in_progress", json!([])));
            let event = |kind: &str, member: &str, value: Value| {
                json!({
                    "type": format!("response.{kind}"), "item_id": id, "output_index": index,
                    "content_index": 0, member: value,
                })
            };
            out.event(false, event("content_part.added", "part", part("")));
            for piece in &block.pieces {
                out.event(true, event("output_text.delta", "delta", json!(piece)));
            }
            out.event(false, event("output_text.done", "text", json!(whole)));
            out.event(false, event("content_part.done", "part", part(&whole)));
            done(out, index, item("completed", json!([part(&whole)])))
        }
        Kind::Thinking { signature } => {
            let id = format!("rs_{number}_{index}");
            let item = |summary: Value| json!({"id": id, "type": "reasoning", "summary": summary, "encrypted_content": signature});
            let part = |text: &str| json!({"type": "summary_text", "text": text});
            added(out, index, item(json!([])));
            let event = |kind: &str, member: &str, value: Value| {
                json!({
                    "type": format!("response.{kind}"), "item_id": id, "output_index": index,
                    "summary_index": 0, member: value,
                })
            };
            out.event(false, event("reasoning_summary_part.added", "part", part("")));
            for piece in &block.pieces {
                out.event(true, event("reasoning_summary_text.delta", "delta", json!(piece)));
            }
            out.event(false, event("reasoning_summary_text.done", "text", json!(whole)));
            out.event(false, event("reasoning_summary_part.done", "part", part(&whole)));
            done(out, index, item(json!([part(&whole)])))
        }
        Kind::ToolCall { id, name } => {
            let call_id = id.clone().unwrap_or_else(|| format!("call_{number}_{index}"));
            let id = format!("fc_{number}_{index}");
            let item = |status: &str, arguments: &str| {
                json!({
                    "id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                    "arguments": arguments,
                })
            };
            added(out, index, item("in_progress", ""));
            let event = |kind: &str, member: &str, value: &str| {
                let kind = format!("response.function_call_arguments.{kind}");
                json!({"type": kind, "item_id": id, "output_index": index, member: value})
            };
            for piece in &block.pieces {
                out.event(true, event("delta", "delta", piece));
            }
            out.event(false, event("done", "arguments", &whole));
            done(out, index, item("completed", &whole))
        }
    }
}

fn added(out: &mut NumberedEvents<'_>, index: usize, item: Value) {
    out.event(false, json!({"type": "response.output_item.added", "output_index": index, "item": item}));
}

fn done(out: &mut NumberedEvents<'_>, index: usize, item: Value) -> Value {
    out.event(false, json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    item
}
