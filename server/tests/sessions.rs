//! Tests of session files: reading, writing and access rights.

#[path = "sessions/files.rs"]
mod files;
#[path = "sessions/lock.rs"]
mod lock;
#[path = "sessions/recorded.rs"]
mod recorded;
#[path = "sessions/store.rs"]
mod store;
#[path = "sessions/versions.rs"]
mod versions;

use std::path::Path;
use std::sync::Arc;

use agentese::types::AgentMessage;
use agentese_server::runtime::{NumberedIds, RandomIds, SystemClock};
use agentese_server::session::{Session, SessionOptions};
use serde_json::json;

/// Returns session options with consecutive ids.
fn start(cwd: &Path) -> SessionOptions {
    SessionOptions::new(cwd, Arc::new(SystemClock), Arc::new(NumberedIds::default()))
}

/// Returns session options with random ids.
fn random(cwd: &Path) -> SessionOptions {
    SessionOptions::new(cwd, Arc::new(SystemClock), Arc::new(RandomIds))
}

fn user(text: &str) -> Arc<AgentMessage> {
    let content = json!([{"type": "text", "text": text}]);
    Arc::new(serde_json::from_value(json!({"role": "user", "content": content, "timestamp": 1})).unwrap())
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Returns the entries of a session as lines.
fn entries(session: &Session) -> Vec<String> {
    session.entries().iter().map(|entry| entry.json().to_string()).collect()
}
