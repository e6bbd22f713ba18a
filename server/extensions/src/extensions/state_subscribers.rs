//! Processes that subscribe to the agent's state or to the session's entries.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentese::types::WatchTopic;
use serde_json::{Map, Value};

use super::process::Process;

/// The subscribers, each with the state that it has last received.
#[derive(Default)]
pub(super) struct StateSubscribers {
    subscribers: Mutex<Vec<StateSubscriber>>,
    /// True if a notification is scheduled.
    pub is_scheduled: AtomicBool,
    /// Time of the last notification.
    last_notified: Mutex<Option<Instant>>,
}

/// A process with a subscription.
pub(super) struct StateSubscriber {
    pub process: Arc<Process>,
    /// The members of the state that the process has received. `None` if it does not subscribe to the state.
    pub state: Option<Map<String, Value>>,
    /// The entries that the process has received: session, number of entries, last leaf. `None` if it does not
    /// subscribe to entries.
    pub entries: Option<(String, usize, Option<String>)>,
}

impl StateSubscribers {
    pub fn subscribers(&self) -> std::sync::MutexGuard<'_, Vec<StateSubscriber>> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, process: &Arc<Process>, watched: &[WatchTopic]) {
        if watched.is_empty() {
            return;
        }
        self.subscribers().push(StateSubscriber {
            process: process.clone(),
            state: watched.contains(&WatchTopic::State).then(Map::new),
            entries: watched.contains(&WatchTopic::Entries).then(|| (String::new(), 0, None)),
        });
    }

    pub fn remove(&self, process: &Arc<Process>) {
        self.subscribers().retain(|subscriber| !Arc::ptr_eq(&subscriber.process, process));
    }

    pub fn last_notified(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.last_notified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn has_subscribers(&self) -> bool {
        !self.subscribers().is_empty()
    }
}
