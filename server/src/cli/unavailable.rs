//! What a plan asks for and this version does not have. Each is refused by the name of its option: an
//! option that is silently ignored is worse than none.

use super::plan::{Plan, Task};

/// The first such thing, as a sentence for the user.
pub(super) fn unavailable(plan: &Plan) -> Option<String> {
    let asked = [(matches!(plan.task, Task::Export { .. }), "--export", "there is no export")];
    let (_, option, reason) = asked.into_iter().find(|(asked, ..)| *asked)?;
    Some(format!("{option} is not available in this version: {reason}"))
}
