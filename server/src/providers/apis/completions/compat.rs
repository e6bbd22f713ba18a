//! How hosts differ that speak the chat completions API.

use agentese::types::ThinkingLevel;
use serde_json::{Map, Value};

use super::super::{Asked, host_of};

/// How a host is told to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkingFormat {
    /// `reasoning_effort`.
    OpenAi,
    /// `thinking: {type}`.
    Zai,
    /// `enable_thinking`.
    Qwen,
    /// `chat_template_kwargs: {enable_thinking}`.
    QwenChatTemplate,
}

const FORMATS: &[(&str, ThinkingFormat)] = &[
    ("openai", ThinkingFormat::OpenAi),
    ("zai", ThinkingFormat::Zai),
    ("qwen", ThinkingFormat::Qwen),
    ("qwen-chat-template", ThinkingFormat::QwenChatTemplate),
];

/// What a host supports and needs: what is known of it by its name and address, and over that what
/// the model's `compat` in `models.json` says.
#[derive(Debug, Clone)]
pub(super) struct Compat<'a> {
    pub store: bool,
    pub developer_role: bool,
    pub reasoning_effort: bool,
    pub usage_in_streaming: bool,
    pub strict_mode: bool,
    pub tool_result_name: bool,
    pub assistant_after_tool_result: bool,
    pub thinking_as_text: bool,
    pub mistral_tool_ids: bool,
    pub max_tokens_field: &'static str,
    pub thinking_format: ThinkingFormat,
    members: &'a Map<String, Value>,
}

/// Hosts that refuse what OpenAI added after the others had copied it.
const PLAIN: &[&str] =
    &["cerebras", "xai", "x.ai", "mistral", "chutes", "deepseek", "zai", "z.ai", "opencode"];

impl<'a> Compat<'a> {
    pub fn of(asked: &Asked<'a>) -> Self {
        let model = asked.model();
        let host = host_of(&model.base_url).unwrap_or_default();
        // A name matches the provider, or a whole label or the end of its host.
        let is = |name: &str| {
            model.provider == name
                || host.split('.').any(|label| label == name)
                || (name.contains('.') && (host == name || host.ends_with(&format!(".{name}"))))
        };
        let plain = PLAIN.iter().any(|name| is(name));
        let mistral = is("mistral");
        let zai = is("zai") || is("z.ai");
        let members = asked.compat;
        let flag = |name: &str, known: bool| members.get(name).and_then(Value::as_bool).unwrap_or(known);
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let format =
            text("thinkingFormat").and_then(|wanted| FORMATS.iter().find(|(name, _)| *name == wanted));
        Self {
            store: flag("supportsStore", !plain),
            developer_role: flag("supportsDeveloperRole", !plain),
            reasoning_effort: flag("supportsReasoningEffort", !(zai || is("xai") || is("x.ai"))),
            usage_in_streaming: flag("supportsUsageInStreaming", true),
            strict_mode: flag("supportsStrictMode", true),
            tool_result_name: flag("requiresToolResultName", mistral),
            assistant_after_tool_result: flag("requiresAssistantAfterToolResult", false),
            thinking_as_text: flag("requiresThinkingAsText", mistral),
            mistral_tool_ids: flag("requiresMistralToolIds", mistral),
            max_tokens_field: match text("maxTokensField") {
                Some("max_tokens") => "max_tokens",
                Some(_) => "max_completion_tokens",
                None if mistral || is("chutes") => "max_tokens",
                None => "max_completion_tokens",
            },
            thinking_format: match format {
                Some((_, format)) => *format,
                None if zai => ThinkingFormat::Zai,
                None => ThinkingFormat::OpenAi,
            },
            members,
        }
    }

    /// What the host calls a level.
    pub fn effort(&self, level: ThinkingLevel) -> String {
        let named = self.members.get("reasoningEffortMap").and_then(|map| map[level.as_str()].as_str());
        named.unwrap_or(level.as_str()).to_owned()
    }

    /// What is passed on to a router, by the name of the member in `compat`.
    pub fn routing(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| value.is_object())
    }

    /// The id in the form that the host takes.
    pub fn id(&self, id: &str) -> String {
        if self.mistral_tool_ids {
            return mistral_id(id);
        }
        let allowed = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
        let id = id.split('|').next().unwrap_or_default();
        id.chars().map(|character| if allowed(character) { character } else { '_' }).take(40).collect()
    }
}

/// Mistral takes nine letters and digits. An id that is not made like that becomes one that depends on
/// it alone, so that calls and results stay together.
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
    use crate::providers::apis::testing::asked_of;

    #[test]
    fn hosts_are_known_by_name_and_address_and_models_json_has_the_last_word() {
        let flags = |provider: &str, url: &str, compat: Value| {
            asked_of(provider, url, compat, |asked| {
                let compat = Compat::of(asked);
                (
                    compat.developer_role,
                    compat.reasoning_effort,
                    compat.max_tokens_field,
                    compat.mistral_tool_ids,
                )
            })
        };
        let usual = "max_completion_tokens";
        assert_eq!(flags("openai", "https://api.openai.com/v1", json!({})), (true, true, usual, false));
        assert_eq!(flags("mine", "http://127.0.0.1:8080/v1", json!({})), (true, true, usual, false));
        assert_eq!(flags("xai", "https://api.x.ai/v1", json!({})), (false, false, usual, false));
        assert_eq!(flags("mine", "https://api.x.ai/v1", json!({})), (false, false, usual, false));
        assert_eq!(flags("mine", "https://api.mistral.ai/v1", json!({})), (false, true, "max_tokens", true));
        assert_eq!(
            flags(
                "mistral",
                "https://api.mistral.ai/v1",
                json!({"requiresMistralToolIds": false,
                  "supportsDeveloperRole": true, "maxTokensField": usual})
            ),
            (true, true, usual, false)
        );
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
