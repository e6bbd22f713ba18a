//! ACP, the Agent Client Protocol of editors: JSON-RPC 2.0, with several sessions behind one connection, each
//! in its own working directory.
//!
//! | file | concept |
//! |---|---|
//! | `service`, `error` | the methods, and their rejections |
//! | `start` | the start of a session |
//! | `active_session`, `options` | an open session: its turns and its options |
//! | `prompt_content` | the content of a prompt |
//! | `sink`, `event_translator`, `tool_calls` | events: sending, conversion, and the presentation of tool calls |
//! | `history` | the messages of a loaded session |
//! | `client`, `client_ui` | the connection, and its notices and questions for the user |
//! | `files`, `terminals` | files and terminals of the client, for tools |

mod active_session;
mod client;
mod client_ui;
mod error;
mod event_translator;
mod files;
mod history;
mod options;
mod prompt_content;
mod service;
mod sink;
mod start;
mod terminals;
mod tool_calls;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::acp::Acp;
use agentese::serve::{CommandError, Emitter};
use agentese::spec::Spec;
use tokio_util::sync::CancellationToken;

use crate::config::AgentPaths;
use crate::conversation::{AgentComponents, ConversationRegistry, ListedSession, RemoteAgents};
use crate::engine::{BehaviorProfile, CallOrder, ToolCallPolicy};
use active_session::ActiveSession;
use client::ClientConnection;
use error::unknown_session;

/// The maximum number of attempts to use a session that was just closed.
const MAX_ATTEMPTS: usize = 100;
const ATTEMPT_PAUSE: Duration = Duration::from_millis(10);

/// Returns the behaviour of the agent: tool calls of one answer run side by side if the tools permit it.
fn behavior_profile() -> BehaviorProfile {
    BehaviorProfile {
        tool_calls: ToolCallPolicy { order: CallOrder::SharedInParallel, ..ToolCallPolicy::default() },
        ..BehaviorProfile::default()
    }
}

/// Speaks ACP: converts values and calls the conversation service of a session.
pub struct AcpServer {
    /// The components for sessions in the working directory of the process.
    components: Mutex<AgentComponents>,
    client: Arc<ClientConnection>,
    conversations: ConversationRegistry,
    sessions: Mutex<BTreeMap<String, Arc<ActiveSession>>>,
    /// Cancels open requests. The keys are the ids of the requests as canonical JSON.
    requests: Mutex<HashMap<String, CancellationToken>>,
    /// The last list from the remote agents, with the directory that was requested. Later pages are taken from it.
    listed_sessions: Mutex<Option<(Option<String>, Vec<ListedSession>)>>,
    stop: CancellationToken,
}

impl std::fmt::Debug for AcpServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AcpServer")
            .field("conversations", &self.conversations)
            .finish_non_exhaustive()
    }
}

impl crate::dialects::DialectServer for AcpServer {
    type Dialect = Acp;

    const PATHS: AgentPaths = AgentPaths::PI;

    fn behavior_profile(_: &'static Spec) -> BehaviorProfile {
        behavior_profile()
    }

    fn new(components: AgentComponents, _: &'static Spec, stop: CancellationToken) -> Self {
        Self {
            components: Mutex::new(components),
            client: Arc::default(),
            conversations: ConversationRegistry::default(),
            sessions: Mutex::default(),
            requests: Mutex::default(),
            listed_sessions: Mutex::default(),
            stop,
        }
    }

    fn connect(&self, emitter: Emitter<Acp>) {
        self.client.connect(emitter);
    }
}

impl AcpServer {
    fn components(&self) -> MutexGuard<'_, AgentComponents> {
        self.components.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the remote agents that carry out the sessions, if there are any.
    fn remote_agents(&self) -> Option<Arc<dyn RemoteAgents>> {
        self.components().remote_agents.clone()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ActiveSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listed_sessions(&self) -> MutexGuard<'_, Option<(Option<String>, Vec<ListedSession>)>> {
        self.listed_sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open session with the given id. Fails if there is no such session.
    fn session(&self, id: &str) -> Result<Arc<ActiveSession>, CommandError> {
        self.sessions().get(id).cloned().ok_or_else(|| unknown_session(id))
    }
}
