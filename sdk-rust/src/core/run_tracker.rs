//! End of a run: a state machine without I/O, driven by the connection.
//!
//! An event that seems to end a run is not always the last. A retry, a compaction, a rule or a reminder can
//! restart the run. After such an event, the tracker requests the agent's state. The response arrives after
//! everything that the agent sent before. If the agent is idle, no event follows, or only within a gap that the
//! dialect declares.

use std::time::Duration;

use crate::spec::RunEnd;

/// Time to wait for the start of a run after its prompt was accepted. Then the tracker checks the agent's
/// state, because an extension may have handled the prompt without a run.
const START_WITHIN: Duration = Duration::from_millis(500);

/// Interval between state requests to an agent that reports itself busy and sends no events.
const STATE_INTERVAL: Duration = Duration::from_millis(250);

/// Maximum duration of a run after the agent acknowledged an abort, if no new work starts. Afterwards the run
/// is considered ended.
pub const STOP_WITHIN: Duration = Duration::from_secs(10);

/// Number of responses that report an idle agent, after which a prompt is considered handled without a run.
const IDLE_CHECKS: u8 = 2;

/// Maximum number of doublings of [`STATE_INTERVAL`] after an unreadable line. The interval grows because the
/// work may take long.
const MAX_DOUBLINGS: u8 = 4;

/// Maximum number of state requests without a usable response after an unreadable line.
const MAX_STATE_QUERIES: u8 = 3;

/// Input of the tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackerInput {
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
    LineLost,
    /// Another event of the session arrived.
    OtherEvent,
    /// The agent acknowledged an abort of the run.
    Stopped,
    /// Another run replaced this run, or the prompt had no effect. The run may be over.
    Replaced,
    /// The connection ended.
    Closed,
    /// Response to a state request.
    State {
        /// `true` if work continues.
        busy: bool,
    },
    /// A state request failed, or its response was unusable.
    NoState,
    /// The time of [`TrackerAction::Wake`] elapsed.
    Elapsed,
}

/// Request of the tracker to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackerAction {
    /// The caller has nothing to do.
    None,
    /// The caller must request the agent's state.
    QueryState,
    /// The caller must pass [`TrackerInput::Elapsed`] after this time. Earlier wake requests are void.
    Wake(Duration),
    /// The run has ended.
    End(RunCompletion),
}

/// Cause and certainty of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunCompletion {
    /// Cause of the end.
    pub ended_by: EndedBy,
    /// `true` if it is certain that no event of the run follows. `false` if the agent did not report its state
    /// within the [limit](crate::spec::Barrier::limit), so that only the last event indicates the end. Also
    /// `false` if the last event could not be read.
    pub confirmed: bool,
}

/// Cause of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndedBy {
    /// The last event of the run arrived, and no other event followed.
    Event,
    /// The response to the run's command arrived, in dialects that respond after the work.
    Answer,
    /// The agent accepted the prompt without starting a run, for example for a command of an extension.
    Handled,
    /// The agent acknowledged an abort, and [no event ended the run](STOP_WITHIN) afterwards.
    Stopped,
    /// The agent is idle, but the last event of the run was not received, because a line could not be read.
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
    Ended,
}

/// State machine that determines the end of one run.
#[derive(Debug, Clone)]
pub struct RunTracker {
    rules: RunEnd,
    phase: Phase,
    answered: bool,
    work_seen: bool,
    idle_states: u8,
    /// `true` if the agent answered the last state request.
    confirmed: bool,
    /// `true` after any event of the session.
    event_seen: bool,
    /// `true` if the latest event about the end reported only that the run may be over.
    may_be_over: bool,
    /// Time since the agent acknowledged an abort, computed as the sum of the requested wake times. `None` if
    /// no abort was acknowledged, or if work started after it.
    stopping: Option<Duration>,
    /// `true` if the last event may have been in an unreadable line, and no readable event reported the end.
    lost: bool,
    /// Number of busy states since the unreadable line; `missing_states` counts the requests without a usable
    /// response.
    busy_states: u8,
    missing_states: u8,
}

