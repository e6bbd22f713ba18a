//! Conversion of neutral events to remote events for the engine, without I/O.

use std::collections::HashSet;
use std::time::Duration;

use agentese::any::Event;
use agentese::types::{CompactionReason, StopReason, ToolCall};
use agentese::view::{Conversation, Message, MessageState, Notice, Role, RunState, ToolState};
use agentese_server_engine::engine::RemoteEvent;
use agentese_server_models::StreamEvent;
use serde_json::Value;

use super::convert::{self, ABORTED};
use super::partial_json;

mod blocks;

/// A step that follows from an event.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "few exist at a time, and only briefly")]
pub(super) enum Step {
    /// A remote event for the engine.
    Event(RemoteEvent),
    /// A compaction has ended. The number of messages that it kept must be queried.
    CompactionEnded {
        /// The summary, and the number of tokens before the compaction.
        summary: Option<(String, u64)>,
        /// The error of a failed compaction.
        error: Option<String>,
        /// `true` if the compaction was aborted.
        aborted: bool,
    },
    /// A notice for the user.
    Notice(Notice),
    /// A change of the status line, the widgets, the title or the editor text.
    Panels,
}

/// Kind of a content block in the growing answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Call,
}

/// Converts neutral events to remote events.
#[derive(Debug, Default)]
pub(super) struct RemoteEventTranslator {
    /// The keys of messages that the engine has received in a history. Their events are not reported.
    reported: HashSet<String>,
    /// The key of the growing answer; `None` without one.
    growing: Option<String>,
    /// The open block of the growing answer: its index, its kind, and the number of its bytes that were reported.
    open_block: Option<(usize, BlockKind, usize)>,
    /// The text that was reported for the open block, or for the last block if no block is open.
    reported_text: String,
    /// Text that was reported too early, as part of the preceding block: the index of the block that it
    /// belongs to, and its length in bytes.
    overlap: (usize, usize),
    /// The JSON text that was reported so far for the arguments of the open call, if the agent sends parsed
    /// values.
    written_arguments: String,
    /// The last value of the open call's arguments that was reported. The conversation may already contain a
    /// later value.
    arguments: Option<Value>,
    /// The number of blocks of the growing answer that were opened.
    opened_blocks: usize,
    /// The reported part of an answer that was interrupted by a user message. The answer may continue
    /// after that message.
    split_answer: Option<Message>,
    working: bool,
    aborting: bool,
    /// The outcome of the last answer of the run: `true` if it failed or was aborted, and the reason.
    outcome: Option<(bool, Option<String>)>,
    /// The reason why the last run failed or was aborted. It is kept until a notice after the run repeats it.
    failure_reason: Option<String>,
    /// The number of the last retry attempt.
    attempt: u64,
    retrying: bool,
    compacting: bool,
    summary: Option<(String, u64)>,
    compaction_error: Option<String>,
}

impl RemoteEventTranslator {
    /// Returns `true` if a run is in progress.
    pub fn working(&self) -> bool {
        self.working
    }

    /// Marks the complete messages as received in a history, so that their events are not reported.
    pub fn mark_reported(&mut self, now: &Conversation) {
        let whole = now.messages.iter().filter(|message| !message.is_growing());
        self.reported.extend(whole.map(|message| message.key.clone()));
    }

