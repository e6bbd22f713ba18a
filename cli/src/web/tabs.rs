//! Tabs of the page, and their positions in the log.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;

use super::message_log::{Entry, MessageLog, TabId};

/// Limit of remembered tabs, including disconnected ones.
const MAX_TABS: usize = 64;
/// Limit of remembered command ids for each tab.
const MAX_RECENT_IDS: usize = 4096;

/// Parameters in the query part of a tab's address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TabQuery {
    /// `tab`: name of the tab.
    pub name: String,
    /// `have`: number of messages that the tab has received before.
    pub have: Option<u64>,
    /// `all=1`: requests the whole history instead of the current run only.
    pub all: bool,
}

/// Browser tab with the page, or a program that connects in the same way.
#[derive(Debug, Default)]
pub(super) struct Tab {
    /// Number of the next message at the first connection of the tab. Earlier messages are not for this tab.
    joined: u64,
    /// Number of messages for this tab that are no longer in the log.
    dropped: u64,
    connections: u32,
    /// `true` for a page, which can reopen the agent's session; `false` for a program.
    is_page: bool,
    pub recent_ids: RecentIds,
}

/// Ids of a tab's latest commands, as raw JSON. A command with a remembered id is not executed again.
#[derive(Debug, Default)]
pub(super) struct RecentIds {
    ids: HashSet<Arc<str>>,
    /// The same ids, oldest first.
    order: VecDeque<Arc<str>>,
}

impl RecentIds {
    /// Returns `true` if an id is remembered.
    pub fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Adds a new id. The oldest one is dropped if there are too many.
    pub fn insert(&mut self, id: &str) {
        let id = Arc::<str>::from(id);
        self.ids.insert(id.clone());
        self.order.push_back(id);
        if self.order.len() > MAX_RECENT_IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }
}

impl Tab {
    pub fn is_connected(&self) -> bool {
        self.connections > 0
    }
}

/// Position at which a tab starts to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TabPosition {
    pub tab_id: TabId,
    /// Number of the next message.
    pub next: u64,
    /// `true` if the tab continues after the last message that it received.
    pub is_resumed: bool,
}

/// Tabs, and the log of their messages.
#[derive(Debug)]
pub(super) struct Tabs {
    pub log: MessageLog,
    tabs: HashMap<TabId, Tab>,
    names: HashMap<String, TabId>,
    last_id: TabId,
}

impl Tabs {
    pub fn new(max_bytes: usize) -> Self {
        Self { log: MessageLog::new(max_bytes), tabs: HashMap::new(), names: HashMap::new(), last_id: 0 }
    }

    /// Connects or reconnects a tab. `name` is its name, `have` the number of received messages. If `have` is
    /// absent, or missed messages are no longer in the log, the tab starts over.
    pub fn join(&mut self, name: &str, have: Option<u64>, is_page: bool) -> TabPosition {
        let known = self.names.get(name).copied();
        let back = known.and_then(|tab_id| Some((tab_id, self.resume_position(tab_id, have?)?)));
        if let Some((tab_id, next)) = back {
            if let Some(tab) = self.tabs.get_mut(&tab_id) {
                tab.connections += 1;
            }
            return TabPosition { tab_id, next, is_resumed: true };
        }
        self.forget_oldest();
        self.last_id += 1;
        let (tab_id, next) = (self.last_id, self.log.end());
        self.tabs.insert(tab_id, Tab { joined: next, connections: 1, is_page, ..Tab::default() });
        self.names.insert(name.to_owned(), tab_id);
        TabPosition { tab_id, next, is_resumed: false }
    }

    /// Returns the number of the first message that the tab has not received, or `None` if it is no longer in
    /// the log.
    fn resume_position(&self, tab_id: TabId, have: u64) -> Option<u64> {
        let tab = self.tabs.get(&tab_id)?;
        let left = have.checked_sub(tab.dropped)?;
        let mut mine =
            self.log.entries_from(tab.joined).filter(|(_, entry)| entry.recipients.includes(tab_id));
        match left.checked_sub(1) {
            None => Some(tab.joined.max(self.log.first())),
            Some(last) => Some(mine.nth(usize::try_from(last).ok()?)?.0 + 1),
        }
    }

