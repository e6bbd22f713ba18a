//! The next step of a run.
//!
//! [`AgentLoop`] is a state machine without I/O. The caller requests the next [`Step`], carries it out, and requests
//! the next one. Each step takes an abort into account. The rules:
//!
//! * the first turn contains the prompt, then all steering that already waits, before the first answer;
//! * calls are carried out one after another; successive shared calls are carried out side by side;
//! * steering is delivered after each batch of executed calls, or at the end of the turn, by the interrupt mode;
//! * steering after a batch skips the remaining calls of the answer; the next turn delivers it;
//! * a turn with calls is followed by another turn;
//! * after a turn without calls, steering, then follow-ups start another turn, or the run ends;
//! * an answer that failed or was aborted ends the run after its turn; its calls that need results get errors;
//! * after an abort, the queues deliver nothing, no call is executed, and every open call gets a result;
//! * after an abort, an empty aborted answer replaces the next request to the model.

use std::collections::VecDeque;

use agentese::types::{AgentMessage, InterruptMode, StopReason, ToolCall};

use crate::engine::input_queues::Queues;

#[cfg(test)]
mod tests;

/// The next step of a run.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one value exists at a time, and it is matched at once")]
pub enum Step {
    /// Emits the start of the run.
    StartRun,
    /// Emits the start of a turn.
    StartTurn,
    /// Adds a message of the user or of an extension.
    Inject(AgentMessage),
    /// Requests an answer from the model; [`AgentLoop::answered`] follows.
    RequestAnswer,
    /// Adds an empty aborted answer without a request; [`AgentLoop::answered`] follows.
    SkipRequest,
    /// Answers tool calls according to their verdicts: one call, or several side by side.
    Call(Vec<(ToolCall, Verdict)>),
    /// Emits the end of the turn.
    EndTurn,
    /// Emits the end of the run. No step follows.
    EndRun,
}

/// The decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Runs the tool.
    Execute,
    /// Skips the call, because a message of the user arrived first.
    Skip,
    /// Rejects the call because its arguments are incomplete. The text is the explanation for the model.
    Refuse(String),
    /// Does not run the tool, because the run was aborted.
    Abort,
}

/// A call that the model requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedCall {
    /// The tool call of the model.
    pub call: ToolCall,
    /// The explanation for the model if the arguments of the call are incomplete; `None` if they are complete.
    pub unusable: Option<String>,
    /// `true` if the call may run beside others.
    pub shared: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoopPhase {
    NotStarted,
    TurnDue,
    Injecting,
    AwaitingAnswer,
    Calling,
    TurnEnded,
    Ended,
}

/// An empty list of messages.
pub(in crate::engine) const NO_MESSAGES: [AgentMessage; 0] = [];

/// The state of one run.
#[derive(Debug)]
pub struct AgentLoop {
    phase: LoopPhase,
    prompts: VecDeque<AgentMessage>,
    /// Calls of the last answer that have no result yet.
    calls: VecDeque<RequestedCall>,
    /// `true` if steering is delivered at this point: before the first answer, and after each executed call.
    steering_due: bool,
    /// `true` if steering arrived while calls were carried out.
    interrupted: bool,
    /// `true` if the last answer had tool calls, so that the model needs another request.
    had_calls: bool,
    /// `true` if the last answer failed or was aborted.
    failed: bool,
    /// `true` if no further request to the model follows.
    finished: bool,
    /// `true` if the run starts with queued follow-ups when no steering is queued.
    starts_with_follow_ups: bool,
    /// `true` if steering is delivered even though the run was aborted during its calls.
    steer_after_abort: bool,
}

impl AgentLoop {
    /// Creates a run that starts with those messages of the user.
    pub fn new(prompts: impl IntoIterator<Item = impl Into<AgentMessage>>) -> Self {
        Self {
            phase: LoopPhase::NotStarted,
            prompts: prompts.into_iter().map(Into::into).collect(),
            calls: VecDeque::new(),
            steering_due: true,
            interrupted: false,
            had_calls: false,
            failed: false,
            finished: false,
            starts_with_follow_ups: false,
            steer_after_abort: false,
        }
    }

