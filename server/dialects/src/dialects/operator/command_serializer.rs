//! Serialization of commands.

use std::sync::{Mutex, PoisonError};

use agentese::operator::OperatorPhase;
use agentese::serve::CommandError;
use tokio::sync::MutexGuard;

/// Runs the commands of the agent one at a time. Short commands wait for each other. Turns and compactions take
/// long, so other commands are rejected during them.
#[derive(Debug, Default)]
pub(super) struct CommandSerializer {
    /// The long command in progress: a turn or a compaction.
    phase: Mutex<Option<OperatorPhase>>,
    /// Locked by a short command until it ends, and by a long command until it has started.
    order: tokio::sync::Mutex<()>,
}

/// Marks a long command as ended on drop.
#[derive(Debug)]
pub(super) struct PhaseGuard<'a>(&'a CommandSerializer);

impl Drop for PhaseGuard<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl CommandSerializer {
    /// Starts a long command. Fails if another long command is in progress.
    pub async fn enter_phase(&self, phase: OperatorPhase) -> Result<PhaseGuard<'_>, CommandError> {
        let _order = self.acquire().await?;
        self.set(Some(phase));
        Ok(PhaseGuard(self))
    }

    /// Starts a short command after the earlier short commands. Fails if a long command is in progress.
    pub async fn acquire(&self) -> Result<MutexGuard<'_, ()>, CommandError> {
        self.check_busy()?;
        let order = self.order.lock().await;
        // The previous holder of the lock may have been a long command.
        self.check_busy()?;
        Ok(order)
    }

    /// Returns the long command in progress.
    pub fn phase(&self) -> Option<OperatorPhase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, phase: Option<OperatorPhase>) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    fn check_busy(&self) -> Result<(), CommandError> {
        self.phase().map_or(Ok(()), |phase| Err(busy_error(&phase)))
    }
}

/// Returns the rejection of a command during a turn or a compaction. The document prescribes this text.
fn busy_error(phase: &OperatorPhase) -> CommandError {
    let phase = phase.as_str();
    CommandError::new(format!("Agent is busy (phase='{phase}'). Wait for the current operation to finish."))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn command_during_a_turn_is_rejected_with_the_phase() {
        let serializer = CommandSerializer::default();
        let turn = serializer.enter_phase(OperatorPhase::Turn).await.unwrap();
        let text = "Agent is busy (phase='turn'). Wait for the current operation to finish.";
        assert_eq!(serializer.acquire().await.unwrap_err().message, text);
        assert_eq!(serializer.enter_phase(OperatorPhase::Compaction).await.unwrap_err().message, text);
        drop(turn);
        assert!(serializer.enter_phase(OperatorPhase::Compaction).await.is_ok());
        assert_eq!(serializer.phase(), None);
    }

    #[tokio::test]
    async fn short_commands_are_sequential_and_a_turn_waits_for_them() {
        let serializer = CommandSerializer::default();
        let short = serializer.acquire().await.unwrap();
        let mut second = std::pin::pin!(serializer.acquire());
        let mut turn = std::pin::pin!(serializer.enter_phase(OperatorPhase::Turn));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(turn.as_mut().now_or_never().is_none());
        drop(short);
        drop(second.await.unwrap());
        let turn = turn.await.unwrap();
        assert_eq!(serializer.phase(), Some(OperatorPhase::Turn));
        drop(turn);
    }

    #[tokio::test]
    async fn command_queued_behind_a_started_turn_is_rejected() {
        let serializer = CommandSerializer::default();
        let short = serializer.acquire().await.unwrap();
        let mut turn = std::pin::pin!(serializer.enter_phase(OperatorPhase::Turn));
        assert!(turn.as_mut().now_or_never().is_none());
        let mut late = std::pin::pin!(serializer.acquire());
        assert!(late.as_mut().now_or_never().is_none());
        drop(short);
        let turn = turn.await.unwrap();
        assert!(late.await.is_err());
        drop(turn);
    }
}
