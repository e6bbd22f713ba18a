//! What the cases of a run waited for, and what became of it: what an agent never says is not waited for as long in every
//! case.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// So many cases have to wait for something in vain, and none to see it, before others wait for it less long.
const ENOUGH: usize = 2;

/// How long they then wait, as a part of what they would.
const SHORTER: f64 = 0.2;

/// What was waited for, and what became of it. Clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct Waited(Arc<Mutex<HashMap<String, Fate>>>);

#[derive(Debug, Default)]
struct Fate {
    /// Whether it came, in any case.
    came: bool,
    /// How many cases waited for it in vain.
    in_vain: usize,
}

impl Waited {
    /// How long to wait for a frame. Two cases that differ in the id of their frames wait for the same thing.
    pub(super) fn limit(&self, pattern: &Value, limit: Duration) -> Duration {
        let never = self.with(pattern, |fate| !fate.came && fate.in_vain >= ENOUGH);
        if never { limit.mul_f64(SHORTER) } else { limit }
    }

    /// Notes whether a frame came.
    pub(super) fn note(&self, pattern: &Value, came: bool) {
        self.with(pattern, |fate| {
            fate.came |= came;
            fate.in_vain += usize::from(!came);
        });
    }

    fn with<T>(&self, pattern: &Value, look: impl FnOnce(&mut Fate) -> T) -> T {
        let mut pattern = pattern.clone();
        if let Some(id) = pattern.get_mut("id") {
            *id = Value::Null;
        }
        let mut fates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        look(fates.entry(pattern.to_string()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_came_in_no_case_is_waited_for_less_long_and_nothing_else_is() {
        const LIMIT: Duration = Duration::from_secs(20);
        const LESS: Duration = Duration::from_secs(4);
        let waited = Waited::default();
        let (end, start) = (json!({"type": "agent_end"}), json!({"type": "agent_start"}));
        waited.note(&end, false);
        assert_eq!(waited.limit(&end, LIMIT), LIMIT);
        waited.note(&end, false);
        assert_eq!((waited.limit(&end, LIMIT), waited.limit(&start, LIMIT)), (LESS, LIMIT));
        // It does come: the agent is slow.
        waited.note(&end, true);
        assert_eq!(waited.limit(&end, LIMIT), LIMIT);
        // Ids tell cases apart, not what is waited for.
        ["a", "b"].iter().for_each(|id| waited.note(&json!({"id": id, "success": true}), false));
        assert_eq!(waited.limit(&json!({"id": "c", "success": true}), LIMIT), LESS);
        assert_eq!(waited.limit(&json!({"id": "c", "success": false}), LIMIT), LIMIT);
    }
}
