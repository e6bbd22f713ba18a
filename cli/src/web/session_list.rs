//! List of stored sessions for the page.

use serde_json::{Value, json};

/// Maximum number of listed sessions; the latest ones are listed.
const MAX_SESSIONS: usize = 200;

/// Returns the sessions of the working directory for agents of the dialect, in the format of
/// `agentese sessions --json`. Returns an empty list if they are unreadable.
pub(super) fn sessions(dialect: &str) -> Vec<Value> {
    let listed = crate::sessions::in_working_directory(dialect).unwrap_or_default();
    listed.iter().take(MAX_SESSIONS).map(|session| json!(session)).collect()
}
