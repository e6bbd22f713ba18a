//! Detection of an agent that speaks another dialect than the client. Its calls fail at once with the names of
//! both dialects.

use std::sync::Arc;

use super::shared::{Shared, Waiter};
use crate::error::Error;
use crate::framing::FrameText;
use crate::recognition::{any_of, other_dialects};
use crate::redact::{redact, redact_beginning};
use crate::route::RoutedFrame;
use crate::run_tracker::TrackerInput;
use crate::spec::Spec;
use crate::tap::Diagnostic;

/// Length of the excerpt of a frame in an error, in characters.
const EXCERPT_LENGTH: usize = 100;

/// Returns `true` if the frame belongs to the client's dialect, which shows that the agent speaks it.
pub(super) fn is_own(spec: &Spec, routed: &RoutedFrame) -> bool {
    match routed {
        RoutedFrame::Answer { .. } => true,
        RoutedFrame::Event { kind, .. } => kind.spec().is_some(),
        RoutedFrame::Dialog { method, .. } => spec.dialog(method).is_some(),
    }
}

impl Shared {
    /// Checks a frame before the first frame of the client's own dialect. If it belongs to another dialect,
    /// fails all calls and runs and returns `true`. Later calls fail too, until the agent sends a frame of the
    /// client's dialect.
    pub(super) fn check_other_dialect(self: &Arc<Self>, frame: &FrameText) -> bool {
        let names = other_dialects(self.spec, frame.as_str());
        if names.is_empty() {
            return false;
        }
        let (dialect, seen) = (self.spec.name, any_of(&names));
        self.diagnose(Diagnostic::OtherDialect { dialect, seen: seen.clone() });
        let error = Error::OtherDialect { dialect, seen, frame: excerpt(frame.as_str(), EXCERPT_LENGTH) };
        let (waiters, runs) = {
            let mut state = self.state();
            state.other_dialect = Some(error.clone());
            (state.pending.drain(), std::mem::take(&mut state.runs))
        };
        for waiter in waiters {
            match waiter {
                Waiter::Caller(caller) => drop(caller.send(Err(error.clone()))),
                Waiter::Run { token } => self.handle_state(token, TrackerInput::NoState),
            }
        }
        for run in runs {
            run.finish(Err(error.clone()));
        }
        true
    }

    /// Records that the agent speaks the client's dialect after all. The earlier text of another dialect came
    /// from another source.
    pub(super) fn confirm_own_dialect(&self) {
        self.state().other_dialect = None;
    }
}

/// Returns the beginning of a text, redacted.
pub(super) fn excerpt(text: &str, length: usize) -> String {
    let shown: String = text.chars().take(length).collect();
    match shown.len() < text.len() {
        true => redact_beginning(&shown).into_owned(),
        false => redact(&shown).into_owned(),
    }
}
