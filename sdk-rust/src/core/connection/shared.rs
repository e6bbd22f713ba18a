//! State that the tasks of a connection share, and the functions that send commands and settle calls.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::active_run::ActiveRun;
use super::event_queue::Subscriber;
use super::open_dialogs::OpenDialogs;
use super::shared_revision_detector::RevisionEvidence;
use crate::correlate::PendingCalls;
use crate::dialog::RawDialogHandler;
use crate::error::Error;
use crate::framing::FrameText;
use crate::queue::Overflow;
use crate::run_tracker::RunCompletion;
use crate::scan;
use crate::spec::{Framing, RunRole, Spec};
use crate::tap::{Direction, Tap};
use crate::termination::{Cause, RecentFrames, Termination};

/// When the connection is closed, longest wait for lines that the agent has not read yet.
const FLUSH_WITHIN: Duration = Duration::from_millis(500);

/// Callback for every whole frame and its direction.
pub type Watch = dyn Fn(Direction, &str) + Send + Sync;

/// Settings of a connection.
#[derive(Clone)]
pub(crate) struct Settings {
    pub overflow: Overflow,
    pub queue_bytes: usize,
    pub max_line: usize,
    pub timeout: Option<Duration>,
    pub tap: Option<Arc<dyn Tap>>,
    pub dialogs: Option<Arc<dyn RawDialogHandler>>,
    /// Function that receives every whole frame without redaction, for use inside this library. The connection
    /// calls it as it calls a tap.
    pub watch: Option<Arc<Watch>>,
    /// The revision named by the caller.
    pub revision: Option<&'static Spec>,
}

/// A response as received.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawAnswer {
    /// The data as JSON text, if present.
    pub data: Option<FrameText>,
}

/// Input of the writer.
pub(super) enum Outgoing {
    /// A line, without its end.
    Line(String),
    /// The end: the writer closes the agent's stdin. The sender notifies the caller when all earlier lines are
    /// written.
    End(oneshot::Sender<()>),
}

/// Recipient of a response.
pub(crate) enum Waiter {
    /// A caller waits for the response.
    Caller(oneshot::Sender<Result<RawAnswer, Error>>),
    /// A run waits for the response; it requested the agent's state.
    Run { token: u64 },
}

pub(super) struct State {
    pub(super) next_id: u64,
    pub(super) pending: PendingCalls<Waiter>,
    pub(super) runs: Vec<ActiveRun>,
    /// The unanswered abort commands: the key of each command, and its session.
    pub(super) stops: Vec<(String, Option<String>)>,
    pub(super) subscribers: Vec<Subscriber>,
    pub(super) recent: RecentFrames,
    pub(super) ended: Option<Termination>,
    /// The error of all calls after the agent was found to speak another dialect.
    pub(super) other_dialect: Option<Error>,
}

/// Maximum number of recorded abort commands.
const MAX_STOPS: usize = 64;

impl State {
    /// Records an abort command when it is sent. If there are too many records, removes the oldest.
    fn record_stop(&mut self, key: String, session: Option<String>) {
        if self.stops.len() == MAX_STOPS {
            self.stops.remove(0);
        }
        self.stops.push((key, session));
    }

    /// Removes the record of an abort command and returns its session. Returns `None` if the key belongs to no
    /// abort command.
    pub(super) fn take_stop(&mut self, key: &str) -> Option<Option<String>> {
        let at = self.stops.iter().position(|(known, _)| known == key)?;
        Some(self.stops.remove(at).1)
    }
}

/// State shared by the tasks of a connection.
pub(crate) struct Shared {
    pub spec: &'static Spec,
    pub settings: Settings,
    pub(super) state: Mutex<State>,
    pub(super) outbox: mpsc::UnboundedSender<Outgoing>,
    /// Detection of the agent's revision.
    pub(super) revision: RevisionEvidence,
    /// Token that ends all tasks.
    pub(super) stop: CancellationToken,
    pub(super) ended: watch::Sender<Option<Termination>>,
    pub(super) reader_blocked: AtomicBool,
    /// Cancelled after the end of the process, while its last output is being read.
    pub(super) exited: CancellationToken,
    /// Cancelled after the agent's output was read to its end.
    pub(super) read_to_end: CancellationToken,
    /// Number of reads from the agent's output.
    pub(super) reads: AtomicU64,
    /// `true` after this side started to close the connection.
    pub(super) closing: AtomicBool,
    /// Hash state for the keys of events, which differ between sessions.
    pub(super) sessions: std::hash::RandomState,
    pub(super) dialogs: OpenDialogs,
    pub(super) tap_broken: AtomicBool,
    pub(super) dropped_events: AtomicU64,
    /// Number of bytes that are queued for the agent and not written yet.
    pub(super) unsent: AtomicUsize,
}

