//! The connection: one reader, one writer, and the table of what waits.
//!
//! The reader looks at each line once, settles calls, feeds the runs and hands events to their
//! queues. Nothing here is generic over the dialect; the tables say what differs.

mod dialogs;
mod events;
mod lost;
mod other_dialect;
mod reader;
mod revisions;
mod runs;
mod taking;
mod taps;
mod writer;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::correlate::Table;
use crate::dialog::AnySink;
use crate::error::Error;
use crate::framing::{Bom, FrameReader, FrameText, FramerOptions};
use crate::queue::Overflow;
use crate::run_tracker::Outcome;
use crate::scan;
use crate::spec::{Framing, RunRole, Spec};
use crate::tap::{Direction, Tap};
use crate::termination::{Cause, RecentFrames, Termination};
use crate::transport::ChildProcess;
use crate::transport::Transport;

pub(crate) use events::{EventFrame, EventQueue};
pub(crate) use runs::RunEnded;

/// How long closing waits for lines that an agent has not read yet.
const FLUSH_WITHIN: Duration = Duration::from_millis(500);

/// Is told of every whole frame, and the way that it goes.
pub type Watch = dyn Fn(Direction, &str) + Send + Sync;

/// How a connection behaves.
#[derive(Clone)]
pub(crate) struct Settings {
    pub overflow: Overflow,
    pub queue_bytes: usize,
    pub max_line: usize,
    pub timeout: Option<Duration>,
    pub tap: Option<Arc<dyn Tap>>,
    pub dialogs: Option<Arc<dyn AnySink>>,
    /// Sees every whole frame as it is, within this library; called like a tap.
    pub watch: Option<Arc<Watch>>,
    /// The revision that the caller named.
    pub revision: Option<&'static Spec>,
}

/// An answer, as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RawAnswer {
    /// The raw data, where there is any.
    pub data: Option<FrameText>,
}

/// Who waits for an answer.
pub(crate) enum Waiter {
    /// A caller.
    Caller(oneshot::Sender<Result<RawAnswer, Error>>),
    /// A run that asked for the state.
    Run { token: u64 },
}

struct State {
    next_id: u64,
    pending: Table<Waiter>,
    runs: Vec<runs::Slot>,
    /// The sessions of commands that stop runs, by the keys of commands that are not answered yet.
    stops: Vec<(String, Option<String>)>,
    subscribers: Vec<events::Subscriber>,
    recent: RecentFrames,
    ended: Option<Termination>,
    /// Why no call can be answered: the agent speaks another dialect.
    other_dialect: Option<Error>,
}

/// How many commands that stop runs are waited for at once.
const MOST_STOPS: usize = 64;

impl State {
    /// A command that stops runs is sent. Those that nobody answers are forgotten in time.
    fn note_stop(&mut self, key: String, session: Option<String>) {
        if self.stops.len() == MOST_STOPS {
            self.stops.remove(0);
        }
        self.stops.push((key, session));
    }

    /// The session of such a command, which is answered; none where it is no such command.
    fn take_stop(&mut self, key: &str) -> Option<Option<String>> {
        let at = self.stops.iter().position(|(known, _)| known == key)?;
        Some(self.stops.remove(at).1)
    }
}

/// What the connection's tasks share.
pub(crate) struct Shared {
    pub spec: &'static Spec,
    pub settings: Settings,
    state: Mutex<State>,
    outbox: mpsc::UnboundedSender<writer::Outgoing>,
    /// Which revision the agent speaks.
    revision: revisions::Seen,
    /// Ends all tasks.
    stop: CancellationToken,
    ended: watch::Sender<Option<Termination>>,
    reader_blocked: AtomicBool,
    /// Cancelled when the process behind the connection has ended: what it wrote last is being read.
    exited: CancellationToken,
    /// Cancelled when the agent's output has been read to its end.
    read_to_end: CancellationToken,
    /// How often something was read.
    reads: AtomicU64,
    /// This side has asked for the end.
    closing: AtomicBool,
    /// Tells keys of events apart by their session.
    sessions: std::hash::RandomState,
    dialogs: dialogs::OpenDialogs,
    tap_broken: AtomicBool,
    dropped_events: AtomicU64,
    /// Bytes of lines that wait for an agent that does not read.
    unsent: AtomicUsize,
}

