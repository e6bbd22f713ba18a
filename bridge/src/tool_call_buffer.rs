//! Buffer for agents that announce tool calls after the answer that contains the calls. Without I/O.

use std::time::Duration;

use agentese::any::Event;
use agentese::types::{AssistantBlock, AssistantMessage, StopReason, ToolCall};
use agentese::view::{Block, Message, MessageState, Role};
use agentese_server_engine::engine::RemoteEvent;
use agentese_server_models::StreamEvent;
use serde_json::Value;
use tokio::time::Instant;

use super::convert;
use super::translator::Step;

/// Maximum time between the first call of an answer and a further call of the same answer. Agents announce
/// the calls of one answer in quick succession. When the time has passed, the client receives the answer, and
/// a later call gets an answer of its own.
const CALL_WINDOW: Duration = Duration::from_millis(300);

/// Buffer that holds an answer while further calls may belong to it. Any step of the agent except the start
/// of a call releases the answer. After the first call, a question or the end of [`CALL_WINDOW`] releases it
/// too.
#[derive(Debug, Default)]
pub(super) struct ToolCallBuffer {
    buffered: Option<BufferedAnswer>,
    /// `true` while later calls may belong to the last answer. If that answer was already released, such
    /// calls get an answer of their own.
    calls_may_follow: bool,
    /// The ids of unfinished calls of the last answer. Another answer has to wait for them, because it would
    /// end their turn.
    running_calls: Vec<String>,
    /// The steps of later calls, which wait until all running calls have ended.
    waiting_steps: Vec<Step>,
    /// The ids of waiting calls whose start was released early, because the agent sent a question.
    announced: Vec<String>,
}

#[derive(Debug)]
struct BufferedAnswer {
    answer: Box<AssistantMessage>,
    calls: Vec<ToolCall>,
    /// The end of a retry that led to the answer. It is released directly after the answer.
    retry_end: Option<Step>,
    /// The moment at which the wait for further calls ends; `None` before the first call.
    deadline: Option<Instant>,
}

impl BufferedAnswer {
    fn of(answer: Box<AssistantMessage>) -> Self {
        Self { answer, calls: Vec::new(), retry_end: None, deadline: None }
    }
}

/// Returns `true` if tool calls may follow this event: the end of an answer without a stop reason and without calls, or
/// a user message.
pub(super) fn may_call(event: &Event) -> bool {
    let Event::MessageEnded { message } = event else { return false };
    let is_answer = message.role == Role::Assistant
        && message.stop_reason.is_none()
        && !message.is_gone()
        && !matches!(message.state, MessageState::Failed | MessageState::Aborted)
        && !message.blocks.iter().any(|block| matches!(block, Block::Tool(_)));
    is_answer || message.role == Role::User
}

impl ToolCallBuffer {
    /// Adds steps. If `may_follow` is `true`, an answer among them is held. Returns the steps that need not
    /// wait.
    pub fn push(&mut self, steps: Vec<Step>, may_follow: bool) -> Vec<Step> {
        let mut passed = Vec::new();
        for step in steps {
            match step {
                step if self.must_wait(&step) => self.waiting_steps.push(step),
                Step::Event(RemoteEvent::AnswerEnded(answer)) => {
                    passed.extend(self.flush());
                    let has_calls =
                        answer.content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
                    self.calls_may_follow = may_follow && !has_calls;
                    match self.calls_may_follow {
                        true => self.buffered = Some(BufferedAnswer::of(answer)),
                        false => passed.push(Step::Event(RemoteEvent::AnswerEnded(answer))),
                    }
                }
                Step::Event(RemoteEvent::ToolStarted(call)) if self.calls_may_follow => {
                    self.add_call(call, &mut passed)
                }
                Step::Event(RemoteEvent::ToolEnded(id, output)) => {
                    passed.extend(self.release_answer());
                    self.running_calls.retain(|open| *open != id);
                    passed.push(Step::Event(RemoteEvent::ToolEnded(id, output)));
                    if self.running_calls.is_empty() {
                        passed.extend(self.release_waiting());
                    }
                }
                // Updates of tools and changes of settings do not end a turn.
                step @ Step::Event(RemoteEvent::ToolUpdated(..)) => {
                    passed.extend(self.release_answer());
                    passed.push(step);
                }
                step @ Step::Event(RemoteEvent::SessionNamed(_) | RemoteEvent::ThinkingChanged(_)) => {
                    passed.push(step)
                }
                step @ Step::Event(RemoteEvent::RetryEnded { .. }) => match &mut self.buffered {
                    Some(held) => held.retry_end = Some(step),
                    None => passed.push(step),
                },
                step @ (Step::Event(_) | Step::CompactionEnded { .. }) => {
                    passed.extend(self.flush());
                    self.calls_may_follow &= !matches!(step, Step::Event(RemoteEvent::RunEnded { .. }));
                    passed.push(step);
                }
                step => passed.push(step),
            }
        }
        passed
    }

