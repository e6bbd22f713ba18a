//! Differences between the hosts of the chat completions API.

use agentese::types::ThinkingLevel;
use serde_json::{Map, Value};

use super::super::api::RequestContext;
use super::super::fallbacks::Fallback;
use super::super::hosts::{Quirk, has_quirk};

/// The member of a request that controls thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingFormat {
    /// The request uses the member `reasoning_effort`.
    OpenAi,
    /// The request uses the member `thinking: {type}`.
    Zai,
    /// The request uses the member `enable_thinking`.
    Qwen,
    /// The request uses the member `chat_template_kwargs: {enable_thinking}`.
    QwenChatTemplate,
}

/// Name of the member that limits the answer at servers with the oldest version of the API.
const SHORT_FIELD: &str = "max_tokens";

const FORMATS: &[(&str, ThinkingFormat)] = &[
    ("openai", ThinkingFormat::OpenAi),
    ("zai", ThinkingFormat::Zai),
    ("qwen", ThinkingFormat::Qwen),
    ("qwen-chat-template", ThinkingFormat::QwenChatTemplate),
];

/// Features and requirements of a host, determined by its name and address. The member `compat` of a model in
/// `models.json` overrides them.
#[derive(Debug, Clone)]
pub(super) struct Compat<'a> {
    pub store: bool,
    pub developer_role: bool,
    pub reasoning_effort: bool,
    pub usage_in_streaming: bool,
    pub strict_mode: bool,
    /// True if the request contains an empty list of tools when the history has calls but no tools are offered.
    pub tools_with_history: bool,
    /// True if signatures and details of reasoning and calls are sent back to the host.
    pub keeps_reasoning: bool,
    /// True if each assistant message has `reasoning_content`, unless its thinking is sent as text.
    pub reasoning_content: bool,
    pub cache_marks: bool,
    pub tool_result_name: bool,
    pub assistant_after_tool_result: bool,
    pub thinking_as_text: bool,
    pub mistral_tool_ids: bool,
    pub max_tokens_field: &'static str,
    pub thinking_format: ThinkingFormat,
    members: &'a Map<String, Value>,
}

/// Parts of a request that some hosts reject, or without which they reject it.
pub(super) const FALLBACKS: &[Fallback] = &[
    Fallback::new("role", &["developer", "role"]),
    Fallback::new("store", &["store"]),
    Fallback::new("max_tokens", &["max_tokens", "max_completion_tokens"]),
    Fallback::new("strict", &["strict"]),
    Fallback::new("stream_options", &["stream_options", "include_usage"]),
    Fallback::new("reasoning_effort", &["reasoning_effort", "reasoningEffort"]).except(&["value"]),
    Fallback::new("tools", &["tools"]),
    Fallback::new("reasoning_content", &["reasoning_content"]),
    Fallback::new("reasoning", &["reasoning_details", "reasoning", "reasoning_text", "extra_content"]),
];

impl<'a> Compat<'a> {
    pub fn of(context: &RequestContext<'a>) -> Self {
        let owner = has_quirk(context, Quirk::OpenAi);
        let mistral = has_quirk(context, Quirk::Mistral);
        let zai = has_quirk(context, Quirk::ZaiThinking);
        let members = context.compat;
        let declared = |name: &str| members.get(name).and_then(Value::as_bool);
        let flag = |name: &str, known: bool| declared(name).unwrap_or(known);
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let turned = |form: &str, flag: bool| context.fallbacks.apply(form, flag);
        let format =
            text("thinkingFormat").and_then(|wanted| FORMATS.iter().find(|(name, _)| *name == wanted));
        let long_field = text("maxTokensField").map_or(owner, |field| field != SHORT_FIELD);
        let reasoning_content = declared("requiresReasoningContentOnAssistantMessages")
            .unwrap_or(context.model().reasoning && has_quirk(context, Quirk::ReasoningContent));
        Self {
            store: turned("store", flag("supportsStore", owner)),
            developer_role: turned("role", context.model().reasoning && flag("supportsDeveloperRole", owner)),
            reasoning_effort: flag("supportsReasoningEffort", !has_quirk(context, Quirk::NoEffort))
                && !context.fallbacks.has("reasoning_effort"),
            usage_in_streaming: flag("supportsUsageInStreaming", true)
                && !context.fallbacks.has("stream_options"),
            strict_mode: turned("strict", flag("supportsStrictMode", owner)),
            tools_with_history: turned("tools", flag("requiresToolsWithToolHistory", false)),
            keeps_reasoning: !context.fallbacks.has("reasoning"),
            reasoning_content: turned("reasoning_content", reasoning_content),
            cache_marks: has_quirk(context, Quirk::CacheMarks)
                && context.model().id.starts_with("anthropic/"),
            tool_result_name: flag("requiresToolResultName", mistral),
            assistant_after_tool_result: flag("requiresAssistantAfterToolResult", false),
            thinking_as_text: flag("requiresThinkingAsText", mistral),
            mistral_tool_ids: flag("requiresMistralToolIds", mistral),
            max_tokens_field: if turned("max_tokens", long_field) {
                "max_completion_tokens"
            } else {
                SHORT_FIELD
            },
            thinking_format: match format {
                Some((_, format)) => *format,
                None if zai => ThinkingFormat::Zai,
                None => ThinkingFormat::OpenAi,
            },
            members,
        }
    }

