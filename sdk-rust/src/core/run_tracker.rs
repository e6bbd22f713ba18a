//! End of a run: a state machine without I/O, driven by the connection.
//!
//! The last event of a run may not be final: a retry, a compaction, a rule or a reminder may restart the run.
//! After an event that may be the end, the tracker requests the agent's state. The response follows
//! everything sent before it. If the state is idle, nothing follows, or only within the dialect's declared
//! gap.

use std::time::Duration;

use crate::spec::RunEnd;

/// Waiting time after an accepted prompt before the tracker checks for its run. Prompts handled by an
/// extension start no run.
const BEGIN_WITHIN: Duration = Duration::from_millis(500);

/// Interval between state requests to an agent that reports itself busy without other events.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Maximum duration of a run after the agent has acknowledged an abort, without new work. Afterwards the run
/// is considered ended.
pub const STOP_WITHIN: Duration = Duration::from_secs(10);

/// Number of idle states after which a prompt without a run is considered handled.
const IDLE_CHECKS: u8 = 2;

/// Maximum number of doublings of that interval after an unreadable line, because the work may take long.
const DOUBLINGS: u8 = 4;

/// Maximum number of state requests without a usable response after an unreadable line.
const STATE_ASKED: u8 = 3;

/// Input of the tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The command that starts the run succeeded.
    Answered,
    /// An event reports that work continues.
    Begins,
    /// An event reports that the run is not over.
    Holds,
    /// An event reports that the run may be over.
    MayEnd,
    /// An event reports that the run is over.
    Ends,
    /// A line could not be read. It may have been the last event of the run.
    Lost,
    /// Another event of the session arrived.
    Heard,
    /// The agent acknowledged an abort of the run.
    Stopped,
    /// Another run replaced this run, or the prompt had no effect: the run may be over.
    Replaced,
    /// The connection ended.
    Closed,
    /// Response to a state request.
    State {
        /// `true` if work continues.
        busy: bool,
    },
    /// A state request without a usable response.
    NoState,
    /// The time of [`Action::Wake`] elapsed.
    Elapsed,
}

/// Request of the tracker to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// Request the agent's state.
    AskState,
    /// Feed [`Input::Elapsed`] after this time; earlier wake requests are void.
    Wake(Duration),
    /// The run ended.
    End(Outcome),
}

/// Cause and certainty of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Cause of the end.
    pub ended_by: EndedBy,
    /// `true` if no further event of the run can follow. `false` if the agent did not report its state within the
    /// [limit](crate::spec::Barrier::limit), so that only the last event indicates the end. Also false if the
    /// last event could not be read.
    pub confirmed: bool,
}

/// Cause of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndedBy {
    /// The last event of the run, after which nothing followed.
    Event,
    /// The response to its command, in dialects that respond on completion.
    Answer,
    /// The agent accepted the prompt without a run, for example for an extension command.
    Handled,
    /// The agent acknowledged an abort, and [no event ended the run](STOP_WITHIN) afterwards.
    Stopped,
    /// The agent is idle, and its last event was not received: a line of the run could not be read.
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The prompt is sent; no work has started.
    Waiting,
    /// Work continues.
    Running,
    /// The run may be over; the state was requested.
    Asking,
    /// The run may be over and the agent is idle; further work may follow within the gap.
    Gap,
    /// The run is over.
    Over,
}

/// Tracker of one run.
#[derive(Debug, Clone)]
pub struct RunTracker {
    rules: RunEnd,
    phase: Phase,
    answered: bool,
    begun: bool,
    idle: u8,
    /// `true` if the agent answered the last state request.
    confirmed: bool,
    /// `true` after any event of the session.
    heard: bool,
    /// `true` if the last event about the end reported that the run may be over.
    may_be_over: bool,
    /// Time since the acknowledged abort, as the sum of the requested wake times. `None` without an abort, or
    /// if work started after it.
    stopping: Option<Duration>,
    /// `true` if an unreadable line may have been the last event and no readable event reported the end.
    lost: bool,
    /// Number of busy states, and of missing states (`mute`), since that line.
    busy: u8,
    mute: u8,
}