impl RunTracker {
    /// Creates a tracker for a run in a dialect with these rules.
    pub fn new(rules: RunEnd) -> Self {
        RunTracker {
            rules,
            phase: Phase::Waiting,
            answered: false,
            work_seen: false,
            idle_states: 0,
            confirmed: true,
            event_seen: false,
            may_be_over: false,
            stopping: None,
            lost: false,
            busy_states: 0,
            missing_states: 0,
        }
    }

    /// Replaces the rules when the agent's revision becomes known.
    pub fn set_rules(&mut self, rules: RunEnd) {
        self.rules = rules;
    }

    /// Returns `true` if work of the run was observed.
    pub fn has_started(&self) -> bool {
        self.work_seen
    }

    /// Processes an input and returns the next action.
    pub fn feed(&mut self, input: TrackerInput) -> TrackerAction {
        if self.phase == Phase::Ended {
            return TrackerAction::None;
        }
        match input {
            TrackerInput::Answered => {
                self.answered = true;
                if self.rules.answer_ends {
                    return self.end(EndedBy::Answer);
                }
                match (self.phase, self.rules.barrier) {
                    (Phase::Waiting, Some(_)) => TrackerAction::Wake(START_WITHIN),
                    _ => TrackerAction::None,
                }
            }
            TrackerInput::Begins | TrackerInput::Holds => {
                self.work_seen = true;
                (self.may_be_over, self.lost) = (false, false);
                self.stopping = None;
                self.phase = Phase::Running;
                TrackerAction::None
            }
            TrackerInput::OtherEvent => {
                self.event_seen = true;
                TrackerAction::None
            }
            // An end before the start belongs to earlier work.
            TrackerInput::MayEnd if !self.work_seen => TrackerAction::None,
            TrackerInput::MayEnd | TrackerInput::Replaced => self.may_end(),
            TrackerInput::Ends if self.work_seen => self.end(EndedBy::Event),
            // Queued input joins earlier work if the agent has no state to request.
            TrackerInput::Ends if self.rules.barrier.is_none() && self.answered && self.event_seen => {
                self.end(EndedBy::Event)
            }
            TrackerInput::Ends => TrackerAction::None,
            TrackerInput::Stopped => self.stop(),
            // No further event follows, and only an earlier state could exclude further work.
            TrackerInput::Closed if self.may_be_over && (self.answered || self.rules.answer_ends) => {
                self.confirmed &= self.phase == Phase::Gap;
                self.end(EndedBy::Event)
            }
            TrackerInput::Closed => TrackerAction::None,
            TrackerInput::LineLost => match self.rules.state {
                Some(_) => {
                    // The response that ends such a run is not the line of its last event.
                    self.lost = !self.may_be_over || self.rules.answer_ends;
                    (self.busy_states, self.missing_states) = (0, 0);
                    self.query_state()
                }
                None => TrackerAction::None,
            },
            TrackerInput::State { busy } => match (self.phase, busy) {
                (Phase::Asking, true) => self.schedule_state_query(),
                (Phase::Asking, false) => {
                    self.confirmed = !self.lost;
                    self.wait_for_more()
                }
                _ => TrackerAction::None,
            },
            TrackerInput::NoState => match self.phase {
                Phase::Asking if self.lost && self.missing_states + 1 < MAX_STATE_QUERIES => {
                    self.missing_states += 1;
                    self.schedule_state_query()
                }
                Phase::Asking => {
                    self.confirmed = false;
                    self.wait_for_more()
                }
                _ => TrackerAction::None,
            },
            TrackerInput::Elapsed => match self.phase {
                Phase::Gap => self.end_after_idle(),
                Phase::Waiting | Phase::Running if self.stopping.is_some() => self.after_abort(),
                Phase::Waiting if self.answered || self.lost => self.query_state(),
                _ => TrackerAction::None,
            },
        }
    }

    fn may_end(&mut self) -> TrackerAction {
        self.may_be_over = true;
        if self.rules.answer_ends {
            return TrackerAction::None;
        }
        (self.work_seen, self.lost) = (true, false);
        match self.rules.barrier {
            Some(_) => self.query_state(),
            None => self.wait_for_more(),
        }
    }