    /// Removes the oldest disconnected tab if there are too many tabs.
    fn forget_oldest(&mut self) {
        if self.tabs.len() < MAX_TABS {
            return;
        }
        let away = self.tabs.iter().filter(|(_, tab)| !tab.is_connected()).map(|(tab_id, _)| *tab_id).min();
        if let Some(tab_id) = away {
            self.forget(tab_id);
        }
    }

    /// Removes all data about a tab.
    pub fn forget(&mut self, tab_id: TabId) {
        self.tabs.remove(&tab_id);
        self.names.retain(|_, known| *known != tab_id);
    }

    /// Marks a tab as disconnected.
    pub fn leave(&mut self, tab_id: TabId) {
        if let Some(tab) = self.tabs.get_mut(&tab_id) {
            tab.connections = tab.connections.saturating_sub(1);
        }
    }

    /// Returns `true` if a tab is connected.
    pub fn is_connected(&self, tab_id: TabId) -> bool {
        self.tabs.get(&tab_id).is_some_and(Tab::is_connected)
    }

    pub fn get_mut(&mut self, tab_id: TabId) -> Option<&mut Tab> {
        self.tabs.get_mut(&tab_id)
    }

    /// Returns the preferred page if it is connected, else the first connected page.
    pub fn choose_page(&self, preferred: Option<TabId>) -> Option<TabId> {
        let here =
            |tab_id: &TabId| self.tabs.get(tab_id).is_some_and(|tab| tab.is_page && tab.is_connected());
        preferred.filter(here).or_else(|| self.tabs.keys().copied().filter(here).min())
    }

    /// Appends a message to the log.
    pub fn push(&mut self, entry: Entry) {
        let tabs = &mut self.tabs;
        self.log.push(entry, |number, dropped| {
            for (tab_id, tab) in tabs.iter_mut() {
                tab.dropped += u64::from(number >= tab.joined && dropped.recipients.includes(*tab_id));
            }
        });
    }

    /// Returns the messages for a tab from the number `from` on, and the number of the next message to read.
    /// Returns `None` if some of them are no longer in the log.
    pub fn read(&self, tab_id: TabId, from: u64, limit: usize) -> Option<(Vec<Utf8Bytes>, u64)> {
        self.tabs.get(&tab_id).filter(|_| from >= self.log.first())?;
        let (mut texts, mut bytes, mut next) = (Vec::new(), 0, from);
        for (number, entry) in self.log.entries_from(from) {
            if bytes > limit {
                break;
            }
            next = number + 1;
            if entry.recipients.includes(tab_id) {
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
    fn the_oldest_disconnected_tab_is_forgotten() {
        let mut tabs = Tabs::new(1000);
        for number in 0..MAX_TABS {
            let place = tabs.join(&number.to_string(), None, true);
            if number != 0 {
                tabs.leave(place.tab_id);
            }
        }
        tabs.join("one more", None, true);
        assert_eq!(tabs.tabs.len(), MAX_TABS);
        assert!(tabs.join("0", Some(0), true).is_resumed);
        assert!(!tabs.join("1", Some(0), true).is_resumed);
    }

    #[test]
    fn the_newest_ids_of_a_tab_are_remembered() {
        let mut seen = RecentIds::default();
        (0..=MAX_RECENT_IDS).for_each(|number| seen.insert(&number.to_string()));
        assert!(seen.contains("1") && seen.contains(&MAX_RECENT_IDS.to_string()) && !seen.contains("0"));
        assert_eq!((seen.ids.len(), seen.order.len()), (MAX_RECENT_IDS, MAX_RECENT_IDS));
    }
}
