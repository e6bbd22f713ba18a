//! The opal dialect: JSON-RPC 2.0, and several sessions behind one connection.
//!
//! | file | concept |
//! |---|---|
//! | `service`, `error` | the methods, and rejections of requests |
//! | `start`, `active_session` | the start of a session, and an open session |
//! | `id_reservation` | the reservation of a session's id during its start |
//! | `features` | switches for features of the agent and for tools |
//! | `sink`, `event_translator`, `tags` | events: sending, conversion, and tags in the text |
//! | `convert` | messages, models and levels in the form of Opal |
//! | `client` | the connection, and its questions for the user |
//! | `auth`, `settings` | credentials, and the user's settings without them |
//! | `tools` | Opal's own tools, and its names for the shared tools |

mod active_session;
mod auth;
mod client;
mod convert;
mod error;
mod event_translator;
mod features;
mod id_reservation;
mod service;
mod settings;
mod sink;
mod start;
mod tags;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::opal::{Failure, Opal};
use agentese::serve::{CommandError, Emitter};
use agentese::spec::Spec;
use tokio_util::sync::CancellationToken;

use crate::config::{AgentPaths, Login, ResourceFolders, UserFile};
use crate::conversation::{AgentComponents, ConversationRegistry};
use crate::engine::{BehaviorProfile, CallOrder, ToolCallPolicy};
use crate::providers::Catalog;
use active_session::ActiveSession;
use client::ClientConnection;

/// Returns the behaviour of Opal: tool calls of one answer run side by side if the tools permit it.
fn behavior_profile() -> BehaviorProfile {
    BehaviorProfile {
        tool_calls: ToolCallPolicy { order: CallOrder::SharedInParallel, ..ToolCallPolicy::default() },
        ..BehaviorProfile::default()
    }
}

/// The location of the files of Opal's users.
const PATHS: AgentPaths = AgentPaths {
    variable: "OPAL_HOME",
    folder: ".opal",
    settings: "settings.json",
    models: "models.json",
    project: ".opal/settings.json",
    comments: false,
    reports_unknown: false,
    resources: ResourceFolders {
        project: &[".github", ".claude"],
        templates: &[],
        rules: &[],
        home: &[".opal", ".claude"],
        loose_skills: false,
    },
    short_names: false,
    login: Some(Login { domain: "OPAL_COPILOT_DOMAIN", client: "OPAL_COPILOT_CLIENT_ID" }),
};

/// Speaks the opal dialect: converts values and calls the conversation service of a session.
pub struct OpalServer {
    /// The components of every session.
    components: Mutex<AgentComponents>,
    catalog: Catalog,
    settings: Option<UserFile>,
    client: Arc<ClientConnection>,
    conversations: ConversationRegistry,
    sessions: Mutex<BTreeMap<String, Arc<ActiveSession>>>,
    /// The ids of sessions that are starting.
    starting_ids: Mutex<BTreeSet<String>>,
    stop: CancellationToken,
    /// Cancelled when the server shuts down, so that waiting requests end.
    closing: CancellationToken,
}

impl std::fmt::Debug for OpalServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OpalServer")
            .field("conversations", &self.conversations)
            .finish_non_exhaustive()
    }
}

impl crate::dialects::DialectServer for OpalServer {
    type Dialect = Opal;

    const PATHS: AgentPaths = PATHS;

    fn behavior_profile(_: &'static Spec) -> BehaviorProfile {
        behavior_profile()
    }

    fn new(components: AgentComponents, _: &'static Spec, stop: CancellationToken) -> Self {
        let settings = components.extensions.agent_dir.as_ref();
        Self {
            catalog: components.options.catalog.clone(),
            settings: settings.map(|directory| UserFile::at(directory.join(PATHS.settings))),
            components: Mutex::new(components),
            client: Arc::default(),
            conversations: ConversationRegistry::default(),
            sessions: Mutex::default(),
            starting_ids: Mutex::default(),
            stop,
            closing: CancellationToken::new(),
        }
    }

    fn connect(&self, emitter: Emitter<Opal>) {
        self.client.connect(emitter);
    }
}

impl OpalServer {
    fn components(&self) -> MutexGuard<'_, AgentComponents> {
        self.components.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, Arc<ActiveSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open session with the given id. Fails if there is no such session.
    fn session(&self, id: &str) -> Result<Arc<ActiveSession>, CommandError> {
        let found = self.sessions().get(id).cloned();
        found.ok_or_else(|| {
            Failure::SessionNotFound.command_error(&[]).with_data(format!("no session \"{id}\" is open"))
        })
    }
}
