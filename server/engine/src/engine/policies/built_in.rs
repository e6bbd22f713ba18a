//! The agent's own policies for the work after a run: retries and compactions. [`crate::engine::PostRunPolicy`] is the
//! trait for other policies; `run::lifecycle` calls all of them in one list.
//!
//! Without I/O: the functions decide from an answer and the settings.

use std::time::Duration;

use agentese::types::{AssistantMessage, CompactionReason, Model, StopReason};

use super::compaction::is_due;
use super::retry::{RetryPolicy, next_retry_pause};
use crate::config::{CompactionSettings, RetrySettings};
use crate::engine::FollowUpRun;
use crate::providers::{ProviderError, ProviderErrorKind, default_max_tokens};

/// Decision about the work after a run.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::engine) enum NextAction {
    /// No further work follows.
    Stop,
    /// The same request is sent again, after a pause.
    Retry { attempt: u64, pause: Duration },
    /// No work follows: the retries have not helped. `attempt` is the number of the last retry.
    RetriesExhausted { attempt: u64 },
    /// A compaction follows. If `repeat_request` is `true`, the request is repeated after it.
    Compact { reason: CompactionReason, repeat_request: bool },
    /// No work follows: the conversation does not fit even after a compaction.
    StillTooLong,
    /// A run follows, with the messages that were queued after the previous run last checked the queues.
    RunQueued,
    /// Another run follows, which a policy requests.
    FollowUpRun(FollowUpRun),
}

/// The data about a run that has ended, as the agent's own policies receive it.
pub(in crate::engine) struct PolicyInput<'a> {
    /// The last answer of the run.
    pub answer: &'a AssistantMessage,
    /// Failure of the last answer, if it failed.
    pub failure: Option<&'a ProviderError>,
    /// Number of retries so far.
    pub attempt: u64,
    /// `true` if an overflow has caused a compaction since the last input of the user.
    pub compacted_once: bool,
    /// Number of tokens in the context.
    pub tokens: u64,
    /// The model of the answer.
    pub model: &'a Model,
    /// The policy of the agent.
    pub policy: &'a RetryPolicy,
}

