//! Failures of requests to models, and their kinds.

use std::time::Duration;

/// The kind of a failure. Only the kind, not the text, decides the reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// The provider received too many requests and refused this one.
    RateLimited,
    /// The provider is overloaded.
    Overloaded,
    /// The provider reported an internal error.
    Server,
    /// The connection was not made, was cut, or stalled.
    Network,
    /// The key is missing or wrong, or lacks a permission.
    Auth,
    /// The paid quota is exhausted.
    Quota,
    /// The conversation does not fit into the model's context.
    Overflow,
    /// The provider refused the content of the request.
    BadRequest,
    /// The provider sent data that are not an answer.
    Protocol,
    /// The model refused to answer, or the provider withheld the answer.
    Refused,
    /// The run has reached a limit, and no request was sent.
    Limit,
}

/// A failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// The kind of the failure.
    pub kind: ProviderErrorKind,
    /// The text for the user; contains no secret.
    pub text: String,
    /// Time to wait before a retry, as the provider requests it.
    pub retry_after: Option<Duration>,
    /// `true` if the provider gave no known reason and its status is also used for an overflow. The failure is an
    /// overflow if the conversation nearly fills the model's context.
    pub may_be_overflow: bool,
}

impl ProviderError {
    /// Creates a failure of the given kind with the given text.
    pub fn new(kind: ProviderErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), retry_after: None, may_be_overflow: false }
    }

    /// Creates a failure whose kind is derived from its text.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        if is_bare_status(&text) {
            return Self { may_be_overflow: true, ..Self::new(ProviderErrorKind::BadRequest, text) };
        }
        let kind = ProviderErrorKind::from_text(&text);
        let starts_with_status = |status: &u16| text.starts_with(&format!("{status} "));
        let unexplained =
            kind == ProviderErrorKind::BadRequest && OVERFLOW_STATUSES.iter().any(starts_with_status);
        Self { may_be_overflow: unexplained, ..Self::new(kind, text) }
    }

    /// Creates a failure for an HTTP status from a provider. `text` is the text for the user, including the provider's
    /// reason.
    pub fn from_status(status: u16, text: impl Into<String>) -> Self {
        let text = text.into();
        let kind = ProviderErrorKind::from_status(status, &text);
        let may_be_overflow = OVERFLOW_STATUSES.contains(&status) && kind == ProviderErrorKind::BadRequest;
        Self { may_be_overflow, ..Self::new(kind, text) }
    }
}

/// HTTP statuses that servers send if a conversation is too long, and also for other reasons.
const OVERFLOW_STATUSES: &[u16] = &[400, 413];

/// Phrases with which model servers report that a conversation is too long. A comment gives the server of each phrase.
const OVERFLOWS: &[&str] = &[
    // Anthropic.
    "prompt is too long",
    "exceed context limit",
    "request_too_large",
    "model_context_window_exceeded",
    // Amazon Bedrock.
    "input is too long",
    // OpenAI, Azure, and servers with the same phrases: vLLM, LiteLLM, OpenRouter, DeepSeek.
    "exceeds the context window",
    "maximum context length",
    "context_length_exceeded",
    "context length exceeded",
    "input tokens exceed the configured limit",
    "contextwindowexceedederror",
    // Google.
    "input token count",
    "exceeds the maximum number of tokens",
    // xAI.
    "maximum prompt length is",
    // Groq.
    "reduce the length of the messages",
    // GitHub Copilot.
    "model_max_prompt_tokens_exceeded",
    "prompt token count of",
    // llama.cpp.
    "available context size",
    "exceed_context_size",
    // LM Studio.
    "greater than the context length",
    "context size has been exceeded",
    // SGLang.
    "longer than the model's context length",
    // Ollama.
    "prompt too long",
    "input length exceeds the context length",
    // Text Generation Inference.
    "`inputs` tokens + `max_new_tokens` must be",
    // Mistral.
    "too large for model with",
    // MiniMax.
    "context window exceeds limit",
    // Moonshot.
    "exceeded model token limit",
    // DashScope.
    "range of input length should be",
    // Z.AI: its phrase and its code.
    "prompt exceeds max length",
    "\"code\":\"1261\"",
    "\"code\":1261",
    // Several.
    "too many tokens",
    "token limit exceeded",
];