impl Shared {
    /// Creates the state of a connection whose lines go into `outbox`.
    pub(super) fn new(
        spec: &'static Spec,
        settings: Settings,
        outbox: mpsc::UnboundedSender<Outgoing>,
    ) -> Self {
        let (ended, _) = watch::channel(None);
        Shared {
            spec,
            state: Mutex::new(State {
                next_id: 0,
                pending: PendingCalls::new(),
                runs: Vec::new(),
                stops: Vec::new(),
                subscribers: Vec::new(),
                recent: RecentFrames::default(),
                ended: None,
                other_dialect: None,
            }),
            outbox,
            revision: RevisionEvidence::new(spec, settings.revision),
            stop: CancellationToken::new(),
            ended,
            reader_blocked: AtomicBool::new(false),
            exited: CancellationToken::new(),
            read_to_end: CancellationToken::new(),
            reads: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            sessions: std::hash::RandomState::new(),
            dialogs: OpenDialogs::default(),
            tap_broken: AtomicBool::new(false),
            dropped_events: AtomicU64::new(0),
            unsent: AtomicUsize::new(0),
            settings,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic under the lock cannot leave the tables half changed: each change is one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of events without a subscriber.
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events.load(Ordering::Relaxed)
    }

    /// Resolves when the connection ends.
    pub async fn terminated(&self) -> Termination {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(value) => value.clone().unwrap_or_else(|| Termination::new(Cause::Closed)),
            Err(_) => Termination::new(Cause::Closed),
        }
    }

    /// Returns the termination if the connection has ended.
    pub fn ended(&self) -> Option<Termination> {
        self.state().ended.clone()
    }

    /// Settles all pending work with one termination and returns it. Later calls return the first
    /// termination.
    pub fn settle(&self, termination: Termination) -> Termination {
        let (waiters, runs, subscribers, termination) = {
            let mut state = self.state();
            if let Some(ended) = &state.ended {
                return ended.clone();
            }
            let termination = match self.closing.load(Ordering::Relaxed) {
                true => termination.with_closed_by_us(),
                false => termination,
            };
            let termination =
                termination.with_last_frames(state.recent.take()).with_pending(state.pending.ids());
            state.ended = Some(termination.clone());
            (
                state.pending.drain(),
                std::mem::take(&mut state.runs),
                std::mem::take(&mut state.subscribers),
                termination,
            )
        };
        for waiter in waiters {
            if let Waiter::Caller(caller) = waiter {
                let _ = caller.send(Err(Error::Terminated(termination.clone())));
            }
        }
        for run in runs {
            run.close(Error::Terminated(termination.clone()));
        }
        for subscriber in subscribers {
            subscriber.close(Error::Terminated(termination.clone()));
        }
        self.ended.send_replace(Some(termination.clone()));
        self.stop.cancel();
        termination
    }

    /// Sends a raw line.
    pub fn send_line(&self, line: String) -> Result<(), Error> {
        if let Some(termination) = self.ended() {
            return Err(Error::Terminated(termination));
        }
        self.admit("a raw line")?;
        self.queue_line(line);
        Ok(())
    }

    /// Fails if too many bytes are queued, because the agent does not read its stdin.
    fn admit(&self, command: &str) -> Result<(), Error> {
        let waiting = self.unsent.load(Ordering::Relaxed);
        if waiting > self.settings.queue_bytes {
            return Err(Error::NotSent { command: command.to_owned(), waiting });
        }
        Ok(())
    }

    fn queue_line(&self, line: String) {
        self.unsent.fetch_add(line.len() + 1, Ordering::Relaxed);
        // The receiving end lives as long as the connection, and the end of the connection settles all
        // pending calls.
        let _ = self.outbox.send(Outgoing::Line(line));
    }

    /// Closes the agent's stdin after earlier lines were written. If the agent does not read them, waits only
    /// briefly.
    pub(super) async fn close_stdin(&self) {
        let (written, flushed) = oneshot::channel();
        let _ = self.outbox.send(Outgoing::End(written));
        let _ = tokio::time::timeout(FLUSH_WITHIN, flushed).await;
    }

