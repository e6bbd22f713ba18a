//! What a run does next.
//!
//! [`AgentLoop`] is a state machine without I/O: it is asked for the next [`Step`], somebody
//! carries the step out, and it is asked again. An abort is looked at before every step. The rules:
//!
//! * the prompt, then whatever steers already, stand in the first turn before the first answer;
//! * after each call that ran, steering is looked for; if there is some, the remaining calls of the
//!   answer are skipped, and it is delivered in the next turn;
//! * after a turn with calls comes another one; after one without, steering, then follow-ups start
//!   another one, or the run ends;
//! * an answer that failed or was aborted ends the run after its turn;
//! * after an abort nothing is delivered from the queues and nothing is executed: every call that is
//!   open gets a result, and where the model would be asked stands an empty aborted answer.

use std::collections::VecDeque;

use agentese::types::{AgentMessage, StopReason, ToolCall};

use super::queue::Queues;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
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
    /// Answer a tool call in that way.
    Call(ToolCall, Verdict),
    /// Say that the turn is complete.
    EndTurn,
    /// Say that the run is over. Nothing comes after it.
    EndRun,
}

/// How a tool call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// By running the tool.
    Execute,
    /// Not at all: a message of the user came in between.
    Skip,
    /// Not at all: the output limit cut its arguments off.
    Cut,
    /// Not at all: the run was aborted.
    Abort,
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
    /// Calls of the last answer that are not dealt with yet, and whether each was cut off.
    calls: VecDeque<(ToolCall, bool)>,
    /// Steering is to be looked for before the first answer, and after each call that ran.
    look_for_steering: bool,
    /// Steering came in the middle of the calls.
    interrupted: bool,
    /// The last answer asked for tools, so that the model has to be asked again.
    had_calls: bool,
    /// The last answer failed or was aborted.
    failed: bool,
    /// Without steering, follow-ups begin the run.
    begins_with_follow_ups: bool,
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
            begins_with_follow_ups: false,
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

    /// The model answered, with those calls; each says whether it was cut off.
    pub fn answered(&mut self, stop: StopReason, calls: impl IntoIterator<Item = (ToolCall, bool)>) {
        self.phase = Phase::Calling;
        self.interrupted = false;
        self.look_for_steering = false;
        if matches!(stop, StopReason::Error | StopReason::Aborted) {
            self.failed = true;
            return;
        }
        self.calls = calls.into_iter().collect();
        self.had_calls = !self.calls.is_empty();
    }

    fn inject(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        if let Some(prompt) = self.prompts.pop_front() {
            return Step::Inject(prompt);
        }
        if aborted {
            queues.put_back();
        } else if std::mem::take(&mut self.look_for_steering) {
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
        if std::mem::take(&mut self.look_for_steering) && !aborted {
            self.interrupted = queues.take_steering();
        }
        let Some((call, cut)) = self.calls.pop_front() else {
            self.phase = Phase::TurnOver;
            return Step::EndTurn;
        };
        let verdict = match () {
            () if aborted => Verdict::Abort,
            () if self.interrupted => Verdict::Skip,
            () if cut => Verdict::Cut,
            () => Verdict::Execute,
        };
        self.look_for_steering = !self.interrupted && matches!(verdict, Verdict::Execute | Verdict::Cut);
        Step::Call(call, verdict)
    }

    fn after_turn(&mut self, queues: &mut Queues, aborted: bool) -> Step {
        let had_calls = std::mem::take(&mut self.had_calls);
        let goes_on = if self.failed || aborted {
            queues.put_back();
            // An aborted run whose last word are results is closed by an aborted answer.
            had_calls && !self.failed
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

#[cfg(test)]
mod tests {
    use agentese::types::{InputContent, QueueMode, UserMessage};
    use serde_json::Map;

    use super::*;

    fn message(text: &str) -> UserMessage {
        UserMessage::new(InputContent::Text(text.to_owned()), 0)
    }

    /// Plays a run and writes a line per step. Each answer is a stop reason and the ids of its
    /// calls (`!` after one that was cut); `at` runs before the step of that number.
    fn play(
        queues: &mut Queues,
        answers: &[(StopReason, &[&str])],
        mut at: impl FnMut(usize, &mut Queues) -> bool,
    ) -> Vec<String> {
        let mut run = AgentLoop::new([message("p")]);
        let mut answers = answers.iter();
        let mut lines: Vec<String> = Vec::new();
        loop {
            assert!(lines.len() < 200, "it does not end: {lines:?}");
            let aborted = at(lines.len(), queues);
            let step = run.next(queues, aborted);
            let line = match step {
                Step::StartRun => "run".to_owned(),
                Step::StartTurn => "turn".to_owned(),
                Step::Inject(AgentMessage::User(UserMessage {
                    content: InputContent::Text(text), ..
                })) => {
                    format!("+{text}")
                }
                Step::Inject(_) => unreachable!(),
                Step::Ask => {
                    let (stop, ids) = answers.next().copied().unwrap_or((StopReason::Stop, &[]));
                    let call = |id: &&str| {
                        let cut = id.ends_with('!');
                        (ToolCall::new(id.trim_end_matches('!'), "tool", Map::new()), cut)
                    };
                    run.answered(stop, ids.iter().map(call));
                    "ask".to_owned()
                }
                Step::AskNobody => {
                    run.answered(StopReason::Aborted, []);
                    "closed".to_owned()
                }
                Step::Call(call, verdict) => format!("{} {verdict:?}", call.id),
                Step::EndTurn => "/turn".to_owned(),
                Step::EndRun => "/run".to_owned(),
            };
            let last = line == "/run";
            lines.push(line);
            if last {
                return lines;
            }
        }
    }

    #[track_caller]
    fn check(lines: &[String], expected: &str) {
        assert_eq!(lines.join(" | "), expected);
    }

    const NEVER: fn(usize, &mut Queues) -> bool = |_, _| false;

    #[test]
    fn a_plain_run() {
        check(&play(&mut Queues::default(), &[], NEVER), "run | turn | +p | ask | /turn | /run");
    }

    #[test]
    fn calls_run_one_after_the_other_and_the_model_is_asked_again() {
        let answers: &[(StopReason, &[&str])] =
            &[(StopReason::ToolUse, &["a", "b"]), (StopReason::Stop, &[])];
        check(
            &play(&mut Queues::default(), answers, NEVER),
            "run | turn | +p | ask | a Execute | b Execute | /turn | turn | ask | /turn | /run",
        );
    }

    #[test]
    fn what_waits_while_idle_comes_with_the_prompt_and_after_the_answer() {
        let mut queues = Queues::default();
        queues.steer(message("s"));
        queues.follow_up(message("f"));
        check(
            &play(&mut queues, &[], NEVER),
            "run | turn | +p | +s | ask | /turn | turn | +f | ask | /turn | /run",
        );
    }

    #[test]
    fn what_waits_can_begin_a_run() {
        let begin = |queues: &mut Queues| {
            let mut run = AgentLoop::with_what_waits();
            let steps: Vec<_> = (0..4).map(|_| run.next(queues, false)).collect();
            assert_eq!(steps[..2], [Step::StartRun, Step::StartTurn]);
            (steps[2].clone(), steps[3].clone())
        };
        let mut queues = Queues::default();
        queues.follow_up(message("f1"));
        queues.follow_up(message("f2"));
        assert_eq!(begin(&mut queues), (Step::Inject(message("f1").into()), Step::Ask));
        queues.steer(message("s"));
        assert_eq!(begin(&mut queues), (Step::Inject(message("s").into()), Step::Ask));
        assert_eq!(queues.pending(), 1);
    }

    #[test]
    fn steering_skips_the_remaining_calls() {
        let answers: &[(StopReason, &[&str])] = &[(StopReason::ToolUse, &["a", "b", "c"])];
        let steer = |step: usize, queues: &mut Queues| {
            // While the first tool runs.
            if step == 5 {
                queues.steer(message("s1"));
                queues.steer(message("s2"));
            }
            false
        };
        check(
            &play(&mut Queues::default(), answers, steer),
            "run | turn | +p | ask | a Execute | b Skip | c Skip | /turn | turn | +s1 | ask | /turn | \
             turn | +s2 | ask | /turn | /run",
        );
        let mut queues = Queues::default();
        queues.set_steering_mode(QueueMode::All);
        check(
            &play(&mut queues, answers, steer),
            "run | turn | +p | ask | a Execute | b Skip | c Skip | /turn | turn | +s1 | +s2 | ask | /turn | /run",
        );
    }

    #[test]
    fn steering_during_text_comes_before_follow_ups_and_the_run_does_not_end_between() {
        let queue = |step: usize, queues: &mut Queues| {
            if step == 4 {
                queues.follow_up(message("f"));
                queues.steer(message("s"));
            }
            false
        };
        check(
            &play(&mut Queues::default(), &[], queue),
            "run | turn | +p | ask | /turn | turn | +s | ask | /turn | turn | +f | ask | /turn | /run",
        );
    }

    #[test]
    fn a_cut_call_is_not_executed() {
        let answers: &[(StopReason, &[&str])] = &[(StopReason::Length, &["a", "b!"])];
        check(
            &play(&mut Queues::default(), answers, NEVER),
            "run | turn | +p | ask | a Execute | b Cut | /turn | turn | ask | /turn | /run",
        );
    }

    #[test]
    fn a_failed_answer_ends_the_run_and_keeps_the_queues() {
        let mut queues = Queues::default();
        queues.follow_up(message("f"));
        let answers: &[(StopReason, &[&str])] = &[(StopReason::Error, &["a"])];
        check(&play(&mut queues, answers, NEVER), "run | turn | +p | ask | /turn | /run");
        assert_eq!(queues.pending(), 1);
    }

    #[test]
    fn an_abort_before_any_step_ends_well_and_loses_nothing() {
        let answers: &[(StopReason, &[&str])] =
            &[(StopReason::ToolUse, &["a", "b"]), (StopReason::ToolUse, &["c"]), (StopReason::Stop, &[])];
        let fill = |step: usize, queues: &mut Queues| {
            if step == 0 {
                queues.steer(message("s1"));
            }
            if step == 5 {
                queues.steer(message("s2"));
                queues.follow_up(message("f"));
            }
        };
        let whole = play(&mut Queues::default(), answers, |step, queues| {
            fill(step, queues);
            false
        });
        check(
            &whole,
            "run | turn | +p | +s1 | ask | a Execute | b Skip | /turn | turn | +s2 | ask | c Execute | /turn | \
             turn | ask | /turn | turn | +f | ask | /turn | /run",
        );
        for abort in 0..whole.len() {
            let mut queues = Queues::default();
            let lines = play(&mut queues, answers, |step, queues| {
                fill(step, queues);
                step >= abort
            });
            let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
            let at = format!("abort before step {abort}: {lines:?}");
            assert_eq!((count("turn"), count("run"), count("/run")), (count("/turn"), 1, 1), "{at}");
            assert!(
                !lines[abort.min(lines.len())..]
                    .iter()
                    .any(|line| line == "ask" || line.ends_with("Execute")),
                "{at}"
            );
            // Every call of every answer that was given is dealt with.
            let calls = lines.iter().filter(|line| line.contains(' ')).count();
            let expected = [0, 2, 3, 3][count("ask").min(3)];
            assert_eq!(calls, expected, "{at}");
            // Results are never the last word.
            let last = lines.iter().rposition(|line| line.contains(' '));
            let closing = lines.iter().rposition(|line| line == "ask" || line == "closed");
            assert!(last <= closing, "{at}");
            // What was not delivered waits still.
            let delivered = lines.iter().filter(|line| matches!(line.as_str(), "+s1" | "+s2" | "+f")).count();
            let queued = if lines.len() > 5 { 3 } else { 1 };
            assert_eq!(queues.pending(), queued - delivered, "{at}");
        }
    }
}
