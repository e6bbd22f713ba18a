//! Why a request failed, and of what kind that is.

use std::time::Duration;

/// What kind of failure it was: what follows it depends on this, never on its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureKind {
    /// Too many requests for now.
    RateLimited,
    /// The provider has too much to do.
    Overloaded,
    /// The provider failed.
    Server,
    /// The connection was not made, was cut, or stalled.
    Network,
    /// The key is missing, wrong, or not allowed to do this.
    Auth,
    /// What was paid for is used up.
    Quota,
    /// The conversation does not fit into the model's context.
    Overflow,
    /// The request was refused for what it says.
    BadRequest,
    /// The provider said something that is no answer.
    Protocol,
    /// The model refused, or its answer was held back.
    Refused,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind it is.
    pub kind: FailureKind,
    /// What the user reads; carries no secret.
    pub text: String,
    /// How long the provider asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure of that kind, with that text.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), retry_after: None }
    }

    /// A failure of which nothing but its text is known.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(FailureKind::of_text(&text), text)
    }
}

impl FailureKind {
    /// The kind that a text speaks of, for providers that say no more.
    pub fn of_text(text: &str) -> Self {
        let text = text.to_lowercase();
        let speaks_of = |words: &[&str]| words.iter().any(|word| text.contains(word));
        match () {
            () if speaks_of(&["prompt is too long", "context length", "(no body)"]) => Self::Overflow,
            () if speaks_of(&["overloaded", "529"]) => Self::Overloaded,
            () if speaks_of(&["rate limit", "rate_limit", "too many requests", "429"]) => Self::RateLimited,
            () if speaks_of(&["500", "502", "503", "504", "server error", "internal error"]) => Self::Server,
            () if speaks_of(&["terminated", "fetch failed", "connection"]) => Self::Network,
            () => Self::BadRequest,
        }
    }
}