    /// Returns the host's name for a thinking level.
    pub fn effort(&self, level: ThinkingLevel) -> String {
        let named = self.members.get("reasoningEffortMap").and_then(|map| map[level.as_str()].as_str());
        named.unwrap_or(level.as_str()).to_owned()
    }

    /// Returns the value of a member of `compat` that controls the routing of requests.
    pub fn routing(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| value.is_object())
    }

    /// Converts an id to the form that the host accepts.
    pub fn id(&self, id: &str) -> String {
        if self.mistral_tool_ids {
            return mistral_id(id);
        }
        let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        let id = id.split('|').next().unwrap_or_default();
        id.chars().map(|character| if allowed(character) { character } else { '_' }).take(40).collect()
    }
}

/// Converts an id to nine letters and digits, as Mistral requires. The result depends only on the id, so that calls and
/// results still match.
fn mistral_id(id: &str) -> String {
    const LENGTH: usize = 9;
    const DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    if id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    // FNV-1a.
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut made = String::with_capacity(LENGTH);
    for _ in 0..LENGTH {
        let digits = DIGITS.len() as u64;
        made.push(char::from(DIGITS[usize::try_from(hash % digits).unwrap_or_default()]));
        hash /= digits;
    }
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::apis::testing::context_of;

    #[test]
    fn hosts_are_known_by_name_and_address_unless_models_json_overrides_them() {
        let flags = |provider: &str, url: &str, compat: Value| {
            context_of(provider, url, compat, |context| {
                let compat = Compat::of(context);
                (
                    compat.developer_role,
                    compat.reasoning_effort,
                    compat.max_tokens_field,
                    compat.mistral_tool_ids,
                )
            })
        };
        let (long, short) = ("max_completion_tokens", "max_tokens");
        for owner in [
            "https://api.openai.com/v1",
            "https://eu.api.openai.com/v1",
            "https://mine.openai.azure.com/openai/v1",
            "https://mine.cognitiveservices.azure.com/openai/v1",
        ] {
            assert_eq!(flags("mine", owner, json!({})), (true, true, long, false), "{owner}");
        }
        for other in [
            "http://127.0.0.1:8080/v1",
            "https://openrouter.ai/api/v1",
            "https://api.groq.com/openai/v1",
            "https://api.cerebras.ai/v1",
            "https://api.deepseek.com",
            "https://notapi.openai.com/v1",
            "https://api.openai.com.example/v1",
        ] {
            assert_eq!(flags("mine", other, json!({})), (false, true, short, false), "{other}");
        }
        // The name `openai` has no effect if the address is not OpenAI's.
        assert_eq!(flags("openai", "http://127.0.0.1:8080/v1", json!({})), (false, true, short, false));
        for (provider, url) in [("xai", "http://proxy/v1"), ("mine", "https://api.x.ai/v1")] {
            assert_eq!(flags(provider, url, json!({})), (false, false, short, false));
        }
        assert_eq!(flags("mine", "https://api.mistral.ai/v1", json!({})), (false, true, short, true));
        let compat =
            json!({"requiresMistralToolIds": false, "supportsDeveloperRole": true, "maxTokensField": long});
        assert_eq!(flags("mistral", "https://api.mistral.ai/v1", compat), (true, true, long, false));
        let compat = json!({"supportsDeveloperRole": false, "maxTokensField": short});
        assert_eq!(flags("openai", "https://api.openai.com/v1", compat), (false, true, short, false));
    }

    #[test]
    fn mistral_ids_are_nine_letters_that_depend_on_the_id() {
        assert_eq!(mistral_id("abcDEF123"), "abcDEF123");
        let made = mistral_id("call_1");
        assert_eq!(made, mistral_id("call_1"));
        assert_ne!(made, mistral_id("call_2"));
        assert!(made.len() == 9 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{made}");
    }
}
