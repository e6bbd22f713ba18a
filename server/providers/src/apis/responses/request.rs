//! Conversion of a request to the body of `POST /responses`.

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, ToolResultMessage,
};
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value, json};

use super::super::api::{RequestContext, WireRequest};
use super::super::body::{Body, ListWriter};
use super::super::fallbacks::Fallback;
use super::super::hosts::{Quirk, has_quirk};
use super::super::verbatim::verbatim;
use super::reader::ID_SEPARATOR;
use crate::settings::CacheRetention;
use crate::{ProviderError, history};

/// Maximum length of an id that the API accepts, in characters.
const LONGEST_ID: usize = 64;

/// The content that the API must include in the answer. It is needed to send reasoning back, because the server stores
/// nothing.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// Parts of a request that some hosts reject.
pub(super) const FALLBACKS: &[Fallback] = &[
    Fallback::new("role", &["developer", "role"]),
    Fallback::new("store", &["store"]),
    Fallback::new("max_output_tokens", &["max_output_tokens"]).except(&["value", "too large"]),
    Fallback::new("prompt_cache_key", &["prompt_cache_key"]),
    Fallback::new("strict", &["strict"]),
    Fallback::new("include", &["include", ENCRYPTED]),
    Fallback::new("summary", &["summary"]),
    Fallback::new("reasoning", &["reasoning"]).except(&["value", "summary"]),
];

pub(super) fn write(context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
    let request = context.request;
    let model = context.model();
    let takes = |form: &str| !context.fallbacks.has(form);
    let mut body = json!({"model": model.id, "input": null, "stream": true});
    // A server that can store answers stores them unless the request forbids it.
    if takes("store") && context.compat.get("supportsStore").is_none_or(|takes| takes != false) {
        body["store"] = json!(false);
    }
    if takes("max_output_tokens") {
        body["max_output_tokens"] = json!(context.max_output_tokens());
    }
    if context.settings.cache != CacheRetention::None
        && !request.session_id.is_empty()
        && takes("prompt_cache_key")
    {
        body["prompt_cache_key"] = json!(request.session_id);
    }
    if context.settings.cache == CacheRetention::Long && context.is_host("api.openai.com") {
        body["prompt_cache_retention"] = json!("24h");
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut written = json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters,
            });
            if takes("strict") {
                written["strict"] = json!(false);
            }
            written
        });
        body["tools"] = tools.collect();
    }
    let mut reasoning = Map::new();
    if let Some(level) = context.thinking() {
        reasoning.insert("effort".to_owned(), json!(context.effort().unwrap_or(level.as_str())));
        if takes("summary") {
            reasoning.insert("summary".to_owned(), json!("auto"));
        }
        if takes("include") {
            body["include"] = json!([ENCRYPTED]);
        }
    } else if let Some(effort) = context.effort() {
        reasoning.insert("effort".to_owned(), json!(effort));
    }
    if !reasoning.is_empty() && takes("reasoning") {
        body["reasoning"] = Value::Object(reasoning);
    }
    let mut headers = HeaderMap::new();
    if let Some(key) = context.key {
        headers.insert(AUTHORIZATION, key.header("Bearer ")?);
    }
    let body = Body::write(&body, "input", |input| turns(context, input))?;
    Ok(WireRequest { url: context.url("/responses"), headers, body })
}

fn turns(context: &RequestContext<'_>, input: &mut ListWriter<'_>) {
    let (request, model) = (context.request, context.model());
    if !request.system_prompt.is_empty() {
        let declared = context.compat.get("supportsDeveloperRole").and_then(Value::as_bool);
        let developer = model.reasoning && declared.unwrap_or_else(|| has_quirk(context, Quirk::OpenAi));
        let role = if context.fallbacks.apply("role", developer) { "developer" } else { "system" };
        input.push(json!({"role": role, "content": request.system_prompt}));
    }
    for (number, message) in history::adapt_to_model(request.messages.iter(), model, &id).enumerate() {
        match &*message {
            AgentMessage::User(user) => {
                let content = match &user.content {
                    InputContent::Text(text) => vec![json!({"type": "input_text", "text": text})],
                    InputContent::Blocks(blocks) => blocks.iter().filter_map(part).collect(),
                };
                input.push(json!({"role": "user", "content": content}));
            }
            AgentMessage::Assistant(answer) => {
                let same =
                    answer.provider == model.provider && answer.api == model.api && answer.model == model.id;
                push_answer(answer, same, number, input);
            }
            AgentMessage::ToolResult(result) => input.push(output(result)),
            _ => {}
        }
    }
}

