//! The scripted model: a server on loopback that speaks the streaming APIs of the providers and plays a
//! script. With it, an agent can be tested without a key and without a network.
//!
//! ```text
//! POST …/messages                            Anthropic Messages
//! POST …/chat/completions                    OpenAI Chat Completions
//! POST …/responses                           OpenAI Responses
//! POST …/NAME:streamGenerateContent          Google Generative AI
//! POST /login/device/code, /login/oauth/access_token, GET …/copilot_internal/…    login by device code
//! ```
//!
//! [`agentese_script`] selects the answer to a request, in the same way as in an agent that plays the
//! script itself. Requests are recorded as [`ModelRequest`]s, the same for all APIs.

mod device;
mod history;
mod http;
mod playback;
mod request_content;
mod serve;
mod wire;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agentese::types::{ModelRequest, ModelScript};
use agentese_script::{Playlist, Turn};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

pub use history::history_faults;

use device::DeviceLogin;

/// Error at the start of the scripted model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The port is not available.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen {
        /// Requested port; 0 for any free port.
        port: u16,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The log cannot be written.
    #[error("cannot write {path}: {source}")]
    Log {
        /// Path of the log.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// Options of a scripted model.
#[derive(Debug, Clone, Default)]
pub struct ModelOptions {
    /// Port of the server; a free port by default.
    pub port: u16,
    /// File to which one line of JSON is written for each request.
    pub log: Option<PathBuf>,
}

/// A running scripted model. Dropping it ends the server and all its connections.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: CancellationToken,
    tasks: TaskTracker,
    _guard: DropGuard,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<ModelState>,
    device: Mutex<DeviceLogin>,
    address: SocketAddr,
    /// Wakes the waiting tasks when a request arrives.
    request_notifier: watch::Sender<()>,
}

#[derive(Debug)]
struct ModelState {
    playlist: Playlist,
    requests: Vec<ModelRequest>,
    log: Option<std::fs::File>,
}

impl Shared {
    /// Selects the answer to a request, and records the request.
    fn select_answer(&self, mut request: ModelRequest, body: &str) -> (Turn, ModelRequest) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let user = request_content::last_user(&request);
        let turn = state.playlist.next(&agentese_script::RequestProperties {
            user: &user,
            system: request.system.as_deref().unwrap_or_default(),
            model: request.model.as_deref().unwrap_or_default(),
            tool_results: request_content::has_results(&request),
            body: &|| body.to_owned(),
        });
        request.n = turn.number;
        request.answer = turn.place.map(|place| place as u64);
        if let Some(log) = &mut state.log {
            let line = serde_json::to_string(&request_content::shortened(&request)).unwrap_or_default();
            if let Err(error) = writeln!(log, "{line}") {
                tracing::warn!(%error, "cannot write the log of the model");
            }
        }
        state.requests.push(request.clone());
        drop(state);
        self.request_notifier.send_replace(());
        (turn, request)
    }
}

impl ScriptedModel {
    /// Starts a model on a free port of loopback.
    ///
    /// # Errors
    /// If no port is available.
    pub async fn start(script: ModelScript) -> Result<Self, ModelError> {
        Self::start_with(script, ModelOptions::default()).await
    }

    /// Starts a model on loopback.
    ///
    /// # Errors
    /// If the port is taken, or if the log cannot be created.
    pub async fn start_with(script: ModelScript, options: ModelOptions) -> Result<Self, ModelError> {
        let log = match options.log {
            None => None,
            Some(path) => {
                Some(std::fs::File::create(&path).map_err(|source| ModelError::Log { path, source })?)
            }
        };
        let listen = |source| ModelError::Listen { port: options.port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let device = DeviceLogin::new(script.device.clone().unwrap_or_default());
        let state = ModelState { playlist: Playlist::new(script), requests: Vec::new(), log };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            device: Mutex::new(device),
            address,
            request_notifier: watch::Sender::new(()),
        });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(accept(listener, shared.clone(), stop.clone(), tasks.clone()));
        Ok(Self { address, shared, _guard: stop.clone().drop_guard(), stop, tasks })
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address as the beginning of a URL, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, in order.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner).requests.clone()
    }

    /// Returns a receiver that is notified of each further request.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.shared.request_notifier.subscribe()
    }

    /// Stops the server and waits until its connections are closed.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken, tasks: TaskTracker) {
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (shared, stop) = (shared.clone(), stop.clone());
                tasks.spawn(async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        result = serve::serve(stream, &shared) => if let Err(error) = result {
                            // Clients of many cases disconnect in the middle, so this is not an error.
                            tracing::debug!(%error, "a connection ended");
                        }
                    }
                });
            }
            Err(error) => {
                // If the process has no free descriptors, others may be closed later.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}
