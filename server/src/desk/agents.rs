//! Sessions that other agents carry out and keep: one agent for each.

use std::path::Path;

use futures::future::BoxFuture;

use super::Parts;
use crate::session::Record;

/// The longest title of a session without a name, in characters.
const LONGEST_TITLE: usize = 80;

/// A sentence for the client: why something cannot be done.
pub type Trouble = String;

/// Starts an agent for each session of a client, and knows the sessions that they keep.
pub trait Agents: Send + Sync {
    /// What all of them can do.
    fn abilities(&self) -> Abilities;

    /// Starts an agent in a directory: for a new session, or for the one of that id. None where it has no such session.
    /// `before` is awaited when it is known that the agent has that session, and before it opens it: it ends what has it open.
    fn join<'a>(
        &'a self,
        cwd: &'a Path,
        session: Option<&'a str>,
        before: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Result<Option<Parts>, Trouble>>;

    /// Ends the agent of a session, where there is one.
    fn leave<'a>(&'a self, session: &'a str) -> BoxFuture<'a, ()>;

    /// The sessions that they keep, newest first; those of a directory where one is named.
    fn list<'a>(&'a self, cwd: Option<&'a str>) -> BoxFuture<'a, Result<Vec<Kept>, Trouble>>;

    /// Deletes a session that no agent has open; false where there is none.
    fn delete<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, Trouble>>;
}

/// What agents can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abilities {
    /// They open sessions that are kept.
    pub open: bool,
    /// They tell what was said in them.
    pub history: bool,
    /// It is known which sessions they keep.
    pub list: bool,
    /// They delete sessions.
    pub delete: bool,
    /// Another model can be chosen.
    pub models: bool,
    /// It can be chosen how hard the model thinks.
    pub thinking: bool,
}

/// A session that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its id.
    pub id: String,
    /// Its working directory.
    pub cwd: String,
    /// Its name, or the beginning of what was said first.
    pub title: Option<String>,
    /// When somebody spoke last, as ISO text.
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
