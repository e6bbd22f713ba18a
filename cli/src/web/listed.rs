//! The sessions that the page offers.

use serde_json::{Value, json};

/// How many sessions are offered, the newest.
const MOST: usize = 200;

/// The sessions of the working directory, as `agentese sessions --json` has them; none where they cannot be read.
pub(super) fn sessions() -> Vec<Value> {
    let listed = crate::sessions::here().unwrap_or_default();
    listed.iter().take(MOST).map(|session| json!(session)).collect()
}