    /// Returns the steps for a run that failed before its first event.
    pub fn report_failure(&mut self, error: String) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.working {
            push(&mut steps, RemoteEvent::RunStarted);
        }
        self.working = false;
        push(&mut steps, RemoteEvent::AnswerEnded(Box::new(convert::failure(error))));
        push(&mut steps, RemoteEvent::RunEnded { will_retry: false });
        steps
    }

    /// Converts an event. The conversation `now` may already contain later events.
    pub fn translate(&mut self, event: Event, now: &Conversation) -> Vec<Step> {
        let mut steps = Vec::new();
        self.resume_split(&event, &mut steps);
        if self.continues_previous_block(&event, now) {
            return steps;
        }
        match event {
            Event::StateChanged { state, error } => self.handle_state(state, error, &mut steps),
            Event::MessageStarted { message, role: Role::Assistant } if !self.reported.contains(&message) => {
                // Some agents report the usage of the request at the start of the answer.
                let used = growing(now, &message).and_then(|answer| answer.usage.as_ref());
                steps.extend(used.map(|used| {
                    Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::Usage(convert::counts(used))))
                }));
                self.growing = Some(message);
                (self.open_block, self.opened_blocks, self.written_arguments, self.arguments) =
                    (None, 0, String::new(), None);
                push(&mut steps, RemoteEvent::AnswerUpdated(StreamEvent::Start));
            }
            Event::TextGrew { message, block, text } if self.is_growing(&message) => {
                self.open_block(block, BlockKind::Text, || StreamEvent::TextStart, now, &mut steps);
                self.push_delta(StreamEvent::TextDelta(text), &mut steps);
            }
            Event::ThinkingGrew { message, block, text } if self.is_growing(&message) => {
                self.open_block(block, BlockKind::Thinking, || StreamEvent::ThinkingStart, now, &mut steps);
                self.push_delta(StreamEvent::ThinkingDelta(text), &mut steps);
            }
            Event::ArgumentsGrew { message, block, call_id, name, text, arguments }
                if self.is_growing(&message) =>
            {
                let begins = || StreamEvent::ToolCallStart { id: call_id, name };
                self.open_block(block, BlockKind::Call, begins, now, &mut steps);
                match (text, arguments) {
                    (Some(text), _) => self.push_delta(StreamEvent::ToolCallDelta(text), &mut steps),
                    // Agents that send parsed arguments do not send pieces of text.
                    (None, Some(arguments)) => {
                        self.push_arguments(&partial_json::partial_text(&arguments), &mut steps);
                        self.arguments = Some(arguments);
                    }
                    (None, None) => {}
                }
            }
            Event::MessageEnded { message } if self.reported.insert(message.key.clone()) => {
                if message.role == Role::User {
                    self.split(now, &mut steps);
                }
                if let Some(left) = self.unreported_part(message, &mut steps) {
                    self.end_message(&left, now, &mut steps);
                }
            }
            Event::ToolStarted { call_id, name, arguments } => {
                let arguments = arguments.and_then(|value| value.as_object().cloned()).unwrap_or_default();
                push(&mut steps, RemoteEvent::ToolStarted(ToolCall::new(call_id, name, arguments)));
            }
            Event::ToolUpdated { call_id, output, details } => {
                push(&mut steps, RemoteEvent::ToolUpdated(call_id, convert::update(&output, details)));
            }
            // A call that was skipped has no result.
            Event::ToolEnded { call_id, state, result, details, .. } if state != ToolState::Skipped => {
                let output = convert::output(&result, details, state == ToolState::Failed);
                push(&mut steps, RemoteEvent::ToolEnded(call_id, output));
            }
            Event::RetryStarted { retry } => {
                self.retrying = true;
                self.attempt = retry.attempt.unwrap_or(self.attempt + 1);
                push(
                    &mut steps,
                    RemoteEvent::RetryStarted {
                        attempt: self.attempt,
                        limit: retry.max_attempts.unwrap_or(self.attempt),
                        pause: Duration::from_millis(retry.delay_ms.unwrap_or_default()),
                        error: retry.error.unwrap_or_default(),
                    },
                );
            }
            Event::RetryEnded if std::mem::take(&mut self.retrying) => {
                let (failed, error) = self.outcome.clone().unwrap_or((true, None));
                let success = !failed && !self.aborting;
                let error = error.filter(|_| !success);
                push(&mut steps, RemoteEvent::RetryEnded { success, attempt: self.attempt, error });
            }
            Event::CompactionStarted { reason } => {
                self.compacting = true;
                (self.summary, self.compaction_error) = (None, None);
                let reason = Value::String(reason.unwrap_or_default());
                let reason = serde_json::from_value(reason).unwrap_or(CompactionReason::Threshold);
                push(&mut steps, RemoteEvent::CompactionStarted(reason));
            }
            Event::CompactionEnded if std::mem::take(&mut self.compacting) => {
                let (summary, error) = (self.summary.take(), self.compaction_error.take());
                let error = error.filter(|_| summary.is_none());
                steps.push(Step::CompactionEnded { summary, error, aborted: self.aborting });
            }
            Event::NoticeAdded { notice } => {
                // The end of the compaction already contains the reason for its failure.
                if self.compacting && notice.level == "error" {
                    self.compaction_error = Some(notice.text);
                } else if !self.repeats_failure(&notice, now) {
                    steps.push(Step::Notice(notice));
                }
            }
            Event::MembersChanged { members } => {
                if members.iter().any(|name| ["status", "widgets", "title", "draft"].contains(name)) {
                    steps.push(Step::Panels);
                }
                if members.contains(&"thinkingLevel") {
                    let level = now.thinking_level.clone().map(Value::from).unwrap_or_default();
                    let level = serde_json::from_value(level).ok();
                    steps.extend(level.map(|level| Step::Event(RemoteEvent::ThinkingChanged(level))));
                }
                if members.contains(&"session")
                    && let Some(name) = now.session.name.clone()
                {
                    push(&mut steps, RemoteEvent::SessionNamed(name));
                }
            }
            _ => {}
        }
        steps
    }

    fn handle_state(&mut self, state: RunState, error: Option<String>, steps: &mut Vec<Step>) {
        match state {
            RunState::Working => {
                self.aborting = false;
                if !std::mem::replace(&mut self.working, true) {
                    (self.outcome, self.failure_reason) = (None, None);
                    push(steps, RemoteEvent::RunStarted);
                }
            }
            RunState::Aborting => self.aborting = true,
            RunState::Idle | RunState::Retrying => {
                if std::mem::take(&mut self.working) {
                    let reported = self.outcome.as_ref().is_some_and(|(failed, _)| *failed);
                    // If a run failed without an answer, an answer with the error is added.
                    if let Some(error) = error.filter(|_| !reported) {
                        self.set_outcome(true, Some(error.clone()));
                        push(steps, RemoteEvent::AnswerEnded(Box::new(convert::failure(error))));
                    }
                    (self.growing, self.split_answer) = (None, None);
                    push(steps, RemoteEvent::RunEnded { will_retry: state == RunState::Retrying });
                }
                self.aborting = false;
            }
            _ => {}
        }
    }

    fn set_outcome(&mut self, failed: bool, why: Option<String>) {
        self.failure_reason = why.clone().filter(|_| failed);
        self.outcome = Some((failed, why));
    }

    /// Returns `true` if a notice only repeats the reason for the failure of a run. During the run, every
    /// such notice is a repetition; after its end, only the first one.
    fn repeats_failure(&mut self, notice: &Notice, now: &Conversation) -> bool {
        if notice.level != "error" {
            return false;
        }
        if !self.working {
            return self.failure_reason.take_if(|why| *why == notice.text).is_some();
        }
        let why = match &self.outcome {
            Some((true, why)) => why.as_ref(),
            _ => now.run.error.as_ref(),
        };
        why == Some(&notice.text)
    }

    fn is_growing(&self, key: &str) -> bool {
        self.growing.as_deref() == Some(key)
    }

    fn end_message(&mut self, message: &Message, now: &Conversation, steps: &mut Vec<Step>) {
        match message.role {
            Role::Assistant => {
                // A block that was broken off has no end event of its own.
                let broken_off = matches!(message.state, MessageState::Aborted | MessageState::Failed);
                if self.is_growing(&message.key) && !(broken_off && self.opened_blocks > 0) {
                    self.report_rest(message, now, steps);
                }
                self.growing = None;
                let mut answer = convert::answer(message);
                // If the agent has dropped the answer, the outcome is that of the run.
                if message.is_gone() {
                    let failed = now.run.error.is_some();
                    answer.stop_reason = if failed { StopReason::Error } else { StopReason::Aborted };
                }
                let failed = answer.stop_reason == StopReason::Error;
                // In some dialects, the error is not part of the answer.
                if failed && answer.error_message.is_none() {
                    answer.error_message.clone_from(&now.run.error);
                }
                let stopped = failed || answer.stop_reason == StopReason::Aborted;
                if answer.stop_reason == StopReason::Aborted {
                    answer.error_message.get_or_insert_with(|| ABORTED.to_owned());
                }
                self.set_outcome(stopped, answer.error_message.clone());
                push(steps, RemoteEvent::AnswerEnded(Box::new(answer)));
                // A successful answer ends a retry, even if the agent reports the end of the retry after the
                // run.
                if !stopped && std::mem::take(&mut self.retrying) {
                    push(
                        steps,
                        RemoteEvent::RetryEnded { success: true, attempt: self.attempt, error: None },
                    );
                }
            }
            Role::Tool | Role::Shell => {}
            Role::Summary => {
                self.summary = Some((message.text(), message.tokens_before.unwrap_or_default()));
            }
            _ => steps.extend(
                convert::message(message)
                    .map(|converted| Step::Event(RemoteEvent::MessageAdded(Box::new(converted)))),
            ),
        }
    }
}

fn push(steps: &mut Vec<Step>, event: RemoteEvent) {
    steps.push(Step::Event(event));
}

/// Returns the growing answer with this key from the conversation.
fn growing<'a>(now: &'a Conversation, key: &str) -> Option<&'a Message> {
    let message = now.messages.iter().rev().find(|message| message.key == key)?;
    Some(&**message)
}

mod split_answers;
#[cfg(test)]
mod tests;
