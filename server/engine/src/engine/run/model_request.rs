//! One request to the model.

use std::borrow::Cow;
use std::sync::Arc;

use agentese::types::{AgentMessage, InputBlock};
use futures::FutureExt as _;
use futures::future::Either;
use tokio::time::Instant;

use super::driver::{REQUEST_ABORTED, Run};
use super::policy::InterruptedAnswer;
use super::response_stream::{self, ResponseStream};
use crate::engine::Event;
use crate::engine::Hooks as _;
use crate::providers::{
    Answer, Assembler, Messages, ProviderError, ProviderErrorKind, Request, StreamEvent, ToolDescription,
    Update, history,
};
use crate::session::EntryId;
use crate::tools::as_terminal_shows;

/// Error text of an answer whose stream ended early.
pub(in crate::engine) const CUT_OFF: &str = "The stream ended before the answer was complete.";

/// Error text of an answer without a request, because there was nothing to send.
const NOTHING_TO_SEND: &str = "No request was sent to the model: the conversation has no message with visible text or an image. Send a prompt with some text.";

impl Run {
    /// Returns a failed answer in place of a request, and emits its start.
    pub(in crate::engine) fn answer_without_request(
        &self,
        entry: &EntryId,
        failure: ProviderError,
    ) -> Answer {
        let assembler = Assembler::new(&self.model, self.shared.options.clock.now_ms());
        let answer = self.with_timing(assembler.failed(failure));
        self.push(Event::MessageStarted { entry, message: &answer.message.clone().into() });
        answer
    }

    /// Requests an answer from the model and emits its updates under `entry`. Always returns an answer: a failure,
    /// an abort or a hook ends the answer at its current length. The second value is `true` if a hook stopped the
    /// answer.
    pub(in crate::engine) async fn request_answer(&self, entry: &EntryId) -> (Answer, bool) {
        let request = self.request().await;
        if history::is_blank_request(request.messages.iter()) {
            return (
                self.answer_without_request(
                    entry,
                    ProviderError::new(ProviderErrorKind::BadRequest, NOTHING_TO_SEND),
                ),
                false,
            );
        }
        let mut responses = ResponseStream::new(self.provider.stream(request), self.provider.name());
        let options = &self.shared.options;
        let policy = &options.profile.answers;
        let mut assembler =
            Assembler::new(&self.model, options.clock.now_ms()).with_details(policy.stores_provider_details);
        let (mut started, mut stopped) = (false, false);
        let together = policy.closes_blocks_together && self.provider.interleaves(&self.model);
        // Updates of closed blocks, held until the end of the answer if all of them close together.
        let mut closed: Vec<Update> = Vec::new();
        // Time of the last emitted piece.
        let mut last_piece_at: Option<Instant> = None;
        let answer = loop {
            let joins = self.shared.sink.join_threshold().is_some_and(|length| responses.length() >= length);
            // If pieces are joined, `join_pieces` below waits for capacity.
            if !joins {
                self.wait_for_capacity().await;
            }
            tokio::task::consume_budget().await;
            let next = {
                let aborted = std::pin::pin!(self.abort.cancelled());
                match futures::future::select(aborted, std::pin::pin!(responses.next())).await {
                    Either::Left(_) => Either::Left(()),
                    Either::Right((event, _)) => Either::Right(event),
                }
            };
            match next {
                Either::Left(()) => {
                    let closes = policy.interrupted == InterruptedAnswer::Closed
                        && self.provider.closes_when_aborted(&self.model);
                    if closes {
                        closed.extend(assembler.closing_event().and_then(|event| assembler.apply(event)));
                        self.emit_closed_blocks(entry, &assembler, &closed);
                    }
                    break self.end_early(assembler);
                }
                Either::Right(None) => {
                    break assembler.failed(ProviderError::new(ProviderErrorKind::Network, CUT_OFF));
                }
                Either::Right(Some(StreamEvent::Done(reason))) => {
                    self.emit_closed_blocks(entry, &assembler, &closed);
                    break assembler.done(reason);
                }
                Either::Right(Some(StreamEvent::Error(failure))) => {
                    break assembler.failed(self.classify_failure(failure).await);
                }
                Either::Right(Some(mut event)) => {
                    if let Some(last) = last_piece_at {
                        let time =
                            self.unless_aborted(tokio::time::sleep_until(last + policy.min_update_interval));
                        event = responses.join_pieces(event, time.map(drop)).await;
                    }
                    if joins {
                        event = responses.join_pieces(event, self.wait_for_capacity()).await;
                    }
                    let starts = event != StreamEvent::Start || !policy.starts_with_content;
                    if starts && !std::mem::replace(&mut started, true) {
                        self.push(Event::MessageStarted {
                            entry,
                            message: &assembler.message().clone().into(),
                        });
                    }
                    let is_piece = response_stream::delta_text(&event).is_some();
                    if let Some(update) = assembler.apply(event) {
                        if together && update.closes() {
                            closed.push(update);
                            continue;
                        }
                        self.wait_for_capacity().await;
                        let message = assembler.message();
                        self.push(Event::MessageUpdated { entry, message, update: &update });
                        if is_piece && !policy.min_update_interval.is_zero() {
                            last_piece_at = Some(Instant::now());
                        }
                        if let Some(rules) = self.shared.options.hooks.should_stop(message, &update) {
                            if !rules.is_empty() {
                                self.push(Event::RulesTriggered(&rules));
                            }
                            stopped = true;
                            break assembler.aborted(REQUEST_ABORTED);
                        }
                    }
                }
            }
        };
        let answer = self.with_timing(answer);
        // An answer that ended before its start was emitted is shown complete from the start, as in pi.
        if !started {
            self.push(Event::MessageStarted { entry, message: &answer.message.clone().into() });
        }
        (answer, stopped)
    }

