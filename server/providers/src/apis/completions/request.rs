//! Conversion of a request to the body of `POST /chat/completions`.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, ToolCall, ToolResultMessage,
};
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value, json};

use super::super::api::{RequestContext, WireRequest};
use super::super::body::{Body, ListWriter};
use super::super::verbatim::{items, member, verbatim};
use super::compat::{Compat, ThinkingFormat};
use super::names::{EXTRA, REASONING};
use crate::{ProviderError, history};

/// The text of a tool result that contains only images.
const IMAGE_ONLY: &str = "(see attached image)";
/// The text before the images of tool results. They are sent in a user message, because the API accepts images only
/// there.
const IMAGES: &str = "Images from the tool results above:";
/// The assistant message between tool results and a user message, for hosts that require one.
const BRIDGE: &str = "I have seen the results of the tools.";

pub(super) fn write(context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
    let request = context.request;
    let compat = Compat::of(context);
    let id = |id: &str| compat.id(id);
    let history = || history::adapt_to_model(request.messages.iter(), context.model(), &id);
    let mut body = json!({"model": context.model().id, "messages": null, "stream": true});
    if compat.usage_in_streaming {
        body["stream_options"] = json!({"include_usage": true});
    }
    if compat.store {
        body["store"] = json!(false);
    }
    body[compat.max_tokens_field] = json!(context.max_output_tokens());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut function =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
            if compat.strict_mode {
                function["strict"] = json!(false);
            }
            json!({"type": "function", "function": function})
        });
        body["tools"] = tools.collect();
    } else if compat.tools_with_history && history().any(|message| has_tools(&message)) {
        body["tools"] = json!([]);
    }
    add_thinking(context, &compat, &mut body);
    if let Some(routing) = compat.routing("openRouterRouting") {
        body["provider"] = routing.clone();
    }
    if let Some(routing) = compat.routing("vercelGatewayRouting") {
        body["providerOptions"] = json!({"gateway": routing});
    }
    let mut headers = HeaderMap::new();
    if let Some(key) = context.key {
        headers.insert(AUTHORIZATION, key.header("Bearer ")?);
    }
    let body = Body::write(&body, "messages", |messages| {
        if compat.cache_marks {
            messages.hold_from(can_be_marked);
        }
        if !request.system_prompt.is_empty() {
            let role = if compat.developer_role { "developer" } else { "system" };
            messages.push(json!({"role": role, "content": request.system_prompt}));
        }
        turns(history(), &compat, messages);
        if compat.cache_marks {
            mark_last(messages.held());
        }
    })?;
    Ok(WireRequest { url: context.url("/chat/completions"), headers, body })
}

fn add_thinking(context: &RequestContext<'_>, compat: &Compat<'_>, body: &mut Value) {
    if !context.model().reasoning {
        return;
    }
    let level = context.thinking();
    match compat.thinking_format {
        ThinkingFormat::OpenAi => {
            let effort =
                context.effort().map(str::to_owned).or_else(|| level.map(|level| compat.effort(level)));
            if let (Some(effort), true) = (effort, compat.reasoning_effort) {
                body["reasoning_effort"] = json!(effort);
            }
        }
        ThinkingFormat::Zai => {
            body["thinking"] = json!({"type": if level.is_some() { "enabled" } else { "disabled" }});
        }
        ThinkingFormat::Qwen => body["enable_thinking"] = json!(level.is_some()),
        ThinkingFormat::QwenChatTemplate => {
            body["chat_template_kwargs"] = json!({"enable_thinking": level.is_some()});
        }
    }
}

fn has_tools(message: &AgentMessage) -> bool {
    match message {
        AgentMessage::ToolResult(_) => true,
        AgentMessage::Assistant(answer) => {
            answer.content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)))
        }
        _ => false,
    }
}

