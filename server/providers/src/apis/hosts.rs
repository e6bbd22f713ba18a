//! Hosts with one of OpenAI's APIs, and the points in which each differs from the oldest version of the API.

use super::api::{RequestContext, host_of};

/// A point in which a host differs from the oldest version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    /// The host accepts the current format of OpenAI: the role `developer`, `store`, `max_completion_tokens`,
    /// `strict`.
    OpenAi,
    /// The host rejects `reasoning_effort`.
    NoEffort,
    /// The host switches thinking on and off by `thinking: {type}`.
    ZaiThinking,
    /// The host requires `reasoning_content` in each message of a thinking model.
    ReasoningContent,
    /// The host requires call ids of nine letters or digits, tool names in results, and reasoning as text.
    Mistral,
    /// The host forwards `cache_control` to Anthropic.
    CacheMarks,
}

/// Hosts with their differences, by ids of providers (without a dot) and ends of domain names. The comment above each
/// row names its source. Other hosts receive the oldest version: the role `system`, `max_tokens`, no `store`, no
/// `strict`.
const HOSTS: &[(&[&str], &[Quirk])] = &[
    // https://platform.openai.com/docs/api-reference/chat/create
    (&["api.openai.com"], &[Quirk::OpenAi]),
    // https://learn.microsoft.com/azure/ai-foundry/openai/latest
    (
        &[
            "openai.azure.com",
            "openai.azure.us",
            "openai.azure.cn",
            "cognitiveservices.azure.com",
            "services.ai.azure.com",
        ],
        &[Quirk::OpenAi],
    ),
    // https://openrouter.ai/docs/features/prompt-caching
    (&["openrouter", "openrouter.ai"], &[Quirk::CacheMarks]),
    // https://api-docs.deepseek.com/guides/thinking_mode
    (&["deepseek", "deepseek.com"], &[Quirk::ReasoningContent]),
    // https://docs.mistral.ai/api/#tag/chat
    (&["mistral", "mistral.ai"], &[Quirk::Mistral]),
    // https://docs.x.ai/docs/guides/reasoning
    (&["xai", "x.ai"], &[Quirk::NoEffort]),
    // https://docs.z.ai/api-reference/llm/chat-completion
    (&["zai", "z.ai", "bigmodel.cn"], &[Quirk::NoEffort, Quirk::ZaiThinking]),
    // https://platform.moonshot.ai/docs/api/chat
    (&["moonshotai", "moonshot.ai", "moonshot.cn"], &[Quirk::NoEffort]),
    // https://docs.together.ai/reference/chat-completions-1
    (&["together", "together.ai", "together.xyz"], &[Quirk::NoEffort]),
    // https://docs.api.nvidia.com/nim/reference/llm-apis
    (&["nvidia", "integrate.api.nvidia.com"], &[Quirk::NoEffort]),
    // https://developers.cloudflare.com/ai-gateway/usage/chat-completion/
    (&["cloudflare-ai-gateway", "gateway.ai.cloudflare.com"], &[Quirk::NoEffort]),
];

/// Returns true if the host of a request or the name of its provider has this difference.
pub(super) fn has_quirk(context: &RequestContext<'_>, quirk: Quirk) -> bool {
    let host = host_of(&context.model().base_url).unwrap_or_default();
    let is = |name: &&str| match name.contains('.') {
        true => host == **name || host.strip_suffix(*name).is_some_and(|rest| rest.ends_with('.')),
        false => context.model().provider == **name,
    };
    HOSTS.iter().any(|(names, habits)| habits.contains(&quirk) && names.iter().any(is))
}