/// Converts an id to the form that the API accepts. If it consists of two ids, converts each of them.
fn id(id: &str) -> String {
    let clean = |id: &str| -> String {
        let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        id.chars()
            .map(|character| if allowed(character) { character } else { '_' })
            .take(LONGEST_ID)
            .collect()
    };
    match id.split_once(ID_SEPARATOR) {
        Some((call, item)) => format!("{}{ID_SEPARATOR}{}", clean(call), clean(item)),
        None => clean(id),
    }
}

fn call_id(id: &str) -> &str {
    id.split(ID_SEPARATOR).next().unwrap_or_default()
}

fn part(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(block) => Some(json!({"type": "input_text", "text": block.text})),
        InputBlock::Image(image) => {
            let url = format!("data:{};base64,{}", image.mime_type, image.data);
            Some(json!({"type": "input_image", "detail": "auto", "image_url": url}))
        }
        _ => None,
    }
}

fn push_answer(answer: &AssistantMessage, same: bool, number: usize, input: &mut ListWriter<'_>) {
    for (index, block) in answer.content.iter().enumerate() {
        match block {
            AssistantBlock::Thinking(block) => {
                let signature = block.thinking_signature.as_deref().unwrap_or_default();
                // Reasoning from another API is text by now; without its item it has no use here.
                input.extend(Some(signature).filter(|item| item.starts_with('{')).and_then(verbatim));
            }
            AssistantBlock::Text(block) => {
                let mark = block.text_signature.as_deref().unwrap_or_default();
                let (id, phase) = text_mark(mark, || format!("msg_{number}_{index}"));
                let mut item = json!({
                    "type": "message", "role": "assistant", "status": "completed", "id": id,
                    "content": [{"type": "output_text", "text": block.text, "annotations": []}],
                });
                if let Some(phase) = phase {
                    item["phase"] = json!(phase);
                }
                input.push(item);
            }
            AssistantBlock::ToolCall(call) => {
                let arguments = Value::Object(call.arguments.clone()).to_string();
                let mut item = json!({
                    "type": "function_call", "call_id": call_id(&call.id), "name": call.name,
                    "arguments": arguments,
                });
                // The API pairs the item's id with reasoning, which the history of another model has lost.
                let of_item = call.id.split_once(ID_SEPARATOR).map(|(_, item)| item);
                if let Some(id) = of_item.filter(|id| same && id.starts_with("fc_")) {
                    item["id"] = json!(id);
                }
                input.push(item);
            }
            _ => {}
        }
    }
}

/// Returns the id of a text item, and its phase if there is one, from the signature of the text. The
/// signature is either the id alone, or JSON with both.
fn text_mark(mark: &str, otherwise: impl Fn() -> String) -> (String, Option<String>) {
    let value = serde_json::from_str::<Value>(mark).ok().filter(Value::is_object);
    let member = |name: &str| value.as_ref().and_then(|value| value[name].as_str()).map(str::to_owned);
    let id = if value.is_some() { member("id") } else { Some(mark.to_owned()) };
    let usable = |id: &String| !id.is_empty() && id.len() <= LONGEST_ID;
    (id.filter(usable).unwrap_or_else(otherwise), member("phase"))
}

