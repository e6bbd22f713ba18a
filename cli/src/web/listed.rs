//! The sessions that the page offers.

use serde_json::{Value, json};

/// How many sessions are offered, the newest.
const MOST: usize = 200;

/// The sessions of the working directory that agents of the dialect have kept; none where they cannot be read. Each is as
/// `agentese sessions --json` has it.
pub(super) fn sessions(dialect: &str) -> Vec<Value> {
    let listed = crate::sessions::here(dialect).unwrap_or_default();
    listed.iter().take(MOST).map(|session| json!(session)).collect()
}
