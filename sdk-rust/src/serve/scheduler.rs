//! Order and concurrency of commands.

use std::collections::{HashMap, VecDeque};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::outbox::Outbox;
use crate::spec::Lane;

/// The execution of a command, as a future.
pub(super) type Work = BoxFuture<'static, FinishedCommand>;

/// A completed command.
pub(super) struct FinishedCommand {
    pub lane: Lane,
    pub session: SessionKey,
    /// Length of the command's line in bytes.
    pub bytes: usize,
}

/// Session to which a lane belongs; `None` in a dialect with one session.
pub(super) type SessionKey = Option<String>;

/// Maximum length of a short answer in bytes. If the client does not read, commands whose answers are longer
/// are held.
pub(super) const SHORT_ANSWER: usize = 64 * 1024;

/// Maximum number of held commands. When it is reached, the server stops reading.
const MAX_HELD: usize = 1024;

/// A command that has not started.
pub(super) struct QueuedCommand {
    pub lane: Lane,
    pub session: SessionKey,
    /// Length of the command's line in bytes.
    pub bytes: usize,
    /// `true` if the command may start before held commands.
    pub skips_held: bool,
    pub work: Work,
}

/// Scheduler of commands. A command runs, waits for its lane, or is held until there is room for answers.
#[derive(Default)]
pub(super) struct Scheduler {
    pub running: FuturesUnordered<Work>,
    /// The lanes of the sessions. Each executes one command at a time.
    sessions: HashMap<SessionKey, SessionLane>,
    held: VecDeque<QueuedCommand>,
    /// Total length of the lines of all unfinished commands, in bytes.
    bytes: usize,
    /// Number of unfinished commands.
    in_progress: usize,
}

#[derive(Default)]
struct SessionLane {
    /// Number of unfinished commands in this lane. Also includes commands of other lanes that a later command
    /// can replace.
    active: usize,
    busy: bool,
    waiting: VecDeque<Work>,
    /// Token for the commands in progress. It is cancelled when a later command replaces the current work and
    /// waits for its end.
    replaced: CancellationToken,
}

impl Scheduler {
    /// Registers a command. Returns the token that is cancelled when a later command replaces the current work.
    pub fn register(&mut self, session: &SessionKey, replaces: bool) -> CancellationToken {
        let lane = self.sessions.entry(session.clone()).or_default();
        lane.active += 1;
        if replaces {
            std::mem::take(&mut lane.replaced).cancel();
        }
        lane.replaced.clone()
    }

    /// Adds a registered command, and starts it if possible. If answers have no room or other commands are
    /// held, the command is held too. A started command makes progress in [`Scheduler::poll_ready`].
    pub fn add(&mut self, waiting: QueuedCommand, room: bool) {
        self.bytes += waiting.bytes;
        self.in_progress += 1;
        match waiting.skips_held || (room && self.held.is_empty()) {
            true => self.start(waiting),
            false => self.held.push_back(waiting),
        }
    }

    fn start(&mut self, QueuedCommand { lane, session, work, .. }: QueuedCommand) {
        match self.sessions.get_mut(&session) {
            Some(of) if lane == Lane::Session && of.busy => of.waiting.push_back(work),
            of => {
                if let Some(of) = of.filter(|_| lane == Lane::Session) {
                    of.busy = true;
                }
                self.running.push(work);
            }
        }
    }

    /// Executes all running commands until each of them has to wait.
    pub fn poll_ready(&mut self) {
        while let Some(Some(ran)) = self.running.next().now_or_never() {
            self.finish(ran);
        }
    }

    /// Records the end of a command.
    pub fn finish(&mut self, ran: FinishedCommand) {
        self.bytes -= ran.bytes;
        self.in_progress -= 1;
        let Some(of) = self.sessions.get_mut(&ran.session) else { return };
        of.active -= 1;
        if ran.lane == Lane::Session {
            match of.waiting.pop_front() {
                Some(work) => self.running.push(work),
                None => of.busy = false,
            }
        }
        // A dialect with one session keeps its lane for reuse.
        if of.active == 0 && ran.session.is_some() {
            self.sessions.remove(&ran.session);
        }
    }

    /// Returns `true` if any command is held.
    pub fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Returns `true` if so many commands are held that the server must stop reading.
    pub fn is_full(&self) -> bool {
        self.held.len() >= MAX_HELD
    }

    /// Starts the first held command.
    pub fn release_one(&mut self) {
        if let Some(waiting) = self.held.pop_front() {
            self.start(waiting);
        }
    }

    /// Executes all registered commands to their end.
    pub async fn run_to_end(&mut self, outbox: &Outbox) {
        loop {
            tokio::select! {
                biased;
                Some(ran) = self.running.next() => self.finish(ran),
                () = outbox.room_for_answers(), if self.has_held() => {
                    self.release_one();
                    self.poll_ready();
                }
                else => break,
            }
        }
    }

    /// Returns the number of unfinished commands.
    pub fn in_progress(&self) -> usize {
        self.in_progress
    }

    /// Returns `true` if a command of the given length fits the limit. If no other command is in progress,
    /// any length fits.
    pub fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(bytes) <= limit
    }
}