    /// Returns a new id as the key in the table of calls, and as raw JSON. The JSON is a string in flat
    /// dialects and a number in JSON-RPC.
    fn next_id(&self, state: &mut State) -> (String, String) {
        state.next_id += 1;
        let id = state.next_id;
        match self.spec.framing {
            Framing::JsonRpc { .. } => (id.to_string(), id.to_string()),
            _ => (format!("req-{id}"), format!("\"req-{id}\"")),
        }
    }

    /// Registers a call and then sends it, so that the response cannot arrive before the registration. Returns
    /// the id.
    pub(super) fn send_command(
        &self,
        command: &str,
        members: &str,
        waiter: Waiter,
        before: impl FnOnce(&mut State, &str),
    ) -> Result<String, Error> {
        self.has_command(command)?;
        let mut state = self.state();
        if let Some(termination) = &state.ended {
            return Err(Error::Terminated(termination.clone()));
        }
        if let Some(error) = &state.other_dialect {
            return Err(error.clone());
        }
        self.admit(command)?;
        let (key, raw) = self.next_id(&mut state);
        let line = self.line(command, &raw, members);
        self.is_short_enough(command, &line)?;
        state.pending.insert(key.clone(), command, waiter);
        if self.spec.command(command).is_some_and(|row| row.run == RunRole::Stops) {
            state.record_stop(key.clone(), self.session_of(members));
        }
        before(&mut state, &key);
        // The lock is held while the line is queued, so that the order of lines equals the order of the
        // table.
        self.queue_line(line);
        Ok(key)
    }

    /// Returns the session in the members of a command, for dialects with several sessions per connection.
    pub fn session_of(&self, members: &str) -> Option<String> {
        let member = self.spec.session_member?;
        let mut session = None;
        let look = |name: &str, value: &str| {
            if scan::is_named(name, member) {
                session = scan::string(value).map(std::borrow::Cow::into_owned);
            }
        };
        scan::members(members, look).ok()?;
        session
    }

    /// Sends a command and waits for its response.
    pub async fn call(
        &self,
        command: &str,
        members: &str,
        timeout: Option<Duration>,
    ) -> Result<RawAnswer, Error> {
        let (sender, receiver) = oneshot::channel();
        let id = self.send_command(command, members, Waiter::Caller(sender), |_, _| {})?;
        let abandon = AbandonGuard { shared: self, id: &id };
        let answer = match timeout {
            None => receiver.await,
            Some(after) => match tokio::time::timeout(after, receiver).await {
                Ok(answer) => answer,
                Err(_) => return Err(self.timeout_error(command, after)),
            },
        };
        std::mem::forget(abandon);
        answer.unwrap_or_else(|_| Err(Error::Terminated(Termination::new(Cause::Closed))))
    }

    /// Returns the error for a call without a response in time.
    pub fn timeout_error(&self, command: &str, after: Duration) -> Error {
        let repeatable = self.spec.command(command).is_some_and(|spec| spec.reads);
        let command = command.to_owned();
        if self.reader_blocked.load(Ordering::Relaxed) {
            Error::Stalled { command, after, repeatable }
        } else {
            Error::TimedOut { command, after, repeatable }
        }
    }

    /// Returns the time limit of a command: the limit of the connection, otherwise the limit in the command's
    /// row.
    pub fn timeout(&self, command: &str) -> Option<Duration> {
        self.settings.timeout.or_else(|| self.spec.command(command)?.timeout)
    }

    pub(super) fn finish_run(&self, token: u64, result: Result<RunCompletion, Error>) {
        let slot = {
            let mut state = self.state();
            state.runs.iter().position(|run| run.token() == token).map(|at| state.runs.remove(at))
        };
        if let Some(slot) = slot {
            slot.finish(result);
        }
    }
}

/// Settles all pending work if a task of the connection panics, so that no call waits forever.
pub(super) struct PanicGuard(pub Arc<Shared>);

impl Drop for PanicGuard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.settle(Termination::new(Cause::Internal("a task panicked".to_owned())));
        }
    }
}

/// Guard of a pending call. Dropping it marks the call as abandoned by its caller.
struct AbandonGuard<'a> {
    shared: &'a Shared,
    id: &'a str,
}

impl Drop for AbandonGuard<'_> {
    fn drop(&mut self) {
        self.shared.state().pending.abandon(self.id);
    }
}
