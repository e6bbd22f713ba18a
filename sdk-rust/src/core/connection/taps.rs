//! Whoever looks at what passes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::Shared;
use crate::numbers;
use crate::redact::redact;
use crate::tap::{Diagnostic, Direction, Tap};

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

    /// Reports the first number of a frame that is not read exactly. Frames are searched only if there is a tap.
    pub(super) fn report_inexact(&self, text: &str) {
        let number = self.settings.tap.as_ref().and_then(|_| numbers::inexact(text));
        if let Some(number) = number.map(str::to_owned) {
            self.diagnose(Diagnostic::InexactNumber { number });
        }
    }

    /// Shows a whole frame to the watcher within this library.
    pub(super) fn watch(&self, direction: Direction, text: &str) {
        if let Some(watch) = &self.settings.watch {
            watch(direction, text);
        }
    }
}
