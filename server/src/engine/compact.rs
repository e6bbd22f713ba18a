//! Compaction as an engine does it: asking the model, and putting its summary in place.

use std::sync::Arc;

use agentese::types::{
    AgentMessage, AssistantBlock, AssistantMessage, CompactionReason, CompactionResult, InputBlock,
    InputContent, Model, StopReason, TextContent, ThinkingLevel, UserMessage,
};
use futures::future::{Either, try_join};
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::Hooks as _;
use super::compaction::{
    Keep, NothingToDo, Part, Plan, estimate, kept_by_count, plan, request_text, system_prompt,
};
use super::state::{Kind, Phase};
use super::work::End;
use super::{Compacting, Engine, Event, Shared};
use crate::providers::{Assembler, Failure, FailureKind, Provider, Request, StreamEvent};

/// How long another agent may take to end a compaction that was aborted.
const GRACE: std::time::Duration = std::time::Duration::from_secs(4);
/// Why an answer is no summary.
const CUT_SHORT: &str = "the summary was cut off at the output limit";
const CALLED: &str = "the model called a tool instead of writing a summary";
const WORDLESS: &str = "the model's answer has no text";
/// Why what an extension gave is none.
const EMPTY_GIVEN: &str = "The summary that an extension gave is empty";

/// Why a conversation was not compacted. Nothing changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompactError {
    /// There is nothing to compact.
    #[error("{0}")]
    Nothing(String),
    /// There is no model to ask.
    #[error("No model is selected: {0}")]
    NoModel(String),
    /// The model cannot be asked.
    #[error("{0}")]
    NotReady(String),
    /// Somebody stopped it.
    // The text is pi's.
    #[error("Compaction cancelled")]
    Cancelled,
    /// The model failed.
    #[error("{0}")]
    Failed(String),
    /// The engine is being shut down.
    #[error("The agent is shutting down")]
    Closing,
}

impl From<NothingToDo> for CompactError {
    fn from(nothing: NothingToDo) -> Self {
        Self::Nothing(nothing.to_string())
    }
}

/// Everything that a compaction needs, taken from the state in one moment.
struct Job {
    plan: Plan,
    model: Model,
    provider: Arc<dyn Provider>,
    thinking: ThinkingLevel,
    reserve: u64,
    session: String,
    /// Whether the provider may be asked again without anybody being told.
    repeats: bool,
}

impl Engine {
    /// Compacts the conversation now; `focus` is what the summary should care about. A run is aborted
    /// first, with its closing events. No events of its own. An abort stops it.
    pub async fn compact(&self, focus: Option<&str>) -> Result<CompactionResult, CompactError> {
        self.compact_to(focus, None).await
    }

    /// As [`Engine::compact`]; `keep_recent` is how many tokens of the newest messages are kept at most, in place of
    /// what the settings say.
    pub async fn compact_to(
        &self,
        focus: Option<&str>,
        keep_recent: Option<u64>,
    ) -> Result<CompactionResult, CompactError> {
        if self.shared.led.is_some() {
            return self.compact_there(focus).await;
        }
        let mut cut = false;
        loop {
            cut |= self.shared.state().phase() == Some(Phase::Running);
            self.abort().await;
            let (job, abort, _end) = {
                let mut state = self.shared.state();
                if state.closing {
                    return Err(CompactError::Closing);
                }
                // A prompt of somebody else may have come in between.
                if state.work.is_some() {
                    continue;
                }
                if cut && self.shared.options.customs.compaction_drops_cut_answer {
                    state.session.forget_cut_answer();
                }
                let job = job(&self.shared, &state, keep_recent)?;
                let working = state.begin(Kind::Compaction, Phase::Compacting);
                let (abort, end) = (working.abort.clone(), End::new(self.shared.clone(), working));
                (job, abort, end)
            };
            let made = make(&self.shared, &job, focus, &abort).await?;
            return apply(&self.shared, job, made, &abort).await.ok_or(CompactError::Cancelled);
        }
    }
}

