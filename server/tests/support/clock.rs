//! A clock that never waits and remembers for how long it was asked to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese_server::world::{Clock, SystemClock};
use futures::FutureExt;
use futures::future::BoxFuture;

/// Pauses that are over at once.
#[derive(Debug, Default, Clone)]
pub struct ImpatientClock(Arc<Mutex<Vec<Duration>>>);

impl ImpatientClock {
    /// The pauses so far.
    pub fn pauses(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

impl Clock for ImpatientClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.0.lock().unwrap().push(duration);
        tokio::task::yield_now().boxed()
    }
}

/// Pauses that nobody lives to see the end of.
#[derive(Debug, Default, Clone, Copy)]
pub struct EndlessClock;

impl Clock for EndlessClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        futures::future::pending().boxed()
    }
}
