//! Buffer for tool calls that an agent announces after the answer that contains them, without I/O.

use std::time::Duration;

use agentese::any::Event;
use agentese::types::{AssistantBlock, AssistantMessage, StopReason, ToolCall};
use agentese::view::{Block, Message, MessageState, Role};
use agentese_server_engine::engine::Deed;
use agentese_server_models::StreamEvent;
use serde_json::Value;
use tokio::time::Instant;

use super::convert;
use super::deeds::Step;

/// The time to wait for another call of an answer after its first call. Agents announce these calls in quick
/// succession. Silence means that a tool works, and then the client must see its call. A later call belongs
/// to the next answer.
const BESIDE: Duration = Duration::from_millis(300);

/// Holds an answer while calls may follow. Three events release the answer: any step of the agent except the
/// start of a call, a question after the start of a call, or [`BESIDE`] after that start.
#[derive(Debug, Default)]
pub(super) struct Late {
    held: Option<Held>,
    /// `true` while later calls may belong to the last answer. If that answer was released, they get an answer
    /// of their own.
    follow: bool,
    /// The unfinished calls of that answer. Another answer would end their turn.
    open: Vec<String>,
    /// The steps of later calls, held until the open calls have ended.
    behind: Vec<Step>,
    /// The calls among these whose start was released early, because the agent sent a question.
    early: Vec<String>,
}

#[derive(Debug)]
struct Held {
    answer: Box<AssistantMessage>,
    calls: Vec<ToolCall>,
    /// The end of the retry that produced the answer.
    retried: Option<Step>,
    /// The deadline for another call, or `None` before the first call.
    until: Option<Instant>,
}

impl Held {
    fn of(answer: Box<AssistantMessage>) -> Self {
        Self { answer, calls: Vec::new(), retried: None, until: None }
    }
}

/// Returns `true` if calls may follow the answer of an event. That is the case if the event has no stop reason,
/// or if a user message is within the answer.
pub(super) fn may_call(event: &Event) -> bool {
    let Event::MessageEnded { message } = event else { return false };
    let is_answer = message.role == Role::Assistant
        && message.stop_reason.is_none()
        && !message.is_gone()
        && !matches!(message.state, MessageState::Failed | MessageState::Aborted)
        && !message.blocks.iter().any(|block| matches!(block, Block::Tool(_)));
    is_answer || message.role == Role::User
}