impl Engine {
    /// Has the other agent compact the conversation.
    async fn compact_there(&self, focus: Option<&str>) -> Result<CompactionResult, CompactError> {
        self.abort().await;
        let (lead, abort, _end) = {
            let mut state = self.shared.state();
            if state.closing {
                return Err(CompactError::Closing);
            }
            let Some(led) = &self.shared.led else { return Err(CompactError::Cancelled) };
            let working = state.begin(Kind::Compaction, Phase::Compacting);
            (led.lead.clone(), working.abort.clone(), End::new(self.shared.clone(), working))
        };
        let made = tokio::select! {
            biased;
            made = lead.compact(focus) => made.map_err(CompactError::Failed)?,
            () = async {
                abort.cancelled().await;
                lead.abort().await;
                self.shared.options.clock.sleep(GRACE).await;
            } => return Err(CompactError::Cancelled),
        };
        Ok(super::led::keep_compaction(&mut self.shared.state().session, made))
    }
}

/// Compacts within the work that is going on, and tells how it ended; says whether it did.
pub(super) async fn compact_on_its_own(
    shared: &Arc<Shared>,
    reason: &CompactionReason,
    will_retry: bool,
    abort: &CancellationToken,
) -> bool {
    let job = job(shared, &shared.state(), None);
    let result = match job {
        Err(error) => Err(error),
        Ok(job) => match make(shared, &job, None, abort).await {
            Ok(made) => apply(shared, job, made, abort).await.ok_or(CompactError::Cancelled),
            Err(error) => Err(error),
        },
    };
    let prefix = match reason {
        CompactionReason::Overflow => "Context overflow recovery failed",
        _ => "Auto-compaction failed",
    };
    let end = |result, aborted, error: Option<&str>| {
        let will_retry = will_retry && Option::is_some(&result);
        shared.sink.push(Event::CompactionEnded { result, aborted, will_retry, error });
    };
    match &result {
        Ok(result) => end(Some(result), false, None),
        Err(CompactError::Cancelled) => end(None, true, None),
        // Nothing to do is no failure.
        Err(CompactError::Nothing(_) | CompactError::NoModel(_)) => end(None, false, None),
        Err(error) => end(None, false, Some(&format!("{prefix}: {error}"))),
    }
    result.is_ok()
}

fn job(shared: &Shared, state: &super::state::State, keep_recent: Option<u64>) -> Result<Job, CompactError> {
    let options = &shared.options;
    let no_model = || CompactError::NoModel(options.no_model.clone());
    let model = state.model.clone().ok_or_else(no_model)?;
    options.catalog.ready(&model).map_err(|reason| CompactError::NotReady(reason.to_string()))?;
    let provider = options.catalog.provider_of(&model).cloned().ok_or_else(no_model)?;
    let items = super::branch::items(&state.session);
    let (messages, compacted) = (state.session.messages(), state.session.compacted_messages());
    let usual = || match options.customs.keeps_by_count {
        true => kept_by_count(state.compaction.keep_recent_tokens, messages, compacted),
        false => state.compaction.keep_recent_tokens,
    };
    let keep = keep_recent.map_or_else(|| Keep::Around(usual()), Keep::Within);
    let plan = plan(&items, messages, compacted, keep)?;
    Ok(Job {
        plan,
        thinking: options.catalog.nearest_level(&model, ThinkingLevel::High),
        model,
        provider,
        reserve: state.compaction.reserve_tokens,
        session: state.session.id().to_owned(),
        repeats: state.retry.enabled,
    })
}

/// A summary, and who made it.
enum Made {
    Summary(String),
    Given(Box<CompactionResult>),
}

/// Asks the hooks, then the model.
async fn make(
    shared: &Shared,
    job: &Job,
    focus: Option<&str>,
    abort: &CancellationToken,
) -> Result<Made, CompactError> {
    let hooks = &shared.options.hooks;
    if hooks.minds_compaction() {
        let entries = super::branch::entries(&shared.state().session);
        let said = tokio::select! {
            biased;
            () = abort.cancelled() => Compacting::Cancelled,
            said = hooks.before_compact(job.plan.public(), entries, focus) => said,
        };
        match said {
            Compacting::Usual => {}
            Compacting::Cancelled => return Err(CompactError::Cancelled),
            Compacting::Given(result) if result.summary.trim().is_empty() => {
                return Err(CompactError::Failed(EMPTY_GIVEN.to_owned()));
            }
            Compacting::Given(result) => return Ok(Made::Given(result)),
        }
    }
    summarize(job, focus, abort).await.map(Made::Summary)
}

