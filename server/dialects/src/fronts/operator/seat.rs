//! Serialization of commands.

use std::sync::{Mutex, PoisonError};

use agentese::operator::OperatorPhase;
use agentese::serve::Refusal;
use tokio::sync::MutexGuard;

/// Serializes the commands of the agent. Short commands wait for each other. A turn and a compaction, which
/// take long, reject every command in the meantime.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// The long command in progress.
    phase: Mutex<Option<OperatorPhase>>,
    /// Held by a short command until its end, and by a long command until its start.
    order: tokio::sync::Mutex<()>,
}

/// Ends the phase of a long command.
#[derive(Debug)]
pub(super) struct Taken<'a>(&'a Seat);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

impl Seat {
    /// Starts a long command. Fails if another long command is in progress.
    pub async fn take(&self, phase: OperatorPhase) -> Result<Taken<'_>, Refusal> {
        let _order = self.wait().await?;
        self.set(Some(phase));
        Ok(Taken(self))
    }

    /// Starts a short command after the earlier short commands. Fails if a long command is in progress.
    pub async fn wait(&self) -> Result<MutexGuard<'_, ()>, Refusal> {
        self.refuse_if_busy()?;
        let order = self.order.lock().await;
        // The previous holder of the lock may have been a long command.
        self.refuse_if_busy()?;
        Ok(order)
    }

    /// Returns the long command in progress.
    pub fn phase(&self) -> Option<OperatorPhase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, phase: Option<OperatorPhase>) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
    }

    fn refuse_if_busy(&self) -> Result<(), Refusal> {
        self.phase().map_or(Ok(()), |phase| Err(busy(&phase)))
    }
}

/// Returns the rejection during a long command. The document prescribes this text.
fn busy(phase: &OperatorPhase) -> Refusal {
    let phase = phase.as_str();
    Refusal::new(format!("Agent is busy (phase='{phase}'). Wait for the current operation to finish."))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn who_comes_during_a_turn_is_refused_and_told_what_is_going_on() {
        let seat = Seat::default();
        let turn = seat.take(OperatorPhase::Turn).await.unwrap();
        let text = "Agent is busy (phase='turn'). Wait for the current operation to finish.";
        assert_eq!(seat.wait().await.unwrap_err().message, text);
        assert_eq!(seat.take(OperatorPhase::Compaction).await.unwrap_err().message, text);
        drop(turn);
        assert!(seat.take(OperatorPhase::Compaction).await.is_ok());
        assert_eq!(seat.phase(), None);
    }

    #[tokio::test]
    async fn short_commands_wait_for_each_other_and_a_turn_waits_for_them() {
        let seat = Seat::default();
        let short = seat.wait().await.unwrap();
        let mut second = std::pin::pin!(seat.wait());
        let mut turn = std::pin::pin!(seat.take(OperatorPhase::Turn));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(turn.as_mut().now_or_never().is_none());
        drop(short);
        drop(second.await.unwrap());
        let turn = turn.await.unwrap();
        assert_eq!(seat.phase(), Some(OperatorPhase::Turn));
        drop(turn);
    }

    #[tokio::test]
    async fn who_waited_behind_a_turn_that_has_begun_is_refused() {
        let seat = Seat::default();
        let short = seat.wait().await.unwrap();
        let mut turn = std::pin::pin!(seat.take(OperatorPhase::Turn));
        assert!(turn.as_mut().now_or_never().is_none());
        let mut late = std::pin::pin!(seat.wait());
        assert!(late.as_mut().now_or_never().is_none());
        drop(short);
        let turn = turn.await.unwrap();
        assert!(late.await.is_err());
        drop(turn);
    }
}
