//! Stopping what is going on and beginning something else, without a gap in between.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::shared::Work;
use super::state::{Kind, Phase};
use super::{Begun, Engine, Input, PromptError, Shared};

/// The engine, reserved for a prompt: what was going on is over, and nobody else can begin. Dropping it gives the
/// reservation up.
#[must_use = "the engine waits for a prompt"]
pub struct Seat {
    shared: Arc<Shared>,
    work: Work,
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Seat").finish_non_exhaustive()
    }
}

impl Engine {
    /// Stops what is going on and takes its place in the same moment; returns when its closing events are sent. From the
    /// call on the engine counts as busy, and an abort is one of whatever is begun with the seat. Refused while the engine
    /// is shut down.
    pub async fn take_over(&self) -> Result<Seat, PromptError> {
        let (work, before) = {
            let mut state = self.shared.state();
            if state.closing {
                return Err(PromptError::Closing);
            }
            let before = state.work.take().map(|before| {
                before.abort.cancel();
                before.ended
            });
            let working = state.begin(Kind::Prompt, Phase::Running);
            (Work::new(self.shared.clone(), working), before)
        };
        if let Some(before) = before {
            before.cancelled().await;
        }
        Ok(Seat { shared: self.shared.clone(), work })
    }
}

impl Seat {
    /// Is cancelled when somebody stops what has not begun yet.
    pub fn aborted(&self) -> CancellationToken {
        self.work.aborted()
    }

    /// Accepts a prompt. Refused without a model or its key, and if it is blank.
    pub fn begin(self, input: Input) -> Result<Begun, PromptError> {
        let Self { shared, work } = self;
        input.check()?;
        let (said, message, files) = input.split(shared.options.clock.now_ms());
        shared.start(shared.state(), work, std::iter::once(message).chain(files).collect(), Some(said))
    }
}
