//! A clock that never waits and remembers for how long it was asked to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese_server::world::{Clock, SystemClock};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

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

/// Pauses that are over with the next tick of whoever holds the clock.
#[derive(Debug, Clone, Default)]
pub struct TickingClock(tokio::sync::watch::Sender<u64>);

impl TickingClock {
    /// Whoever waits now goes on.
    pub fn tick(&self) {
        self.0.send_modify(|tick| *tick += 1);
    }
}

impl Clock for TickingClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        let mut ticks = self.0.subscribe();
        async move { drop(ticks.changed().await) }.boxed()
    }
}

/// Pauses that are over when somebody says so, all of them at once.
#[derive(Debug, Clone, Default)]
pub struct HeldClock(CancellationToken);

impl HeldClock {
    /// Whoever waits goes on, and nobody waits from now on.
    pub fn release(&self) {
        self.0.cancel();
    }
}

impl Clock for HeldClock {
    fn now_ms(&self) -> i64 {
        SystemClock.now_ms()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        self.0.clone().cancelled_owned().boxed()
    }
}
