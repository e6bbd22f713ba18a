//! The subscribers of the agent's state and of the session.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentese::types::WatchTopic;
use serde_json::{Map, Value};

use super::process::Process;

/// The subscribers, with the last state sent to each.
#[derive(Default)]
pub(super) struct StateSubscribers {
    subscribers: Mutex<Vec<StateSubscriber>>,
    /// True if a notification is scheduled.
    pub is_scheduled: AtomicBool,
    /// Time of the last notification.
    last_notified: Mutex<Option<Instant>>,
}

/// A subscriber.
pub(super) struct StateSubscriber {
    pub process: Arc<Process>,
    /// The known members of the state; `None` without a subscription to the state.
    pub state: Option<Map<String, Value>>,
    /// The session, the number of its known entries, and the last known leaf.
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