    /// Emits the updates of closed blocks.
    fn emit_closed_blocks(&self, entry: &EntryId, assembler: &Assembler, closed: &[Update]) {
        for update in closed {
            self.push(Event::MessageUpdated { entry, message: assembler.message(), update });
        }
    }

    async fn request(&self) -> Request {
        let tools = self.shared.tools();
        let (transcript, session_id, repeats) = {
            let mut state = self.shared.state();
            (state.session.message_snapshot(), state.session.id().to_owned(), state.retry.enabled)
        };
        let hooks = &self.shared.options.hooks;
        let terminals = tools.clone();
        let is_terminal: Arc<dyn Fn(&str) -> bool + Send + Sync> =
            Arc::new(move |name: &str| terminals.get(name).is_some_and(|tool| tool.is_terminal()));
        let seen = match hooks.handles_context() {
            // A hook receives all messages at once.
            true => self.unless_aborted(hooks.context(transcript.iter().collect())).await,
            false => None,
        };
        let messages = match seen {
            Some(seen) => {
                let seen = Messages::from(seen);
                Messages::new(move || {
                    with_rendered_terminal_output(history::for_model(seen.iter()), is_terminal.clone())
                })
            }
            None => {
                let is_long = transcript.is_long();
                Messages::new(move || {
                    with_rendered_terminal_output(history::for_model(transcript.iter()), is_terminal.clone())
                })
                .long(is_long)
            }
        };
        let tools = tools.iter().map(|tool| ToolDescription {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: tool.parameters(),
        });
        Request {
            model: self.model.clone(),
            system_prompt: self.system_prompt.clone(),
            messages,
            tools: tools.collect(),
            thinking: self.thinking,
            max_tokens: None,
            session_id,
            may_retry: repeats && self.shared.options.profile.retry.provider_retries,
        }
    }
}

/// Returns the messages, with terminal output as the screen finally shows it. Clients and sessions have the
/// original output.
fn with_rendered_terminal_output(
    messages: impl Iterator<Item = Arc<AgentMessage>>,
    is_terminal: Arc<dyn Fn(&str) -> bool + Send + Sync>,
) -> impl Iterator<Item = Arc<AgentMessage>> {
    messages.map(move |message| {
        let AgentMessage::ToolResult(result) = &*message else { return message };
        if !is_terminal(&result.tool_name) {
            return message;
        }
        let mut drawn = None;
        for (place, block) in result.content.iter().enumerate() {
            if let InputBlock::Text(block) = block
                && let Cow::Owned(text) = as_terminal_shows(&block.text)
                && let InputBlock::Text(block) =
                    &mut drawn.get_or_insert_with(|| result.clone()).content[place]
            {
                block.text = text;
            }
        }
        drawn.map_or_else(|| message.clone(), |drawn| Arc::new(drawn.into()))
    })
}
