//! Remote agents that carry out and store sessions: one agent for each session.

use crate::session::SessionSummary;

/// The maximum length of a title that is made from a message, in characters.
const LONGEST_TITLE: usize = 80;

/// The reason why a request to a remote agent failed, as a sentence that the client can show.
pub type RemoteSessionError = String;

/// The abilities that all remote agents have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RemoteCapabilities {
    /// True if the agents open stored sessions.
    pub open: bool,
    /// True if the agents return the history of a session.
    pub history: bool,
    /// True if the agents list their sessions.
    pub list: bool,
    /// True if the agents delete sessions.
    pub delete: bool,
    /// True if the agents can change the model.
    pub models: bool,
    /// True if the agents can change the thinking level.
    pub thinking: bool,
}

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Id of the session.
    pub id: String,
    /// Working directory of the session.
    pub cwd: String,
    /// Name of the session, or the start of its first message.
    pub title: Option<String>,
    /// The time of the last message, as ISO text.
    pub modified: Option<String>,
}

impl From<SessionSummary> for ListedSession {
    fn from(record: SessionSummary) -> Self {
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