    fn add_call(&mut self, call: ToolCall, passed: &mut Vec<Step>) {
        let buffered = self.buffered.get_or_insert_with(|| {
            passed.push(Step::Event(RemoteEvent::AnswerUpdated(StreamEvent::Start)));
            BufferedAnswer::of(Box::new(convert::answer(&Message::default())))
        });
        let (id, name) = (call.id.clone(), call.name.clone());
        let arguments = Value::Object(call.arguments.clone()).to_string();
        let grown = [
            StreamEvent::ToolCallStart { id, name },
            StreamEvent::ToolCallDelta(arguments),
            StreamEvent::ToolCallEnd,
        ];
        passed.extend(grown.map(|event| Step::Event(RemoteEvent::AnswerUpdated(event))));
        buffered.answer.content.push(call.clone().into());
        buffered.answer.stop_reason = StopReason::ToolUse;
        buffered.calls.push(call);
        buffered.deadline.get_or_insert_with(|| Instant::now() + CALL_WINDOW);
    }

    /// Returns `true` if a step belongs to a later call and earlier calls have not ended.
    fn must_wait(&self, step: &Step) -> bool {
        let is_behind = |id: &String| {
            let began =
                |step: &Step| matches!(step, Step::Event(RemoteEvent::ToolStarted(call)) if call.id == *id);
            self.waiting_steps.iter().any(began)
        };
        match step {
            Step::Event(RemoteEvent::ToolStarted(_)) => {
                self.calls_may_follow && self.buffered.is_none() && !self.running_calls.is_empty()
            }
            Step::Event(RemoteEvent::ToolUpdated(id, _) | RemoteEvent::ToolEnded(id, _)) => is_behind(id),
            _ => false,
        }
    }

    /// Removes and returns all held steps.
    pub fn flush(&mut self) -> Vec<Step> {
        let mut rest = self.release_answer();
        self.running_calls.clear();
        while !self.waiting_steps.is_empty() {
            rest.extend(self.release_waiting());
            rest.extend(self.release_answer());
            self.running_calls.clear();
        }
        rest
    }

    /// Processes the waiting steps of later calls. Returns the steps that need not wait any longer.
    fn release_waiting(&mut self) -> Vec<Step> {
        let waiting = std::mem::take(&mut self.waiting_steps);
        self.announced.clear();
        self.push(waiting, false)
    }

    /// Returns the held answer, followed by the starts of its calls.
    fn release_answer(&mut self) -> Vec<Step> {
        let Some(BufferedAnswer { answer, calls, retry_end: retried, .. }) = self.buffered.take() else {
            return Vec::new();
        };
        self.running_calls.extend(calls.iter().map(|call| call.id.clone()));
        let answered = std::iter::once(Step::Event(RemoteEvent::AnswerEnded(answer))).chain(retried);
        answered.chain(calls.into_iter().map(|call| Step::Event(RemoteEvent::ToolStarted(call)))).collect()
    }

    /// Returns the starts of all calls. Called before a question of the agent, which one of the calls may
    /// have caused. If a call waits for earlier calls, its start is returned before the answer that contains
    /// it.
    pub fn release_for_question(&mut self) -> Vec<Step> {
        let mut started = self.release_started();
        for step in &self.waiting_steps {
            if let Step::Event(RemoteEvent::ToolStarted(call)) = step
                && !self.announced.contains(&call.id)
            {
                self.announced.push(call.id.clone());
                started.push(step.clone());
            }
        }
        started
    }

    /// Returns the held answer with its calls if a call has started. Otherwise returns nothing, and the
    /// answer is still held.
    pub fn release_started(&mut self) -> Vec<Step> {
        match self.buffered.as_ref().is_some_and(|held| held.deadline.is_some()) {
            true => self.release_answer(),
            false => Vec::new(),
        }
    }