fn turns(
    history: impl Iterator<Item = Arc<AgentMessage>>,
    compat: &Compat<'_>,
    messages: &mut ListWriter<'_>,
) {
    // Images of consecutive results follow the last of them.
    let mut images: Vec<Value> = Vec::new();
    let mut after_result = false;
    for message in history {
        if !matches!(*message, AgentMessage::ToolResult(_)) {
            push_images(&mut images, compat, messages);
        }
        match &*message {
            AgentMessage::User(user) => {
                if std::mem::take(&mut after_result) && compat.assistant_after_tool_result {
                    messages.push(bridge(compat));
                }
                let content = match &user.content {
                    InputContent::Text(text) => json!(text),
                    InputContent::Blocks(blocks) => blocks.iter().filter_map(part).collect(),
                };
                messages.push(json!({"role": "user", "content": content}));
            }
            AgentMessage::Assistant(answer) => {
                after_result = false;
                messages.extend(assistant_message(answer, compat));
            }
            AgentMessage::ToolResult(result) => {
                after_result = true;
                messages.push(tool_result(result, compat));
                images.extend(
                    result
                        .content
                        .iter()
                        .filter(|block| matches!(block, InputBlock::Image(_)))
                        .filter_map(part),
                );
            }
            _ => {}
        }
    }
    push_images(&mut images, compat, messages);
}

fn push_images(images: &mut Vec<Value>, compat: &Compat<'_>, messages: &mut ListWriter<'_>) {
    if images.is_empty() {
        return;
    }
    if compat.assistant_after_tool_result {
        messages.push(bridge(compat));
    }
    let mut content = vec![json!({"type": "text", "text": IMAGES})];
    content.append(images);
    messages.push(json!({"role": "user", "content": content}));
}

fn bridge(compat: &Compat<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": BRIDGE});
    if compat.reasoning_content {
        message[REASONING[0]] = json!("");
    }
    message
}

fn part(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(block) => Some(json!({"type": "text", "text": block.text})),
        InputBlock::Image(image) => {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        _ => None,
    }
}

fn assistant_message(answer: &AssistantMessage, compat: &Compat<'_>) -> Option<Value> {
    let mut texts: Vec<&str> = Vec::new();
    let mut thinking: Vec<(&str, Option<&str>)> = Vec::new();
    let mut calls = Vec::new();
    for block in &answer.content {
        match block {
            AssistantBlock::Text(block) if !block.text.is_empty() => texts.push(&block.text),
            AssistantBlock::Thinking(block) if !block.thinking.trim().is_empty() => {
                thinking.push((&block.thinking, block.thinking_signature.as_deref()));
            }
            AssistantBlock::ToolCall(call) => calls.push(tool_call(call, compat)),
            _ => {}
        }
    }
    // Reasoning of another model is a text by now and must be separate from the text of the answer.
    let mut text = texts.join("\n\n");
    let details = reasoning_details(answer).filter(|_| compat.keeps_reasoning);
    let mut members = Map::new();
    members.insert("role".to_owned(), json!("assistant"));
    let thought = thinking.iter().map(|(text, _)| *text).collect::<Vec<_>>().join("\n");
    if compat.thinking_as_text && !thought.is_empty() {
        text = if text.is_empty() { thought } else { format!("{thought}\n\n{text}") };
    } else {
        let came_in =
            thinking.first().and_then(|(_, field)| *field).filter(|field| REASONING.contains(field));
        // The details contain the same and more.
        if let Some(field) = came_in.filter(|_| compat.keeps_reasoning && details.is_none()) {
            members.insert(field.to_owned(), json!(thought));
        }
        if compat.reasoning_content {
            members.insert(REASONING[0].to_owned(), json!(thought));
        }
    }
    let empty = text.trim().is_empty();
    if empty && calls.is_empty() {
        return None;
    }
    let content = match (empty, compat.assistant_after_tool_result) {
        (false, _) => json!(text),
        (true, true) => json!(""),
        (true, false) => Value::Null,
    };
    members.insert("content".to_owned(), content);
    if !calls.is_empty() {
        members.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    members.extend(details.map(|details| ("reasoning_details".to_owned(), details)));
    Some(Value::Object(members))
}

fn tool_call(call: &ToolCall, compat: &Compat<'_>) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let mut written = json!({
        "id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments},
    });
    let mark = call.thought_signature.as_deref().filter(|mark| compat.keeps_reasoning && !is_detail(mark));
    if let Some(extra) = mark.filter(|mark| mark.starts_with('{')).and_then(verbatim) {
        written[EXTRA] = extra;
    }
    written
}

