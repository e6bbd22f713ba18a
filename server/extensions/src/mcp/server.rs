//! A server that is restarted after it has ended.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestError, ServerFeatures};
use super::context::ServerContext;
use super::definition::ServerDefinition;
use super::running_server::{RunningServer, ServerStartError};

/// Time that a server must run before its earlier failures are forgotten.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// Minimum time between two requests for the tools and prompts of a server. It applies even if the server reports
/// changes more often.
const LIST_PAUSE: Duration = Duration::from_secs(1);

/// State of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// The definition disables the server.
    Disabled,
    /// The server has not reported its tools and prompts yet.
    Starting,
    /// The server is running.
    Running,
    /// The server has ended. It is restarted after a pause.
    Restarting,
    /// The server cannot be used, or has ended too often.
    Failed,
    /// The agent has ended the server because it is no longer needed.
    Stopped,
}

/// Status of a server, for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// Name of the server.
    pub name: String,
    /// The file with its definition.
    pub file: PathBuf,
    /// State of the server.
    pub state: ServerState,
    /// The reason why the server does not run, if known.
    pub reason: Option<String>,
    /// Names of its tools, as the model knows them.
    pub tools: Vec<String>,
    /// Names of its prompts as slash commands, without the slash.
    pub prompts: Vec<String>,
    /// The text about tools and prompts that are not used, because they exceed the limit or do not fit the protocol.
    pub left_out: Option<String>,
}

/// Current state, features and failure of a server.
#[derive(Clone)]
pub(super) struct ServerSnapshot {
    pub state: ServerState,
    pub reason: Option<Arc<str>>,
    pub features: Arc<ServerFeatures>,
    pub connection: Option<Connection>,
}

/// Listener for failures of servers.
pub(super) trait FailureListener: Send + Sync {
    /// Handles the failure of a server. A server fails if it ends, does not start, or offers unusable tools or prompts.
    fn on_failure(&self, server: &str, why: &str);
}

/// An MCP server of a conversation.
pub(super) struct Server {
    pub definition: ServerDefinition,
    context: ServerContext,
    snapshot: watch::Sender<ServerSnapshot>,
    stop: CancellationToken,
    ended: CancellationToken,
    listeners: Mutex<Vec<Weak<dyn FailureListener>>>,
}

/// The end of one run of a server.
enum RunOutcome {
    StopRequested,
    /// The server has ended. `uptime` is the duration of the run, or `None` if it did not start. `is_retryable` is true
    /// if a restart may succeed.
    Ended {
        reason: String,
        uptime: Option<Duration>,
        is_retryable: bool,
    },
}

impl Server {
    /// Creates a server. Starts it in the background, unless its definition disables it. Requires a Tokio runtime.
    pub fn start(definition: ServerDefinition, context: ServerContext) -> Arc<Self> {
        let state = if definition.disabled { ServerState::Disabled } else { ServerState::Starting };
        let now = ServerSnapshot { state, reason: None, features: Arc::default(), connection: None };
        let me = Arc::new(Self {
            definition,
            context,
            snapshot: watch::Sender::new(now),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            listeners: Mutex::default(),
        });
        match state {
            ServerState::Disabled => me.ended.cancel(),
            _ => drop(tokio::spawn(me.clone().supervise())),
        }
        me
    }

    /// Returns the current values.
    pub fn snapshot(&self) -> ServerSnapshot {
        self.snapshot.borrow().clone()
    }

