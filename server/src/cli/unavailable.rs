//! What a plan asks for and this version does not have. Each is refused by the name of its option: an
//! option that is silently ignored is worse than none.

use super::arguments::Updates;
use super::plan::{Plan, SessionChoice, Task};

/// The first such thing, as a sentence for the user.
pub(super) fn unavailable(plan: &Plan) -> Option<String> {
    const IN_MEMORY: &str = "sessions are kept in memory only";
    let in_memory = plan.session == SessionChoice::InMemory;
    let asked = [
        (plan.session_dir.is_some() && !in_memory, "--session-dir", IN_MEMORY),
        (plan.session == SessionChoice::Newest, "--continue", IN_MEMORY),
        (matches!(plan.session, SessionChoice::File(_) | SessionChoice::Id(_)), "--session", IN_MEMORY),
        (matches!(plan.task, Task::Export { .. }), "--export", "there is no export"),
        (plan.updates == Updates::Delta, "--updates delta", "updates are snapshots"),
        (plan.model.api_key.is_some(), "--api-key", "the embedded model needs no key, and there is no other"),
    ];
    let (_, option, reason) = asked.into_iter().find(|(asked, ..)| *asked)?;
    Some(format!("{option} is not available in this version: {reason}"))
}
