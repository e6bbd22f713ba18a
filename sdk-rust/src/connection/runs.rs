//! The runs that clients hold handles of.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::events::{EventFrame, EventQueue};
use super::{RawAnswer, Shared, Waiter};
use crate::error::Error;
use crate::queue::{self, Sender};
use crate::run_tracker::{Action, EndedBy, Input, RunTracker};

/// What a run's handle reads from.
pub(crate) struct RunQueue {
    /// Its events; closed with how the run ended.
    pub events: EventQueue,
    /// The answer to the command that started it.
    pub answer: oneshot::Receiver<Result<RawAnswer, Error>>,
    /// Its number on this connection.
    pub token: u64,
}

/// A run that is being followed.
pub(super) struct Slot {
    token: u64,
    command_id: String,
    session: Option<String>,
    tracker: RunTracker,
    sender: Sender<EventFrame, Result<EndedBy, Error>>,
    wake: u64,
}

impl Slot {
    pub fn token(&self) -> u64 {
        self.token
    }

    pub fn sender(&self) -> Sender<EventFrame, Result<EndedBy, Error>> {
        self.sender.clone()
    }

    /// Whether events of that session belong to the run.
    pub fn hears(&self, session: Option<&str>) -> bool {
        match (&self.session, session) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        }
    }

    pub fn finish(self, result: Result<EndedBy, Error>) {
        self.sender.close(result);
    }
}

impl Shared {
    /// Sends a command that starts a run. The run listens before the command is on its way, so
    /// that it misses nothing.
    pub fn start_run(
        &self,
        command: &str,
        members: &str,
        session: Option<String>,
    ) -> Result<RunQueue, Error> {
        let (events, receiver) = queue::channel(self.settings.queue_bytes, self.settings.overflow);
        let (sender, answer) = oneshot::channel();
        let mut token = 0;
        self.send_command(command, members, Waiter::Caller(sender), |state, key| {
            token = state.next_id;
            state.runs.push(Slot {
                token,
                command_id: key.to_owned(),
                session,
                tracker: RunTracker::new(self.spec.run_end),
                sender: events,
                wake: 0,
            });
        })?;
        Ok(RunQueue { events: receiver, answer, token })
    }

    /// Forgets a run whose handle is gone; the work goes on.
    pub fn forget_run(&self, token: u64) {
        self.state().runs.retain(|run| run.token != token);
    }

    /// The run that the command with that id started.
    pub(super) fn run_of_command(&self, key: &str) -> Option<u64> {
        self.state().runs.iter().find(|run| run.command_id == key).map(Slot::token)
    }

    /// Tells all runs of a session.
    pub(super) fn feed_runs(self: &Arc<Self>, session: Option<&str>, input: Input) {
        let tokens: Vec<u64> =
            self.state().runs.iter().filter(|run| run.hears(session)).map(Slot::token).collect();
        for token in tokens {
            self.feed_run(token, input);
        }
    }

    /// Tells one run and does what it wants.
    pub(super) fn feed_run(self: &Arc<Self>, token: u64, input: Input) {
        let (action, wake) = {
            let mut state = self.state();
            let Some(run) = state.runs.iter_mut().find(|run| run.token == token) else { return };
            let action = run.tracker.feed(input);
            // A new wish for time makes earlier ones void.
            run.wake += u64::from(matches!(action, Action::Wake(_)));
            (action, run.wake)
        };
        match action {
            Action::None => {}
            Action::End(by) => self.finish_run(token, Ok(by)),
            Action::AskState => {
                if let Some(barrier) = self.spec.run_end.barrier {
                    let _ = self.send_command(barrier.command, "{}", Waiter::Run { token }, |_, _| {});
                }
            }
            Action::Wake(after) => {
                let shared = Arc::downgrade(self);
                let stop = self.stop.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        () = tokio::time::sleep(after) => {}
                        () = stop.cancelled() => return,
                    }
                    let Some(shared) = shared.upgrade() else { return };
                    let current =
                        shared.state().runs.iter().any(|run| run.token == token && run.wake == wake);
                    if current {
                        shared.feed_run(token, Input::Elapsed);
                    }
                });
            }
        }
    }
}
