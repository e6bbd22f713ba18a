//! Failures of requests and their kinds.

use std::time::Duration;

/// The kind of a failure. The reaction to a failure depends on its kind, never on its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// Too many requests at the moment.
    RateLimited,
    /// The provider is overloaded.
    Overloaded,
    /// An internal error of the provider.
    Server,
    /// The connection was not made, was cut, or stalled.
    Network,
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// The paid quota is exhausted.
    Quota,
    /// The conversation does not fit into the model's context.
    Overflow,
    /// The provider refused the content of the request.
    BadRequest,
    /// The provider sent data that is no answer.
    Protocol,
    /// The model refused, or the provider withheld its answer.
    Refused,
    /// The run has reached a limit, and no request was sent.
    Limit,
}

/// A failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of the failure.
    pub kind: FailureKind,
    /// The text for the user; contains no secret.
    pub text: String,
    /// Duration of the wait that the provider requests.
    pub retry_after: Option<Duration>,
    /// `true` if the provider gave no known reason, with a status that may mean an overflow. The failure is an overflow
    /// if the conversation nearly fills the model's context.
    pub unexplained: bool,
}

impl Failure {
    /// Creates a failure of that kind with that text.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), retry_after: None, unexplained: false }
    }

    /// Creates a failure of which only the text is known.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        if says_no_more(&text) {
            return Self { unexplained: true, ..Self::new(FailureKind::BadRequest, text) };
        }
        let kind = FailureKind::of_text(&text);
        let is_led = |status: &u16| text.starts_with(&format!("{status} "));
        let unexplained = kind == FailureKind::BadRequest && UNEXPLAINED.iter().any(is_led);
        Self { unexplained, ..Self::new(kind, text) }
    }

    /// Creates the failure for an HTTP status from a provider. `text` is the text for the user and includes the
    /// provider's reason.
    pub fn of_status(status: u16, text: impl Into<String>) -> Self {
        let text = text.into();
        let kind = FailureKind::of_status(status, &text);
        let unexplained = UNEXPLAINED.contains(&status) && kind == FailureKind::BadRequest;
        Self { unexplained, ..Self::new(kind, text) }
    }
}

/// Statuses with which servers refuse a conversation that does not fit, among other requests.
const UNEXPLAINED: &[u16] = &[400, 413];

/// Phrases of model servers for a conversation that does not fit, each with its server.
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

