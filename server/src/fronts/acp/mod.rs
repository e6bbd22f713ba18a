//! ACP, the Agent Client Protocol: what editors speak. JSON-RPC 2.0, several sessions behind one connection, each in its
//! own working directory.
//!
//! | file | concept |
//! |---|---|
//! | `service` | the methods |
//! | `start` | how a session is opened |
//! | `opened`, `options` | one that is open: its turns, and what can be chosen in it |
//! | `words` | what a prompt holds |
//! | `sink`, `teller`, `calls` | events: who sends them, what they say, how a tool call looks |
//! | `history` | what was said before, told again |
//! | `client`, `person` | the connection, and who sits behind it |
//! | `files`, `terminals` | the client's, which tools work with |

mod calls;
mod client;
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

use agentese::acp::{Acp, Failure};
use agentese::serve::{Emitter, Refusal};
use agentese::spec::Spec;
use tokio_util::sync::CancellationToken;

use crate::config::Home;
use crate::desk::{Agents, Kept, Parts, Registry};
use crate::engine::{Calls, Customs};
use client::Client;
use opened::Opened;

/// How often a session that was just closed is looked at until its file is free, and the pause between.
const LOOKS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Calls of one answer run side by side where they may.
const CUSTOMS: Customs = Customs { calls: Calls::SideBySide, ..Customs::PI };

/// Speaks ACP: converts, and asks the desk of a session.
pub struct Front {
    /// What the sessions of the process's own directory are made of.
    parts: Mutex<Parts>,
    client: Arc<Client>,
    desks: Registry,
    opened: Mutex<BTreeMap<String, Arc<Opened>>>,
    /// Requests that can be cancelled, by their ids as they came.
    requests: Mutex<HashMap<String, CancellationToken>>,
    /// The sessions that agents listed last, and of which directory, for the pages that follow the first one.
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

    /// The agents that carry out the sessions, where others do.
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

    /// The session that is open under that id. Refused where there is none.
    fn session(&self, id: &str) -> Result<Arc<Opened>, Refusal> {
        self.all().get(id).cloned().ok_or_else(|| unknown(id))
    }
}

/// What is said of a session that is not there.
fn unknown(id: &str) -> Refusal {
    Failure::ResourceNotFound.refusal(&[("uri", id)])
}

/// What is said of a parameter that cannot be used.
fn invalid(method: &str, reason: &str) -> Refusal {
    Failure::InvalidParameters.refusal(&[("method", method), ("reason", reason)])
}

/// What is said of work that failed: its reason, for people.
fn failed(reason: impl ToString) -> Refusal {
    let mut refusal = Failure::InternalError.refusal(&[]);
    refusal.message = reason.to_string();
    refusal
}

/// Runs what blocks.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}
