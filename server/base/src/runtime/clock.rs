//! The source of the current time and of delays.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt;
use futures::future::BoxFuture;

/// Source of the current time and of delays.
pub trait Clock: Send + Sync {
    /// Returns the milliseconds since the Unix epoch. Never fails; a clock before 1970 gives 0.
    fn now_ms(&self) -> i64;

    /// Waits for `duration`. Dropping the future ends the wait.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The clock of this machine and the timer of the tokio runtime.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}
