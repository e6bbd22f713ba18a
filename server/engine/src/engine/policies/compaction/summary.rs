//! Requests to a model for a summary, and their retries after transient failures.

use std::sync::Arc;

use agentese::types::{
    AssistantBlock, AssistantMessage, CompactionReason, Model, StopReason, ThinkingLevel, Usage,
};
use futures::future::{Either, try_join};
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::{Plan, SummaryPart, request, system_prompt};
use crate::config::RetrySettings;
use crate::engine::error::CompactError;
use crate::engine::policies::retry::{classify_by_text, next_retry_pause};
use crate::engine::{Event, Shared};
use crate::providers::{Assembler, Provider, ProviderError, ProviderErrorKind, Request, StreamEvent, sum_of};

/// Reasons why an answer cannot be used as a summary.
const CUT_SHORT: &str = "the summary was cut off at the output limit";
const CALLED_TOOL: &str = "the model called a tool instead of writing a summary";
const NO_TEXT: &str = "the model's answer has no text";

/// The data for the requests of a compaction, copied while the state was locked.
pub(in crate::engine) struct CompactionJob {
    pub plan: Plan,
    pub model: Model,
    pub provider: Arc<dyn Provider>,
    pub thinking: ThinkingLevel,
    pub reserve: u64,
    pub session: String,
    pub reason: CompactionReason,
    pub retry: RetrySettings,
}

/// A summary that replaces compacted messages.
pub(in crate::engine) struct Summary {
    pub text: String,
    /// Usage of the requests; `None` if no request was made.
    pub usage: Option<Usage>,
}

/// Requests the parts of the summary from the model, side by side or one after the other.
pub(in crate::engine) async fn summarize(
    shared: &Shared,
    job: &CompactionJob,
    focus: Option<&str>,
    abort: &CancellationToken,
) -> Result<Summary, CompactError> {
    let history = async {
        match job.plan.summarizes_history() {
            true => request_with_retries(shared, job, SummaryPart::History, focus).await.map(Some),
            false => Ok(None),
        }
    };
    let turn = async {
        match job.plan.turn_prefix {
            Some(_) => request_with_retries(shared, job, SummaryPart::TurnPrefix, None).await.map(Some),
            None => Ok(None),
        }
    };
    let requests = async {
        let (history, turn) = match shared.options.profile.compaction.summarizes_sequentially {
            true => (history.await?, turn.await?),
            false => try_join(history, turn).await?,
        };
        let (history, took) = history.map(|made| (made.text, made.usage)).unzip();
        let (turn, took_too) = turn.map(|made| (made.text, made.usage)).unzip();
        let usage = [took, took_too].into_iter().flatten().flatten().reduce(|all, more| sum_of(&all, &more));
        Ok(Summary { text: job.plan.summary(history, turn), usage })
    };
    let aborted = std::pin::pin!(abort.cancelled());
    match futures::future::select(aborted, std::pin::pin!(requests)).await {
        Either::Left(_) => Err(CompactError::Cancelled),
        Either::Right((summary, _)) => summary,
    }
}

/// On drop, emits the end of the retries.
struct RetryEndGuard<'a> {
    shared: &'a Shared,
    started: bool,
}

impl Drop for RetryEndGuard<'_> {
    fn drop(&mut self) {
        if self.started {
            self.shared.sink.push(Event::SummaryRetriesEnded);
        }
    }
}

/// Requests one part of the summary. If the agent has events about retries, a transient failure is retried like
/// that of an answer, with the same limit and pauses. Otherwise the provider repeats the request without events.
async fn request_with_retries(
    shared: &Shared,
    job: &CompactionJob,
    part: SummaryPart,
    focus: Option<&str>,
) -> Result<Summary, CompactError> {
    let quietly = shared.options.profile.retry.provider_retries;
    let mut guard = RetryEndGuard { shared, started: false };
    for attempt in 0.. {
        let failure = match request_once(shared, job, part, focus).await {
            Ok(answer) => return parse_summary(answer, part),
            Err(failure) => classify_by_text(failure, shared.options.profile.behavior.retried_words),
        };
        let Some(pause) = next_retry_pause(&job.retry, &failure, attempt).filter(|_| !quietly) else {
            return Err(CompactError::Failed(format!("{}: {}", part.error_prefix(), failure.text)));
        };
        guard.started = true;
        let (attempt, limit) = (attempt + 1, u64::from(job.retry.max_retries));
        shared.sink.push(Event::SummaryRetryScheduled { attempt, limit, pause, error: &failure.text });
        shared.options.clock.sleep(pause).await;
        shared.sink.push(Event::SummaryRetryStarted { reason: &job.reason });
    }
    Err(CompactError::Cancelled)
}

/// Returns the summary in an answer. Fails with the reason if the answer is not a summary.
fn parse_summary(answer: AssistantMessage, part: SummaryPart) -> Result<Summary, CompactError> {
    let is_call = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(_));
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let unusable = match () {
        () if answer.stop_reason == StopReason::Length => CUT_SHORT,
        () if answer.content.iter().any(is_call) => CALLED_TOOL,
        () if text.trim().is_empty() => NO_TEXT,
        () => return Ok(Summary { text, usage: Some(answer.usage) }),
    };
    Err(CompactError::Failed(format!("{}: {unusable}", part.error_prefix())))
}

/// Makes one request, and returns its answer or its failure.
async fn request_once(
    shared: &Shared,
    job: &CompactionJob,
    part: SummaryPart,
    focus: Option<&str>,
) -> Result<AssistantMessage, ProviderError> {
    let profile = &shared.options.profile;
    let request = Request {
        model: job.model.clone(),
        system_prompt: system_prompt().to_owned(),
        messages: request(&job.plan, part, focus),
        tools: Vec::new(),
        thinking: if part.uses_thinking() { job.thinking } else { ThinkingLevel::Off },
        max_tokens: Some(part.output_limit(job.reserve).min(job.model.max_tokens.max(1))),
        session_id: job.session.clone(),
        may_retry: job.retry.enabled && profile.retry.provider_retries,
    };
    let mut stream = job.provider.stream(request);
    let mut assembler = Assembler::new(&job.model, 0).with_details(profile.answers.stores_provider_details);
    loop {
        let next = std::panic::AssertUnwindSafe(stream.next()).catch_unwind().await;
        match next {
            Ok(Some(StreamEvent::Done(reason))) => {
                let answer = assembler.done(reason).message;
                // An answer that is not a summary has a cost, too.
                shared.options.usage_tracker.count_answer(&answer.usage);
                shared.emit_due_notices();
                return Ok(answer);
            }
            Ok(Some(StreamEvent::Error(failure))) => return Err(failure),
            Ok(Some(event)) => drop(assembler.apply(event)),
            Ok(None) => {
                return Err(ProviderError::new(
                    ProviderErrorKind::Network,
                    crate::engine::run::model_request::CUT_OFF,
                ));
            }
            Err(_) => {
                return Err(ProviderError::new(
                    ProviderErrorKind::Protocol,
                    crate::engine::run::response_stream::PROVIDER_PANICKED,
                ));
            }
        }
    }
}
