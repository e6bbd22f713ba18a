//! The tabs and what was said to them: who has got what.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;

use super::log::{Entry, Log, Seat};

/// How many tabs are remembered, those that went away among them.
const SEATS: usize = 64;
/// How many ids of commands are remembered of each tab.
const IDS: usize = 4096;

/// A tab, or a program that has connected as one.
#[derive(Debug, Default)]
pub(super) struct Tab {
    /// The number of the first message that may be for it.
    joined: u64,
    /// How many messages for it are kept no longer.
    gone: u64,
    connections: u32,
    /// Whether it is a page, which can open the agent's session again, and no program.
    is_page: bool,
    pub seen: Seen,
}

/// The raw ids of the newest commands of a tab, which are not run twice.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ids: HashSet<Arc<str>>,
    /// The same, the oldest first.
    order: VecDeque<Arc<str>>,
}

impl Seen {
    /// Whether an id is remembered.
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Remembers an id that is not. The oldest one goes if there are too many.
    pub fn insert(&mut self, id: &str) {
        let id = Arc::<str>::from(id);
        self.ids.insert(id.clone());
        self.order.push_back(id);
        if self.order.len() > IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

impl Tab {
    pub fn is_here(&self) -> bool {
        self.connections > 0
    }
}

/// Where a tab begins to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub seat: Seat,
    /// The number of the next message.
    pub next: u64,
    /// Whether it goes on where it was.
    pub is_back: bool,
}

/// The tabs, and the messages that are kept for them.
#[derive(Debug)]
pub(super) struct Tabs {
    pub log: Log,
    tabs: HashMap<Seat, Tab>,
    names: HashMap<String, Seat>,
    last_seat: Seat,
}

impl Tabs {
    pub fn new(kept: usize) -> Self {
        Self { log: Log::new(kept), tabs: HashMap::new(), names: HashMap::new(), last_seat: 0 }
    }

    /// A tab comes, or comes back. `name` is what it is called, `have` how many messages it has got so far; without it,
    /// or where what it misses is not kept any longer, it begins anew.
    pub fn join(&mut self, name: &str, have: Option<u64>, is_page: bool) -> Place {
        let known = self.names.get(name).copied();
        let back = known.and_then(|seat| Some((seat, self.place(seat, have?)?)));
        if let Some((seat, next)) = back {
            if let Some(tab) = self.tabs.get_mut(&seat) {
                tab.connections += 1;
            }
            return Place { seat, next, is_back: true };
        }
        self.forget_one();
        self.last_seat += 1;
        let (seat, next) = (self.last_seat, self.log.end());
        self.tabs.insert(seat, Tab { joined: next, connections: 1, is_page, ..Tab::default() });
        self.names.insert(name.to_owned(), seat);
        Place { seat, next, is_back: false }
    }

    /// The number of the first message for a tab that it has not got; none where it is not kept.
    fn place(&self, seat: Seat, have: u64) -> Option<u64> {
        let tab = self.tabs.get(&seat)?;
        let left = have.checked_sub(tab.gone)?;
        let mut mine = self.log.from(tab.joined).filter(|(_, entry)| entry.to.includes(seat));
        match left.checked_sub(1) {
            None => Some(tab.joined.max(self.log.first())),
            Some(last) => Some(mine.nth(usize::try_from(last).ok()?)?.0 + 1),
        }
    }

    /// The tab that is away and came first is forgotten where there are too many.
    fn forget_one(&mut self) {
        if self.tabs.len() < SEATS {
            return;
        }
        let away = self.tabs.iter().filter(|(_, tab)| !tab.is_here()).map(|(seat, _)| *seat).min();
        if let Some(seat) = away {
            self.forget(seat);
        }
    }

    /// A tab will not come back.
    pub fn forget(&mut self, seat: Seat) {
        self.tabs.remove(&seat);
        self.names.retain(|_, known| *known != seat);
    }

    /// A tab's connection is over.
    pub fn leave(&mut self, seat: Seat) {
        if let Some(tab) = self.tabs.get_mut(&seat) {
            tab.connections = tab.connections.saturating_sub(1);
        }
    }

    /// Whether a tab is connected.
    pub fn is_here(&self, seat: Seat) -> bool {
        self.tabs.get(&seat).is_some_and(Tab::is_here)
    }

    pub fn get_mut(&mut self, seat: Seat) -> Option<&mut Tab> {
        self.tabs.get_mut(&seat)
    }

    /// The page among those that are here: the one that is wished for, or the first.
    pub fn choose(&self, wished: Option<Seat>) -> Option<Seat> {
        let here = |seat: &Seat| self.tabs.get(seat).is_some_and(|tab| tab.is_page && tab.is_here());
        wished.filter(here).or_else(|| self.tabs.keys().copied().filter(here).min())
    }

    /// Adds a message.
    pub fn push(&mut self, entry: Entry) {
        let tabs = &mut self.tabs;
        self.log.push(entry, |number, dropped| {
            for (seat, tab) in tabs.iter_mut() {
                tab.gone += u64::from(number >= tab.joined && dropped.to.includes(*seat));
            }
        });
    }

    /// The messages for a tab from a number on, and the number behind them. None where some of them are lost.
    pub fn read(&self, seat: Seat, from: u64, limit: usize) -> Option<(Vec<Utf8Bytes>, u64)> {
        self.tabs.get(&seat).filter(|_| from >= self.log.first())?;
        let (mut texts, mut bytes, mut next) = (Vec::new(), 0, from);
        for (number, entry) in self.log.from(from) {
            if bytes > limit {
                break;
            }
            next = number + 1;
            if entry.to.includes(seat) {
                bytes += entry.text.len();
                texts.push(entry.text.clone());
            }
        }
        Some((texts, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_those_that_went_away_is_forgotten() {
        let mut tabs = Tabs::new(1000);
        for number in 0..SEATS {
            let place = tabs.join(&number.to_string(), None, true);
            if number != 0 {
                tabs.leave(place.seat);
            }
        }
        tabs.join("one more", None, true);
        assert_eq!(tabs.tabs.len(), SEATS);
        assert!(tabs.join("0", Some(0), true).is_back);
        assert!(!tabs.join("1", Some(0), true).is_back);
    }

    #[test]
    fn the_newest_ids_of_a_tab_are_remembered() {
        let mut seen = Seen::default();
        (0..=IDS).for_each(|number| seen.insert(&number.to_string()));
        assert!(seen.has("1") && seen.has(&IDS.to_string()) && !seen.has("0"));
        assert_eq!((seen.ids.len(), seen.order.len()), (IDS, IDS));
    }
}
