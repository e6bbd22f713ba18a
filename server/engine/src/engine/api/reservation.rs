//! Replacement of the current work by a prompt. No other work can start between the two.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::engine::shared::Work;
use crate::engine::state::{WorkKind, WorkPhase};
use crate::engine::{AcceptedPrompt, Engine, PromptError, Shared, UserInput};

/// An engine reserved for a prompt: the previous work has ended, and no other work can start. Dropping the value ends
/// the reservation.
#[must_use = "the engine waits for a prompt"]
pub struct EngineReservation {
    shared: Arc<Shared>,
    work: Work,
}

impl std::fmt::Debug for EngineReservation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("EngineReservation").finish_non_exhaustive()
    }
}

impl Engine {
    /// Stops the current work and reserves the engine at once. Returns after the closing events of the stopped
    /// work. From the call on, the engine is busy, and an abort stops the reserved work. Fails during a shutdown.
    pub async fn abort_and_reserve(&self) -> Result<EngineReservation, PromptError> {
        let (work, previous) = {
            let mut state = self.shared.state();
            if state.closing {
                return Err(PromptError::Closing);
            }
            let previous = state.work.take().map(|previous| {
                previous.abort.cancel();
                previous.ended
            });
            let working = state.start_work(WorkKind::Prompt, WorkPhase::Running);
            (Work::new(self.shared.clone(), working), previous)
        };
        if let Some(previous) = previous {
            previous.cancelled().await;
        }
        Ok(EngineReservation { shared: self.shared.clone(), work })
    }
}

impl EngineReservation {
    /// Returns a token that is cancelled if an abort happens before the reserved work starts.
    pub fn abort_token(&self) -> CancellationToken {
        self.work.abort_token()
    }

    /// Submits a prompt: forwards it to the remote agent, if there is one, and then accepts it. Fails without a model or
    /// its key, if the prompt is blank, or if the remote agent rejects it.
    pub async fn submit(self, input: UserInput) -> Result<AcceptedPrompt, PromptError> {
        let delivery_guard = self.shared.forward_reserved(&input).await?;
        Ok(self.accept_prompt(input)?.with_delivery_guard(delivery_guard))
    }

    fn accept_prompt(self, input: UserInput) -> Result<AcceptedPrompt, PromptError> {
        let Self { shared, work } = self;
        input.check()?;
        let (original_input, message, files) = input.split(shared.options.clock.now_ms());
        shared.accept_run(
            shared.state(),
            work,
            std::iter::once(message).chain(files).collect(),
            Some(original_input),
        )
    }
}
