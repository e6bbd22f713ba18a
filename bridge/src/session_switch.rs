//! Progress of a change to another conversation, and filter for the agent's events during the change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use agentese_server_engine::engine::RemoteEvent;

/// The progress of a change to another conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SwitchStage {
    /// No change is in progress.
    Idle,
    /// A change was requested. The agent may still reject it, and may end its run first.
    Requested,
    /// The agent has changed the conversation. Its events are dropped, because queries return the data of the
    /// new conversation.
    Switched,
}

/// The shared progress of a change to another conversation.
#[derive(Clone, Default)]
pub(super) struct SessionSwitch(Arc<AtomicU8>);

impl SessionSwitch {
    pub fn enter(&self, stage: SwitchStage) {
        self.0.store(stage as u8, Ordering::Release);
    }

    pub fn is_at(&self, stage: SwitchStage) -> bool {
        self.0.load(Ordering::Acquire) == stage as u8
    }

    /// Returns `true` if an event is to be reported. After the request, all events are reported except names
    /// and settings, which may already belong to the new conversation.
    fn allows(&self, event: &RemoteEvent) -> bool {
        let is_of_session = matches!(
            event,
            RemoteEvent::SessionNamed(_) | RemoteEvent::ThinkingChanged(_) | RemoteEvent::ModelChanged(_)
        );
        self.is_at(SwitchStage::Idle) || (self.is_at(SwitchStage::Requested) && !is_of_session)
    }
}

/// Filter for the agent's events during a change to another conversation.
pub(super) struct SessionSwitchTracker {
    pub switch: SessionSwitch,
    /// The name that the agent reported last since the request; the next fields are the model and the
    /// thinking level. They are reported if the agent does not change the conversation.
    name: Option<RemoteEvent>,
    model: Option<RemoteEvent>,
    thinking: Option<RemoteEvent>,
}

impl SessionSwitchTracker {
    pub fn of(switch: SessionSwitch) -> Self {
        Self { switch, name: None, model: None, thinking: None }
    }

    /// Returns the event if it is to be reported now. Any other event is stored or dropped.
    pub fn filter(&mut self, event: RemoteEvent) -> Option<RemoteEvent> {
        if self.switch.allows(&event) {
            return Some(event);
        }
        match &event {
            _ if !self.switch.is_at(SwitchStage::Requested) => {}
            RemoteEvent::SessionNamed(_) => self.name = Some(event),
            RemoteEvent::ModelChanged(_) => self.model = Some(event),
            RemoteEvent::ThinkingChanged(_) => self.thinking = Some(event),
            _ => {}
        }
        None
    }

    /// Ends the change. Returns the stored events if the agent did not change the conversation.
    pub fn finish(&mut self) -> Vec<RemoteEvent> {
        let stays = self.switch.is_at(SwitchStage::Requested);
        self.switch.enter(SwitchStage::Idle);
        let kept = [self.name.take(), self.model.take(), self.thinking.take()];
        kept.into_iter().flatten().filter(|_| stays).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_events_pass_until_the_switch() {
        let moves = SessionSwitch::default();
        let (over, named) =
            (RemoteEvent::RunEnded { will_retry: false }, RemoteEvent::SessionNamed("there".to_owned()));
        assert!(moves.allows(&over) && moves.allows(&named));
        moves.enter(SwitchStage::Requested);
        assert!(moves.allows(&over) && !moves.allows(&named));
        moves.enter(SwitchStage::Switched);
        assert!(!moves.allows(&over) && !moves.allows(&named));
        moves.enter(SwitchStage::Idle);
        assert!(moves.allows(&named));
    }

    #[test]
    fn a_name_during_a_rejected_switch_is_reported_afterwards() {
        let mut news = SessionSwitchTracker::of(SessionSwitch::default());
        let named = |name: &str| RemoteEvent::SessionNamed(name.to_owned());
        for moved in [false, true] {
            news.switch.enter(SwitchStage::Requested);
            assert_eq!((news.filter(named("one")), news.filter(named("two"))), (None, None));
            if moved {
                news.switch.enter(SwitchStage::Switched);
                assert_eq!(news.filter(named("there")), None);
            }
            let told = news.finish();
            assert_eq!(told, if moved { Vec::new() } else { vec![named("two")] });
            assert_eq!(news.filter(named("three")), Some(named("three")));
        }
        assert!(news.finish().is_empty());
    }
}
