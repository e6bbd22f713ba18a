//! The limit of open files: for this process as high as the system allows, for its commands as it was before.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A limit that is accepted by systems that refuse the hard one.
const MODEST: u64 = 10_240;

/// The limit with which this process was started.
static BEFORE: OnceLock<Option<u64>> = OnceLock::new();

/// Raises the soft limit to the hard one. Where the system refuses it stays as it was. Only the first call counts.
pub fn raise_limit() {
    BEFORE.get_or_init(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = [maximum, Some(maximum.unwrap_or(u64::MAX).min(MODEST))];
        let is_more = |limit: &Option<u64>| limit.is_none_or(|limit| current.is_some_and(|now| now < limit));
        let raised = wanted.into_iter().filter(is_more).any(|limit| set(limit, maximum));
        raised.then_some(current).flatten()
    });
}

/// The soft limit that commands are started with; none where it is that of this process.
pub(super) fn limit_of_commands() -> Option<u64> {
    BEFORE.get().copied().flatten()
}

/// Makes that the soft limit of this process.
pub(super) fn set_limit(limit: u64) {
    set(Some(limit), getrlimit(Resource::Nofile).maximum);
}

fn set(current: Option<u64>, maximum: Option<u64>) -> bool {
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).is_ok()
}