/// Decides about the work after a run. Returns `None` to leave the decision to the next policy.
type BuiltInPolicy = fn(&PolicyInput<'_>, &RetrySettings, &CompactionSettings) -> Option<NextAction>;

/// The agent's own policies, in call order.
pub(in crate::engine) const BUILT_IN: [BuiltInPolicy; 2] = [retry_policy, compaction_policy];

/// Repeats the request after a transient failure, up to the limit in the settings.
fn retry_policy(
    input: &PolicyInput<'_>,
    retry: &RetrySettings,
    compaction: &CompactionSettings,
) -> Option<NextAction> {
    let failure = input.failure?;
    let had_started = failure.kind == ProviderErrorKind::Network && !input.answer.content.is_empty();
    let pause = next_retry_pause(retry, failure, input.attempt)
        .filter(|_| input.policy.retries_started_answers || !had_started);
    if let Some(pause) = pause {
        return Some(NextAction::Retry { attempt: input.attempt + 1, pause });
    }
    // The repeated request may have become too long; a compaction handles that as usual.
    let can_make_room = failure.kind == ProviderErrorKind::Overflow && compaction.enabled;
    (input.attempt > 0 && !can_make_room).then_some(NextAction::RetriesExhausted { attempt: input.attempt })
}

/// Compacts a conversation that does not fit, or nearly fills the context.
fn compaction_policy(
    input: &PolicyInput<'_>,
    _: &RetrySettings,
    compaction: &CompactionSettings,
) -> Option<NextAction> {
    if !compaction.enabled {
        return None;
    }
    let cut_off = was_cut_off(input);
    let (repeat_request, overflowed) = (input.failure.is_some() || cut_off, overflowed(input) || cut_off);
    match () {
        () if overflowed && repeat_request && input.compacted_once => Some(NextAction::StillTooLong),
        () if overflowed => Some(NextAction::Compact { reason: CompactionReason::Overflow, repeat_request }),
        () if is_due(compaction, input.tokens, input.model) => {
            Some(NextAction::Compact { reason: CompactionReason::Threshold, repeat_request: false })
        }
        () => None,
    }
}

/// Returns `true` if the answer was cut off below its own output limit: the conversation may have left too few tokens.
fn was_cut_off(input: &PolicyInput<'_>) -> bool {
    let (answer, most) = (input.answer, default_max_tokens(input.model));
    input.policy.drops_answer_before_compaction
        && answer.stop_reason == StopReason::Length
        && answer.usage.output < most
}

/// Returns `true` if the conversation did not fit: the provider reported it, or it exceeds the context of the model.
fn overflowed(input: &PolicyInput<'_>) -> bool {
    if let Some(failure) = input.failure {
        return failure.kind == ProviderErrorKind::Overflow;
    }
    let usage = &input.answer.usage;
    input.answer.stop_reason == StopReason::Stop
        && input.model.context_window > 0
        && usage.input.saturating_add(usage.cache_read) > input.model.context_window
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

    fn decide(
        stop: &str,
        failure: Option<ProviderError>,
        attempt: u64,
        tokens: u64,
        compacted_once: bool,
    ) -> NextAction {
        let (answer, model) = (answer(stop, tokens), model());
        let failure = failure.as_ref();
        let ended = PolicyInput {
            answer: &answer,
            failure,
            attempt,
            compacted_once,
            tokens,
            model: &model,
            policy: &RetryPolicy::default(),
        };
        let wants =
            |policy: BuiltInPolicy| policy(&ended, &RetrySettings::default(), &CompactionSettings::default());
        BUILT_IN.into_iter().find_map(wants).unwrap_or(NextAction::Stop)
    }

    fn failure(kind: ProviderErrorKind) -> Option<ProviderError> {
        Some(ProviderError::new(kind, "x"))
    }

    #[test]
    fn fm_f61_pauses_double_and_then_the_agent_gives_up() {
        let pauses: Vec<_> = (0..4)
            .map(|attempt| decide("error", failure(ProviderErrorKind::Server), attempt, 0, false))
            .collect();
        let retry = |attempt, seconds| NextAction::Retry { attempt, pause: Duration::from_secs(seconds) };
        assert_eq!(
            pauses,
            [retry(1, 2), retry(2, 4), retry(3, 8), NextAction::RetriesExhausted { attempt: 3 }]
        );
    }

    #[test]
    fn fm_f62_permanent_failures_are_not_retried() {
        for kind in [
            ProviderErrorKind::Auth,
            ProviderErrorKind::Quota,
            ProviderErrorKind::BadRequest,
            ProviderErrorKind::Protocol,
            ProviderErrorKind::Refused,
        ] {
            assert_eq!(decide("error", failure(kind), 0, 0, false), NextAction::Stop, "{kind:?}");
            assert_eq!(
                decide("error", failure(kind), 2, 0, false),
                NextAction::RetriesExhausted { attempt: 2 },
                "{kind:?}"
            );
        }
    }

    #[test]
    fn fm_f60_provider_may_request_a_longer_pause_up_to_the_limit() {
        let requested = |seconds| {
            let mut failure = ProviderError::new(ProviderErrorKind::RateLimited, "x");
            failure.retry_after = Some(Duration::from_secs(seconds));
            decide("error", Some(failure), 0, 0, false)
        };
        let retry = |seconds| NextAction::Retry { attempt: 1, pause: Duration::from_secs(seconds) };
        assert_eq!(requested(0), retry(2));
        assert_eq!(requested(59), retry(59));
        assert_eq!(requested(60), retry(60));
        assert_eq!(requested(61), NextAction::Stop);
        assert_eq!(requested(u64::MAX), NextAction::Stop);
    }

    #[test]
    fn fm_f67_a_conversation_that_does_not_fit_is_compacted_once() {
        let compact = |reason, again| NextAction::Compact { reason, repeat_request: again };
        let overflow = || failure(ProviderErrorKind::Overflow);
        assert_eq!(decide("error", overflow(), 0, 0, false), compact(CompactionReason::Overflow, true));
        assert_eq!(decide("error", overflow(), 0, 0, true), NextAction::StillTooLong);
        assert_eq!(decide("stop", None, 0, 100_000, false), compact(CompactionReason::Threshold, false));
        assert_eq!(decide("stop", None, 0, 83_617, false), compact(CompactionReason::Threshold, false));
        assert_eq!(decide("stop", None, 0, 83_616, false), NextAction::Stop);
    }

    #[test]
    fn an_overflow_after_a_retry_is_compacted_as_well() {
        let overflow = || failure(ProviderErrorKind::Overflow);
        let compact = NextAction::Compact { reason: CompactionReason::Overflow, repeat_request: true };
        assert_eq!(decide("error", overflow(), 1, 0, false), compact);
        assert_eq!(decide("error", overflow(), 3, 0, false), compact);
        assert_eq!(decide("error", overflow(), 2, 0, true), NextAction::StillTooLong);
    }

    #[test]
    fn answer_beyond_the_context_is_kept_and_not_repeated() {
        for compacted_once in [false, true] {
            assert_eq!(
                decide("stop", None, 0, 100_001, compacted_once),
                NextAction::Compact { reason: CompactionReason::Overflow, repeat_request: false }
            );
        }
    }

    #[test]
    fn answer_cut_below_its_limit_is_requested_again_once() {
        let small = model();
        let mut large = model();
        large.max_tokens = 64_000;
        let wants = |model: &Model, output: u64, compacted_once: bool, drops_answer: bool| {
            let mut answer = answer("length", 10);
            answer.usage.output = output;
            let ended = PolicyInput {
                answer: &answer,
                failure: None,
                attempt: 0,
                compacted_once,
                tokens: 10,
                model,
                policy: &RetryPolicy {
                    drops_answer_before_compaction: drops_answer,
                    ..RetryPolicy::default()
                },
            };
            compaction_policy(&ended, &RetrySettings::default(), &CompactionSettings::default())
        };
        let again = || Some(NextAction::Compact { reason: CompactionReason::Overflow, repeat_request: true });
        assert_eq!(wants(&small, 999, false, true), again());
        assert_eq!(wants(&small, 999, true, true), Some(NextAction::StillTooLong));
        assert_eq!(wants(&small, 1000, false, true), None, "the answer is complete");
        assert_eq!(wants(&small, 999, false, false), None);
        assert_eq!(wants(&large, 31_999, false, true), again());
        assert_eq!(wants(&large, 32_000, false, true), None, "it was asked for no more");
    }

    #[test]
    fn started_answer_is_requested_again_if_the_profile_permits() {
        let model = model();
        let failure = ProviderError::new(ProviderErrorKind::Network, "cut");
        let wants = |content: serde_json::Value, retries_started_answers: bool| {
            let mut answer = answer("error", 0);
            answer.content = serde_json::from_value(content).unwrap();
            let (attempt, compacted_once, tokens) = (0, false, 0);
            let failure = Some(&failure);
            let ended = PolicyInput {
                answer: &answer,
                failure,
                attempt,
                compacted_once,
                tokens,
                model: &model,
                policy: &RetryPolicy { retries_started_answers, ..RetryPolicy::default() },
            };
            retry_policy(&ended, &RetrySettings::default(), &CompactionSettings::default()).is_some()
        };
        let text = || json!([{"type": "text", "text": "half"}]);
        assert!(wants(text(), true) && wants(json!([]), true) && wants(json!([]), false));
        assert!(!wants(text(), false));
    }
}
