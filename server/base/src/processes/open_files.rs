//! The limit of open files. It is raised for this process; commands get the original limit.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A limit for systems on which the soft limit cannot be as high as the hard limit.
const FALLBACK_LIMIT: u64 = 10_240;

/// The soft limit at the start of this process; `None` if it was not raised.
static INITIAL_LIMIT: OnceLock<Option<u64>> = OnceLock::new();

/// Raises the soft limit of this process to the hard limit. If the system refuses, tries 10240, and otherwise
/// leaves the limit unchanged. Only the first call has an effect.
pub fn raise_limit() {
    INITIAL_LIMIT.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = [maximum, Some(maximum.unwrap_or(u64::MAX).min(FALLBACK_LIMIT))];
        let is_more = |limit: &Option<u64>| limit.is_none_or(|limit| current.is_some_and(|now| now < limit));
        let raised = wanted.into_iter().filter(is_more).any(|limit| set(limit, maximum));
        raised.then_some(current).flatten()
    });
}

/// Returns the soft limit for commands, or `None` if commands inherit the limit of this process.
pub(super) fn limit_of_commands() -> Option<u64> {
    INITIAL_LIMIT.get().copied().flatten()
}

/// Sets the soft limit of this process.
pub(super) fn set_limit(limit: u64) {
    set(Some(limit), getrlimit(Resource::Nofile).maximum);
}

fn set(current: Option<u64>, maximum: Option<u64>) -> bool {
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok()
}
