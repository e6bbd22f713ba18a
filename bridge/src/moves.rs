//! The switch of the agent to another conversation, and the filter of its events meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use agentese_server_engine::engine::Deed;

/// The progress of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    /// There is no switch.
    Staying,
    /// The switch was requested. The agent may reject it, or end its run first.
    Asked,
    /// The agent has switched. The data of the new conversation comes from queries.
    Moved,
}

/// A switch to another conversation.
#[derive(Clone, Default)]
pub(super) struct Move(Arc<AtomicU8>);

impl Move {
    pub fn enter(&self, stage: Stage) {
        self.0.store(stage as u8, Ordering::Release);
    }

    pub fn is_at(&self, stage: Stage) -> bool {
        self.0.load(Ordering::Acquire) == stage as u8
    }

    /// Returns `true` if the deed is to be reported. Before the decision of the agent, its run continues or
    /// ends. The name and the settings of the new conversation are transferred separately.
    fn lets(&self, deed: &Deed) -> bool {
        let is_of_session = matches!(deed, Deed::Named(_) | Deed::Thinks(_) | Deed::Asks(_));
        self.is_at(Stage::Staying) || (self.is_at(Stage::Asked) && !is_of_session)
    }
}

/// Filter of the agent's deeds during a switch.
pub(super) struct News {
    pub moves: Move,
    /// The last deeds about the name and the settings since the request. They are reported if the agent
    /// stays.
    named: Option<Deed>,
    asks: Option<Deed>,
    thinks: Option<Deed>,
}

impl News {
    pub fn of(moves: Move) -> Self {
        Self { moves, named: None, asks: None, thinks: None }
    }

    /// Returns the deed if it is to be reported now.
    pub fn pass(&mut self, deed: Deed) -> Option<Deed> {
        if self.moves.lets(&deed) {
            return Some(deed);
        }
        match &deed {
            _ if !self.moves.is_at(Stage::Asked) => {}
            Deed::Named(_) => self.named = Some(deed),
            Deed::Asks(_) => self.asks = Some(deed),
            Deed::Thinks(_) => self.thinks = Some(deed),
            _ => {}
        }
        None
    }

    /// Ends the switch. Returns the held deeds if the agent has stayed.
    pub fn arrived(&mut self) -> Vec<Deed> {
        let stays = self.moves.is_at(Stage::Asked);
        self.moves.enter(Stage::Staying);
        let kept = [self.named.take(), self.asks.take(), self.thinks.take()];
        kept.into_iter().flatten().filter(|_| stays).collect()
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

    #[test]
    fn a_name_told_while_the_agent_makes_up_its_mind_is_news_where_it_stays() {
        let mut news = News::of(Move::default());
        let named = |name: &str| Deed::Named(name.to_owned());
        for moved in [false, true] {
            news.moves.enter(Stage::Asked);
            assert_eq!((news.pass(named("one")), news.pass(named("two"))), (None, None));
            if moved {
                news.moves.enter(Stage::Moved);
                assert_eq!(news.pass(named("there")), None);
            }
            let told = news.arrived();
            assert_eq!(told, if moved { Vec::new() } else { vec![named("two")] });
            assert_eq!(news.pass(named("three")), Some(named("three")));
        }
        assert!(news.arrived().is_empty());
    }
}
