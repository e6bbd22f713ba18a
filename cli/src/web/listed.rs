//! Sessions for the page.

use serde_json::{Value, json};

/// Limit of listed sessions; the latest ones are listed.
const MOST: usize = 200;

/// Returns the sessions of the working directory for agents of the dialect, in the format of
/// `agentese sessions --json`. Returns an empty list if they are unreadable.
pub(super) fn sessions(dialect: &str) -> Vec<Value> {
    let listed = crate::sessions::here(dialect).unwrap_or_default();
    listed.iter().take(MOST).map(|session| json!(session)).collect()
}
