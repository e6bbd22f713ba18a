//! A server with its restarts.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::around::Around;
use super::connection::{Connection, Failed, Offer};
use super::definition::Definition;
use super::life::{Life, NotStarted};

/// Running time of a server after which earlier failures are not counted.
const LONG: Duration = Duration::from_secs(60);

/// Minimum interval between two requests for the offer of a server, however often the server reports changes.
const LIST_PAUSE: Duration = Duration::from_secs(1);

/// State of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The definition disables the server.
    Disabled,
    /// The server has not reported its offer yet.
    Starting,
    /// The server is running.
    Running,
    /// The server has ended, and restarts after a pause.
    Restarting,
    /// The server cannot be used, or has ended too often.
    Failed,
    /// The agent has ended the server.
    Stopped,
}

/// Status of a server, for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Name of the server.
    pub name: String,
    /// The file with its definition.
    pub file: PathBuf,
    /// State of the server.
    pub state: State,
    /// The reason for which the server is not running, if known.
    pub why: Option<String>,
    /// The names of its tools for the model.
    pub tools: Vec<String>,
    /// The names of its prompts, as slash commands without the slash.
    pub prompts: Vec<String>,
    /// The text about tools or prompts that are not used, because they are too many or do not fit the
    /// protocol.
    pub left_out: Option<String>,
}

/// Current values of a server.
#[derive(Clone)]
pub(super) struct Now {
    pub state: State,
    pub why: Option<Arc<str>>,
    pub offer: Arc<Offer>,
    pub connection: Option<Connection>,
}

/// Receives the failures of servers.
pub(super) trait Hears: Send + Sync {
    /// Handles a server that has ended, failed to start, or offers unusable parts.
    fn failed(&self, server: &str, why: &str);
}

/// A server.
pub(super) struct Server {
    pub definition: Definition,
    around: Around,
    now: watch::Sender<Now>,
    stop: CancellationToken,
    over: CancellationToken,
    listeners: Mutex<Vec<Weak<dyn Hears>>>,
}

/// The end of one run of a server.
enum End {
    Asked,
    /// The reason, the duration of the run if the server started, and true if a restart may succeed.
    Died {
        why: String,
        lived: Option<Duration>,
        again: bool,
    },
}

impl Server {
    /// Creates a server and starts it in the background, unless its definition disables it. Needs a runtime.
    pub fn start(definition: Definition, around: Around) -> Arc<Self> {
        let state = if definition.disabled { State::Disabled } else { State::Starting };
        let now = Now { state, why: None, offer: Arc::default(), connection: None };
        let me = Arc::new(Self {
            definition,
            around,
            now: watch::Sender::new(now),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
            listeners: Mutex::default(),
        });
        match state {
            State::Disabled => me.over.cancel(),
            _ => drop(tokio::spawn(me.clone().live())),
        }
        me
    }

    /// Returns the current values.
    pub fn now(&self) -> Now {
        self.now.borrow().clone()
    }