impl RunTracker {
    /// Creates a tracker for a run of a dialect with these rules.
    pub fn new(rules: RunEnd) -> Self {
        RunTracker {
            rules,
            phase: Phase::Waiting,
            answered: false,
            begun: false,
            idle: 0,
            confirmed: true,
            heard: false,
            may_be_over: false,
            stopping: None,
            lost: false,
            busy: 0,
            mute: 0,
        }
    }

    /// Applies other rules from now on, once the agent's revision is known.
    pub fn follow(&mut self, rules: RunEnd) {
        self.rules = rules;
    }

    /// Returns `true` if work of the run was observed.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Processes an input and returns the next action.
    pub fn feed(&mut self, input: Input) -> Action {
        if self.phase == Phase::Over {
            return Action::None;
        }
        match input {
            Input::Answered => {
                self.answered = true;
                if self.rules.answer_ends {
                    return self.end(EndedBy::Answer);
                }
                match (self.phase, self.rules.barrier) {
                    (Phase::Waiting, Some(_)) => Action::Wake(BEGIN_WITHIN),
                    _ => Action::None,
                }
            }
            Input::Begins | Input::Holds => {
                self.begun = true;
                (self.may_be_over, self.lost) = (false, false);
                self.stopping = None;
                self.phase = Phase::Running;
                Action::None
            }
            Input::Heard => {
                self.heard = true;
                Action::None
            }
            // An end before the start belongs to earlier work.
            Input::MayEnd if !self.begun => Action::None,
            Input::MayEnd | Input::Replaced => self.may_end(),
            Input::Ends if self.begun => self.end(EndedBy::Event),
            // Queued input joins earlier work if the agent has no state to request.
            Input::Ends if self.rules.barrier.is_none() && self.answered && self.heard => {
                self.end(EndedBy::Event)
            }
            Input::Ends => Action::None,
            Input::Stopped => self.stop(),
            // No further event follows, and only an earlier state could exclude further work.
            Input::Closed if self.may_be_over && (self.answered || self.rules.answer_ends) => {
                self.confirmed &= self.phase == Phase::Gap;
                self.end(EndedBy::Event)
            }
            Input::Closed => Action::None,
            Input::Lost => match self.rules.state {
                Some(_) => {
                    // The response that ends such a run is not the line of its last event.
                    self.lost = !self.may_be_over || self.rules.answer_ends;
                    (self.busy, self.mute) = (0, 0);
                    self.ask()
                }
                None => Action::None,
            },
            Input::State { busy } => match (self.phase, busy) {
                (Phase::Asking, true) => self.look_again(),
                (Phase::Asking, false) => {
                    self.confirmed = !self.lost;
                    self.wait()
                }
                _ => Action::None,
            },
            Input::NoState => match self.phase {
                Phase::Asking if self.lost && self.mute + 1 < STATE_ASKED => {
                    self.mute += 1;
                    self.look_again()
                }
                Phase::Asking => {
                    self.confirmed = false;
                    self.wait()
                }
                _ => Action::None,
            },
            Input::Elapsed => match self.phase {
                Phase::Gap => self.over(),
                Phase::Waiting | Phase::Running if self.stopping.is_some() => self.stopped(),
                Phase::Waiting if self.answered || self.lost => self.ask(),
                _ => Action::None,
            },
        }
    }

    fn may_end(&mut self) -> Action {
        self.may_be_over = true;
        if self.rules.answer_ends {
            return Action::None;
        }
        (self.begun, self.lost) = (true, false);
        match self.rules.barrier {
            Some(_) => self.ask(),
            None => self.wait(),
        }
    }

    /// Schedules another state request while work continues.
    fn look_again(&mut self) -> Action {
        self.idle = 0;
        self.phase = Phase::Waiting;
        match &mut self.stopping {
            Some(since) if *since >= STOP_WITHIN => self.give_up(),
            since => {
                if let Some(since) = since {
                    *since += LOOK_AGAIN;
                }
                let doublings = if self.lost && self.stopping.is_none() { self.busy } else { 0 };
                self.busy = DOUBLINGS.min(self.busy + 1);
                Action::Wake(LOOK_AGAIN * 2u32.pow(doublings.into()))
            }
        }
    }

