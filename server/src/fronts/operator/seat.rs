//! One command at a time.

use std::sync::{Mutex, PoisonError};

use agentese::operator::OperatorPhase;
use agentese::serve::Refusal;
use tokio::sync::MutexGuard;

/// What the agent is doing, as far as commands that exclude each other go. Short ones wait for each other; a turn and
/// a compaction, which take long, refuse whatever comes meanwhile.
#[derive(Debug, Default)]
pub(super) struct Seat {
    /// The long command that is going on.
    phase: Mutex<Option<OperatorPhase>>,
    /// Held by a short command until it is done, and by a long one until it has begun.
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
    /// Begins a long command. Refused while another one is going on.
    pub async fn take(&self, phase: OperatorPhase) -> Result<Taken<'_>, Refusal> {
        let _order = self.wait().await?;
        self.set(Some(phase));
        Ok(Taken(self))
    }

    /// Begins a short command, behind those that came before it. Refused while a long one is going on.
    pub async fn wait(&self) -> Result<MutexGuard<'_, ()>, Refusal> {
        self.refuse_if_busy()?;
        let order = self.order.lock().await;
        // What stood before it in the line may have been a long one.
        self.refuse_if_busy()?;
        Ok(order)
    }

    /// The long command that is going on.
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

/// The text is the document's.
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
