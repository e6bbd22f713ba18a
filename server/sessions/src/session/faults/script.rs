//! A conversation whose steps are the same in every test.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agentese::types::{AgentMessage, ThinkingLevel};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use super::MemoryDisk;
use crate::runtime::{Clock, NumberedIds};
use crate::session::{Compaction, OpenError, Session, SessionOptions};

pub(in crate::session) const PATH: &str = "/sessions/s.jsonl";

/// A clock that always returns the same time. Entries with the same time must keep their order.
struct FixedClock;

impl Clock for FixedClock {
    fn now_ms(&self) -> i64 {
        1_767_323_045_678
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

pub(in crate::session) fn start(disk: &MemoryDisk) -> SessionOptions {
    SessionOptions::new("/w", Arc::new(FixedClock), Arc::new(NumberedIds::default()))
        .with_storage(Arc::new(disk.clone()))
}

pub(in crate::session) fn create(disk: &MemoryDisk) -> Result<Session, OpenError> {
    Session::create_at(Path::new(PATH), start(disk))
}

pub(in crate::session) fn open(disk: &MemoryDisk) -> Result<Session, OpenError> {
    Session::open(Path::new(PATH), start(disk))
}

/// Creates a session as [`create`] does. Its file is open only during writes.
pub(in crate::session) fn create_closing(disk: &MemoryDisk) -> Result<Session, OpenError> {
    Session::create_at(Path::new(PATH), start(disk).close_between_writes())
}

/// Opens a session as [`open`] does. Its file is open only during writes.
pub(in crate::session) fn open_closing(disk: &MemoryDisk) -> Result<Session, OpenError> {
    Session::open(Path::new(PATH), start(disk).close_between_writes())
}

pub(in crate::session) fn user(text: &str) -> Arc<AgentMessage> {
    let content = json!([{"type": "text", "text": text}]);
    Arc::new(serde_json::from_value(json!({"role": "user", "content": content, "timestamp": 1})).unwrap())
}

pub(in crate::session) fn answer(text: &str) -> Arc<AgentMessage> {
    let zero = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0});
    let message = json!({
        "role": "assistant", "content": [{"type": "text", "text": text}], "api": "a", "provider": "p",
        "model": "m", "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": zero},
        "stopReason": "stop", "timestamp": 1,
    });
    Arc::new(serde_json::from_value(message).unwrap())
}

pub(in crate::session) fn compaction(kept: &str) -> Compaction {
    Compaction {
        summary: "what was said".to_owned(),
        first_kept_entry_id: kept.into(),
        tokens_before: 7,
        details: Some(json!({"readFiles": []})),
        usage: None,
        from_hook: Some(false),
        system_message: None,
    }
}

type Action = fn(&mut Session);

/// The steps of the conversation, in order.
pub(in crate::session) const ACTIONS: &[Action] = &[
    |session| session.record_model("p", "m"),
    |session| session.record_thinking_level(ThinkingLevel::Low),
    |session| session.rename("a name").unwrap(),
    |session| drop(session.append(user("one"))),
    |session| drop(session.append(answer("first"))),
    |session| drop(session.custom("state", Some(&json!({"n": 1})))),
    |session| drop(session.append(user("two\u{2028}€"))),
    |session| drop(session.append(answer("second"))),
    |session| {
        let kept = session.leaf().unwrap().id().clone();
        session.add_compaction(compaction(kept.as_str()));
    },
    |session| drop(session.append(user("three"))),
];

/// Returns the lines and the content of the file that the conversation produces without a fault.
pub(in crate::session) fn reference() -> (Vec<String>, String) {
    let disk = MemoryDisk::default();
    let mut session = create(&disk).unwrap();
    for act in ACTIONS {
        act(&mut session);
    }
    assert_eq!(session.storage_error(), None);
    let lines = session.entries().iter().map(|entry| entry.json().to_string()).collect();
    (lines, disk.read(Path::new(PATH)).unwrap())
}
