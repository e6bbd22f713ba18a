//! The subscribers of the agent's state and of the session.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentese::types::Watched;
use serde_json::{Map, Value};

use super::process::Process;

/// The subscribers, with the last state sent to each.
#[derive(Default)]
pub(super) struct Watch {
    watchers: Mutex<Vec<Watcher>>,
    /// True if a notification is scheduled.
    pub due: AtomicBool,
    /// Time of the last notification.
    told: Mutex<Option<Instant>>,
}

/// A subscriber.
pub(super) struct Watcher {
    pub process: Arc<Process>,
    /// The known members of the state; `None` without a subscription to the state.
    pub state: Option<Map<String, Value>>,
    /// The session, the number of its known entries, and the last known leaf.
    pub entries: Option<(String, usize, Option<String>)>,
}

impl Watch {
    pub fn watchers(&self) -> std::sync::MutexGuard<'_, Vec<Watcher>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, process: &Arc<Process>, watched: &[Watched]) {
        if watched.is_empty() {
            return;
        }
        self.watchers().push(Watcher {
            process: process.clone(),
            state: watched.contains(&Watched::State).then(Map::new),
            entries: watched.contains(&Watched::Entries).then(|| (String::new(), 0, None)),
        });
    }

    pub fn remove(&self, process: &Arc<Process>) {
        self.watchers().retain(|watcher| !Arc::ptr_eq(&watcher.process, process));
    }

    pub fn told(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_watched(&self) -> bool {
        !self.watchers().is_empty()
    }
}