/// Puts a summary in place; none where the session is another one by now. An abort does not undo it, and waits for
/// nobody who hears of it.
async fn apply(shared: &Shared, job: Job, made: Made, abort: &CancellationToken) -> Option<CompactionResult> {
    let given = matches!(made, Made::Given(_));
    let (result, entry) = {
        let mut state = shared.state();
        if state.session.id() != job.session {
            return None;
        }
        let mut result = match made {
            Made::Given(result) => *result,
            Made::Summary(summary) => {
                let mut result = CompactionResult::new(summary, &job.plan.first_kept, job.plan.tokens_before);
                result.details = Some(job.plan.details()).into();
                result
            }
        };
        let entry = super::branch::compacted(&mut state.session, &result, given);
        if shared.options.customs.keeps_details {
            result.estimated_tokens_after = Some(estimate(0, state.session.messages()));
        }
        (result, entry)
    };
    tokio::select! {
        biased;
        () = abort.cancelled() => {}
        () = shared.written() => {}
    }
    if shared.options.hooks.minds_compaction() {
        tokio::select! {
            biased;
            () = abort.cancelled() => {}
            () = shared.options.hooks.compacted(entry, given) => {}
        }
    }
    Some(result)
}

/// Asks the model for the parts of the summary, side by side.
async fn summarize(
    job: &Job,
    focus: Option<&str>,
    abort: &CancellationToken,
) -> Result<String, CompactError> {
    let history = async {
        match job.plan.asks_for_history() {
            true => ask(job, Part::History, focus).await.map(Some),
            false => Ok(None),
        }
    };
    let turn = async {
        match job.plan.turn {
            Some(_) => ask(job, Part::Turn, None).await.map(Some),
            None => Ok(None),
        }
    };
    let asked = async {
        let (history, turn) = try_join(history, turn).await?;
        Ok(job.plan.summary(history, turn))
    };
    let aborted = std::pin::pin!(abort.cancelled());
    match futures::future::select(aborted, std::pin::pin!(asked)).await {
        Either::Left(_) => Err(CompactError::Cancelled),
        Either::Right((summary, _)) => summary,
    }
}

/// The summary that an answer is; fails with the reason why it is none.
fn summary_of(answer: &AssistantMessage) -> Result<String, &'static str> {
    let is_call = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall(_));
    if answer.stop_reason == StopReason::Length {
        return Err(CUT_SHORT);
    }
    if answer.content.iter().any(is_call) {
        return Err(CALLED);
    }
    let texts = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.trim().is_empty() { Err(WORDLESS) } else { Ok(text) }
}

/// One request: the text of its answer, or how it failed.
async fn ask(job: &Job, part: Part, focus: Option<&str>) -> Result<String, CompactError> {
    let text = request_text(&job.plan, part, focus);
    let content = InputContent::from(vec![InputBlock::from(TextContent::new(text))]);
    let request = Request {
        model: job.model.clone(),
        system_prompt: system_prompt().to_owned(),
        messages: vec![Arc::new(AgentMessage::from(UserMessage::new(content, 0)))],
        tools: Vec::new(),
        thinking: if part.thinks() { job.thinking } else { ThinkingLevel::Off },
        max_tokens: Some(part.limit(job.reserve).min(job.model.max_tokens.max(1))),
        session_id: job.session.clone(),
        repeats: job.repeats,
    };
    let failed = |failure: &Failure| CompactError::Failed(format!("{}: {}", part.failure(), failure.text));
    let mut stream = job.provider.stream(request);
    let mut assembler = Assembler::new(&job.model, 0);
    loop {
        let next = std::panic::AssertUnwindSafe(stream.next()).catch_unwind().await;
        match next {
            Ok(Some(StreamEvent::Done(reason))) => {
                return summary_of(&assembler.done(reason).message)
                    .map_err(|reason| CompactError::Failed(format!("{}: {reason}", part.failure())));
            }
            Ok(Some(StreamEvent::Error(failure))) => return Err(failed(&failure)),
            Ok(Some(event)) => drop(assembler.apply(event)),
            Ok(None) => {
                return Err(failed(&Failure::new(FailureKind::Network, super::ask::CUT_OFF)));
            }
            Err(_) => return Err(failed(&Failure::new(FailureKind::Protocol, super::incoming::PANICKED))),
        }
    }
}
