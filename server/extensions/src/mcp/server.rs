//! A server and its lives: started, watched, started again.

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

/// A server that has lived that long is not one that ends again and again.
const LONG: Duration = Duration::from_secs(60);

/// A server is asked at most that often what it offers, however often it tells of changes.
const LIST_PAUSE: Duration = Duration::from_secs(1);

/// What becomes of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its file says that it is not to be used.
    Disabled,
    /// It has not said yet what it offers.
    Starting,
    /// It is there.
    Running,
    /// It has ended, and is started again after a pause.
    Restarting,
    /// It cannot be used, or has ended too often.
    Failed,
    /// The agent has ended it.
    Stopped,
}

/// A server as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The file that names it.
    pub file: PathBuf,
    /// What has become of it.
    pub state: State,
    /// Why it is not there, where that is known.
    pub why: Option<String>,
    /// The names by which the model calls its tools.
    pub tools: Vec<String>,
    /// The names of its prompts, as slash commands without the slash.
    pub prompts: Vec<String>,
    /// A sentence about tools or prompts that it offers and that are not used, because there are too many or they do not
    /// fit the protocol.
    pub left_out: Option<String>,
}

/// What a server is right now.
#[derive(Clone)]
pub(super) struct Now {
    pub state: State,
    pub why: Option<Arc<str>>,
    pub offer: Arc<Offer>,
    pub connection: Option<Connection>,
}

/// Hears of servers that end.
pub(super) trait Hears: Send + Sync {
    /// A server is not there any more, or never was.
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

/// How a life ended.
enum End {
    Asked,
    /// With the reason, how long it was there, and whether it is worth another try.
    Died {
        why: String,
        lived: Option<Duration>,
        again: bool,
    },
}

impl Server {
    /// A server that begins to start, where it is to be used at all. Needs a runtime.
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

    /// What it is right now.
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

    /// Waits until it is known whether it starts.
    pub async fn started(&self) {
        let _ = self.now.subscribe().wait_for(|now| now.state != State::Starting).await;
    }

    /// Begins to end it.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until it has ended.
    pub async fn stopped(&self) {
        self.over.cancelled().await;
    }

    /// How long a call of it may go on without an answer or progress.
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

    /// From a start to the end.
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
            // From now on, and not only when its end is complete.
            self.set(State::Restarting, None, None);
        }
        let why = life.end(matches!(asked, Asked::Stop)).await;
        match asked {
            Asked::Stop => End::Asked,
            Asked::Silent(why) => End::Died { why, lived: None, again: true },
            Asked::Nobody => End::Died { why, lived: Some(born.elapsed()), again: true },
        }
    }

    /// While it is there.
    async fn serve(&self, life: &mut Life, again: bool) -> Asked {
        let connection = life.connection.clone();
        let changed = life.changed.clone();
        let mut first = true;
        let mut left_out = None;
        loop {
            let pause = self.around.clock.sleep(LIST_PAUSE);
            // A change that is told meanwhile is asked for once more.
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
                // What it offered before counts.
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
            // Whatever it has told of until now is in the list that is asked for next.
            let _ = changed.notified().now_or_never();
        }
    }
}

/// Who wants a server to end.
enum Asked {
    Stop,
    /// It has ended by itself.
    Nobody,
    /// It does not say what it offers.
    Silent(String),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("definition", &self.definition).finish_non_exhaustive()
    }
}