/// Phrases by kind, most specific first; the first match applies. So an overflow that mentions a limit is not
/// classified as a rate limit. An exhausted quota is not classified as a temporary failure.
const PHRASES: &[(ProviderErrorKind, &[&str])] = &[
    (ProviderErrorKind::Overflow, OVERFLOWS),
    (
        ProviderErrorKind::Quota,
        &[
            "insufficient_quota",
            "insufficient quota",
            "out of budget",
            "quota exceeded",
            "exceeded your current quota",
            "billing",
            "credit balance",
        ],
    ),
    (ProviderErrorKind::Overloaded, &["overloaded", "server busy", "high demand", "at capacity"]),
    (
        ProviderErrorKind::RateLimited,
        &["rate limit", "rate_limit", "rate-limit", "ratelimit", "too many requests"],
    ),
    (
        ProviderErrorKind::Server,
        &["service unavailable", "server error", "server_error", "internal error", "api_error"],
    ),
    (
        ProviderErrorKind::Network,
        &[
            "terminated",
            "fetch failed",
            "connection",
            "other side closed",
            "reset before headers",
            "upstream connect",
            "socket hang up",
            "timed out",
            "timeout",
            "ended before",
        ],
    ),
    (
        ProviderErrorKind::Auth,
        &["authentication_error", "invalid x-api-key", "invalid api key", "permission_error"],
    ),
    // Texts of the APIs' readers.
    (
        ProviderErrorKind::Refused,
        &["the answer was held back by the provider", "the model refused to answer"],
    ),
];

/// Kinds by HTTP status, for failures whose text matches no phrase.
const STATUSES: &[(&[u16], ProviderErrorKind)] = &[
    (&[401, 403], ProviderErrorKind::Auth),
    (&[402], ProviderErrorKind::Quota),
    (&[408], ProviderErrorKind::Network),
    (&[409], ProviderErrorKind::Server),
    (&[429], ProviderErrorKind::RateLimited),
    (&[529], ProviderErrorKind::Overloaded),
    (&[500, 502, 503, 504, 520, 524], ProviderErrorKind::Server),
];

const NO_BODY: &str = "(no body)";

impl ProviderErrorKind {
    /// Returns the kind of a failure from its text, for providers that report no status.
    pub fn from_text(text: &str) -> Self {
        if is_bare_status(text) {
            return Self::Overflow;
        }
        let from_phrase = Self::from_phrase(text);
        let numbered = || {
            let found =
                STATUSES.iter().find(|(statuses, _)| statuses.iter().any(|status| has_number(text, *status)));
            found.map(|(_, kind)| *kind)
        };
        from_phrase.or_else(numbered).unwrap_or(Self::BadRequest)
    }

    /// Returns the kind of a failure from its HTTP status and its text.
    pub fn from_status(status: u16, text: &str) -> Self {
        let from_phrase = Self::from_phrase(text);
        let listed = STATUSES.iter().find(|(statuses, _)| statuses.contains(&status)).map(|(_, kind)| *kind);
        match (status, from_phrase) {
            // Too many tokens in a minute are too many requests, not too long a prompt.
            (429, Some(Self::Quota)) => Self::Quota,
            (429, _) => Self::RateLimited,
            (401 | 403, _) => Self::Auth,
            // Some servers report an overload with a 400.
            (400..=499, Some(kind @ (Self::Overflow | Self::Quota | Self::Overloaded))) => kind,
            (500.., Some(kind @ (Self::Overflow | Self::Overloaded))) => kind,
            (500.., _) => listed.unwrap_or(Self::Server),
            _ => listed.unwrap_or(Self::BadRequest),
        }
    }

    fn from_phrase(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let found = PHRASES.iter().find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)));
        found.map(|(kind, _)| *kind)
    }
}

/// Returns true if a text contains only an HTTP status that can mean an overflow.
fn is_bare_status(text: &str) -> bool {
    text.contains(NO_BODY) && OVERFLOW_STATUSES.iter().any(|status| has_number(text, *status))
}

