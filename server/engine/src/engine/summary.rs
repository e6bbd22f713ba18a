//! Requests to a model for a summary, and their retries after transient failures.

use std::sync::Arc;

use agentese::types::{
    AssistantBlock, AssistantMessage, CompactionReason, Model, StopReason, ThinkingLevel, Usage,
};
use futures::future::{Either, try_join};
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::compaction::{Part, Plan, request, system_prompt};
use super::error::CompactError;
use super::retry::{next_try, with_retried_words};
use super::{Event, Shared};
use crate::config::RetrySettings;
use crate::providers::{Assembler, Failure, FailureKind, Provider, Request, StreamEvent, sum_of};

/// Reasons why an answer is not a summary.
const CUT_SHORT: &str = "the summary was cut off at the output limit";
const CALLED: &str = "the model called a tool instead of writing a summary";
const WORDLESS: &str = "the model's answer has no text";

/// Input of a compaction, taken from the state in one moment.
pub(super) struct Job {
    pub plan: Plan,
    pub model: Model,
    pub provider: Arc<dyn Provider>,
    pub thinking: ThinkingLevel,
    pub reserve: u64,
    pub session: String,
    pub reason: CompactionReason,
    pub retry: RetrySettings,
}

/// A summary.
pub(super) struct Summary {
    pub text: String,
    /// Usage of the requests; `None` if no request was made.
    pub usage: Option<Usage>,
}

/// Requests the parts of the summary from the model, side by side or one after the other.
pub(super) async fn summarize(
    shared: &Shared,
    job: &Job,
    focus: Option<&str>,
    abort: &CancellationToken,
) -> Result<Summary, CompactError> {
    let history = async {
        match job.plan.asks_for_history() {
            true => again_and_again(shared, job, Part::History, focus).await.map(Some),
            false => Ok(None),
        }
    };
    let turn = async {
        match job.plan.turn {
            Some(_) => again_and_again(shared, job, Part::Turn, None).await.map(Some),
            None => Ok(None),
        }
    };
    let asked = async {
        let (history, turn) = match shared.options.customs.summarizes_in_turn {
            true => (history.await?, turn.await?),
            false => try_join(history, turn).await?,
        };
        let (history, took) = history.map(|made| (made.text, made.usage)).unzip();
        let (turn, took_too) = turn.map(|made| (made.text, made.usage)).unzip();
        let usage = [took, took_too].into_iter().flatten().flatten().reduce(|all, more| sum_of(&all, &more));
        Ok(Summary { text: job.plan.summary(history, turn), usage })
    };
    let aborted = std::pin::pin!(abort.cancelled());
    match futures::future::select(aborted, std::pin::pin!(asked)).await {
        Either::Left(_) => Err(CompactError::Cancelled),
        Either::Right((summary, _)) => summary,
    }
}

/// Emits the end of retries on drop.
struct Told<'a> {
    shared: &'a Shared,
    began: bool,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if self.began {
            self.shared.sink.push(Event::SummaryRetriesEnded);
        }
    }
}

/// Returns one part of the summary. If the agent has events about retries, a transient failure is retried with the
/// limit and the pauses for an answer. Otherwise the provider repeats the request without events.
async fn again_and_again(
    shared: &Shared,
    job: &Job,
    part: Part,
    focus: Option<&str>,
) -> Result<Summary, CompactError> {
    let quietly = shared.options.customs.repeats_quietly;
    let mut told = Told { shared, began: false };
    for attempt in 0.. {
        let failure = match ask(shared, job, part, focus).await {
            Ok(answer) => return summary_of(answer, part),
            Err(failure) => with_retried_words(failure, shared.options.customs.behavior.retried_words),
        };
        let Some(pause) = next_try(&job.retry, &failure, attempt).filter(|_| !quietly) else {
            return Err(CompactError::Failed(format!("{}: {}", part.failure(), failure.text)));
        };
        told.began = true;
        let (attempt, limit) = (attempt + 1, u64::from(job.retry.max_retries));
        shared.sink.push(Event::SummaryRetryPlanned { attempt, limit, pause, error: &failure.text });
        shared.options.clock.sleep(pause).await;
        shared.sink.push(Event::SummaryRetried { reason: &job.reason });
    }
    Err(CompactError::Cancelled)
}

/// Returns the summary in an answer. Fails with the reason if the answer is not a summary.
fn summary_of(answer: AssistantMessage, part: Part) -> Result<Summary, CompactError> {
    let is_call = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(_));
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let unusable = match () {
        () if answer.stop_reason == StopReason::Length => CUT_SHORT,
        () if answer.content.iter().any(is_call) => CALLED,
        () if text.trim().is_empty() => WORDLESS,
        () => return Ok(Summary { text, usage: Some(answer.usage) }),
    };
    Err(CompactError::Failed(format!("{}: {unusable}", part.failure())))
}

/// Makes one request, and returns its answer or its failure.
async fn ask(
    shared: &Shared,
    job: &Job,
    part: Part,
    focus: Option<&str>,
) -> Result<AssistantMessage, Failure> {
    let customs = &shared.options.customs;
    let request = Request {
        model: job.model.clone(),
        system_prompt: system_prompt().to_owned(),
        messages: request(&job.plan, part, focus),
        tools: Vec::new(),
        thinking: if part.thinks() { job.thinking } else { ThinkingLevel::Off },
        max_tokens: Some(part.limit(job.reserve).min(job.model.max_tokens.max(1))),
        session_id: job.session.clone(),
        repeats: job.retry.enabled && customs.repeats_quietly,
    };
    let mut stream = job.provider.stream(request);
    let mut assembler = Assembler::new(&job.model, 0).keeping_details(customs.keeps_details);
    loop {
        let next = std::panic::AssertUnwindSafe(stream.next()).catch_unwind().await;
        match next {
            Ok(Some(StreamEvent::Done(reason))) => {
                let answer = assembler.done(reason).message;
                // An answer that is not a summary has a cost, too.
                shared.options.ledger.answered(&answer.usage);
                shared.tell_what_is_due();
                return Ok(answer);
            }
            Ok(Some(StreamEvent::Error(failure))) => return Err(failure),
            Ok(Some(event)) => drop(assembler.apply(event)),
            Ok(None) => return Err(Failure::new(FailureKind::Network, super::ask::CUT_OFF)),
            Err(_) => return Err(Failure::new(FailureKind::Protocol, super::incoming::PANICKED)),
        }
    }
}
