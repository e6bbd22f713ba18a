//! Replacement of the current work without a gap.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::shared::Work;
use super::state::{Kind, Phase};
use super::{Begun, Engine, Input, PromptError, Shared};

/// An engine reserved for a prompt: the previous work has ended, and no other work can start. Dropping the value ends
/// the reservation.
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
    /// Stops the current work and reserves the engine in the same moment. Returns after the closing events. From the
    /// call on, the engine is busy, and an abort applies to the work of the reservation. Fails during a shutdown.
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
    /// Returns a token that an abort before the start cancels.
    pub fn aborted(&self) -> CancellationToken {
        self.work.aborted()
    }

    /// Accepts a prompt. Fails without a model or its key, and for a blank prompt.
    pub fn begin(self, input: Input) -> Result<Begun, PromptError> {
        let Self { shared, work } = self;
        input.check()?;
        let (said, message, files) = input.split(shared.options.clock.now_ms());
        shared.start(shared.state(), work, std::iter::once(message).chain(files).collect(), Some(said))
    }
}
