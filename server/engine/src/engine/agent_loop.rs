//! What a run does next.
//!
//! [`AgentLoop`] is a state machine without I/O: it is asked for the next [`Step`], somebody
//! carries the step out, and it is asked again. An abort is looked at before every step. The rules:
//!
//! * the prompt, then whatever steers already, stand in the first turn before the first answer;
//! * calls are carried out one after another; where several that follow each other are shared, these side by side;
//! * after each batch of calls that ran, steering is looked for, unless it is to wait for the end of the turn; if there is
//!   some, the remaining calls of the answer are skipped, and it is delivered in the next turn;
//! * after a turn with calls comes another one; after one without, steering, then follow-ups start
//!   another one, or the run ends;
//! * an answer that failed or was aborted ends the run after its turn; calls of it that are to have results get errors;
//! * after an abort nothing is delivered from the queues and nothing is executed: every call that is
//!   open gets a result, and where the model would be asked stands an empty aborted answer.

use std::collections::VecDeque;

use agentese::types::{AgentMessage, InterruptMode, StopReason, ToolCall};

use super::queue::Queues;

#[cfg(test)]
mod tests;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and it is taken apart at once")]
pub enum Step {
    /// Say that the run begins.
    StartRun,
    /// Say that a turn begins.
    StartTurn,
    /// Add a message of the user, or of an extension.
    Inject(AgentMessage),
    /// Ask the model, then call [`AgentLoop::answered`].
    Ask,
    /// Add an empty aborted answer without asking, then call [`AgentLoop::answered`].
    AskNobody,
    /// Answer tool calls, each in that way: one, or several side by side.
    Call(Vec<(ToolCall, Verdict)>),
    /// Say that the turn is complete.
    EndTurn,
    /// Say that the run is over. Nothing comes after it.
    EndRun,
}

/// How a tool call is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// By running the tool.
    Execute,
    /// Not at all: a message of the user came in between.
    Skip,
    /// Not at all, with the text that tells the model why: its arguments are not whole.
    Refuse(String),
    /// Not at all: the run was aborted.
    Abort,
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The call.
    pub call: ToolCall,
    /// The text that tells the model why the call cannot be executed, if its arguments are not whole.
    pub unusable: Option<String>,
    /// Whether it may run beside others.
    pub shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Fresh,
    TurnDue,
    Injecting,
    Asked,
    Calling,
    TurnOver,
    Ended,
}

/// Nobody has said anything.
pub(super) const NOBODY: [AgentMessage; 0] = [];

/// The state of one run.
#[derive(Debug)]
pub struct AgentLoop {
    phase: Phase,
    prompts: VecDeque<AgentMessage>,
    /// Calls of the last answer that are not dealt with yet.
    calls: VecDeque<Asked>,
    /// Steering is to be looked for before the first answer, and after each call that ran.
    look_for_steering: bool,
    /// Steering came in the middle of the calls.
    interrupted: bool,
    /// The last answer asked for tools, so that the model has to be asked again.
    had_calls: bool,
    /// The last answer failed or was aborted.
    failed: bool,
    /// The last word is said: the model is not asked again.
    finished: bool,
    /// Without steering, follow-ups begin the run.
    begins_with_follow_ups: bool,
    /// What steers is delivered in a run that was aborted among its calls.
    steers_still: bool,
}

impl AgentLoop {
    /// A run that begins with those messages of the user.
    pub fn new(prompts: impl IntoIterator<Item = impl Into<AgentMessage>>) -> Self {
        Self {
            phase: Phase::Fresh,
            prompts: prompts.into_iter().map(Into::into).collect(),
            calls: VecDeque::new(),
            look_for_steering: true,
            interrupted: false,
            had_calls: false,
            failed: false,
            finished: false,
            begins_with_follow_ups: false,
            steers_still: false,
        }
    }

    /// A run that begins with what waits in the queues.
    pub fn with_what_waits() -> Self {
        Self { begins_with_follow_ups: true, ..Self::new(NOBODY) }
    }

    /// Adds messages to those that the run begins with.
    pub fn add(&mut self, messages: impl IntoIterator<Item = AgentMessage>) {
        self.prompts.extend(messages);
    }