    /// Adds a listener, which is notified when the server ends. Returns the text about the parts that are
    /// left out of the server's offer, which earlier listeners have received.
    pub fn tell(&self, listener: Weak<dyn Hears>) -> Option<String> {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|known| known.strong_count() > 0);
        listeners.push(listener);
        self.now.borrow().offer.left_out.clone()
    }

    /// Waits until the start has succeeded or failed.
    pub async fn started(&self) {
        let _ = self.now.subscribe().wait_for(|now| now.state != State::Starting).await;
    }

    /// Starts to end the server.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has ended.
    pub async fn stopped(&self) {
        self.over.cancelled().await;
    }

    /// Returns the time limit of a call without an answer or progress.
    pub fn call_limit(&self) -> Duration {
        self.definition.call_timeout.unwrap_or(self.around.limits.call)
    }

    fn set(&self, state: State, why: Option<&str>, there: Option<(Arc<Offer>, Connection)>) {
        let why = why.map(Arc::from);
        let (offer, connection) = match there {
            Some((offer, connection)) => (offer, Some(connection)),
            None => Default::default(),
        };
        self.now.send_replace(Now { state, why, offer, connection });
    }

    fn fail(&self, why: &str) {
        tracing::warn!("mcp:{}: {why}", self.definition.name);
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.failed(&self.definition.name, why);
        }
    }

    async fn live(self: Arc<Self>) {
        let limits = self.around.limits;
        let mut failures = 0;
        loop {
            let (why, lived, again) = match self.one_life(failures > 0).await {
                End::Asked => break,
                End::Died { why, lived, again } => (why, lived, again),
            };
            if lived.is_some_and(|lived| lived >= LONG) {
                failures = 0;
            }
            failures += 1;
            if !again || failures > limits.restarts {
                let tail = if again { "; it is not started again" } else { "" };
                self.set(State::Failed, Some(&why), None);
                self.fail(&format!("{why}{tail}"));
                break;
            }
            let pause = limits.pause(failures);
            self.set(State::Restarting, Some(&why), None);
            self.fail(&format!("{why}; it is started again in {} ms", pause.as_millis()));
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                () = sleep(pause) => {}
            }
        }
        if self.stop.is_cancelled() {
            self.set(State::Stopped, None, None);
        }
        self.over.cancel();
    }

    /// Runs the server once, from its start to its end.
    async fn one_life(&self, again: bool) -> End {
        let limit = self.around.limits.start;
        let started = tokio::select! {
            biased;
            () = self.stop.cancelled() => return End::Asked,
            started = timeout(limit, Life::start(&self.definition, &self.around)) => started,
        };
        let mut life = match started {
            Ok(Ok(life)) => life,
            Ok(Err(NotStarted { why, again })) => return End::Died { why, lived: None, again },
            Err(_) => {
                let why = format!("it did not start within {} ms", limit.as_millis());
                return End::Died { why, lived: None, again: true };
            }
        };
        let born = Instant::now();
        let asked = self.serve(&mut life, again).await;
        if !matches!(asked, Asked::Stop) {
            // The state changes now, not only after the complete end.
            self.set(State::Restarting, None, None);
        }
        let why = life.end(matches!(asked, Asked::Stop)).await;
        match asked {
            Asked::Stop => End::Asked,
            Asked::Silent(why) => End::Died { why, lived: None, again: true },
            Asked::Nobody => End::Died { why, lived: Some(born.elapsed()), again: true },
        }
    }

    /// Keeps the offer of a running server current. Returns the reason for its end.
    async fn serve(&self, life: &mut Life, again: bool) -> Asked {
        let connection = life.connection.clone();
        let changed = life.changed.clone();
        let mut first = true;
        let mut left_out = None;
        loop {
            let pause = self.around.clock.sleep(LIST_PAUSE);
            // A change that is reported during this request leads to one more request.
            let offer = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Asked::Stop,
                offer = timeout(self.around.limits.start, connection.offer()) => offer,
                () = life.ended() => return Asked::Nobody,
            };
            match offer {
                Ok(Ok(offer)) => {
                    if first && again {
                        tracing::warn!("mcp:{}: it is running again", self.definition.name);
                    }
                    let is_new = offer.left_out != left_out;
                    left_out.clone_from(&offer.left_out);
                    self.set(State::Running, None, Some((Arc::new(offer), connection.clone())));
                    left_out.iter().filter(|_| is_new).for_each(|what| self.fail(what));
                }
                Ok(Err(Failed::Gone(_))) => return Asked::Nobody,
                Ok(Err(failed)) if first => {
                    return Asked::Silent(format!("it does not say what it offers: {failed}"));
                }
                Err(_) if first => {
                    let limit = self.around.limits.start.as_millis();
                    return Asked::Silent(format!("it did not say within {limit} ms what it offers"));
                }
                // The previous offer stays in effect.
                _ => tracing::warn!("mcp:{}: it does not say what it offers now", self.definition.name),
            }
            first = false;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Asked::Stop,
                () = life.ended() => return Asked::Nobody,
                () = async {
                    changed.notified().await;
                    pause.await;
                } => {}
            }
            // The next list includes all changes that were reported until now.
            let _ = changed.notified().now_or_never();
        }
    }
}

/// Reason for the end of a run.
enum Asked {
    Stop,
    /// The server ended by itself.
    Nobody,
    /// The server did not report its offer, for this reason.
    Silent(String),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("definition", &self.definition).finish_non_exhaustive()
    }
}