    /// Schedules the next state request, because work continues. After an abort, ends the run if it has lasted
    /// too long.
    fn schedule_state_query(&mut self) -> TrackerAction {
        self.idle_states = 0;
        self.phase = Phase::Waiting;
        match &mut self.stopping {
            Some(since) if *since >= STOP_WITHIN => self.end_unconfirmed(),
            since => {
                if let Some(since) = since {
                    *since += STATE_INTERVAL;
                }
                let doublings = if self.lost && self.stopping.is_none() { self.busy_states } else { 0 };
                self.busy_states = MAX_DOUBLINGS.min(self.busy_states + 1);
                TrackerAction::Wake(STATE_INTERVAL * 2u32.pow(doublings.into()))
            }
        }
    }

    fn stop(&mut self) -> TrackerAction {
        // A prompt without a response is no run yet.
        if !self.answered && !self.rules.answer_ends {
            return TrackerAction::None;
        }
        self.stopping = Some(Duration::ZERO);
        match (self.phase, self.rules.barrier) {
            (Phase::Waiting | Phase::Running, Some(_)) => TrackerAction::Wake(START_WITHIN),
            (Phase::Waiting | Phase::Running, None) => TrackerAction::Wake(STOP_WITHIN),
            _ => TrackerAction::None,
        }
    }

    /// Processes the end of the wait after an abort. Requests the agent's state if the dialect has a command
    /// for it, otherwise ends the run.
    fn after_abort(&mut self) -> TrackerAction {
        match self.rules.barrier {
            Some(_) => self.query_state(),
            None => self.end_unconfirmed(),
        }
    }

    fn end_unconfirmed(&mut self) -> TrackerAction {
        self.confirmed = false;
        self.end(EndedBy::Stopped)
    }

    fn end_after_idle(&mut self) -> TrackerAction {
        self.end(match (self.lost, self.work_seen) {
            (true, _) => EndedBy::Idle,
            (false, true) => EndedBy::Event,
            (false, false) => EndedBy::Handled,
        })
    }

    fn query_state(&mut self) -> TrackerAction {
        self.phase = Phase::Asking;
        TrackerAction::QueryState
    }

    fn wait_for_more(&mut self) -> TrackerAction {
        // If the agent is idle and this prompt has no response, the end belongs to earlier work, unless the
        // response is the end.
        let answer_is_lost = self.lost && self.rules.answer_ends;
        if !self.answered && !answer_is_lost {
            self.phase = Phase::Waiting;
            self.work_seen = false;
            self.may_be_over = false;
            return TrackerAction::None;
        }
        // The run may still start: an extension or a token request may delay it.
        if !self.work_seen {
            self.idle_states += 1;
            if self.idle_states < IDLE_CHECKS {
                self.phase = Phase::Waiting;
                return TrackerAction::Wake(START_WITHIN);
            }
        }
        if self.rules.gap.is_zero() {
            return self.end_after_idle();
        }
        self.phase = Phase::Gap;
        TrackerAction::Wake(self.rules.gap)
    }

    fn end(&mut self, ended_by: EndedBy) -> TrackerAction {
        self.phase = Phase::Ended;
        TrackerAction::End(RunCompletion { ended_by, confirmed: self.confirmed })
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

    fn certain(ended_by: EndedBy) -> TrackerAction {
        TrackerAction::End(RunCompletion { ended_by, confirmed: true })
    }

    fn feed(rules: RunEnd, inputs: &[TrackerInput]) -> Vec<TrackerAction> {
        let mut tracker = RunTracker::new(rules);
        inputs
            .iter()
            .map(|input| tracker.feed(*input))
            .filter(|action| *action != TrackerAction::None)
            .collect()
    }

    /// Runs the test cases that the clients of all languages share.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/run_tracker.json")).unwrap();
        assert!(cases.len() > 8);
        let input = |name: &str| match name {
            "answered" => TrackerInput::Answered,
            "begins" => TrackerInput::Begins,
            "holds" => TrackerInput::Holds,
            "may_end" => TrackerInput::MayEnd,
            "ends" => TrackerInput::Ends,
            "lost" => TrackerInput::LineLost,
            "heard" => TrackerInput::OtherEvent,
            "stopped" => TrackerInput::Stopped,
            "replaced" => TrackerInput::Replaced,
            "closed" => TrackerInput::Closed,
            "busy" | "idle" => TrackerInput::State { busy: name == "busy" },
            "no_state" => TrackerInput::NoState,
            "elapsed" => TrackerInput::Elapsed,
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
            let inputs: Vec<TrackerInput> = inputs.iter().map(|name| input(name.as_str().unwrap())).collect();
            let actions: Vec<String> = feed(rules, &inputs).into_iter().map(action_name).collect();
            assert_eq!(serde_json::json!(actions), case["actions"], "{}", case["name"]);
        }
    }

