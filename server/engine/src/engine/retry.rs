//! The agent's own policies for the work after a run: retries and compactions. [`super::Afterwards`] is the trait for
//! other policies; `work` calls all of them in one list.
//!
//! Pure: the input is an answer and the settings, the output a decision.

use std::time::Duration;

use agentese::types::{AssistantMessage, CompactionReason, Model, StopReason};

use super::GoOn;
use super::compaction::is_due;
use crate::config::{CompactionSettings, RetrySettings};
use crate::providers::{Failure, FailureKind, most_tokens};

/// Returns the pause before a retry, with the retries counted from 1. Each pause is twice as long as the previous one.
fn pause(settings: &RetrySettings, attempt: u64) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    Duration::from_millis(settings.base_delay_ms.saturating_mul(factor))
}

/// Returns the pause that the provider requests, if it exceeds the permitted maximum.
pub(super) fn too_long(settings: &RetrySettings, failure: &Failure) -> Option<Duration> {
    let longest = Duration::from_millis(settings.max_delay_ms);
    failure.retry_after.filter(|asked| is_transient(failure.kind) && *asked > longest)
}

/// Returns the pause before a failed request is repeated, after so many retries. Returns `None` if the request is not
/// repeated.
pub(super) fn next_try(settings: &RetrySettings, failure: &Failure, retries: u64) -> Option<Duration> {
    let may_help = is_transient(failure.kind) && too_long(settings, failure).is_none();
    let left = settings.enabled && retries < u64::from(settings.max_retries);
    (may_help && left).then(|| pause(settings, retries + 1).max(failure.retry_after.unwrap_or_default()))
}

/// Returns the failure, as a network failure if it is a rejection whose text contains one of these words. Case and
/// punctuation are ignored.
pub(super) fn with_retried_words(failure: Failure, words: &[&str]) -> Failure {
    if failure.kind != FailureKind::BadRequest || words.is_empty() {
        return failure;
    }
    let lower = failure.text.to_lowercase();
    let parts = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    let text = format!(" {} ", parts.collect::<Vec<_>>().join(" "));
    match words.iter().any(|word| text.contains(&format!(" {word} "))) {
        true => Failure { kind: FailureKind::Network, ..failure },
        false => failure,
    }
}

/// Returns `true` if the same request may succeed later.
fn is_transient(kind: FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::RateLimited | FailureKind::Overloaded | FailureKind::Server | FailureKind::Network
    )
}

/// Decision about the work after a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Then {
    /// No work.
    Rest,
    /// The same request again, after a pause.
    Retry { attempt: u64, pause: Duration },
    /// No work after the last of several retries.
    GiveUp { attempt: u64 },
    /// A compaction. If `again` is `true`, the request is then repeated, because it has no answer yet.
    Compact { reason: CompactionReason, again: bool },
    /// No work: the conversation does not fit even after a compaction.
    StillTooLong,
    /// A run with messages that were queued after the last check by the previous run.
    Queued,
    /// Another run, requested by a policy.
    GoOn(GoOn),
}

/// The end of a run.
pub(super) struct Ended<'a> {
    /// The last answer of the run.
    pub answer: &'a AssistantMessage,
    /// Failure of the last answer, if it failed.
    pub failure: Option<&'a Failure>,
    /// Number of retries so far.
    pub attempt: u64,
    /// `true` if the context has been compacted because of an overflow since the last input of the user.
    pub made_room: bool,
    /// Number of tokens in the context.
    pub tokens: u64,
    /// The model of the answer.
    pub model: &'a Model,
    /// `true` if an answer that was cut off below the output limit of the model is requested again.
    pub mends_cuts: bool,
    /// `true` if an answer is requested again after a broken connection although it had begun.
    pub repeats_begun: bool,
}