    fn stop(&mut self) -> Action {
        // A prompt without a response is no run yet.
        if !self.answered && !self.rules.answer_ends {
            return Action::None;
        }
        self.stopping = Some(Duration::ZERO);
        match (self.phase, self.rules.barrier) {
            (Phase::Waiting | Phase::Running, Some(_)) => Action::Wake(BEGIN_WITHIN),
            (Phase::Waiting | Phase::Running, None) => Action::Wake(STOP_WITHIN),
            _ => Action::None,
        }
    }

    /// Handles the elapsed time after an abort: requests the state if the dialect has one.
    fn stopped(&mut self) -> Action {
        match self.rules.barrier {
            Some(_) => self.ask(),
            None => self.give_up(),
        }
    }

    fn give_up(&mut self) -> Action {
        self.confirmed = false;
        self.end(EndedBy::Stopped)
    }

    fn over(&mut self) -> Action {
        self.end(match (self.lost, self.begun) {
            (true, _) => EndedBy::Idle,
            (false, true) => EndedBy::Event,
            (false, false) => EndedBy::Handled,
        })
    }

    fn ask(&mut self) -> Action {
        self.phase = Phase::Asking;
        Action::AskState
    }

    fn wait(&mut self) -> Action {
        // If the agent is idle and this prompt has no response, the end belongs to earlier work, unless the
        // response is the end.
        let answer_is_lost = self.lost && self.rules.answer_ends;
        if !self.answered && !answer_is_lost {
            self.phase = Phase::Waiting;
            self.begun = false;
            self.may_be_over = false;
            return Action::None;
        }
        // The run may still start: an extension or a token request may delay it.
        if !self.begun {
            self.idle += 1;
            if self.idle < IDLE_CHECKS {
                self.phase = Phase::Waiting;
                return Action::Wake(BEGIN_WITHIN);
            }
        }
        if self.rules.gap.is_zero() {
            return self.over();
        }
        self.phase = Phase::Gap;
        Action::Wake(self.rules.gap)
    }

