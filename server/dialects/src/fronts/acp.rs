//! ACP, the Agent Client Protocol of editors: JSON-RPC 2.0, with several sessions behind one connection, each
//! in its own working directory.
//!
//! | file | concept |
//! |---|---|
//! | `service`, `error` | the methods, and their rejections |
//! | `start` | the start of a session |
//! | `opened`, `options` | an open session: its turns and its options |
//! | `words` | the content of a prompt |
//! | `sink`, `teller`, `calls` | events: sending, conversion, and the presentation of tool calls |
//! | `history` | the messages of a loaded session |
//! | `client`, `person` | the connection, and the person behind it |
//! | `files`, `terminals` | files and terminals of the client, for tools |

mod calls;
mod client;
mod error;
mod files;
mod history;
mod opened;
mod options;
mod person;
mod service;
mod sink;
mod start;
mod teller;
mod terminals;
mod words;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentese::acp::Acp;
use agentese::serve::{Emitter, Refusal};
use agentese::spec::Spec;
use tokio_util::sync::CancellationToken;

use crate::config::Home;
use crate::desk::{Agents, Kept, Parts, Registry};
use crate::engine::{Calls, Customs};
use client::Client;
use error::unknown;
use opened::Opened;

/// The maximum number of attempts to use a session that was just closed, and the pause between two attempts.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Calls of one answer run side by side if the tools permit it.
const CUSTOMS: Customs = Customs { calls: Calls::SideBySide, ..Customs::PI };

/// Speaks ACP: converts values and calls the desk of a session.
pub struct Front {
    /// The parts of sessions in the process's own directory.
    parts: Mutex<Parts>,
    client: Arc<Client>,
    desks: Registry,
    opened: Mutex<BTreeMap<String, Arc<Opened>>>,
    /// The requests that can be cancelled, by their ids in canonical JSON.
    requests: Mutex<HashMap<String, CancellationToken>>,
    /// The sessions from the last listing of remote agents, and its directory, for the pages after the first
    /// one.
    listed: Mutex<Option<(Option<String>, Vec<Kept>)>>,
    stop: CancellationToken,
}

impl std::fmt::Debug for Front {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Front").field("desks", &self.desks).finish_non_exhaustive()
    }
}

impl crate::fronts::Front for Front {
    type Dialect = Acp;

    const HOME: Home = Home::PI;

    fn customs(_: &'static Spec) -> Customs {
        CUSTOMS
    }

    fn new(parts: Parts, _: &'static Spec, stop: CancellationToken) -> Self {
        Self {
            parts: Mutex::new(parts),
            client: Arc::default(),
            desks: Registry::default(),
            opened: Mutex::default(),
            requests: Mutex::default(),
            listed: Mutex::default(),
            stop,
        }
    }

    fn connect(&self, emitter: Emitter<Acp>) {
        self.client.connect(emitter);
    }
}

impl Front {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the remote agents that carry out the sessions, if there are any.
    fn agents(&self) -> Option<Arc<dyn Agents>> {
        self.parts().agents.clone()
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Opened>>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listed(&self) -> MutexGuard<'_, Option<(Option<String>, Vec<Kept>)>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open session with that id. Fails if there is no such session.
    fn session(&self, id: &str) -> Result<Arc<Opened>, Refusal> {
        self.all().get(id).cloned().ok_or_else(|| unknown(id))
    }
}
