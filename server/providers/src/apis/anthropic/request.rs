//! Conversion of a request to the body of `POST /v1/messages`.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, ThinkingLevel,
    ToolResultMessage,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::super::api::{RequestContext, WireRequest};
use super::super::body::{Body, ListWriter};
use super::super::fallbacks::Fallback;
use crate::settings::CacheRetention;
use crate::{ProviderError, history};

const VERSION: &str = "2023-06-01";
const FINE_GRAINED_TOOLS: &str = "fine-grained-tool-streaming-2025-05-14";
const INTERLEAVED_THINKING: &str = "interleaved-thinking-2025-05-14";
const LOGIN: &str = "oauth-2025-04-20";

/// Minimum number of tokens that the limit must leave for the answer beside the thinking.
const LEAST_ANSWER: u64 = 1024;
/// The smallest thinking budget that the API accepts, in tokens.
const LEAST_BUDGET: u64 = 1024;

/// The text that precedes the images of a tool result without text.
const IMAGE_ONLY: &str = "(see attached image)";

/// Parts of a request that some hosts reject.
pub(super) const FALLBACKS: &[Fallback] = &[
    Fallback::new("adaptive", &["adaptive", "budget_tokens", "output_config", "thinking.type"])
        .except(&["max_tokens"]),
    Fallback::new("cache_control", &["cache_control"]),
    Fallback::new("anthropic-beta", &["anthropic-beta", "anthropic_beta", "beta flag"]),
];

pub(super) fn write(context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
    let request = context.request;
    let mark = cache_mark(context);
    let messages = history::adapt_to_model(request.messages.iter(), context.model(), &id);
    let mut body = json!({
        "model": context.model().id,
        "messages": null,
        "max_tokens": context.max_tokens(),
        "stream": true,
    });
    if !request.system_prompt.is_empty() {
        body["system"] =
            json!([marked(json!({"type": "text", "text": request.system_prompt}), mark.as_ref())]);
    }
    let mut betas = vec![FINE_GRAINED_TOOLS];
    match thinking(context) {
        Thinking::None => {}
        Thinking::Budget { budget, limit } => {
            body["max_tokens"] = json!(limit);
            body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
            betas.push(INTERLEAVED_THINKING);
        }
        Thinking::Adaptive(effort) => {
            body["thinking"] = json!({"type": "adaptive"});
            body["output_config"] = json!({"effort": effort});
        }
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        });
        body["tools"] = tools.collect();
    }
    let mut headers = HeaderMap::new();
    headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
    if let Some(key) = context.key {
        if key.is_bearer() {
            betas.push(LOGIN);
            headers.insert(AUTHORIZATION, key.header("Bearer ")?);
        } else {
            headers.insert("x-api-key", key.header("")?);
        }
    }
    if context.fallbacks.has("anthropic-beta") {
        betas.retain(|beta| *beta == LOGIN);
    }
    if let Some(betas) = HeaderValue::from_str(&betas.join(",")).ok().filter(|betas| !betas.is_empty()) {
        headers.insert("anthropic-beta", betas);
    }
    let body = Body::write(&body, "messages", |all| turns(messages, mark.as_ref(), all))?;
    Ok(WireRequest { url: context.url("/v1/messages"), headers, body })
}

/// Converts an id to the form that the API accepts.
fn id(id: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    id.chars().map(|character| if allowed(character) { character } else { '_' }).take(64).collect()
}

fn cache_mark(context: &RequestContext<'_>) -> Option<Value> {
    match context.settings.cache {
        _ if context.fallbacks.has("cache_control") => None,
        CacheRetention::None => None,
        CacheRetention::Long if context.is_host("api.anthropic.com") => {
            Some(json!({"type": "ephemeral", "ttl": "1h"}))
        }
        CacheRetention::Long | CacheRetention::Short => Some(json!({"type": "ephemeral"})),
    }
}

fn marked(mut block: Value, mark: Option<&Value>) -> Value {
    if let Some(mark) = mark {
        block["cache_control"] = mark.clone();
    }
    block
}

#[derive(Debug, PartialEq)]
enum Thinking {
    None,
    Budget { budget: u64, limit: u64 },
    Adaptive(String),
}

/// Models that set the length of their thinking themselves, by a part of their id. `compat.thinkingFormat` can declare
/// others.
const ADAPTIVE: &[&str] =
    &["opus-4-6", "opus-4.6", "sonnet-4-6", "sonnet-4.6", "opus-5", "sonnet-5", "haiku-5", "fable-5"];

