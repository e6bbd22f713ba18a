//! Where the agent is on its way from one conversation to another, and what of the things it tells meanwhile is news.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use agentese_server::engine::Deed;

/// How far the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// It stays where it is.
    Staying,
    /// It was asked to move: it may refuse, or end its run before.
    Asked,
    /// It has moved: what it tells of the conversation there is asked for.
    Moved,
}

/// A move to another conversation.
#[derive(Clone, Default)]
pub(super) struct Move(Arc<AtomicU8>);

impl Move {
    pub fn enter(&self, stage: Stage) {
        self.0.store(stage as u8, Ordering::Release);
    }

    fn is_at(&self, stage: Stage) -> bool {
        self.0.load(Ordering::Acquire) == stage as u8
    }

    /// Whether that is to be told. While the agent makes up its mind, its run goes on or ends; the name and the settings of
    /// where it moves to are taken over in another way.
    pub fn lets(&self, deed: &Deed) -> bool {
        let is_of_session = matches!(deed, Deed::Named(_) | Deed::Thinks(_) | Deed::Asks(_));
        self.is_at(Stage::Staying) || (self.is_at(Stage::Asked) && !is_of_session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_of_until_the_agent_has_moved() {
        let moves = Move::default();
        let (over, named) = (Deed::RunOver { will_retry: false }, Deed::Named("there".to_owned()));
        assert!(moves.lets(&over) && moves.lets(&named));
        moves.enter(Stage::Asked);
        assert!(moves.lets(&over) && !moves.lets(&named));
        moves.enter(Stage::Moved);
        assert!(!moves.lets(&over) && !moves.lets(&named));
        moves.enter(Stage::Staying);
        assert!(moves.lets(&named));
    }
}