    /// Resolves when the time for further calls has passed. Never resolves before the first call.
    pub async fn wait_for_deadline(&self) {
        match self.buffered.as_ref().and_then(|held| held.deadline) {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use agentese_server_tools::ToolOutput;
    use serde_json::Map;

    use super::*;

    fn ended(stop_reason: Option<&str>) -> Event {
        let mut message = Message::default();
        message.role = Role::Assistant;
        message.stop_reason = stop_reason.map(str::to_owned);
        Event::MessageEnded { message: message.into() }
    }

    fn answered() -> Step {
        Step::Event(RemoteEvent::AnswerEnded(Box::new(convert::answer(&Message::default()))))
    }

    fn began(id: &str) -> Step {
        Step::Event(RemoteEvent::ToolStarted(ToolCall::new(id, "shell", Map::new())))
    }

    /// Returns the kind of each step. The kind of an answer includes the number of its calls.
    fn kinds(steps: &[Step]) -> Vec<String> {
        let kind = |step: &Step| match step {
            Step::Event(RemoteEvent::AnswerEnded(answer)) => format!("answer of {}", answer.content.len()),
            Step::Event(RemoteEvent::ToolStarted(call)) => format!("began {}", call.id),
            Step::Event(RemoteEvent::AnswerUpdated(_)) => "grew".to_owned(),
            other => format!("{other:?}"),
        };
        steps.iter().map(kind).collect()
    }

    #[test]
    fn calls_that_follow_an_answer_are_put_into_it() {
        let mut buffer = ToolCallBuffer::default();
        assert!(buffer.push(vec![answered()], true).is_empty());
        assert_eq!(kinds(&buffer.push(vec![began("c1"), began("c2")], false)), ["grew"; 6]);
        let over = Step::Event(RemoteEvent::RunEnded { will_retry: false });
        let passed = buffer.push(vec![over], false);
        assert_eq!(kinds(&passed)[..3], ["answer of 2", "began c1", "began c2"]);
        let Step::Event(RemoteEvent::AnswerEnded(answer)) = &passed[0] else { panic!("{passed:?}") };
        assert_eq!(answer.stop_reason, StopReason::ToolUse);
        assert!(buffer.flush().is_empty());
    }

    #[test]
    fn an_answer_without_calls_is_passed_on_as_it_is() {
        let mut buffer = ToolCallBuffer::default();
        assert_eq!(kinds(&buffer.push(vec![answered()], false)), ["answer of 0"]);
        buffer.push(vec![answered()], true);
        assert_eq!(kinds(&buffer.push(vec![answered()], true)), ["answer of 0"]);
        assert_eq!(kinds(&buffer.flush()), ["answer of 0"]);
        let over = Step::Event(RemoteEvent::RunEnded { will_retry: false });
        assert_eq!(buffer.push(vec![over.clone()], false), [over]);
        assert_eq!(kinds(&buffer.push(vec![began("c1")], false)), ["began c1"]);
    }

    #[test]
    fn an_answer_with_a_stop_reason_has_all_its_calls() {
        assert!(may_call(&ended(None)));
        assert!(!may_call(&ended(Some("stop"))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_call_does_not_hold_its_answer() {
        let mut buffer = ToolCallBuffer::default();
        buffer.push(vec![answered()], true);
        let none = tokio::time::timeout(100 * CALL_WINDOW, buffer.wait_for_deadline()).await;
        assert!(none.is_err() && buffer.release_started().is_empty(), "no call has begun");
        buffer.push(vec![began("c1"), began("c2")], false);
        buffer.wait_for_deadline().await;
        assert_eq!(kinds(&buffer.release_started()), ["answer of 2", "began c1", "began c2"]);
    }

    #[test]
    fn a_late_call_waits_for_the_released_calls() {
        let ended = |id: &str| Step::Event(RemoteEvent::ToolEnded(id.to_owned(), ToolOutput::text(id)));
        let buffer = || {
            let mut buffer = ToolCallBuffer::default();
            buffer.push(vec![answered()], true);
            buffer.push(vec![began("c1")], false);
            assert_eq!(kinds(&buffer.release_started()), ["answer of 1", "began c1"]);
            assert!(buffer.push(vec![began("c2"), began("c3"), ended("c2")], false).is_empty());
            buffer
        };
        let passed = buffer().push(vec![ended("c1")], false);
        let reported: Vec<_> = kinds(&passed).into_iter().filter(|kind| kind != "grew").collect();
        assert_eq!(reported[1..4], ["answer of 2", "began c2", "began c3"]);
        assert_eq!((&passed[0], passed.last().unwrap()), (&ended("c1"), &ended("c2")));
        // The end of the run releases the held steps as well.
        let over = Step::Event(RemoteEvent::RunEnded { will_retry: false });
        let passed = buffer().push(vec![over.clone()], false);
        assert_eq!(kinds(&passed).iter().filter(|kind| kind.starts_with("began")).count(), 2);
        assert_eq!(passed.last(), Some(&over));
    }

    #[test]
    fn a_call_after_the_end_of_another_gets_its_own_answer() {
        let mut late = ToolCallBuffer::default();
        late.push(vec![answered()], true);
        late.push(vec![began("c1")], false);
        let ended = Step::Event(RemoteEvent::ToolEnded("c1".to_owned(), ToolOutput::text("out")));
        let passed = late.push(vec![ended], false);
        assert_eq!(kinds(&passed)[..2], ["answer of 1", "began c1"]);
        assert_eq!(kinds(&late.push(vec![began("c2")], false)), ["grew"; 4]);
        assert_eq!(kinds(&late.flush()), ["answer of 1", "began c2"]);
    }

    #[test]
    fn a_question_follows_the_start_of_a_waiting_call() {
        let ended = |id: &str| Step::Event(RemoteEvent::ToolEnded(id.to_owned(), ToolOutput::text(id)));
        let mut buffer = ToolCallBuffer::default();
        buffer.push(vec![answered()], true);
        buffer.push(vec![began("c1")], false);
        assert_eq!(kinds(&buffer.release_for_question()), ["answer of 1", "began c1"]);
        assert!(buffer.push(vec![began("c2")], false).is_empty());
        assert_eq!(kinds(&buffer.release_for_question()), ["began c2"]);
        assert!(buffer.release_for_question().is_empty(), "it was released before");
        // The answer with the second call follows after the end of the first call.
        let passed = buffer.push(vec![ended("c1"), ended("c2")], false);
        let reported: Vec<_> = kinds(&passed).into_iter().filter(|kind| kind != "grew").collect();
        assert_eq!((&passed[0], passed.last().unwrap()), (&ended("c1"), &ended("c2")));
        assert_eq!(reported[1..3], ["answer of 1", "began c2"]);
    }

    #[test]
    fn other_steps_do_not_separate_an_answer_from_its_calls() {
        let over = || Step::Event(RemoteEvent::RetryEnded { success: true, attempt: 1, error: None });
        let named = || Step::Event(RemoteEvent::SessionNamed("a name".to_owned()));
        let mut buffer = ToolCallBuffer::default();
        // The end of a retry follows the answer that it produced.
        assert!(buffer.push(vec![answered(), over()], true).is_empty());
        assert_eq!(buffer.push(vec![named()], false), [named()]);
        assert_eq!(kinds(&buffer.push(vec![began("c1")], false)), ["grew"; 3]);
        assert_eq!(buffer.push(vec![named()], false), [named()]);
        assert_eq!(kinds(&buffer.push(vec![began("c2")], false)), ["grew"; 3]);
        let rest = buffer.flush();
        assert_eq!(kinds(&[rest[0].clone()]), ["answer of 2"]);
        assert_eq!(rest[1], over());
        assert_eq!(kinds(&rest[2..]), ["began c1", "began c2"]);
    }

    #[test]
    fn calls_after_user_input_get_an_answer() {
        let mut message = Message::default();
        message.role = Role::User;
        let may_follow = may_call(&Event::MessageEnded { message: message.into() });
        let input = || Step::Event(RemoteEvent::MessageAdded(Box::new(convert::user("later".to_owned()))));
        let mut buffer = ToolCallBuffer::default();
        // The part of the answer before the user message is not held.
        let passed = buffer.push(vec![answered(), input()], may_follow);
        assert_eq!((kinds(&passed)[0].as_str(), &passed[1]), ("answer of 0", &input()));
        assert_eq!(kinds(&buffer.push(vec![began("c1")], false)), ["grew"; 4]);
        assert_eq!(kinds(&buffer.flush()), ["answer of 1", "began c1"]);
        // The answer itself may already contain the calls.
        let calls = |id: &str| {
            let mut answer = convert::answer(&Message::default());
            answer.content.push(ToolCall::new(id, "shell", Map::new()).into());
            Step::Event(RemoteEvent::AnswerEnded(Box::new(answer)))
        };
        buffer.push(vec![calls("c2"), input()], may_follow);
        assert_eq!(kinds(&buffer.push(vec![began("c2")], false)), ["began c2"]);
    }
}