/// Returns the decision of one of the agent's own policies; `None` leaves the decision to the next policy.
type Policy = fn(&Ended<'_>, &RetrySettings, &CompactionSettings) -> Option<Then>;

/// The agent's own policies, in call order.
pub(super) const OWN: [Policy; 2] = [try_again, make_room];

/// Repeats the request after a transient failure, up to the limit in the settings.
fn try_again(ended: &Ended<'_>, retry: &RetrySettings, compaction: &CompactionSettings) -> Option<Then> {
    let failure = ended.failure?;
    let begun = failure.kind == FailureKind::Network && !ended.answer.content.is_empty();
    let pause = next_try(retry, failure, ended.attempt).filter(|_| ended.repeats_begun || !begun);
    if let Some(pause) = pause {
        return Some(Then::Retry { attempt: ended.attempt + 1, pause });
    }
    // The repeated request may have become too long; a compaction handles that as usual.
    let can_make_room = failure.kind == FailureKind::Overflow && compaction.enabled;
    (ended.attempt > 0 && !can_make_room).then_some(Then::GiveUp { attempt: ended.attempt })
}

/// Compacts a conversation that does not fit, or nearly fills the context.
fn make_room(ended: &Ended<'_>, _: &RetrySettings, compaction: &CompactionSettings) -> Option<Then> {
    if !compaction.enabled {
        return None;
    }
    let cut = was_cut(ended);
    let (again, overflowed) = (ended.failure.is_some() || cut, overflowed(ended) || cut);
    match () {
        () if overflowed && again && ended.made_room => Some(Then::StillTooLong),
        () if overflowed => Some(Then::Compact { reason: CompactionReason::Overflow, again }),
        () if is_due(compaction, ended.tokens, ended.model) => {
            Some(Then::Compact { reason: CompactionReason::Threshold, again: false })
        }
        () => None,
    }
}

/// Returns `true` if the answer was cut off below its own output limit: the conversation may have left too few tokens.
fn was_cut(ended: &Ended<'_>) -> bool {
    let (answer, most) = (ended.answer, most_tokens(ended.model));
    ended.mends_cuts && answer.stop_reason == StopReason::Length && answer.usage.output < most
}

/// Returns `true` if the conversation did not fit: the provider reported it, or it exceeds the context of the model.
fn overflowed(ended: &Ended<'_>) -> bool {
    if let Some(failure) = ended.failure {
        return failure.kind == FailureKind::Overflow;
    }
    let usage = &ended.answer.usage;
    ended.answer.stop_reason == StopReason::Stop
        && ended.model.context_window > 0
        && usage.input.saturating_add(usage.cache_read) > ended.model.context_window
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(stop: &str, input: u64) -> AssistantMessage {
        serde_json::from_value(json!({
            "role": "assistant", "content": [], "api": "a", "provider": "p", "model": "m",
            "usage": {"input": input, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                      "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
            "stopReason": stop, "timestamp": 1,
        }))
        .unwrap()
    }

    fn model() -> Model {
        serde_json::from_value(json!({
            "id": "m", "name": "m", "api": "a", "provider": "p", "baseUrl": "", "reasoning": false,
            "input": ["text"], "contextWindow": 100_000, "maxTokens": 1000,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        }))
        .unwrap()
    }

    fn decide(stop: &str, failure: Option<Failure>, attempt: u64, tokens: u64, made_room: bool) -> Then {
        let (answer, model) = (answer(stop, tokens), model());
        let failure = failure.as_ref();
        let (mends_cuts, repeats_begun) = (false, true);
        let ended = Ended {
            answer: &answer,
            failure,
            attempt,
            made_room,
            tokens,
            model: &model,
            mends_cuts,
            repeats_begun,
        };
        let wants =
            |policy: Policy| policy(&ended, &RetrySettings::default(), &CompactionSettings::default());
        OWN.into_iter().find_map(wants).unwrap_or(Then::Rest)
    }

    fn failure(kind: FailureKind) -> Option<Failure> {
        Some(Failure::new(kind, "x"))
    }

    #[test]
    fn fm_f61_pauses_double_and_then_the_agent_gives_up() {
        let pauses: Vec<_> =
            (0..4).map(|attempt| decide("error", failure(FailureKind::Server), attempt, 0, false)).collect();
        let retry = |attempt, seconds| Then::Retry { attempt, pause: Duration::from_secs(seconds) };
        assert_eq!(pauses, [retry(1, 2), retry(2, 4), retry(3, 8), Then::GiveUp { attempt: 3 }]);
    }

    #[test]
    fn fm_f62_what_will_not_get_better_is_not_tried_again() {
        for kind in [
            FailureKind::Auth,
            FailureKind::Quota,
            FailureKind::BadRequest,
            FailureKind::Protocol,
            FailureKind::Refused,
        ] {
            assert_eq!(decide("error", failure(kind), 0, 0, false), Then::Rest, "{kind:?}");
            assert_eq!(decide("error", failure(kind), 2, 0, false), Then::GiveUp { attempt: 2 }, "{kind:?}");
        }
    }

    #[test]
    fn a_refusal_with_a_declared_word_is_tried_again() {
        let kind = |kind: FailureKind, text: &str, words: &[&str]| {
            with_retried_words(Failure::new(kind, text), words).kind
        };
        let words = ["econnreset", "connection closed", "websocket connection limit reached"];
        for text in [
            "read ECONNRESET",
            "400 {\"message\":\"Connection closed.\"}",
            "websocket_connection_limit_reached",
            "{\"code\":\"ECONNRESET\"}",
        ] {
            assert_eq!(kind(FailureKind::BadRequest, text, &words), FailureKind::Network, "{text}");
            assert_eq!(kind(FailureKind::BadRequest, text, &[]), FailureKind::BadRequest, "{text}");
            assert_eq!(kind(FailureKind::Quota, text, &words), FailureKind::Quota, "{text}");
        }
        for text in ["", "bad request", "ECONNRESETS", "connection is closed"] {
            assert_eq!(kind(FailureKind::BadRequest, text, &words), FailureKind::BadRequest, "{text}");
        }
    }

    #[test]
    fn fm_f60_a_provider_may_ask_for_a_longer_pause_up_to_the_limit() {
        let asked = |seconds| {
            let mut failure = Failure::new(FailureKind::RateLimited, "x");
            failure.retry_after = Some(Duration::from_secs(seconds));
            decide("error", Some(failure), 0, 0, false)
        };
        let retry = |seconds| Then::Retry { attempt: 1, pause: Duration::from_secs(seconds) };
        assert_eq!(asked(0), retry(2));
        assert_eq!(asked(59), retry(59));
        assert_eq!(asked(60), retry(60));
        assert_eq!(asked(61), Then::Rest);
        assert_eq!(asked(u64::MAX), Then::Rest);
    }

    #[test]
    fn no_pause_overflows() {
        let longest = Duration::from_millis(u64::MAX);
        let settings = RetrySettings { base_delay_ms: 3, ..RetrySettings::default() };
        assert_eq!(pause(&settings, 64), longest);
        assert_eq!(pause(&settings, u64::MAX), longest);
    }

    #[test]
    fn fm_f67_a_conversation_that_does_not_fit_is_compacted_once() {
        let compact = |reason, again| Then::Compact { reason, again };
        let overflow = || failure(FailureKind::Overflow);
        assert_eq!(decide("error", overflow(), 0, 0, false), compact(CompactionReason::Overflow, true));
        assert_eq!(decide("error", overflow(), 0, 0, true), Then::StillTooLong);
        assert_eq!(decide("stop", None, 0, 100_000, false), compact(CompactionReason::Threshold, false));
        assert_eq!(decide("stop", None, 0, 83_617, false), compact(CompactionReason::Threshold, false));
        assert_eq!(decide("stop", None, 0, 83_616, false), Then::Rest);
    }

    #[test]
    fn an_overflow_after_a_retry_is_compacted_as_well() {
        let overflow = || failure(FailureKind::Overflow);
        let compact = Then::Compact { reason: CompactionReason::Overflow, again: true };
        assert_eq!(decide("error", overflow(), 1, 0, false), compact);
        assert_eq!(decide("error", overflow(), 3, 0, false), compact);
        assert_eq!(decide("error", overflow(), 2, 0, true), Then::StillTooLong);
    }

    #[test]
    fn an_answer_that_took_more_than_there_is_stands_and_is_not_asked_for_again() {
        for made_room in [false, true] {
            assert_eq!(
                decide("stop", None, 0, 100_001, made_room),
                Then::Compact { reason: CompactionReason::Overflow, again: false }
            );
        }
    }

    #[test]
    fn an_answer_that_was_cut_below_its_limit_is_asked_for_again_once() {
        let small = model();
        let mut large = model();
        large.max_tokens = 64_000;
        let wants = |model: &Model, output: u64, made_room: bool, mends_cuts: bool| {
            let mut answer = answer("length", 10);
            answer.usage.output = output;
            let ended = Ended {
                answer: &answer,
                failure: None,
                attempt: 0,
                made_room,
                tokens: 10,
                model,
                mends_cuts,
                repeats_begun: true,
            };
            make_room(&ended, &RetrySettings::default(), &CompactionSettings::default())
        };
        let again = || Some(Then::Compact { reason: CompactionReason::Overflow, again: true });
        assert_eq!(wants(&small, 999, false, true), again());
        assert_eq!(wants(&small, 999, true, true), Some(Then::StillTooLong));
        assert_eq!(wants(&small, 1000, false, true), None, "the model said all that it can");
        assert_eq!(wants(&small, 999, false, false), None);
        assert_eq!(wants(&large, 31_999, false, true), again());
        assert_eq!(wants(&large, 32_000, false, true), None, "it was asked for no more");
    }

    #[test]
    fn an_answer_that_had_begun_is_asked_for_again_where_agents_do_so() {
        let model = model();
        let failure = Failure::new(FailureKind::Network, "cut");
        let wants = |content: serde_json::Value, repeats_begun: bool| {
            let mut answer = answer("error", 0);
            answer.content = serde_json::from_value(content).unwrap();
            let (attempt, made_room, tokens, mends_cuts) = (0, false, 0, false);
            let failure = Some(&failure);
            let ended = Ended {
                answer: &answer,
                failure,
                attempt,
                made_room,
                tokens,
                model: &model,
                mends_cuts,
                repeats_begun,
            };
            try_again(&ended, &RetrySettings::default(), &CompactionSettings::default()).is_some()
        };
        let text = || json!([{"type": "text", "text": "half"}]);
        assert!(wants(text(), true) && wants(json!([]), true) && wants(json!([]), false));
        assert!(!wants(text(), false));
    }
}
