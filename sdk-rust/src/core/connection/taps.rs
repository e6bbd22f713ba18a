//! Calls of the tap and of the internal watcher.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::shared::Shared;
use crate::numbers;
use crate::redact::redact;
use crate::tap::{Diagnostic, Direction, Tap};

/// Maximum length of frames that are always searched for inexact numbers, in bytes.
const SEARCH_LIMIT: usize = 4096;

impl Shared {
    fn with_tap(&self, call: impl FnOnce(&dyn Tap)) {
        let Some(tap) = &self.settings.tap else { return };
        if self.tap_broken.load(Ordering::Relaxed) {
            return;
        }
        if catch_unwind(AssertUnwindSafe(|| call(tap.as_ref()))).is_err() {
            self.tap_broken.store(true, Ordering::Relaxed);
            tracing::error!("the tap panicked and is not called again");
        }
    }

    pub(super) fn tap_frame(&self, direction: Direction, text: &str) {
        self.with_tap(|tap| {
            if tap.wants_frames() {
                tap.frame(direction, &redact(text));
            }
        });
    }

    pub(super) fn diagnose(&self, diagnostic: Diagnostic) {
        tracing::debug!(?diagnostic, "odd input");
        self.with_tap(|tap| tap.diagnostic(&diagnostic));
    }

    /// Reports the first number of a frame that Rust cannot represent exactly. Does nothing without a tap. Long
    /// frames are searched only if the tap receives frames, because a search takes longer than reading.
    pub(super) fn report_inexact(&self, text: &str) {
        let mut is_searched = false;
        self.with_tap(|tap| is_searched = text.len() <= SEARCH_LIMIT || tap.wants_frames());
        let number = is_searched.then(|| numbers::inexact(text)).flatten();
        if let Some(number) = number.map(str::to_owned) {
            self.diagnose(Diagnostic::InexactNumber { number });
        }
    }

    /// Passes a whole frame to the watcher, a function inside this library.
    pub(super) fn watch(&self, direction: Direction, text: &str) {
        if let Some(watch) = &self.settings.watch {
            watch(direction, text);
        }
    }
}