    /// Adds a listener for failures of the server. Returns the text about unused tools and prompts, which was reported
    /// to earlier listeners.
    pub fn add_listener(&self, listener: Weak<dyn FailureListener>) -> Option<String> {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|known| known.strong_count() > 0);
        listeners.push(listener);
        self.snapshot.borrow().features.left_out.clone()
    }

    /// Waits until the server has started or has failed to start.
    pub async fn started(&self) {
        let _ = self.snapshot.subscribe().wait_for(|now| now.state != ServerState::Starting).await;
    }

    /// Requests the end of the server. Returns at once.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has ended.
    pub async fn stopped(&self) {
        self.ended.cancelled().await;
    }

    /// Returns the time limit of a call that receives neither an answer nor progress.
    pub fn call_limit(&self) -> Duration {
        self.definition.call_timeout.unwrap_or(self.context.limits.call)
    }

    fn publish(
        &self,
        state: ServerState,
        why: Option<&str>,
        there: Option<(Arc<ServerFeatures>, Connection)>,
    ) {
        let why = why.map(Arc::from);
        let (features, connection) = match there {
            Some((features, connection)) => (features, Some(connection)),
            None => Default::default(),
        };
        self.snapshot.send_replace(ServerSnapshot { state, reason: why, features, connection });
    }

    fn report_failure(&self, why: &str) {
        tracing::warn!("mcp:{}: {why}", self.definition.name);
        let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for listener in listeners.iter().filter_map(Weak::upgrade) {
            listener.on_failure(&self.definition.name, why);
        }
    }

    async fn supervise(self: Arc<Self>) {
        let limits = self.context.limits;
        let mut failures = 0;
        loop {
            let (why, lived, again) = match self.run_once(failures > 0).await {
                RunOutcome::StopRequested => break,
                RunOutcome::Ended { reason: why, uptime: lived, is_retryable: again } => (why, lived, again),
            };
            if lived.is_some_and(|lived| lived >= STABLE_AFTER) {
                failures = 0;
            }
            failures += 1;
            if !again || failures > limits.restarts {
                let tail = if again { "; it is not started again" } else { "" };
                self.publish(ServerState::Failed, Some(&why), None);
                self.report_failure(&format!("{why}{tail}"));
                break;
            }
            let pause = limits.pause(failures);
            self.publish(ServerState::Restarting, Some(&why), None);
            self.report_failure(&format!("{why}; it is started again in {} ms", pause.as_millis()));
            tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                () = sleep(pause) => {}
            }
        }
        if self.stop.is_cancelled() {
            self.publish(ServerState::Stopped, None, None);
        }
        self.ended.cancel();
    }

    /// Runs the server once, from its start to its end.
    async fn run_once(&self, is_restart: bool) -> RunOutcome {
        let limit = self.context.limits.start;
        let started = tokio::select! {
            biased;
            () = self.stop.cancelled() => return RunOutcome::StopRequested,
            started = timeout(limit, RunningServer::start(&self.definition, &self.context)) => started,
        };
        let mut running = match started {
            Ok(Ok(running)) => running,
            Ok(Err(ServerStartError { reason: why, is_retryable: again })) => {
                return RunOutcome::Ended { reason: why, uptime: None, is_retryable: again };
            }
            Err(_) => {
                let why = format!("it did not start within {} ms", limit.as_millis());
                return RunOutcome::Ended { reason: why, uptime: None, is_retryable: true };
            }
        };
        let born = Instant::now();
        let reason = self.refresh_features(&mut running, is_restart).await;
        if !matches!(reason, EndReason::StopRequested) {
            // The state changes now, not only after the complete end.
            self.publish(ServerState::Restarting, None, None);
        }
        let why = running.end(matches!(reason, EndReason::StopRequested)).await;
        match reason {
            EndReason::StopRequested => RunOutcome::StopRequested,
            EndReason::ListFailed(why) => RunOutcome::Ended { reason: why, uptime: None, is_retryable: true },
            EndReason::ServerEnded => {
                RunOutcome::Ended { reason: why, uptime: Some(born.elapsed()), is_retryable: true }
            }
        }
    }

    /// Updates the tools and prompts of a running server at each change. Returns the reason for the end of the run.
    async fn refresh_features(&self, running: &mut RunningServer, is_restart: bool) -> EndReason {
        let connection = running.connection.clone();
        let changed = running.changed.clone();
        let mut first = true;
        let mut left_out = None;
        loop {
            let pause = self.context.clock.sleep(LIST_PAUSE);
            // A change that is reported during this request leads to one more request.
            let features = tokio::select! {
                biased;
                () = self.stop.cancelled() => return EndReason::StopRequested,
                features = timeout(self.context.limits.start, connection.list_features()) => features,
                () = running.ended() => return EndReason::ServerEnded,
            };
            match features {
                Ok(Ok(features)) => {
                    if first && is_restart {
                        tracing::warn!("mcp:{}: it is running again", self.definition.name);
                    }
                    let is_new = features.left_out != left_out;
                    left_out.clone_from(&features.left_out);
                    self.publish(ServerState::Running, None, Some((Arc::new(features), connection.clone())));
                    left_out.iter().filter(|_| is_new).for_each(|what| self.report_failure(what));
                }
                Ok(Err(RequestError::Disconnected(_))) => return EndReason::ServerEnded,
                Ok(Err(failed)) if first => {
                    return EndReason::ListFailed(format!("it did not list its tools and prompts: {failed}"));
                }
                Err(_) if first => {
                    let limit = self.context.limits.start.as_millis();
                    return EndReason::ListFailed(format!(
                        "it did not list its tools and prompts within {limit} ms"
                    ));
                }
                // The previous features stay in effect.
                _ => tracing::warn!("mcp:{}: it no longer lists its tools and prompts", self.definition.name),
            }
            first = false;
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return EndReason::StopRequested,
                () = running.ended() => return EndReason::ServerEnded,
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
enum EndReason {
    StopRequested,
    /// The server ended by itself.
    ServerEnded,
    /// The server did not report its tools and prompts, with the reason.
    ListFailed(String),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Server").field("definition", &self.definition).finish_non_exhaustive()
    }
}