/// Phrases in texts by kind, most specific first: an overflow that names a limit is no rate limit, and an exhausted
/// quota does not recover with time.
const PHRASES: &[(FailureKind, &[&str])] = &[
    (FailureKind::Overflow, OVERFLOWS),
    (
        FailureKind::Quota,
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
    (FailureKind::Overloaded, &["overloaded", "server busy", "high demand", "at capacity"]),
    (FailureKind::RateLimited, &["rate limit", "rate_limit", "rate-limit", "ratelimit", "too many requests"]),
    (
        FailureKind::Server,
        &["service unavailable", "server error", "server_error", "internal error", "api_error"],
    ),
    (
        FailureKind::Network,
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
        FailureKind::Auth,
        &["authentication_error", "invalid x-api-key", "invalid api key", "permission_error"],
    ),
    // Texts of the APIs' readers.
    (FailureKind::Refused, &["the answer was held back by the provider", "the model refused to answer"]),
];

/// Kinds by status, for failures with a text that matches no phrase.
const STATUSES: &[(&[u16], FailureKind)] = &[
    (&[401, 403], FailureKind::Auth),
    (&[402], FailureKind::Quota),
    (&[408], FailureKind::Network),
    (&[409], FailureKind::Server),
    (&[429], FailureKind::RateLimited),
    (&[529], FailureKind::Overloaded),
    (&[500, 502, 503, 504, 520, 524], FailureKind::Server),
];

const NO_BODY: &str = "(no body)";

impl FailureKind {
    /// Returns the kind that a text implies, for providers that report no status.
    pub fn of_text(text: &str) -> Self {
        if says_no_more(text) {
            return Self::Overflow;
        }
        let spoken = Self::spoken(text);
        let numbered = || {
            let found =
                STATUSES.iter().find(|(statuses, _)| statuses.iter().any(|status| has_number(text, *status)));
            found.map(|(_, kind)| *kind)
        };
        spoken.or_else(numbered).unwrap_or(Self::BadRequest)
    }

    /// Returns the kind of a refusal with that HTTP status and that text.
    pub fn of_status(status: u16, text: &str) -> Self {
        let spoken = Self::spoken(text);
        let listed = STATUSES.iter().find(|(statuses, _)| statuses.contains(&status)).map(|(_, kind)| *kind);
        match (status, spoken) {
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

    fn spoken(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        let found = PHRASES.iter().find(|(_, phrases)| phrases.iter().any(|phrase| text.contains(phrase)));
        found.map(|(kind, _)| *kind)
    }
}

/// Returns true if a text is only a status that may mean an overflow.
fn says_no_more(text: &str) -> bool {
    text.contains(NO_BODY) && UNEXPLAINED.iter().any(|status| has_number(text, *status))
}

/// Returns whether a text contains a number by itself, not as a part of a longer one.
fn has_number(text: &str, number: u16) -> bool {
    text.split(|character: char| !character.is_ascii_digit()).any(|digits| digits == number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn of_text(text: &str, kind: FailureKind) {
        assert_eq!(FailureKind::of_text(text), kind, "{text}");
    }

    #[test]
    fn texts_are_of_the_kind_that_they_speak_of() {
        of_text("prompt is too long: 210000 tokens > 200000 maximum", FailureKind::Overflow);
        of_text("400 status code (no body)", FailureKind::Overflow);
        of_text("413 status code (no body)", FailureKind::Overflow);
        of_text("500 status code (no body)", FailureKind::Server);
        of_text("529 whatever", FailureKind::Overloaded);
        of_text("429 Rate limited", FailureKind::RateLimited);
        of_text("code 5003 happened", FailureKind::BadRequest);
        of_text("terminated", FailureKind::Network);
        of_text("The stream ended before the answer was complete.", FailureKind::Network);
        of_text("messages: bad", FailureKind::BadRequest);
        of_text("The answer was held back by the provider (SAFETY).", FailureKind::Refused);
        of_text("The model refused to answer (stop reason refusal).", FailureKind::Refused);
    }

    #[test]
    fn an_overflow_is_recognised_in_the_words_and_codes_of_each_server() {
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
            assert_eq!(FailureKind::of_status(400, text), FailureKind::Overflow, "{text}");
            assert_eq!(FailureKind::of_text(text), FailureKind::Overflow, "{text}");
        }
        for text in ["image exceeds the limit of 5 MB", "max_tokens is too large", r#"{"code":"12610"}"#] {
            assert_eq!(FailureKind::of_status(400, text), FailureKind::BadRequest, "{text}");
        }
    }

    #[test]
    fn a_refusal_without_a_known_reason_is_an_overflow_only_if_somebody_says_so() {
        for (status, text, unexplained) in [
            (400, "400 status code (no body)", true),
            (413, "413 status code (no body)", true),
            (413, "413 Request Entity Too Large", true),
            (400, "novel words", true),
            (422, "novel words", false),
            (404, "novel words", false),
        ] {
            let failure = Failure::of_status(status, text);
            assert_eq!((failure.kind, failure.unexplained), (FailureKind::BadRequest, unexplained), "{text}");
        }
        for (status, text) in
            [(400, "prompt is too long"), (413, "request_too_large"), (400, "quota exceeded")]
        {
            assert!(!Failure::of_status(status, text).unexplained, "{text}");
        }
        assert!(Failure::from_text("400 status code (no body)").unexplained);
    }

    #[test]
    fn fm_f62_a_quota_that_is_used_up_is_no_rate_limit() {
        for (status, text, kind) in [
            (429, "429 Rate limited", FailureKind::RateLimited),
            (429, "429 You exceeded your current quota, please check your plan", FailureKind::Quota),
            (429, r#"{"type":"insufficient_quota"}"#, FailureKind::Quota),
            (429, "429 too many tokens", FailureKind::RateLimited),
            (402, "402 Payment Required", FailureKind::Quota),
            (400, "Your credit balance is too low", FailureKind::Quota),
            (413, "request_too_large", FailureKind::Overflow),
            (400, "messages: bad", FailureKind::BadRequest),
            (400, "The server is overloaded, please try again", FailureKind::Overloaded),
            (401, "no", FailureKind::Auth),
            (404, "model: fake", FailureKind::BadRequest),
            (503, "The model is overloaded", FailureKind::Overloaded),
            (500, "oops", FailureKind::Server),
            (599, "oops", FailureKind::Server),
            (529, "oops", FailureKind::Overloaded),
        ] {
            assert_eq!(FailureKind::of_status(status, text), kind, "{status} {text}");
        }
    }
}