fn thinking(context: &RequestContext<'_>) -> Thinking {
    let Some(level) = context.thinking() else { return Thinking::None };
    let id = &context.model().id;
    let adaptive = match context.compat.get("thinkingFormat").and_then(Value::as_str) {
        Some(format) => format == "adaptive",
        None => ADAPTIVE.iter().any(|part| id.contains(part)),
    };
    if context.fallbacks.apply("adaptive", adaptive) {
        let usual = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium | ThinkingLevel::Auto => "medium",
            ThinkingLevel::Xhigh | ThinkingLevel::Max if id.contains("opus") => "max",
            ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => "high",
        };
        return Thinking::Adaptive(context.effort().unwrap_or(usual).to_owned());
    }
    let Some(budget) = context.settings.budgets.of(level) else { return Thinking::None };
    let limit = context.max_tokens().saturating_add(budget).min(context.model().max_tokens);
    // An answer with a limit of its own needs that room, or half of the limit if that is less.
    let answer = context.request.max_tokens.map_or(LEAST_ANSWER, |wanted| wanted.min(limit / 2));
    let budget = match context.request.max_tokens {
        None if limit > budget => budget,
        _ => budget.min(limit.saturating_sub(answer)),
    };
    if budget < LEAST_BUDGET { Thinking::None } else { Thinking::Budget { budget, limit } }
}

fn turns(
    messages: impl Iterator<Item = Arc<AgentMessage>>,
    mark: Option<&Value>,
    turns: &mut ListWriter<'_>,
) {
    let mut results: Vec<Value> = Vec::new();
    for message in messages {
        if !matches!(*message, AgentMessage::ToolResult(_)) && !results.is_empty() {
            turns.push(json!({"role": "user", "content": std::mem::take(&mut results)}));
        }
        match &*message {
            AgentMessage::User(user) => {
                let content = match &user.content {
                    InputContent::Text(text) => vec![json!({"type": "text", "text": text})],
                    InputContent::Blocks(blocks) => blocks.iter().filter_map(input).collect(),
                };
                turns.push(json!({"role": "user", "content": content}));
            }
            AgentMessage::Assistant(answer) => {
                let content = assistant_content(answer);
                if !content.is_empty() {
                    turns.push(json!({"role": "assistant", "content": content}));
                }
            }
            AgentMessage::ToolResult(result) => results.push(tool_result(result)),
            _ => {}
        }
    }
    if !results.is_empty() {
        turns.push(json!({"role": "user", "content": results}));
    }
    let last = turns.last_mut().filter(|turn| turn["role"] == "user");
    let last = last.and_then(|turn| turn["content"].as_array_mut()?.last_mut());
    if let (Some(last), Some(mark)) = (last, mark) {
        last["cache_control"] = mark.clone();
    }
}

fn input(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(block) => Some(json!({"type": "text", "text": block.text})),
        InputBlock::Image(image) => Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": image.mime_type, "data": image.data},
        })),
        _ => None,
    }
}

fn assistant_content(answer: &AssistantMessage) -> Vec<Value> {
    let block = |block: &AssistantBlock| match block {
        AssistantBlock::Text(block) if block.text.trim().is_empty() => None,
        AssistantBlock::Text(block) => Some(json!({"type": "text", "text": block.text})),
        AssistantBlock::Thinking(block) => {
            let signature = block.thinking_signature.as_deref().filter(|mark| !mark.trim().is_empty());
            match (signature, block.redacted == Some(true)) {
                (Some(data), true) => Some(json!({"type": "redacted_thinking", "data": data})),
                (Some(signature), false) => {
                    Some(json!({"type": "thinking", "thinking": block.thinking, "signature": signature}))
                }
                // The API accepts no reasoning without its mark, so the reasoning is sent as text.
                (None, _) if block.thinking.trim().is_empty() => None,
                (None, _) => Some(json!({"type": "text", "text": block.thinking})),
            }
        }
        AssistantBlock::ToolCall(call) => {
            Some(json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}))
        }
        _ => None,
    };
    answer.content.iter().filter_map(block).collect()
}