    /// Creates a run that starts with the queued messages.
    pub fn with_queued() -> Self {
        Self { starts_with_follow_ups: true, ..Self::new(NO_MESSAGES) }
    }

    /// Adds messages to the messages at the start of the run.
    pub fn add(&mut self, messages: impl IntoIterator<Item = AgentMessage>) {
        self.prompts.extend(messages);
    }

    /// Returns the next step, and removes its messages from the queues. The caller carries out the step before it
    /// calls this again.
    pub fn next(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        match self.phase {
            LoopPhase::NotStarted => {
                self.phase = LoopPhase::TurnDue;
                Step::StartRun
            }
            LoopPhase::TurnDue => {
                self.phase = LoopPhase::Injecting;
                Step::StartTurn
            }
            LoopPhase::Injecting => self.inject(queues, aborted),
            // The caller requested the next step without an answer: it has cancelled the request to the model.
            LoopPhase::AwaitingAnswer => {
                self.failed = true;
                self.phase = LoopPhase::TurnEnded;
                Step::EndTurn
            }
            LoopPhase::Calling => self.call(queues, aborted),
            LoopPhase::TurnEnded => self.after_turn(queues, aborted),
            LoopPhase::Ended => Step::EndRun,
        }
    }

    /// Reports an answer of the model with its calls. If the answer failed, `calls` are the calls whose result is
    /// an error.
    pub fn answered(&mut self, stop: StopReason, calls: impl IntoIterator<Item = RequestedCall>) {
        self.phase = LoopPhase::Calling;
        self.interrupted = false;
        self.steering_due = false;
        self.calls = calls.into_iter().collect();
        if matches!(stop, StopReason::Error | StopReason::Aborted) {
            self.failed = true;
            return;
        }
        self.had_calls = !self.calls.is_empty();
    }

    /// Returns `true` while calls of the last answer are carried out.
    pub fn is_calling(&self) -> bool {
        self.phase == LoopPhase::Calling
    }

    /// Returns `true` if the run needs another turn, given the messages in the queues.
    pub fn needs_turn(&self, queues: &Queues) -> bool {
        match self.phase {
            LoopPhase::TurnEnded if self.failed || self.finished => false,
            LoopPhase::TurnEnded => self.had_calls || queues.pending() > 0,
            phase => phase != LoopPhase::Ended,
        }
    }

    /// Ends the run after this turn because of a call, even if messages are queued.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    fn inject(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        if let Some(prompt) = self.prompts.pop_front() {
            return Step::Inject(prompt);
        }
        if aborted && !self.steer_after_abort {
            queues.put_back();
        } else if std::mem::take(&mut self.steering_due) && !aborted {
            let steered = queues.take_steering();
            if std::mem::take(&mut self.starts_with_follow_ups) && !steered {
                queues.take_follow_ups();
            }
        }
        if let Some(message) = queues.deliver() {
            return Step::Inject(message);
        }
        self.phase = LoopPhase::AwaitingAnswer;
        if aborted { Step::SkipRequest } else { Step::RequestAnswer }
    }

    fn call(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        let aborted = aborted || self.failed;
        let looks = queues.interrupt_mode() == InterruptMode::Immediate;
        // As in pi, steering is also taken after an abort.
        if std::mem::take(&mut self.steering_due) && looks && !self.failed {
            self.interrupted = queues.take_steering();
        }
        let Some(first) = self.calls.pop_front() else {
            self.phase = LoopPhase::TurnEnded;
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
        self.steering_due = runs;
        Step::Call(batch)
    }

    fn after_turn(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        let had_calls = std::mem::take(&mut self.had_calls);
        let goes_on = if aborted && had_calls && !self.failed {
            // A result is never the last message. An aborted answer closes the run, and steering precedes that answer,
            // as in pi.
            self.steer_after_abort = queues.has_taken() || queues.take_steering();
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
            self.phase = LoopPhase::Injecting;
            Step::StartTurn
        } else {
            self.phase = LoopPhase::Ended;
            Step::EndRun
        }
    }
}