/// Returns true if a text contains a number that is not a part of a longer number.
fn has_number(text: &str, number: u16) -> bool {
    text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits == number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn of_text(text: &str, kind: ProviderErrorKind) {
        assert_eq!(ProviderErrorKind::from_text(text), kind, "{text}");
    }

    #[test]
    fn error_texts_imply_their_kind() {
        of_text("prompt is too long: 210000 tokens > 200000 maximum", ProviderErrorKind::Overflow);
        of_text("400 status code (no body)", ProviderErrorKind::Overflow);
        of_text("413 status code (no body)", ProviderErrorKind::Overflow);
        of_text("500 status code (no body)", ProviderErrorKind::Server);
        of_text("529 whatever", ProviderErrorKind::Overloaded);
        of_text("429 Rate limited", ProviderErrorKind::RateLimited);
        of_text("code 5003 happened", ProviderErrorKind::BadRequest);
        of_text("terminated", ProviderErrorKind::Network);
        of_text("The stream ended before the answer was complete.", ProviderErrorKind::Network);
        of_text("messages: bad", ProviderErrorKind::BadRequest);
        of_text("The answer was held back by the provider (SAFETY).", ProviderErrorKind::Refused);
        of_text("The model refused to answer (stop reason refusal).", ProviderErrorKind::Refused);
    }

    #[test]
    fn an_overflow_is_recognised_by_the_texts_and_codes_of_each_server() {
        for text in [
            "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
            "Prompt exceeds max length",
            r#"{"code":"1261","message":"novel words"}"#,
            r#"{"code":1261,"message":"novel words"}"#,
            "the input length exceeds the context length",
            r#"{"code":400,"message":"novel words","type":"exceed_context_size_error"}"#,
            "Range of input length should be [1, 30720]",
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "prompt token count of 130000 exceeds the limit of 128000",
        ] {
            assert_eq!(ProviderErrorKind::from_status(400, text), ProviderErrorKind::Overflow, "{text}");
            assert_eq!(ProviderErrorKind::from_text(text), ProviderErrorKind::Overflow, "{text}");
        }
        for text in ["image exceeds the limit of 5 MB", "max_tokens is too large", r#"{"code":"12610"}"#] {
            assert_eq!(ProviderErrorKind::from_status(400, text), ProviderErrorKind::BadRequest, "{text}");
        }
    }

    #[test]
    fn a_refusal_without_a_known_reason_may_be_an_overflow() {
        for (status, text, unexplained) in [
            (400, "400 status code (no body)", true),
            (413, "413 status code (no body)", true),
            (413, "413 Request Entity Too Large", true),
            (400, "novel words", true),
            (422, "novel words", false),
            (404, "novel words", false),
        ] {
            let failure = ProviderError::from_status(status, text);
            assert_eq!(
                (failure.kind, failure.may_be_overflow),
                (ProviderErrorKind::BadRequest, unexplained),
                "{text}"
            );
        }
        for (status, text) in
            [(400, "prompt is too long"), (413, "request_too_large"), (400, "quota exceeded")]
        {
            assert!(!ProviderError::from_status(status, text).may_be_overflow, "{text}");
        }
        assert!(ProviderError::from_text("400 status code (no body)").may_be_overflow);
    }

    #[test]
    fn fm_f62_a_quota_that_is_used_up_is_no_rate_limit() {
        for (status, text, kind) in [
            (429, "429 Rate limited", ProviderErrorKind::RateLimited),
            (429, "429 You exceeded your current quota, please check your plan", ProviderErrorKind::Quota),
            (429, r#"{"type":"insufficient_quota"}"#, ProviderErrorKind::Quota),
            (429, "429 too many tokens", ProviderErrorKind::RateLimited),
            (402, "402 Payment Required", ProviderErrorKind::Quota),
            (400, "Your credit balance is too low", ProviderErrorKind::Quota),
            (413, "request_too_large", ProviderErrorKind::Overflow),
            (400, "messages: bad", ProviderErrorKind::BadRequest),
            (400, "The server is overloaded, please try again", ProviderErrorKind::Overloaded),
            (401, "no", ProviderErrorKind::Auth),
            (404, "model: fake", ProviderErrorKind::BadRequest),
            (503, "The model is overloaded", ProviderErrorKind::Overloaded),
            (500, "oops", ProviderErrorKind::Server),
            (599, "oops", ProviderErrorKind::Server),
            (529, "oops", ProviderErrorKind::Overloaded),
        ] {
            assert_eq!(ProviderErrorKind::from_status(status, text), kind, "{status} {text}");
        }
    }
}