/// A connection, owned by its clients: when the last one goes, it ends.
pub(crate) struct Connection {
    pub shared: Arc<Shared>,
    child: Option<ChildProcess>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.shared.settle(Termination::new(Cause::Closed));
        // Dropping the child takes it through the shutdown ladder in the background.
    }
}

impl Connection {
    /// Starts the tasks. Must be called on a tokio runtime.
    pub fn start(spec: &'static Spec, settings: Settings, transport: Transport) -> Self {
        let Transport { reader, writer, child } = transport;
        let (outbox, inbox) = mpsc::unbounded_channel();
        let (ended, _) = watch::channel(None);
        let shared = Arc::new(Shared {
            spec,
            state: Mutex::new(State {
                next_id: 0,
                pending: Table::new(),
                runs: Vec::new(),
                stops: Vec::new(),
                subscribers: Vec::new(),
                recent: RecentFrames::default(),
                ended: None,
                other_dialect: None,
            }),
            outbox,
            revision: revisions::Seen::new(spec, settings.revision),
            stop: CancellationToken::new(),
            ended,
            reader_blocked: AtomicBool::new(false),
            exited: CancellationToken::new(),
            read_to_end: CancellationToken::new(),
            reads: AtomicU64::new(0),
            closing: AtomicBool::new(false),
            sessions: std::hash::RandomState::new(),
            dialogs: dialogs::OpenDialogs::default(),
            tap_broken: AtomicBool::new(false),
            dropped_events: AtomicU64::new(0),
            unsent: AtomicUsize::new(0),
            settings,
        });
        let options = FramerOptions { max_line: shared.settings.max_line, bom: Bom::Drop };
        let frames = FrameReader::with_options(reader, options);
        let exit = child.as_ref().map(|child| child.exit());
        tokio::spawn(writer::run(shared.clone(), inbox, writer));
        tokio::spawn(reader::run(shared.clone(), frames, exit));
        Connection { shared, child }
    }

    /// Closes stdin, waits for the end of the process by the ladder, and settles everything.
    pub async fn close(&self) -> Termination {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.shared.send_end().await;
        match &self.child {
            Some(child) => {
                let exit = child.shutdown().await;
                self.shared.read_last_words().await;
                let termination =
                    Termination::new(Cause::Exited(exit.clone())).with_stderr_tail(exit.stderr_tail);
                self.shared.settle(termination)
            }
            None => self.shared.settle(Termination::new(Cause::Closed)),
        }
    }

    /// The child, where the connection was spawned.
    pub fn child(&self) -> Option<&ChildProcess> {
        self.child.as_ref()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held cannot leave the tables half changed: each change is one call.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Events that nobody was there for.
    pub fn dropped_events(&self) -> u64 {
        self.dropped_events.load(Ordering::Relaxed)
    }

    /// Resolves when the connection is over.
    pub async fn terminated(&self) -> Termination {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(value) => value.clone().unwrap_or_else(|| Termination::new(Cause::Closed)),
            Err(_) => Termination::new(Cause::Closed),
        }
    }

    /// The termination, where the connection is over.
    pub fn ended(&self) -> Option<Termination> {
        self.state().ended.clone()
    }

    /// Settles everything that waits with one value; the first one stays. Gives that value.
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

    /// Sends a line as it is.
    pub fn send_line(&self, line: String) -> Result<(), Error> {
        if let Some(termination) = self.ended() {
            return Err(Error::Terminated(termination));
        }
        self.admit("a raw line")?;
        self.queue_line(line);
        Ok(())
    }

