//! The opal dialect: JSON-RPC 2.0, and several sessions behind one connection.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the methods |
//! | `start`, `opened` | the start of a session, and an open session |
//! | `place` | the reservation of a session's id during its start |
//! | `features` | switches for parts of the agent and for tools |
//! | `sink`, `teller`, `tags` | events: sending, conversion, and tags in the text |
//! | `convert` | messages, models and levels in the form of Opal |
//! | `client` | the person behind the client: questions |
//! | `auth`, `settings` | credentials, and the user's settings without them |
//! | `tools` | Opal's own tools, and its names for the shared tools |

mod auth;
mod client;
mod convert;
mod error;
mod features;
mod opened;
mod place;
mod service;
mod settings;
mod sink;
mod start;
mod tags;
mod teller;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentese::opal::{Failure, Opal};
use agentese::serve::{Emitter, Refusal};
use agentese::spec::Spec;
use tokio_util::sync::CancellationToken;

use crate::config::{Home, Login, ResourceFolders, UserFile};
use crate::desk::{Parts, Registry};
use crate::engine::{Calls, Customs};
use crate::providers::Catalog;
use client::Client;
use opened::Opened;

/// The behaviour of the agent: each tool decides if its calls run side by side; prompts wait until the model
/// would stop.
const CUSTOMS: Customs = Customs { calls: Calls::SideBySide, ..Customs::PI };

/// The location of the files of Opal's users.
const HOME: Home = Home {
    variable: "OPAL_HOME",
    folder: ".opal",
    settings: "settings.json",
    models: "models.json",
    project: ".opal/settings.json",
    comments: false,
    tells_unknown: false,
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

/// Speaks the opal dialect: converts values and calls the desk of a session.
pub struct Front {
    /// The parts of every session.
    parts: Mutex<Parts>,
    catalog: Catalog,
    settings: Option<UserFile>,
    client: Arc<Client>,
    desks: Registry,
    opened: Mutex<BTreeMap<String, Arc<Opened>>>,
    /// The ids of sessions that are starting.
    beginning: Mutex<BTreeSet<String>>,
    stop: CancellationToken,
    /// Cancelled when pending requests should stop waiting.
    closing: CancellationToken,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Front").field("desks", &self.desks).finish_non_exhaustive()
    }
}

impl crate::fronts::Front for Front {
    type Dialect = Opal;

    const HOME: Home = HOME;

    fn customs(_: &'static Spec) -> Customs {
        CUSTOMS
    }

    fn new(parts: Parts, _: &'static Spec, stop: CancellationToken) -> Self {
        let settings = parts.extensions.agent_dir.as_ref();
        Self {
            catalog: parts.options.catalog.clone(),
            settings: settings.map(|directory| UserFile::at(directory.join(HOME.settings))),
            parts: Mutex::new(parts),
            client: Arc::default(),
            desks: Registry::default(),
            opened: Mutex::default(),
            beginning: Mutex::default(),
            stop,
            closing: CancellationToken::new(),
        }
    }

    fn connect(&self, emitter: Emitter<Opal>) {
        self.client.connect(emitter);
    }
}

impl Front {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open session with that id. Fails if there is no such session.
    fn session(&self, id: &str) -> Result<Arc<Opened>, Refusal> {
        let found = self.all().get(id).cloned();
        found.ok_or_else(|| {
            Failure::SessionNotFound.refusal(&[]).with_data(format!("no session \"{id}\" is open"))
        })
    }
}
