//! Clocks that never wait, and record the requested pauses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese_server::runtime::{Clock, SystemClock};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A clock whose pauses end at once. It records them.
#[derive(Debug, Default, Clone)]
pub struct ImpatientClock(Arc<Mutex<Vec<Duration>>>);

impl ImpatientClock {
    /// Returns the pauses that were requested so far.
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

/// A clock whose pauses never end.
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

/// A clock whose pauses end with the next tick.
#[derive(Debug, Clone, Default)]
pub struct TickingClock(tokio::sync::watch::Sender<u64>);

impl TickingClock {
    /// Ends all current pauses.
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

/// A clock whose pauses all end when the test releases them.
#[derive(Debug, Clone, Default)]
pub struct HeldClock(CancellationToken);

impl HeldClock {
    /// Ends all current and future pauses.
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