    fn end(&mut self, ended_by: EndedBy) -> Action {
        self.phase = Phase::Over;
        Action::End(Outcome { ended_by, confirmed: self.confirmed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Barrier;

    const PI: RunEnd = RunEnd {
        barrier: Some(Barrier {
            command: "get_state",
            busy: "isStreaming",
            idle: None,
            limit: Duration::from_secs(5),
        }),
        state: None,
        gap: Duration::ZERO,
        answer_ends: false,
    };
    const OMP: RunEnd = RunEnd { gap: Duration::from_millis(150), ..PI };
    const OPERATOR: RunEnd = RunEnd { barrier: None, state: None, gap: Duration::ZERO, answer_ends: true };

    fn certain(ended_by: EndedBy) -> Action {
        Action::End(Outcome { ended_by, confirmed: true })
    }

    fn feed(rules: RunEnd, inputs: &[Input]) -> Vec<Action> {
        let mut tracker = RunTracker::new(rules);
        inputs.iter().map(|input| tracker.feed(*input)).filter(|action| *action != Action::None).collect()
    }

    /// The cases shared by the clients of all languages.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/run_tracker.json")).unwrap();
        assert!(cases.len() > 8);
        let input = |name: &str| match name {
            "answered" => Input::Answered,
            "begins" => Input::Begins,
            "holds" => Input::Holds,
            "may_end" => Input::MayEnd,
            "ends" => Input::Ends,
            "lost" => Input::Lost,
            "heard" => Input::Heard,
            "stopped" => Input::Stopped,
            "replaced" => Input::Replaced,
            "closed" => Input::Closed,
            "busy" | "idle" => Input::State { busy: name == "busy" },
            "no_state" => Input::NoState,
            "elapsed" => Input::Elapsed,
            other => panic!("no input is called {other}"),
        };
        for case in cases {
            let rules = RunEnd {
                barrier: PI.barrier.filter(|_| case["barrier"] == true),
                state: PI.barrier.filter(|_| case["state"] == true),
                gap: Duration::from_millis(case["gap"].as_u64().unwrap()),
                answer_ends: case["answer_ends"] == true,
            };
            let inputs = case["inputs"].as_array().unwrap();
            let inputs: Vec<Input> = inputs.iter().map(|name| input(name.as_str().unwrap())).collect();
            let actions: Vec<String> = feed(rules, &inputs).into_iter().map(told).collect();
            assert_eq!(serde_json::json!(actions), case["actions"], "{}", case["name"]);
        }
    }

    fn told(action: Action) -> String {
        match action {
            Action::None => String::new(),
            Action::AskState => "state".to_owned(),
            Action::Wake(after) => format!("wake {}", after.as_millis()),
            Action::End(Outcome { ended_by, .. }) => format!("end by {ended_by:?}").to_lowercase(),
        }
    }

    #[test]
    fn a_plain_run_ends_when_the_state_is_idle() {
        use Input::*;
        let actions = feed(PI, &[Answered, Begins, MayEnd, State { busy: false }]);
        assert_eq!(actions, [Action::Wake(BEGIN_WITHIN), Action::AskState, certain(EndedBy::Event)]);
    }

    #[test]
    fn a_retry_before_the_state_keeps_the_run() {
        use Input::*;
        let actions = feed(
            PI,
            &[Answered, Begins, MayEnd, Holds, State { busy: false }, Begins, MayEnd, State { busy: false }],
        );
        assert_eq!(
            actions,
            [Action::Wake(BEGIN_WITHIN), Action::AskState, Action::AskState, certain(EndedBy::Event)]
        );
    }

    #[test]
    fn a_reminder_within_the_gap_keeps_the_run() {
        use Input::*;
        let actions = feed(
            OMP,
            &[
                Answered,
                Begins,
                MayEnd,
                State { busy: false },
                Holds,
                Elapsed,
                MayEnd,
                State { busy: false },
                Elapsed,
            ],
        );
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
        assert_eq!(actions.iter().filter(|action| matches!(action, Action::End(_))).count(), 1);
    }

    #[test]
    fn a_handled_prompt_ends_without_a_run() {
        use Input::*;
        let idle = State { busy: false };
        let actions = feed(PI, &[Answered, Elapsed, idle, Elapsed, idle]);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Handled)));
        assert_eq!(
            actions.iter().filter(|action| **action == Action::AskState).count(),
            2,
            "it is looked at twice"
        );
    }

    #[test]
    fn an_agent_that_stays_busy_after_its_end_is_asked_again() {
        use Input::*;
        let mut inputs = vec![Answered, Begins, MayEnd];
        for _ in 0..3 {
            inputs.extend([State { busy: true }, Elapsed]);
        }
        inputs.push(State { busy: false });
        let actions = feed(PI, &inputs);
        assert_eq!(actions.iter().filter(|action| **action == Action::AskState).count(), 4);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
    }

    #[test]
    fn an_agent_that_does_not_tell_its_state_ends_the_run() {
        use Input::*;
        let uncertain = Action::End(Outcome { ended_by: EndedBy::Event, confirmed: false });
        assert_eq!(feed(PI, &[Answered, Begins, MayEnd, NoState]).last(), Some(&uncertain));
        // The state of a later request applies.
        let actions =
            feed(OMP, &[Answered, Begins, MayEnd, NoState, Holds, MayEnd, State { busy: false }, Elapsed]);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
    }

    #[test]
    fn the_end_of_earlier_work_is_not_ours() {
        use Input::*;
        let actions =
            feed(PI, &[MayEnd, State { busy: false }, Answered, Begins, MayEnd, State { busy: false }]);
        assert_eq!(actions.iter().filter(|action| matches!(action, Action::End(_))).count(), 1);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
    }

    #[test]
    fn an_answer_on_completion_is_the_end() {
        use Input::*;
        assert_eq!(feed(OPERATOR, &[Begins, MayEnd, Answered]), [certain(EndedBy::Answer)]);
    }
}
