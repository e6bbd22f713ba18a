//! When a run is over: a state machine without I/O, fed by the connection.
//!
//! The last event of a run is not always the last: a retry, a compaction, a rule or a reminder may
//! start it again. After an event that may be the end the tracker asks for the agent's state: the
//! answer comes after everything that was sent before it, so where it says idle, nothing follows
//! (or only within the dialect's declared gap).

use std::time::Duration;

use crate::spec::RunEnd;

/// How long an accepted prompt may take to begin before its run is looked for. Prompts that an
/// extension handles never begin one.
const BEGIN_WITHIN: Duration = Duration::from_millis(500);

/// How soon an agent that says it is busy, and shows nothing of it, is asked again.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How long a run may go on after the agent has acknowledged that it stops, and says of no new work since: then it counts
/// as over.
pub const STOP_WITHIN: Duration = Duration::from_secs(10);

/// How often an agent has to be idle before a prompt that began nothing counts as handled.
const IDLE_CHECKS: u8 = 2;

/// How often that pause is doubled after a line that could not be read, at most: what goes on may take long.
const DOUBLINGS: u8 = 4;

/// How often an agent that does not tell its state is asked after a line that could not be read.
const STATE_ASKED: u8 = 3;

/// What the tracker is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// The command that starts the run was answered with success.
    Answered,
    /// An event says that work goes on.
    Begins,
    /// An event says that the run is not over.
    Holds,
    /// An event says that the run may be over.
    MayEnd,
    /// An event says that the run is over.
    Ends,
    /// A line could not be read, which may have been the last event of the run.
    Lost,
    /// Another event of its session came.
    Heard,
    /// The agent has acknowledged that it stops the run.
    Stopped,
    /// Something else has taken the place of the run, or nothing has come of the prompt: it may be over.
    Replaced,
    /// The connection has ended.
    Closed,
    /// The state was asked for, and says whether work goes on.
    State {
        /// True where it does.
        busy: bool,
    },
    /// The state was asked for, and the answer is of no use.
    NoState,
    /// The time asked for with [`Action::Wake`] has passed.
    Elapsed,
}

/// What the tracker wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// The agent's state.
    AskState,
    /// To be told when that much time has passed; earlier wishes are void.
    Wake(Duration),
    /// The run is over.
    End(Outcome),
}

/// How a run ended, and how certain that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// What ended it.
    pub ended_by: EndedBy,
    /// Whether it is certain that nothing follows. False where the agent was asked for its state and did not tell it
    /// within the [limit](crate::spec::Barrier::limit), and the run counts as over by its last event alone; and where that
    /// event could not be read.
    pub confirmed: bool,
}

/// How a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndedBy {
    /// Its last event, after which nothing followed.
    Event,
    /// The answer to its command, where the dialect answers on completion.
    Answer,
    /// The agent took the prompt and started no run for it (an extension command, for one).
    Handled,
    /// The agent acknowledged that it stops, and [nothing ended the run](STOP_WITHIN) after that.
    Stopped,
    /// The agent is idle, and its last event was not seen: a line of the run could not be read.
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Sent; nothing has begun.
    Waiting,
    /// Work goes on.
    Running,
    /// It may be over; the state was asked for.
    Asking,
    /// It may be over and the agent is idle; something may follow within the gap.
    Gap,
    /// It is over.
    Over,
}

/// Follows one run.
#[derive(Debug, Clone)]
pub struct RunTracker {
    rules: RunEnd,
    phase: Phase,
    answered: bool,
    begun: bool,
    idle: u8,
    /// Whether the agent told its state when it was last asked.
    confirmed: bool,
    /// Whether something of the session came.
    heard: bool,
    /// Whether its last event that says so says that it may be over.
    may_be_over: bool,
    /// How long ago, by the times that were asked for, the agent acknowledged that it stops; none where it did not, or work
    /// began after that.
    stopping: Option<Duration>,
    /// Whether the last event may have been in a line that could not be read: none that was read said so.
    lost: bool,
    /// How often the agent was busy, and did not tell its state, since that line.
    busy: u8,
    mute: u8,
}

impl RunTracker {
    /// For a run of a dialect with these rules.
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

    /// From here on these rules count: the agent's revision has become known.
    pub fn follow(&mut self, rules: RunEnd) {
        self.rules = rules;
    }

    /// Whether something of its work was seen.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Takes an input and says what to do.
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
            // An end before anything began belongs to earlier work.
            Input::MayEnd if !self.begun => Action::None,
            Input::MayEnd | Input::Replaced => self.may_end(),
            Input::Ends if self.begun => self.end(EndedBy::Event),
            // What was queued joins work that has begun before, where nobody can be asked what goes on.
            Input::Ends if self.rules.barrier.is_none() && self.answered && self.heard => {
                self.end(EndedBy::Event)
            }
            Input::Ends => Action::None,
            Input::Stopped => self.stop(),
            // Nothing follows any more; whether something would have, only a state can have told.
            Input::Closed if self.may_be_over && (self.answered || self.rules.answer_ends) => {
                self.confirmed &= self.phase == Phase::Gap;
                self.end(EndedBy::Event)
            }
            Input::Closed => Action::None,
            Input::Lost => match self.rules.state {
                Some(_) => {
                    // The answer that ends such a run is another line than its last event.
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

    /// Work goes on: look again later, whether something is seen of it or not.
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
        // A prompt that nobody has answered is no run yet.
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

    /// The time after a stop has passed: the state tells more, where there is one.
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
        // An idle agent with our prompt unanswered means that the end belongs to earlier work, if the answer is not the end.
        let answer_is_lost = self.lost && self.rules.answer_ends;
        if !self.answered && !answer_is_lost {
            self.phase = Phase::Waiting;
            self.begun = false;
            self.may_be_over = false;
            return Action::None;
        }
        // What has not begun may still begin: an extension, a token that is fetched.
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

    /// The cases that the clients of all languages share.
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
        // What it tells when it is asked again counts.
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
