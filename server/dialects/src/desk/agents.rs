//! Remote agents that carry out and store sessions: one agent for each session.

use std::path::Path;

use futures::future::BoxFuture;

use super::Parts;
use crate::session::Record;

/// The maximum length of the title of a session without a name, in characters.
const LONGEST_TITLE: usize = 80;

/// A sentence for the client with the reason of a failure.
pub type Trouble = String;

/// Starts an agent for each session of a client, and knows their stored sessions.
pub trait Agents: Send + Sync {
    /// Returns the common abilities of the agents.
    fn abilities(&self) -> Abilities;

    /// Starts an agent in a directory, for a new session or for the stored session with that id. Returns
    /// `None` if no such session exists. Awaits `before` after the session is found and before the agent
    /// opens it, so that `before` can close the session elsewhere.
    fn join<'a>(
        &'a self,
        cwd: &'a Path,
        session: Option<&'a str>,
        before: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<Option<Parts>, Trouble>>;

    /// Ends the agent of a session, if there is one.
    fn leave<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()>;

    /// Returns the stored sessions, newest first, optionally of one directory.
    fn list<'a>(&'a self, cwd: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Kept>, Trouble>>;

    /// Deletes a session that no agent has open. Returns false if there is none.
    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, Trouble>>;
}

/// The abilities of agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// The agents open stored sessions.
    pub open: bool,
    /// The agents return the history of a session.
    pub history: bool,
    /// The agents list their sessions.
    pub list: bool,
    /// The agents delete sessions.
    pub delete: bool,
    /// The agents can change the model.
    pub models: bool,
    /// The agents can change the thinking level.
    pub thinking: bool,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its id.
    pub id: String,
    /// Its working directory.
    pub cwd: String,
    /// Its name, or the start of its first message.
    pub title: Option<String>,
    /// The time of the last message, as ISO text.
    pub modified: Option<String>,
}

impl From<Record> for Kept {
    fn from(record: Record) -> Self {
        let first = record.first_message.map(|text| {
            let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
            line.chars().take(LONGEST_TITLE).collect()
        });
        Self {
            id: record.id,
            cwd: record.cwd.unwrap_or_default(),
            title: record.name.or(first),
            modified: Some(record.modified),
        }
    }
}