impl Late {
    /// Returns the steps to pass on. Holds an answer if calls `may_follow`.
    pub fn pass(&mut self, steps: Vec<Step>, may_follow: bool) -> Vec<Step> {
        let mut passed = Vec::new();
        for step in steps {
            match step {
                step if self.waits(&step) => self.behind.push(step),
                Step::Deed(Deed::Answered(answer)) => {
                    passed.extend(self.rest());
                    let has_calls =
                        answer.content.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_)));
                    self.follow = may_follow && !has_calls;
                    match self.follow {
                        true => self.held = Some(Held::of(answer)),
                        false => passed.push(Step::Deed(Deed::Answered(answer))),
                    }
                }
                Step::Deed(Deed::ToolBegan(call)) if self.follow => self.began(call, &mut passed),
                Step::Deed(Deed::ToolEnded(id, output)) => {
                    passed.extend(self.told());
                    self.open.retain(|open| *open != id);
                    passed.push(Step::Deed(Deed::ToolEnded(id, output)));
                    if self.open.is_empty() {
                        passed.extend(self.later());
                    }
                }
                // Updates of tools and settings end no turn.
                step @ Step::Deed(Deed::ToolShowed(..)) => {
                    passed.extend(self.told());
                    passed.push(step);
                }
                step @ Step::Deed(Deed::Named(_) | Deed::Thinks(_)) => passed.push(step),
                step @ Step::Deed(Deed::RetryOver { .. }) => match &mut self.held {
                    Some(held) => held.retried = Some(step),
                    None => passed.push(step),
                },
                step @ (Step::Deed(_) | Step::Compacted { .. }) => {
                    passed.extend(self.rest());
                    self.follow &= !matches!(step, Step::Deed(Deed::RunOver { .. }));
                    passed.push(step);
                }
                step => passed.push(step),
            }
        }
        passed
    }

    fn began(&mut self, call: ToolCall, passed: &mut Vec<Step>) {
        let held = self.held.get_or_insert_with(|| {
            passed.push(Step::Deed(Deed::Grew(StreamEvent::Start)));
            Held::of(Box::new(convert::answer(&Message::default())))
        });
        let (id, name) = (call.id.clone(), call.name.clone());
        let arguments = Value::Object(call.arguments.clone()).to_string();
        let grown = [
            StreamEvent::ToolCallStart { id, name },
            StreamEvent::ToolCallDelta(arguments),
            StreamEvent::ToolCallEnd,
        ];
        passed.extend(grown.map(|event| Step::Deed(Deed::Grew(event))));
        held.answer.content.push(call.clone().into());
        held.answer.stop_reason = StopReason::ToolUse;
        held.calls.push(call);
        held.until.get_or_insert_with(|| Instant::now() + BESIDE);
    }

    /// Returns `true` if a step belongs to a later call while earlier calls are unfinished.
    fn waits(&self, step: &Step) -> bool {
        let is_behind = |id: &String| {
            let began = |step: &Step| matches!(step, Step::Deed(Deed::ToolBegan(call)) if call.id == *id);
            self.behind.iter().any(began)
        };
        match step {
            Step::Deed(Deed::ToolBegan(_)) => self.follow && self.held.is_none() && !self.open.is_empty(),
            Step::Deed(Deed::ToolShowed(id, _) | Deed::ToolEnded(id, _)) => is_behind(id),
            _ => false,
        }
    }

    /// Returns all held steps.
    pub fn rest(&mut self) -> Vec<Step> {
        let mut rest = self.told();
        self.open.clear();
        while !self.behind.is_empty() {
            rest.extend(self.later());
            rest.extend(self.told());
            self.open.clear();
        }
        rest
    }

    /// Returns the steps that waited for the end of earlier calls.
    fn later(&mut self) -> Vec<Step> {
        let behind = std::mem::take(&mut self.behind);
        self.early.clear();
        self.pass(behind, false)
    }

    /// Returns the held answer and its started calls.
    fn told(&mut self) -> Vec<Step> {
        let Some(Held { answer, calls, retried, .. }) = self.held.take() else { return Vec::new() };
        self.open.extend(calls.iter().map(|call| call.id.clone()));
        let answered = std::iter::once(Step::Deed(Deed::Answered(answer))).chain(retried);
        answered.chain(calls.into_iter().map(|call| Step::Deed(Deed::ToolBegan(call)))).collect()
    }

    /// Returns the started calls before a question of the agent, because one of them may have caused the
    /// question. For calls that wait for others, returns only the start, ahead of their answer.
    pub fn asked(&mut self) -> Vec<Step> {
        let mut asked = self.begun();
        for step in &self.behind {
            if let Step::Deed(Deed::ToolBegan(call)) = step
                && !self.early.contains(&call.id)
            {
                self.early.push(call.id.clone());
                asked.push(step.clone());
            }
        }
        asked
    }

    /// Returns the held answer if a call has started. Without a call, the answer is held further.
    pub fn begun(&mut self) -> Vec<Step> {
        match self.held.as_ref().is_some_and(|held| held.until.is_some()) {
            true => self.told(),
            false => Vec::new(),
        }
    }

    /// Completes at the deadline for another call. Never completes before the first call.
    pub async fn due(&self) {
        match self.held.as_ref().and_then(|held| held.until) {
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
        Step::Deed(Deed::Answered(Box::new(convert::answer(&Message::default()))))
    }

    fn began(id: &str) -> Step {
        Step::Deed(Deed::ToolBegan(ToolCall::new(id, "shell", Map::new())))
    }

    /// Returns the kinds of steps, with the number of calls of an answer.
    fn kinds(steps: &[Step]) -> Vec<String> {
        let kind = |step: &Step| match step {
            Step::Deed(Deed::Answered(answer)) => format!("answer of {}", answer.content.len()),
            Step::Deed(Deed::ToolBegan(call)) => format!("began {}", call.id),
            Step::Deed(Deed::Grew(_)) => "grew".to_owned(),
            other => format!("{other:?}"),
        };
        steps.iter().map(kind).collect()
    }

    #[test]
    fn calls_that_follow_an_answer_are_put_into_it() {
        let mut late = Late::default();
        assert!(late.pass(vec![answered()], true).is_empty());
        assert_eq!(kinds(&late.pass(vec![began("c1"), began("c2")], false)), ["grew"; 6]);
        let over = Step::Deed(Deed::RunOver { will_retry: false });
        let passed = late.pass(vec![over], false);
        assert_eq!(kinds(&passed)[..3], ["answer of 2", "began c1", "began c2"]);
        let Step::Deed(Deed::Answered(answer)) = &passed[0] else { panic!("{passed:?}") };
        assert_eq!(answer.stop_reason, StopReason::ToolUse);
        assert!(late.rest().is_empty());
    }

    #[test]
    fn an_answer_without_calls_is_passed_on_as_it_is() {
        let mut late = Late::default();
        assert_eq!(kinds(&late.pass(vec![answered()], false)), ["answer of 0"]);
        late.pass(vec![answered()], true);
        assert_eq!(kinds(&late.pass(vec![answered()], true)), ["answer of 0"]);
        assert_eq!(kinds(&late.rest()), ["answer of 0"]);
        let over = Step::Deed(Deed::RunOver { will_retry: false });
        assert_eq!(late.pass(vec![over.clone()], false), [over]);
        assert_eq!(kinds(&late.pass(vec![began("c1")], false)), ["began c1"]);
    }

    #[test]
    fn an_agent_that_says_why_the_model_stopped_has_told_all_calls() {
        assert!(may_call(&ended(None)));
        assert!(!may_call(&ended(Some("stop"))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_takes_long_does_not_keep_its_answer_back() {
        let mut late = Late::default();
        late.pass(vec![answered()], true);
        let none = tokio::time::timeout(100 * BESIDE, late.due()).await;
        assert!(none.is_err() && late.begun().is_empty(), "no call has begun");
        late.pass(vec![began("c1"), began("c2")], false);
        late.due().await;
        assert_eq!(kinds(&late.begun()), ["answer of 2", "began c1", "began c2"]);
    }

    #[test]
    fn a_call_that_begins_late_waits_for_those_of_the_answer_that_was_told() {
        let ended = |id: &str| Step::Deed(Deed::ToolEnded(id.to_owned(), ToolOutput::text(id)));
        let late = || {
            let mut late = Late::default();
            late.pass(vec![answered()], true);
            late.pass(vec![began("c1")], false);
            assert_eq!(kinds(&late.begun()), ["answer of 1", "began c1"]);
            assert!(late.pass(vec![began("c2"), began("c3"), ended("c2")], false).is_empty());
            late
        };
        let passed = late().pass(vec![ended("c1")], false);
        let told: Vec<_> = kinds(&passed).into_iter().filter(|kind| kind != "grew").collect();
        assert_eq!(told[1..4], ["answer of 2", "began c2", "began c3"]);
        assert_eq!((&passed[0], passed.last().unwrap()), (&ended("c1"), &ended("c2")));
        // The end of the run also releases the held steps.
        let over = Step::Deed(Deed::RunOver { will_retry: false });
        let passed = late().pass(vec![over.clone()], false);
        assert_eq!(kinds(&passed).iter().filter(|kind| kind.starts_with("began")).count(), 2);
        assert_eq!(passed.last(), Some(&over));
    }

    #[test]
    fn a_call_that_begins_when_another_one_has_ended_has_an_answer_of_its_own() {
        let mut late = Late::default();
        late.pass(vec![answered()], true);
        late.pass(vec![began("c1")], false);
        let ended = Step::Deed(Deed::ToolEnded("c1".to_owned(), ToolOutput::text("out")));
        let passed = late.pass(vec![ended], false);
        assert_eq!(kinds(&passed)[..2], ["answer of 1", "began c1"]);
        assert_eq!(kinds(&late.pass(vec![began("c2")], false)), ["grew"; 4]);
        assert_eq!(kinds(&late.rest()), ["answer of 1", "began c2"]);
    }

    #[test]
    fn a_question_comes_behind_a_call_that_waits_for_another_one() {
        let ended = |id: &str| Step::Deed(Deed::ToolEnded(id.to_owned(), ToolOutput::text(id)));
        let mut late = Late::default();
        late.pass(vec![answered()], true);
        late.pass(vec![began("c1")], false);
        assert_eq!(kinds(&late.asked()), ["answer of 1", "began c1"]);
        assert!(late.pass(vec![began("c2")], false).is_empty());
        assert_eq!(kinds(&late.asked()), ["began c2"]);
        assert!(late.asked().is_empty(), "it was told");
        // Its answer follows the end of the other call.
        let passed = late.pass(vec![ended("c1"), ended("c2")], false);
        let told: Vec<_> = kinds(&passed).into_iter().filter(|kind| kind != "grew").collect();
        assert_eq!((&passed[0], passed.last().unwrap()), (&ended("c1"), &ended("c2")));
        assert_eq!(told[1..3], ["answer of 1", "began c2"]);
    }

    #[test]
    fn what_ends_no_answer_does_not_part_it_from_its_calls() {
        let over = || Step::Deed(Deed::RetryOver { success: true, attempt: 1, error: None });
        let named = || Step::Deed(Deed::Named("a name".to_owned()));
        let mut late = Late::default();
        // The end of a retry follows the answer that it produced.
        assert!(late.pass(vec![answered(), over()], true).is_empty());
        assert_eq!(late.pass(vec![named()], false), [named()]);
        assert_eq!(kinds(&late.pass(vec![began("c1")], false)), ["grew"; 3]);
        assert_eq!(late.pass(vec![named()], false), [named()]);
        assert_eq!(kinds(&late.pass(vec![began("c2")], false)), ["grew"; 3]);
        let rest = late.rest();
        assert_eq!(kinds(&[rest[0].clone()]), ["answer of 2"]);
        assert_eq!(rest[1], over());
        assert_eq!(kinds(&rest[2..]), ["began c1", "began c2"]);
    }

    #[test]
    fn calls_behind_words_of_the_user_stand_in_an_answer() {
        let mut words = Message::default();
        words.role = Role::User;
        let may_follow = may_call(&Event::MessageEnded { message: words.into() });
        let said = || Step::Deed(Deed::Said(Box::new(convert::user("later".to_owned()))));
        let mut late = Late::default();
        // The part of the answer before the user message is passed on.
        let passed = late.pass(vec![answered(), said()], may_follow);
        assert_eq!((kinds(&passed)[0].as_str(), &passed[1]), ("answer of 0", &said()));
        assert_eq!(kinds(&late.pass(vec![began("c1")], false)), ["grew"; 4]);
        assert_eq!(kinds(&late.rest()), ["answer of 1", "began c1"]);
        // The answer may contain the calls itself.
        let calls = |id: &str| {
            let mut answer = convert::answer(&Message::default());
            answer.content.push(ToolCall::new(id, "shell", Map::new()).into());
            Step::Deed(Deed::Answered(Box::new(answer)))
        };
        late.pass(vec![calls("c2"), said()], may_follow);
        assert_eq!(kinds(&late.pass(vec![began("c2")], false)), ["began c2"]);
    }
}