    /// The next step. The caller carries it out before it asks again; the queues lose what the step
    /// delivers.
    pub fn next(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        match self.phase {
            Phase::Fresh => {
                self.phase = Phase::TurnDue;
                Step::StartRun
            }
            Phase::TurnDue => {
                self.phase = Phase::Injecting;
                Step::StartTurn
            }
            Phase::Injecting => self.inject(queues, aborted),
            // Asked without an answer: the caller gave up on the model.
            Phase::Asked => {
                self.failed = true;
                self.phase = Phase::TurnOver;
                Step::EndTurn
            }
            Phase::Calling => self.call(queues, aborted),
            Phase::TurnOver => self.after_turn(queues, aborted),
            Phase::Ended => Step::EndRun,
        }
    }

    /// The model answered, with those calls; of an answer that failed, with those that get an error as their result.
    pub fn answered(&mut self, stop: StopReason, calls: impl IntoIterator<Item = Asked>) {
        self.phase = Phase::Calling;
        self.interrupted = false;
        self.look_for_steering = false;
        self.calls = calls.into_iter().collect();
        if matches!(stop, StopReason::Error | StopReason::Aborted) {
            self.failed = true;
            return;
        }
        self.had_calls = !self.calls.is_empty();
    }

    /// Returns whether calls of the last answer are dealt with.
    pub fn is_calling(&self) -> bool {
        self.phase == Phase::Calling
    }

    /// Returns whether the run needs another turn, given the messages in the queues.
    pub fn needs_turn(&self, queues: &Queues) -> bool {
        match self.phase {
            Phase::TurnOver if self.failed || self.finished => false,
            Phase::TurnOver => self.had_calls || queues.pending() > 0,
            phase => phase != Phase::Ended,
        }
    }

    /// A call was the last word: after its turn the run ends, whatever waits.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    fn inject(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        if let Some(prompt) = self.prompts.pop_front() {
            return Step::Inject(prompt);
        }
        if aborted && !self.steers_still {
            queues.put_back();
        } else if std::mem::take(&mut self.look_for_steering) && !aborted {
            let steered = queues.take_steering();
            if std::mem::take(&mut self.begins_with_follow_ups) && !steered {
                queues.take_follow_ups();
            }
        }
        if let Some(message) = queues.deliver() {
            return Step::Inject(message);
        }
        self.phase = Phase::Asked;
        if aborted { Step::AskNobody } else { Step::Ask }
    }

    fn call(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        let aborted = aborted || self.failed;
        let looks = queues.interrupt_mode() == InterruptMode::Immediate;
        // An abort does not keep it from being seen, as in pi.
        if std::mem::take(&mut self.look_for_steering) && looks && !self.failed {
            self.interrupted = queues.take_steering();
        }
        let Some(first) = self.calls.pop_front() else {
            self.phase = Phase::TurnOver;
            return Step::EndTurn;
        };
        let runs = !aborted && !self.interrupted;
        let interrupted = self.interrupted;
        let verdict = |unusable: Option<String>| match unusable {
            _ if interrupted => Verdict::Skip,
            _ if aborted => Verdict::Abort,
            Some(reason) => Verdict::Refuse(reason),
            None => Verdict::Execute,
        };
        let mut shared = runs && first.shared;
        let mut batch = vec![(first.call, verdict(first.unusable))];
        while shared {
            let more = self.calls.front().is_some_and(|next| next.shared);
            match more.then(|| self.calls.pop_front()).flatten() {
                Some(next) => batch.push((next.call, verdict(next.unusable))),
                None => shared = false,
            }
        }
        self.look_for_steering = runs;
        Step::Call(batch)
    }

    fn after_turn(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        let had_calls = std::mem::take(&mut self.had_calls);
        let goes_on = if aborted && had_calls && !self.failed {
            // Results are never the last word: an aborted answer closes the run, and what steers stands before it, as in pi.
            self.steers_still = queues.has_taken() || queues.take_steering();
            true
        } else if self.failed || aborted {
            queues.put_back();
            false
        } else if self.finished {
            false
        } else {
            let steered = queues.has_taken() || queues.take_steering();
            steered || had_calls || queues.take_follow_ups()
        };
        if goes_on {
            self.phase = Phase::Injecting;
            Step::StartTurn
        } else {
            self.phase = Phase::Ended;
            Step::EndRun
        }
    }
}