fn tool_result(result: &ToolResultMessage) -> Value {
    let texts = result.content.iter().filter_map(|block| match block {
        InputBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    let has_image = result.content.iter().any(|block| matches!(block, InputBlock::Image(_)));
    let content = if has_image {
        let mut blocks: Vec<Value> = result.content.iter().filter_map(input).collect();
        if texts.is_empty() {
            blocks.insert(0, json!({"type": "text", "text": IMAGE_ONLY}));
        }
        Value::Array(blocks)
    } else {
        Value::String(texts.join("\n"))
    };
    json!({
        "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content,
        "is_error": result.is_error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::testing::{conversation, write_compat, write_with};

    fn body(change: impl FnOnce(&mut crate::Request)) -> Value {
        write_with(&super::super::Anthropic, "fake-sonnet", change).body
    }

    #[test]
    fn a_conversation_is_written_as_pi_writes_it() {
        let body =
            body(|request| request.messages = conversation("anthropic-messages", "fake-sonnet").into());
        assert_eq!(
            body["messages"],
            json!([
                {"role": "user", "content": [{"type": "text", "text": "three things"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "plan", "signature": "c2ln"},
                    {"type": "text", "text": "Three things."},
                    {"type": "tool_use", "id": "m1", "name": "bash", "input": {"command": "echo A"}},
                    {"type": "tool_use", "id": "m2", "name": "read", "input": {"path": "dot.png"}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "m1", "content": "A\n", "is_error": false},
                    {"type": "tool_result", "tool_use_id": "m2", "is_error": false, "content": [
                        {"type": "text", "text": "Read image file [image/png]"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                    ], "cache_control": {"type": "ephemeral"}},
                ]},
            ])
        );
        assert_eq!(
            body["system"],
            json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
        );
        assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    }

    #[test]
    fn thinking_gets_a_budget_within_what_the_model_has() {
        use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
        for (level, max, expected) in [
            (Medium, 16_384, json!([16_384, 8192])),
            (High, 16_384, json!([16_384, 15_360])),
            (Minimal, 64_000, json!([33_024, 1024])),
            (Low, 64_000, json!([34_048, 2048])),
            (Xhigh, 64_000, json!([48_384, 16_384])),
            (Off, 64_000, json!([32_000, null])),
        ] {
            let body = body(|request| {
                request.thinking = level;
                request.model.max_tokens = max;
            });
            assert_eq!(json!([body["max_tokens"], body["thinking"]["budget_tokens"]]), expected, "{level}");
        }
    }

    #[test]
    fn an_answer_may_be_given_less_room_than_the_model_has() {
        let sent = |wanted: u64, max: u64| {
            let body = body(|request| {
                request.max_tokens = Some(wanted);
                request.model.max_tokens = max;
            });
            json!([body["max_tokens"], body["thinking"]["budget_tokens"]])
        };
        assert_eq!(sent(1000, 64_000), json!([9192, 8192]));
        assert_eq!(sent(50_000, 64_000), json!([58_192, 8192]));
        assert_eq!(sent(50_000, 8000), json!([8000, 4000]), "half of all is left for the answer");
        assert_eq!(sent(3000, 8000), json!([8000, 5000]), "what was asked for is left for the answer");
        assert_eq!(sent(50_000, 2000), json!([2000, null]), "no room to think");
    }

    #[test]
    fn models_that_decide_themselves_get_an_effort() {
        for (id, level, effort) in [
            ("fake-opus-4-6", ThinkingLevel::Xhigh, "max"),
            ("fake-sonnet-4-6", ThinkingLevel::Xhigh, "high"),
            ("fake-sonnet-4-6", ThinkingLevel::Minimal, "low"),
            ("claude-opus-5-5", ThinkingLevel::Medium, "medium"),
        ] {
            let body = body(|request| {
                request.model.id = id.to_owned();
                request.thinking = level;
            });
            assert_eq!(body["thinking"], json!({"type": "adaptive"}));
            assert_eq!(body["output_config"], json!({"effort": effort}));
        }
        let map = json!({"thinkingLevelMap": {"max": "greatest"}});
        let wire = write_compat(&super::super::Anthropic, "fake-sonnet-4-6", map, |request| {
            request.thinking = ThinkingLevel::Max;
        });
        assert_eq!(wire.body["output_config"], json!({"effort": "greatest"}));
    }

    #[test]
    fn headers_contain_version_features_and_key() {
        let wire = write_with(&super::super::Anthropic, "fake-sonnet", |_| {});
        assert_eq!(wire.url, "http://127.0.0.1:1/v1/messages");
        assert_eq!(wire.headers["x-api-key"], "fake-key");
        assert_eq!(wire.headers["anthropic-version"], "2023-06-01");
        assert_eq!(
            wire.headers["anthropic-beta"],
            "fine-grained-tool-streaming-2025-05-14,interleaved-thinking-2025-05-14"
        );
    }
}
