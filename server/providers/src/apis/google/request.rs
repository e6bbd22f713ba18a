//! Conversion of a request to the body of `:streamGenerateContent`.

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, InputBlock, InputContent, ThinkingLevel,
    ToolResultMessage,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::super::api::{RequestContext, WireRequest};
use super::super::body::{Body, ListWriter};
use super::super::fallbacks::Fallback;
use crate::settings::ThinkingTokens;
use crate::{ProviderError, history};

/// The text before images of tool results, for models that do not accept them in the result.
const IMAGES: &str = "Images from the tool results above:";
/// Thought signature for a call of another model, which has no signature of its own. The API documents this
/// value.
const NO_MARK: &str = "skip_thought_signature_validator";

/// Controls of thinking by a part of the model's id. The first match applies.
const THINKING: &[(&str, ThinkingControl)] = &[
    ("gemini-2.5-pro", ThinkingControl::Budget([128, 128, 2048, 8192, 32_768])),
    ("gemini-2.5-flash", ThinkingControl::Budget([0, 128, 2048, 8192, 24_576])),
    ("flash", ThinkingControl::Level(["MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"])),
    ("pro", ThinkingControl::Level(["LOW", "LOW", "LOW", "HIGH", "HIGH"])),
];

/// Control of the amount of thinking. The five values are for off, minimal, low, medium, and high or above.
#[derive(Debug, Clone, Copy)]
enum ThinkingControl {
    /// The amount is given as a number of tokens.
    Budget([i64; 5]),
    /// The amount is given as a level of the API.
    Level([&'static str; 5]),
}

/// Parts of requests that a host may refuse.
pub(super) const FALLBACKS: &[Fallback] = &[
    Fallback::new("schema", &["parametersJsonSchema", "parameters_json_schema"]),
    Fallback::new(
        "thinking",
        &[
            "thinkingConfig",
            "thinking_config",
            "thinkingLevel",
            "thinking_level",
            "thinkingBudget",
            "thinking_budget",
            "includeThoughts",
            "include_thoughts",
        ],
    )
    .except(&["value"]),
    Fallback::new("mark", &["thoughtSignature", "thought_signature"]),
];

pub(super) fn write(context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
    let request = context.request;
    let model = context.model();
    let mut body = json!({
        "contents": null,
        "generationConfig": {"maxOutputTokens": context.max_output_tokens()},
    });
    if !request.system_prompt.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": request.system_prompt}]});
    }
    if !request.tools.is_empty() {
        let member = if context.fallbacks.has("schema") { "parameters" } else { "parametersJsonSchema" };
        let declare = |tool: &crate::ToolDescription| json!({"name": tool.name, "description": tool.description, member: tool.parameters});
        let declarations: Vec<Value> = request.tools.iter().map(declare).collect();
        body["tools"] = json!([{"functionDeclarations": declarations}]);
    }
    if model.reasoning && !context.fallbacks.has("thinking") {
        body["generationConfig"]["thinkingConfig"] = thinking(context);
    }
    let mut headers = HeaderMap::new();
    if let Some(key) = context.key {
        headers.insert("x-goog-api-key", key.header("")?);
    }
    let url = context.url(&format!("/models/{}:streamGenerateContent?alt=sse", model.id));
    let body = Body::write(&body, "contents", |all| contents(context, all))?;
    Ok(WireRequest { url, headers, body })
}

fn is_gemini_3(context: &RequestContext<'_>) -> bool {
    context.model().id.contains("gemini-3")
}

fn thinking(context: &RequestContext<'_>) -> Value {
    // Only levels have names here; other names have no effect.
    let named = context.effort().and_then(|effort| {
        ThinkingLevel::ALL.iter().find(|level| level.as_str().eq_ignore_ascii_case(effort))
    });
    let level = named.copied().unwrap_or(context.request.thinking);
    let column = match level {
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 1,
        ThinkingLevel::Low => 2,
        ThinkingLevel::Medium | ThinkingLevel::Auto => 3,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => 4,
    };
    let id = &context.model().id;
    let known = THINKING.iter().find(|(part, how)| {
        id.contains(part) && (matches!(how, ThinkingControl::Budget(_)) || is_gemini_3(context))
    });
    let mut config = match known {
        Some((_, ThinkingControl::Level(levels))) => json!({"thinkingLevel": levels[column]}),
        Some((_, ThinkingControl::Budget(budgets))) => {
            // The user's setting overrides the default of the model.
            let set = context
                .settings
                .budgets
                .of(level)
                .filter(|set| ThinkingTokens::default().of(level) != Some(*set));
            json!({"thinkingBudget": set.map_or_else(|| json!(budgets[column]), |set| json!(set))})
        }
        None if column == 0 => json!({}),
        // The model decides the number of tokens.
        None => json!({"thinkingBudget": -1}),
    };
    if column > 0 {
        config["includeThoughts"] = json!(true);
    }
    config
}

fn contents(context: &RequestContext<'_>, contents: &mut ListWriter<'_>) {
    let third = is_gemini_3(context);
    let mut responses: Vec<Value> = Vec::new();
    let mut images: Vec<Value> = Vec::new();
    for message in history::adapt_to_model(context.request.messages.iter(), context.model(), &str::to_owned) {
        if !matches!(*message, AgentMessage::ToolResult(_)) {
            push_results(&mut responses, &mut images, contents);
        }
        match &*message {
            AgentMessage::User(user) => {
                let parts = match &user.content {
                    InputContent::Text(text) => vec![json!({"text": text})],
                    InputContent::Blocks(blocks) => blocks.iter().filter_map(part).collect(),
                };
                contents.push(json!({"role": "user", "parts": parts}));
            }
            AgentMessage::Assistant(answer) => {
                let parts = model_parts(answer, context.fallbacks.apply("mark", third));
                if !parts.is_empty() {
                    contents.push(json!({"role": "model", "parts": parts}));
                }
            }
            AgentMessage::ToolResult(result) => response(result, third, &mut responses, &mut images),
            _ => {}
        }
    }
    push_results(&mut responses, &mut images, contents);
}

fn push_results(responses: &mut Vec<Value>, images: &mut Vec<Value>, contents: &mut ListWriter<'_>) {
    if !responses.is_empty() {
        contents.push(json!({"role": "user", "parts": std::mem::take(responses)}));
    }
    if !images.is_empty() {
        let mut parts = vec![json!({"text": IMAGES})];
        parts.append(images);
        contents.push(json!({"role": "user", "parts": parts}));
    }
}

fn part(block: &InputBlock) -> Option<Value> {
    match block {
        InputBlock::Text(block) => Some(json!({"text": block.text})),
        InputBlock::Image(image) => {
            Some(json!({"inlineData": {"mimeType": image.mime_type, "data": image.data}}))
        }
        _ => None,
    }
}

fn model_parts(answer: &AssistantMessage, third: bool) -> Vec<Value> {
    let mark = |part: &mut Value, signature: Option<&str>| {
        // The API accepts base64 alone; marks of other APIs have no use here.
        let usable = signature.filter(|mark| !mark.is_empty() && STANDARD.decode(mark).is_ok());
        if let Some(signature) = usable {
            part["thoughtSignature"] = json!(signature);
        }
        usable.is_some()
    };
    let block = |block: &AssistantBlock| match block {
        // An empty part with a mark is sent back.
        AssistantBlock::Text(block) => {
            let mut part = json!({"text": block.text});
            let marked = mark(&mut part, block.text_signature.as_deref());
            (marked || !block.text.trim().is_empty()).then_some(part)
        }
        AssistantBlock::Thinking(block) => {
            let mut part = json!({"thought": true, "text": block.thinking});
            let marked = mark(&mut part, block.thinking_signature.as_deref());
            (marked || !block.thinking.trim().is_empty()).then_some(part)
        }
        AssistantBlock::ToolCall(call) => {
            let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
            if !mark(&mut part, call.thought_signature.as_deref()) && third {
                part["thoughtSignature"] = json!(NO_MARK);
            }
            Some(part)
        }
        _ => None,
    };
    answer.content.iter().filter_map(block).collect()
}

fn response(result: &ToolResultMessage, third: bool, responses: &mut Vec<Value>, images: &mut Vec<Value>) {
    let texts = result.content.iter().filter_map(|block| match block {
        InputBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let image_parts =
        result.content.iter().filter(|block| matches!(block, InputBlock::Image(_))).filter_map(part);
    let image_parts: Vec<Value> = image_parts.collect();
    let member = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": result.tool_name, "response": {member: text}});
    if third && !image_parts.is_empty() {
        response["parts"] = json!(image_parts);
    } else {
        images.extend(image_parts);
    }
    responses.push(json!({"functionResponse": response}));
}

#[cfg(test)]
mod tests {
    use super::super::Google;
    use super::*;
    use crate::apis::testing::{conversation, write_compat, write_with};

    #[test]
    fn a_conversation_is_written_in_turns_of_parts() {
        let wire = write_with(&Google, "gemini-2.5-pro", |request| {
            request.messages = conversation("google-generative-ai", "gemini-2.5-pro").into();
        });
        assert_eq!(wire.url, "http://127.0.0.1:1/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
        assert_eq!(wire.headers["x-goog-api-key"], "fake-key");
        assert_eq!(
            wire.body["contents"],
            json!([
                {"role": "user", "parts": [{"text": "three things"}]},
                {"role": "model", "parts": [
                    {"thought": true, "text": "plan", "thoughtSignature": "c2ln"},
                    {"text": "Three things."},
                    {"functionCall": {"name": "bash", "args": {"command": "echo A"}}},
                    {"functionCall": {"name": "read", "args": {"path": "dot.png"}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "bash", "response": {"output": "A\n"}}},
                    {"functionResponse": {"name": "read", "response": {"output": "Read image file [image/png]"}}},
                ]},
                {"role": "user", "parts": [
                    {"text": IMAGES}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
                ]},
            ])
        );
        assert_eq!(wire.body["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
        assert_eq!(wire.body["tools"][0]["functionDeclarations"][0]["name"], "bash");
    }

    #[test]
    fn the_third_generation_takes_images_in_results_and_wants_marks_on_calls() {
        let wire = write_with(&Google, "gemini-3-pro", |request| {
            request.messages = conversation("google-generative-ai", "another").into();
        });
        let contents = &wire.body["contents"];
        assert_eq!(contents[1]["parts"][0], json!({"text": "plan"}));
        assert_eq!(contents[1]["parts"][2]["thoughtSignature"], NO_MARK);
        let result = &contents[2]["parts"][1]["functionResponse"];
        assert_eq!(result["parts"], json!([{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]));
        assert_eq!(contents.as_array().unwrap().len(), 3);
    }

    #[test]
    fn each_model_receives_thinking_in_its_own_format() {
        use ThinkingLevel::{High, Medium, Minimal, Off, Xhigh};
        for (id, level, expected) in [
            ("gemini-2.5-pro", Off, json!({"thinkingBudget": 128})),
            ("gemini-2.5-pro", Xhigh, json!({"thinkingBudget": 32_768, "includeThoughts": true})),
            ("gemini-2.5-flash", Off, json!({"thinkingBudget": 0})),
            ("gemini-2.5-flash", High, json!({"thinkingBudget": 24_576, "includeThoughts": true})),
            ("gemini-3-flash", Minimal, json!({"thinkingLevel": "MINIMAL", "includeThoughts": true})),
            ("gemini-3-flash", Medium, json!({"thinkingLevel": "MEDIUM", "includeThoughts": true})),
            ("gemini-3.1-pro", Medium, json!({"thinkingLevel": "HIGH", "includeThoughts": true})),
            ("gemini-3.1-pro", Off, json!({"thinkingLevel": "LOW"})),
            ("gemma-pro", Medium, json!({"thinkingBudget": -1, "includeThoughts": true})),
        ] {
            let wire = write_with(&Google, id, |request| request.thinking = level);
            assert_eq!(wire.body["generationConfig"]["thinkingConfig"], expected, "{id} {level}");
        }
        let map = json!({"thinkingLevelMap": {"medium": "LOW", "high": "other"}});
        for (level, expected) in [(Medium, "LOW"), (High, "HIGH")] {
            let wire =
                write_compat(&Google, "gemini-3-flash", map.clone(), |request| request.thinking = level);
            assert_eq!(wire.body["generationConfig"]["thinkingConfig"]["thinkingLevel"], expected);
        }
    }
}