    fn action_name(action: TrackerAction) -> String {
        match action {
            TrackerAction::None => String::new(),
            TrackerAction::QueryState => "state".to_owned(),
            TrackerAction::Wake(after) => format!("wake {}", after.as_millis()),
            TrackerAction::End(RunCompletion { ended_by, .. }) => {
                format!("end by {ended_by:?}").to_lowercase()
            }
        }
    }

    #[test]
    fn a_plain_run_ends_when_the_state_is_idle() {
        use TrackerInput::*;
        let actions = feed(PI, &[Answered, Begins, MayEnd, State { busy: false }]);
        assert_eq!(
            actions,
            [TrackerAction::Wake(START_WITHIN), TrackerAction::QueryState, certain(EndedBy::Event)]
        );
    }

    #[test]
    fn a_retry_before_the_state_keeps_the_run() {
        use TrackerInput::*;
        let actions = feed(
            PI,
            &[Answered, Begins, MayEnd, Holds, State { busy: false }, Begins, MayEnd, State { busy: false }],
        );
        assert_eq!(
            actions,
            [
                TrackerAction::Wake(START_WITHIN),
                TrackerAction::QueryState,
                TrackerAction::QueryState,
                certain(EndedBy::Event)
            ]
        );
    }

    #[test]
    fn a_reminder_within_the_gap_keeps_the_run() {
        use TrackerInput::*;
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
        assert_eq!(actions.iter().filter(|action| matches!(action, TrackerAction::End(_))).count(), 1);
    }

    #[test]
    fn a_handled_prompt_ends_without_a_run() {
        use TrackerInput::*;
        let idle = State { busy: false };
        let actions = feed(PI, &[Answered, Elapsed, idle, Elapsed, idle]);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Handled)));
        assert_eq!(
            actions.iter().filter(|action| **action == TrackerAction::QueryState).count(),
            2,
            "it is looked at twice"
        );
    }

    #[test]
    fn an_agent_that_stays_busy_after_its_end_is_queried_again() {
        use TrackerInput::*;
        let mut inputs = vec![Answered, Begins, MayEnd];
        for _ in 0..3 {
            inputs.extend([State { busy: true }, Elapsed]);
        }
        inputs.push(State { busy: false });
        let actions = feed(PI, &inputs);
        assert_eq!(actions.iter().filter(|action| **action == TrackerAction::QueryState).count(), 4);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
    }

    #[test]
    fn an_agent_that_does_not_report_its_state_ends_the_run() {
        use TrackerInput::*;
        let uncertain = TrackerAction::End(RunCompletion { ended_by: EndedBy::Event, confirmed: false });
        assert_eq!(feed(PI, &[Answered, Begins, MayEnd, NoState]).last(), Some(&uncertain));
        // The state of a later request applies.
        let actions =
            feed(OMP, &[Answered, Begins, MayEnd, NoState, Holds, MayEnd, State { busy: false }, Elapsed]);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
    }

    #[test]
    fn the_end_of_earlier_work_is_not_ours() {
        use TrackerInput::*;
        let actions =
            feed(PI, &[MayEnd, State { busy: false }, Answered, Begins, MayEnd, State { busy: false }]);
        assert_eq!(actions.iter().filter(|action| matches!(action, TrackerAction::End(_))).count(), 1);
        assert_eq!(actions.last(), Some(&certain(EndedBy::Event)));
    }

    #[test]
    fn an_answer_on_completion_is_the_end() {
        use TrackerInput::*;
        assert_eq!(feed(OPERATOR, &[Begins, MayEnd, Answered]), [certain(EndedBy::Answer)]);
    }
}