fn output(result: &ToolResultMessage) -> Value {
    let has_image = result.content.iter().any(|block| matches!(block, InputBlock::Image(_)));
    let output = if has_image {
        result.content.iter().filter_map(part).collect()
    } else {
        let texts = result.content.iter().filter_map(|block| match block {
            InputBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        Value::String(texts.collect::<Vec<_>>().join("\n"))
    };
    json!({"type": "function_call_output", "call_id": call_id(&result.tool_call_id), "output": output})
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentese::types::ThinkingLevel;

    use super::super::Responses;
    use super::*;
    use crate::apis::testing::{conversation, write_compat, write_with};

    /// Returns a conversation as a model of this API would have produced it.
    fn own(model: &str) -> Vec<Arc<AgentMessage>> {
        let mut messages = conversation("openai-responses", model);
        let mut answer = serde_json::to_value(&*messages[1]).unwrap();
        answer["content"][0]["thinkingSignature"] = json!(r#"{"type":"reasoning","id":"rs_1"}"#);
        answer["content"][1]["textSignature"] = json!("msg_a");
        answer["content"][2]["id"] = json!("m1|fc_1");
        messages[1] = Arc::new(serde_json::from_value(answer).unwrap());
        let mut result = serde_json::to_value(&*messages[2]).unwrap();
        result["toolCallId"] = json!("m1|fc_1");
        messages[2] = Arc::new(serde_json::from_value(result).unwrap());
        messages
    }

    #[test]
    fn a_conversation_keeps_its_items_for_the_model_that_made_them() {
        let wire = write_with(&Responses, "fake-gpt", |request| request.messages = own("fake-gpt").into());
        assert_eq!(wire.url, "http://127.0.0.1:1/responses");
        assert_eq!(
            wire.body["input"],
            json!([
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "input_text", "text": "three things"}]},
                {"type": "reasoning", "id": "rs_1"},
                {"type": "message", "role": "assistant", "status": "completed", "id": "msg_a",
                 "content": [{"type": "output_text", "text": "Three things.", "annotations": []}]},
                {"type": "function_call", "call_id": "m1", "name": "bash",
                 "arguments": "{\"command\":\"echo A\"}", "id": "fc_1"},
                {"type": "function_call", "call_id": "m2", "name": "read", "arguments": "{\"path\":\"dot.png\"}"},
                {"type": "function_call_output", "call_id": "m1", "output": "A\n"},
                {"type": "function_call_output", "call_id": "m2", "output": [
                    {"type": "input_text", "text": "Read image file [image/png]"},
                    {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,aGk="},
                ]},
            ])
        );
        assert_eq!(wire.body["reasoning"], json!({"effort": "medium", "summary": "auto"}));
        assert_eq!(wire.body["include"], json!(["reasoning.encrypted_content"]));
        assert_eq!(wire.body["prompt_cache_key"], "session");
        assert_eq!(wire.body["store"], false);
    }

    #[test]
    fn thinking_levels_have_the_names_of_the_model() {
        let reasoning = |level: ThinkingLevel| {
            let map = json!({"thinkingLevelMap": {"low": "least", "off": "none"}});
            let wire = write_compat(&Responses, "fake-gpt", map, |request| request.thinking = level);
            wire.body["reasoning"].clone()
        };
        assert_eq!(reasoning(ThinkingLevel::Low), json!({"effort": "least", "summary": "auto"}));
        assert_eq!(reasoning(ThinkingLevel::High), json!({"effort": "high", "summary": "auto"}));
        assert_eq!(reasoning(ThinkingLevel::Off), json!({"effort": "none"}));
    }

    #[test]
    fn another_model_gets_text_and_calls_without_items() {
        let wire = write_with(&Responses, "fake-gpt", |request| {
            request.messages = own("another").into();
            request.thinking = ThinkingLevel::Off;
        });
        let input = &wire.body["input"];
        assert_eq!(input[2]["content"][0]["text"], "plan");
        assert_eq!(input[3]["id"], "msg_1_1");
        assert!(input[4].get("id").is_none());
        assert_eq!(input[4]["call_id"], input[6]["call_id"]);
        assert!(wire.body.get("reasoning").is_none());
    }

    #[test]
    fn a_mark_of_text_is_an_id_or_an_id_with_a_phase() {
        let mark = |mark: &str| text_mark(mark, || "made".to_owned());
        assert_eq!(mark("msg_1"), ("msg_1".to_owned(), None));
        assert_eq!(
            mark(r#"{"v":1,"id":"msg_2","phase":"commentary"}"#),
            ("msg_2".to_owned(), Some("commentary".to_owned()))
        );
        assert_eq!(mark(""), ("made".to_owned(), None));
        assert_eq!(mark(&"x".repeat(65)), ("made".to_owned(), None));
    }
}
