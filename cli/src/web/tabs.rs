//! Tabs with their positions in the log.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;

use super::log::{Entry, Log, Seat};

/// Limit of remembered tabs, including disconnected ones.
const SEATS: usize = 64;
/// Limit of remembered command ids per tab.
const IDS: usize = 4096;

/// Query of a tab's address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// `tab`: name of the tab.
    pub name: String,
    /// `have`: number of received messages.
    pub have: Option<u64>,
    /// `all=1`: requests the whole history, and not only the current run.
    pub all: bool,
}

/// Tab, or a program that connects as one.
#[derive(Debug, Default)]
pub(super) struct Tab {
    /// Number of the first message that may be for the tab.
    joined: u64,
    /// Number of its messages that left the log.
    gone: u64,
    connections: u32,
    /// `true` for a page, which can reopen the agent's session, and false for a program.
    is_page: bool,
    pub seen: Seen,
}

/// Raw ids of the latest commands of a tab, which are not executed twice.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ids: HashSet<Arc<str>>,
    /// Same ids, oldest first.
    order: VecDeque<Arc<str>>,
}

impl Seen {
    /// Returns `true` if an id is remembered.
    pub fn has(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Adds a new id. The oldest one is dropped if there are too many.
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

/// Start position of a tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub seat: Seat,
    /// Number of the next message.
    pub next: u64,
    /// `true` if the tab resumes at its last position.
    pub is_back: bool,
}

/// Tabs, and the log of their messages.
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

    /// Connects or reconnects a tab. `name` is its name, `have` the number of received messages. Without
    /// `have`, or if missed messages left the log, the tab starts over.
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

    /// Returns the number of the first unread message of a tab; `None` if it left the log.
    fn place(&self, seat: Seat, have: u64) -> Option<u64> {
        let tab = self.tabs.get(&seat)?;
        let left = have.checked_sub(tab.gone)?;
        let mut mine = self.log.from(tab.joined).filter(|(_, entry)| entry.to.includes(seat));
        match left.checked_sub(1) {
            None => Some(tab.joined.max(self.log.first())),
            Some(last) => Some(mine.nth(usize::try_from(last).ok()?)?.0 + 1),
        }
    }

    /// Forgets the oldest disconnected tab if there are too many.
    fn forget_one(&mut self) {
        if self.tabs.len() < SEATS {
            return;
        }
        let away = self.tabs.iter().filter(|(_, tab)| !tab.is_here()).map(|(seat, _)| *seat).min();
        if let Some(seat) = away {
            self.forget(seat);
        }
    }

    /// Forgets a tab.
    pub fn forget(&mut self, seat: Seat) {
        self.tabs.remove(&seat);
        self.names.retain(|_, known| *known != seat);
    }

    /// Disconnects a tab.
    pub fn leave(&mut self, seat: Seat) {
        if let Some(tab) = self.tabs.get_mut(&seat) {
            tab.connections = tab.connections.saturating_sub(1);
        }
    }

    /// Returns `true` if a tab is connected.
    pub fn is_here(&self, seat: Seat) -> bool {
        self.tabs.get(&seat).is_some_and(Tab::is_here)
    }

    pub fn get_mut(&mut self, seat: Seat) -> Option<&mut Tab> {
        self.tabs.get_mut(&seat)
    }

    /// Returns the preferred page if it is connected, else the first connected one.
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

    /// Returns the messages for a tab from a number on, and the following number. Returns `None` if some
    /// messages are lost.
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