    /// Refuses more lines where too many wait already: the agent does not read its stdin.
    fn admit(&self, command: &str) -> Result<(), Error> {
        let waiting = self.unsent.load(Ordering::Relaxed);
        if waiting > self.settings.queue_bytes {
            return Err(Error::NotSent { command: command.to_owned(), waiting });
        }
        Ok(())
    }

    fn queue_line(&self, line: String) {
        self.unsent.fetch_add(line.len() + 1, Ordering::Relaxed);
        // The other end is gone only with the connection, which settles whoever waits.
        let _ = self.outbox.send(writer::Outgoing::Line(line));
    }

    /// Ends the lines; what was sent before is written first, if the agent reads it soon.
    async fn send_end(&self) {
        let (written, flushed) = oneshot::channel();
        let _ = self.outbox.send(writer::Outgoing::End(written));
        let _ = tokio::time::timeout(FLUSH_WITHIN, flushed).await;
    }

    /// An id that was not used before: a string in flat dialects, a number in JSON-RPC. Gives the
    /// key of the table and the raw JSON.
    fn next_id(&self, state: &mut State) -> (String, String) {
        state.next_id += 1;
        let id = state.next_id;
        match self.spec.framing {
            Framing::JsonRpc { .. } => (id.to_string(), id.to_string()),
            _ => (format!("req-{id}"), format!("\"req-{id}\"")),
        }
    }

    /// Registers a call and sends it; the waiter is in the table before the line is on its way.
    /// Gives the id.
    fn send_command(
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
            state.note_stop(key.clone(), self.session_of(members));
        }
        before(&mut state, &key);
        // The lock is held while the line is queued, so that lines stand in the order of the table.
        self.queue_line(line);
        Ok(key)
    }

    /// The session that a command's members name, where a connection has several.
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

    /// Sends a command and waits for its answer.
    pub async fn call(
        &self,
        command: &str,
        members: &str,
        timeout: Option<Duration>,
    ) -> Result<RawAnswer, Error> {
        let (sender, receiver) = oneshot::channel();
        let id = self.send_command(command, members, Waiter::Caller(sender), |_, _| {})?;
        let abandon = Abandon { shared: self, id: &id };
        let answer = match timeout {
            None => receiver.await,
            Some(after) => match tokio::time::timeout(after, receiver).await {
                Ok(answer) => answer,
                Err(_) => return Err(self.late(command, after)),
            },
        };
        std::mem::forget(abandon);
        answer.unwrap_or_else(|_| Err(Error::Terminated(Termination::new(Cause::Closed))))
    }

    /// Why no answer came in time.
    pub fn late(&self, command: &str, after: Duration) -> Error {
        let repeatable = self.spec.command(command).is_some_and(|spec| spec.reads);
        let command = command.to_owned();
        if self.reader_blocked.load(Ordering::Relaxed) {
            Error::Stalled { command, after, repeatable }
        } else {
            Error::TimedOut { command, after, repeatable }
        }
    }

    /// The time limit of a command: the connection's, or the one of its row where the connection has none.
    pub fn timeout(&self, command: &str) -> Option<Duration> {
        self.settings.timeout.or_else(|| self.spec.command(command)?.timeout)
    }

    fn finish_run(&self, token: u64, result: Result<Outcome, Error>) {
        let slot = {
            let mut state = self.state();
            state.runs.iter().position(|run| run.token() == token).map(|at| state.runs.remove(at))
        };
        if let Some(slot) = slot {
            slot.finish(result);
        }
    }
}

/// Settles everything where a task of the connection panics: nothing may wait for it for ever.
struct SettlesOnPanic(Arc<Shared>);

impl Drop for SettlesOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.settle(Termination::new(Cause::Internal("a task panicked".to_owned())));
        }
    }
}

/// Notes in the table that nobody waits for a call any more.
struct Abandon<'a> {
    shared: &'a Shared,
    id: &'a str,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.shared.state().pending.abandon(self.id);
    }
}
