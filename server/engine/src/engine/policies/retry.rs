//! Retries of requests to a model: which failures are transient, and the pauses between the requests. Without I/O.

use std::time::Duration;

use crate::config::RetrySettings;
use crate::providers::{ProviderError, ProviderErrorKind};

/// Differences between agents in the repetition of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `true` if the first repetitions of a request after a transient failure emit no events.
    pub provider_retries: bool,
    /// `true` if an answer that had already begun is requested again after its connection broke.
    pub retries_started_answers: bool,
    /// `true` if an answer that is requested again after a compaction leaves the context before that
    /// compaction. Clients then see no retry. In that case, an answer that was cut off below the output limit
    /// of the model is requested again as well.
    pub drops_answer_before_compaction: bool,
    /// `true` if the session stores an entry, and emits an event, when an answer leaves the context before it is
    /// requested again. Otherwise only the running process knows this.
    pub records_context_edits: bool,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            provider_retries: true,
            retries_started_answers: true,
            drops_answer_before_compaction: false,
            records_context_edits: false,
        }
    }
}

/// Returns the pause before a retry. `attempt` is its number, from 1. Each pause is twice as long as the previous
/// one.
fn pause(settings: &RetrySettings, attempt: u64) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    Duration::from_millis(settings.base_delay_ms.saturating_mul(factor))
}

/// Returns the pause that the provider requests, if it is too long for the settings.
pub(in crate::engine) fn excessive_delay(
    settings: &RetrySettings,
    failure: &ProviderError,
) -> Option<Duration> {
    let longest = Duration::from_millis(settings.max_delay_ms);
    failure.retry_after.filter(|requested| is_transient(failure.kind) && *requested > longest)
}

/// Returns the pause before a failed request is repeated. `retries` is the number of retries so far. Returns `None`
/// if the request is not repeated.
pub(in crate::engine) fn next_retry_pause(
    settings: &RetrySettings,
    failure: &ProviderError,
    retries: u64,
) -> Option<Duration> {
    let may_help = is_transient(failure.kind) && excessive_delay(settings, failure).is_none();
    let left = settings.enabled && retries < u64::from(settings.max_retries);
    (may_help && left).then(|| pause(settings, retries + 1).max(failure.retry_after.unwrap_or_default()))
}

/// Changes a rejection to a network failure if its text contains one of `words`. Case and punctuation are ignored.
/// Other failures stay unchanged.
pub(in crate::engine) fn classify_by_text(failure: ProviderError, words: &[&str]) -> ProviderError {
    if failure.kind != ProviderErrorKind::BadRequest || words.is_empty() {
        return failure;
    }
    let lower = failure.text.to_lowercase();
    let parts = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    let text = format!(" {} ", parts.collect::<Vec<_>>().join(" "));
    match words.iter().any(|word| text.contains(&format!(" {word} "))) {
        true => ProviderError { kind: ProviderErrorKind::Network, ..failure },
        false => failure,
    }
}

/// Returns `true` if the same request may succeed later.
fn is_transient(kind: ProviderErrorKind) -> bool {
    matches!(
        kind,
        ProviderErrorKind::RateLimited
            | ProviderErrorKind::Overloaded
            | ProviderErrorKind::Server
            | ProviderErrorKind::Network
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejection_with_a_declared_text_is_retried() {
        let kind = |kind: ProviderErrorKind, text: &str, words: &[&str]| {
            classify_by_text(ProviderError::new(kind, text), words).kind
        };
        let words = ["econnreset", "connection closed", "websocket connection limit reached"];
        for text in [
            "read ECONNRESET",
            "400 {\"message\":\"Connection closed.\"}",
            "websocket_connection_limit_reached",
            "{\"code\":\"ECONNRESET\"}",
        ] {
            assert_eq!(
                kind(ProviderErrorKind::BadRequest, text, &words),
                ProviderErrorKind::Network,
                "{text}"
            );
            assert_eq!(
                kind(ProviderErrorKind::BadRequest, text, &[]),
                ProviderErrorKind::BadRequest,
                "{text}"
            );
            assert_eq!(kind(ProviderErrorKind::Quota, text, &words), ProviderErrorKind::Quota, "{text}");
        }
        for text in ["", "bad request", "ECONNRESETS", "connection is closed"] {
            assert_eq!(
                kind(ProviderErrorKind::BadRequest, text, &words),
                ProviderErrorKind::BadRequest,
                "{text}"
            );
        }
    }

    #[test]
    fn no_pause_overflows() {
        let longest = Duration::from_millis(u64::MAX);
        let settings = RetrySettings { base_delay_ms: 3, ..RetrySettings::default() };
        assert_eq!(pause(&settings, 64), longest);
        assert_eq!(pause(&settings, u64::MAX), longest);
    }
}