/// Returns the reasoning details that the model must receive back. They are the signature of the reasoning;
/// in sessions of older versions, they are the signatures of the calls.
fn reasoning_details(answer: &AssistantMessage) -> Option<Value> {
    let of_thinking = answer.content.iter().find_map(|block| match block {
        AssistantBlock::Thinking(block) => block.thinking_signature.as_deref(),
        _ => None,
    });
    let whole = of_thinking.filter(|mark| mark.starts_with('['));
    if let Some(details) = whole.filter(|mark| !items(mark).is_empty()).and_then(verbatim) {
        return Some(details);
    }
    let of_calls = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::ToolCall(call) => call.thought_signature.as_deref(),
        _ => None,
    });
    let details: Vec<Value> = of_calls.filter(|mark| is_detail(mark)).filter_map(verbatim).collect();
    (!details.is_empty()).then_some(Value::Array(details))
}

/// Returns true if the signature of a call is a reasoning detail.
fn is_detail(mark: &str) -> bool {
    member(mark, "type").is_some_and(|kind| kind.starts_with("\"reasoning."))
}

fn tool_result(result: &ToolResultMessage, compat: &Compat<'_>) -> Value {
    let texts = result.content.iter().filter_map(|block| match block {
        InputBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let only_images = text.is_empty() && !result.content.is_empty();
    let content = if only_images { IMAGE_ONLY } else { text.as_str() };
    let mut message = json!({"role": "tool", "content": content, "tool_call_id": result.tool_call_id});
    if compat.tool_result_name {
        message["name"] = json!(result.tool_name);
    }
    message
}

/// Returns `true` if a message has a text that can carry a cache marker.
fn can_be_marked(message: &Value) -> bool {
    let is_spoken = message["role"] == "user" || message["role"] == "assistant";
    let is_text = |part: &Value| part["type"] == "text";
    let content = &message["content"];
    is_spoken && (content.is_string() || content.as_array().is_some_and(|parts| parts.iter().any(is_text)))
}

/// Adds a cache marker to the last text of the last message that has one.
fn mark_last(messages: &mut [Value]) {
    for message in messages.iter_mut().rev().filter(|message| can_be_marked(message)) {
        if let Value::String(text) = &message["content"] {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
        let parts = message["content"].as_array_mut().into_iter().flatten().rev();
        if let Some(part) = parts.into_iter().find(|part| part["type"] == "text") {
            part["cache_control"] = json!({"type": "ephemeral"});
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::ThinkingLevel;

    use super::super::Completions;
    use super::*;
    use crate::Request;
    use crate::apis::testing::{conversation, write_compat, write_with};

    fn body(change: impl FnOnce(&mut Request)) -> Value {
        write_with(&Completions, "fake-gpt", change).body
    }

    #[test]
    fn a_conversation_is_written_as_pi_writes_it() {
        let body = body(|request| request.messages = conversation("openai-completions", "fake-gpt").into());
        assert_eq!(
            body["messages"],
            json!([
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "three things"}]},
                {"role": "assistant", "content": "Three things.", "tool_calls": [
                    {"id": "m1", "type": "function",
                     "function": {"name": "bash", "arguments": "{\"command\":\"echo A\"}"}},
                    {"id": "m2", "type": "function",
                     "function": {"name": "read", "arguments": "{\"path\":\"dot.png\"}"}},
                ]},
                {"role": "tool", "content": "A\n", "tool_call_id": "m1"},
                {"role": "tool", "content": "Read image file [image/png]", "tool_call_id": "m2"},
                {"role": "user", "content": [
                    {"type": "text", "text": IMAGES},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                ]},
            ])
        );
        assert_eq!(body["reasoning_effort"], "medium");
        assert_eq!(body["stream_options"], json!({"include_usage": true}));
        assert_eq!(body["max_tokens"], 16_384);
        assert_eq!(body.get("store"), None);
        assert_eq!(body["tools"][0]["function"].get("strict"), None);
    }

    #[test]
    fn reasoning_goes_back_in_the_member_it_came_in() {
        let answer = |signature: &str| {
            let mut request = conversation("openai-completions", "fake-gpt");
            let mut message = serde_json::to_value(&*request[1]).unwrap();
            message["content"][0]["thinkingSignature"] = json!(signature);
            request[1] = Arc::new(serde_json::from_value(message).unwrap());
            request
        };
        let written = |signature: &str, compat: Value| {
            let wire = write_compat(&Completions, "fake-gpt", compat, |request| {
                request.messages = answer(signature).into()
            });
            wire.body["messages"][2].clone()
        };
        assert_eq!(written("reasoning_content", json!({}))["reasoning_content"], "plan");
        assert_eq!(written("reasoning", json!({}))["reasoning"], "plan");
        assert_eq!(written("content", json!({}))["content"], "Three things.");
        let as_text = written("reasoning_content", json!({"requiresThinkingAsText": true}));
        assert_eq!(as_text["content"], "plan\n\nThree things.");
        assert!(as_text.get("reasoning_content").is_none());
    }

    #[test]
    fn reasoning_of_another_model_is_separate_from_its_text() {
        let body = body(|request| request.messages = conversation("anthropic-messages", "another").into());
        assert_eq!(body["messages"][2]["content"], "plan\n\nThree things.");
    }

    #[test]
    fn each_host_receives_thinking_in_its_own_format() {
        let written = |level: ThinkingLevel, compat: Value| {
            let wire = write_compat(&Completions, "fake-gpt", compat, |request| request.thinking = level);
            ["reasoning_effort", "thinking", "enable_thinking", "chat_template_kwargs"]
                .map(|name| wire.body.get(name).cloned().unwrap_or_default())
        };
        let null = Value::Null;
        let off = ThinkingLevel::Off;
        let low = ThinkingLevel::Low;
        assert_eq!(written(off, json!({})), [&null, &null, &null, &null].map(Clone::clone));
        assert_eq!(written(low, json!({}))[0], "low");
        assert_eq!(written(low, json!({"reasoningEffortMap": {"low": "default"}}))[0], "default");
        assert_eq!(written(low, json!({"supportsReasoningEffort": false}))[0], null);
        let map = json!({"thinkingLevelMap": {"low": "least", "off": "none", "high": null}});
        assert_eq!([written(low, map.clone())[0].clone(), written(off, map)[0].clone()], ["least", "none"]);
        assert_eq!(written(low, json!({"thinkingFormat": "zai"}))[1], json!({"type": "enabled"}));
        assert_eq!(written(off, json!({"thinkingFormat": "zai"}))[1], json!({"type": "disabled"}));
        assert_eq!(written(low, json!({"thinkingFormat": "qwen"}))[2], true);
        let template = written(off, json!({"thinkingFormat": "qwen-chat-template"}));
        assert_eq!(template[3], json!({"enable_thinking": false}));
    }

    #[test]
    fn every_difference_of_a_host_shows_in_the_body() {
        let compat = json!({
            "supportsStore": false, "supportsDeveloperRole": false, "supportsUsageInStreaming": false,
            "supportsStrictMode": false, "maxTokensField": "max_tokens", "requiresToolResultName": true,
            "requiresAssistantAfterToolResult": true, "requiresMistralToolIds": true,
            "openRouterRouting": {"only": ["x"]}, "vercelGatewayRouting": {"order": ["y"]},
        });
        let wire = write_compat(&Completions, "fake-gpt", compat, |request| {
            request.messages = conversation("openai-completions", "fake-gpt").into();
        });
        let body = wire.body;
        assert_eq!(body["messages"][0]["role"], "system");
        assert_eq!(body["messages"][3]["name"], "bash");
        assert_eq!(body["messages"][5]["content"], BRIDGE);
        let id = body["messages"][3]["tool_call_id"].as_str().unwrap();
        assert_eq!(id.len(), 9);
        assert_eq!(body["messages"][2]["tool_calls"][0]["id"], id);
        assert_eq!(body["max_tokens"], 16_384);
        assert_eq!(body["provider"], json!({"only": ["x"]}));
        assert_eq!(body["providerOptions"], json!({"gateway": {"order": ["y"]}}));
        for absent in ["store", "stream_options", "max_completion_tokens"] {
            assert!(body.get(absent).is_none(), "{absent}");
        }
        assert!(body["tools"][0]["function"].get("strict").is_none());
    }

    #[test]
    fn a_history_with_calls_is_sent_with_an_empty_list_of_tools_to_hosts_that_want_it() {
        let tools = |compat: Value| {
            let wire = write_compat(&Completions, "fake-gpt", compat, |request| {
                request.messages = conversation("openai-completions", "fake-gpt").into();
                request.tools.clear();
            });
            wire.body.get("tools").cloned()
        };
        assert_eq!(tools(json!({"requiresToolsWithToolHistory": true})), Some(json!([])));
        // Some hosts refuse an empty list.
        assert_eq!(tools(json!({})), None);
    }
}
