//! Which command runs when.

use std::collections::{HashMap, VecDeque};

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::outbox::Outbox;
use crate::spec::Lane;

/// A command at work.
pub(super) type Work = BoxFuture<'static, Ran>;

/// A command that was carried out.
pub(super) struct Ran {
    pub lane: Lane,
    pub session: Session,
    /// The length of its line.
    pub bytes: usize,
}

/// Whose lane it is; none in a dialect with one session.
pub(super) type Session = Option<String>;

/// Commands with longer answers wait while answers have no room, in bytes.
pub(super) const SHORT_ANSWER: usize = 64 * 1024;

/// So many commands are held at most before reading stops.
const HELD: usize = 1024;

/// A command that has not begun.
pub(super) struct Waiting {
    pub lane: Lane,
    pub session: Session,
    /// The length of its line.
    pub bytes: usize,
    /// Whether it may begin before commands that are held.
    pub passes: bool,
    pub work: Work,
}

/// What runs, what waits for its lane, and what is held until answers have room.
#[derive(Default)]
pub(super) struct Lanes {
    pub running: FuturesUnordered<Work>,
    /// Those of sessions in which a command is carried out, one after the other.
    sessions: HashMap<Session, SessionLane>,
    held: VecDeque<Waiting>,
    /// The lines of all commands that are not done, in bytes.
    bytes: usize,
    /// How many they are.
    in_progress: usize,
}

#[derive(Default)]
struct SessionLane {
    /// Commands of the lane that run or wait, and others that may be replaced.
    begun: usize,
    busy: bool,
    waiting: VecDeque<Work>,
    /// Cancelled when a command comes that ends what those before it do, and waits for them.
    replaced: CancellationToken,
}

impl Lanes {
    /// A command is there; gives what tells it that another one is to take its place.
    pub fn enter(&mut self, session: &Session, replaces: bool) -> CancellationToken {
        let lane = self.sessions.entry(session.clone()).or_default();
        lane.begun += 1;
        if replaces {
            std::mem::take(&mut lane.replaced).cancel();
        }
        lane.replaced.clone()
    }

    /// Takes a command that has entered. It begins with [`Lanes::begin`], unless it is held: because answers have no
    /// room, or behind others that are.
    pub fn add(&mut self, waiting: Waiting, room: bool) {
        self.bytes += waiting.bytes;
        self.in_progress += 1;
        match waiting.passes || (room && self.held.is_empty()) {
            true => self.start(waiting),
            false => self.held.push_back(waiting),
        }
    }

    fn start(&mut self, Waiting { lane, session, work, .. }: Waiting) {
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

    /// Has everything that may run go as far as it goes without waiting.
    pub fn begin(&mut self) {
        while let Some(Some(ran)) = self.running.next().now_or_never() {
            self.done(ran);
        }
    }

    /// A command is done.
    pub fn done(&mut self, ran: Ran) {
        self.bytes -= ran.bytes;
        self.in_progress -= 1;
        let Some(of) = self.sessions.get_mut(&ran.session) else { return };
        of.begun -= 1;
        if ran.lane == Lane::Session {
            match of.waiting.pop_front() {
                Some(work) => self.running.push(work),
                None => of.busy = false,
            }
        }
        // A dialect with one session keeps its lane: it is used again.
        if of.begun == 0 && ran.session.is_some() {
            self.sessions.remove(&ran.session);
        }
    }

    /// Whether any command waits for room.
    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether so many do that no more are read.
    pub fn holds_many(&self) -> bool {
        self.held.len() >= HELD
    }

    /// Takes the first of them.
    pub fn let_one_go(&mut self) {
        if let Some(waiting) = self.held.pop_front() {
            self.start(waiting);
        }
    }

    /// Carries out all commands that have entered.
    pub async fn run_out(&mut self, outbox: &Outbox) {
        loop {
            tokio::select! {
                biased;
                Some(ran) = self.running.next() => self.done(ran),
                () = outbox.room_for_answers(), if self.holds_any() => {
                    self.let_one_go();
                    self.begin();
                }
                else => break,
            }
        }
    }

    /// Returns the number of commands that are not done.
    pub fn in_progress(&self) -> usize {
        self.in_progress
    }

    /// Whether a command of that length fits the limit. One alone always does.
    pub fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(bytes) <= limit
    }
}
