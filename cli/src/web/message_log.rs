//! Log of the messages to the tabs, limited to the latest 64 MiB.
//!
//! Each tab reads at its own pace from its own position. A tab that was disconnected can read the missed
//! messages, as long as they are in the log.

use std::collections::VecDeque;

use axum::extract::ws::Utf8Bytes;

/// Limit of the log in bytes.
pub(super) const MAX_LOG_BYTES: usize = 64 * 1024 * 1024;

/// Id of a tab.
pub(super) type TabId = u32;

/// Receivers of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recipients {
    /// The message is for all tabs.
    All,
    /// The message is for all tabs except this one.
    AllBut(TabId),
    /// The message is for this tab only.
    One(TabId),
}

impl Recipients {
    pub fn includes(self, tab_id: TabId) -> bool {
        match self {
            Recipients::All => true,
            Recipients::AllBut(other) => other != tab_id,
            Recipients::One(one) => one == tab_id,
        }
    }
}

/// Message of the log.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub recipients: Recipients,
    pub text: Utf8Bytes,
    pub kind: MessageKind,
}

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// Event of the agent.
    Event {
        /// Type of the event if it is a snapshot, which the next event of that type replaces.
        snapshot: Option<&'static str>,
    },
    /// Other frame of the agent: a response or a question.
    Frame,
    /// Copy of another tab's line, or of its response.
    Mirrored,
    /// Other message of the server itself.
    Server,
}

impl Entry {
    fn snapshot(&self) -> Option<&'static str> {
        if let MessageKind::Event { snapshot } = self.kind { snapshot } else { None }
    }

    /// Returns `true` if the message is part of the common history of all tabs: an event, or an action of a
    /// tab.
    fn is_history(&self) -> bool {
        match self.kind {
            MessageKind::Event { .. } => !matches!(self.recipients, Recipients::One(_)),
            MessageKind::Mirrored => true,
            MessageKind::Frame | MessageKind::Server => false,
        }
    }
}

/// Earlier messages for a late tab.
#[derive(Debug, Default)]
pub(super) struct TabHistory {
    pub messages: Vec<Utf8Bytes>,
    /// `true` if messages are missing after the first one, or at the beginning because they are no longer in
    /// the log.
    pub is_cut: bool,
}

/// Log of the messages to all tabs.
#[derive(Debug)]
pub(super) struct MessageLog {
    entries: VecDeque<Entry>,
    /// Number of the oldest message in the log.
    first: u64,
    bytes: usize,
    max_bytes: usize,
}

impl MessageLog {
    /// Creates a log of at most `max_bytes` bytes. It keeps the latest message even if that one is longer.
    pub fn new(max_bytes: usize) -> Self {
        Self { entries: VecDeque::new(), first: 0, bytes: 0, max_bytes }
    }

    /// Returns the number of the first message in the log.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the next message.
    pub fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Appends a message. `dropped` is called with each message that leaves the log.
    pub fn push(&mut self, entry: Entry, mut dropped: impl FnMut(u64, &Entry)) {
        self.bytes += entry.text.len();
        self.entries.push_back(entry);
        while self.bytes > self.max_bytes && self.entries.len() > 1 {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.text.len();
            dropped(self.first, &oldest);
            self.first += 1;
        }
    }

    /// Returns the messages with this number and later ones, each with its number.
    pub fn entries_from(&self, number: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let skipped = skipped.min(self.entries.len());
        self.entries
            .range(skipped..)
            .enumerate()
            .map(move |(at, entry)| (self.first + (skipped + at) as u64, entry))
    }

    /// Returns the history from a number on, for a late tab. Snapshots that a newer event replaces are omitted.
    /// With `events`, the actions of other tabs are omitted too. If the history exceeds `limit` bytes, only the
    /// first message and the latest ones remain.
    pub fn history(&self, number: u64, events: bool, limit: usize) -> TabHistory {
        let mut kept: Vec<&Entry> = Vec::new();
        let wanted = |entry: &Entry| entry.is_history() && !(events && entry.kind == MessageKind::Mirrored);
        for (_, entry) in self.entries_from(number).filter(|(_, entry)| wanted(entry)) {
            let snapshot = entry.snapshot();
            if snapshot.is_some() && kept.last().is_some_and(|last| last.snapshot() == snapshot) {
                kept.pop();
            }
            kept.push(entry);
        }
        let mut left = limit.saturating_sub(kept.first().map_or(0, |first| first.text.len()));
        let newest = kept.iter().skip(1).rev().take_while(|entry| {
            let fits = entry.text.len() <= left;
            left = left.saturating_sub(entry.text.len());
            fits
        });
        let cut = kept.len() - newest.count();
        let shown = kept.iter().take(1).chain(kept.iter().skip(cut.max(1)));
        let messages = shown.map(|entry| entry.text.clone()).collect();
        TabHistory { messages, is_cut: cut > 1 || number < self.first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &'static str, snapshot: Option<&'static str>) -> Entry {
        Entry {
            recipients: Recipients::All,
            text: Utf8Bytes::from_static(text),
            kind: MessageKind::Event { snapshot },
        }
    }

    #[test]
    fn the_oldest_messages_are_dropped_and_the_numbers_stay() {
        let mut log = MessageLog::new(8);
        let mut gone = Vec::new();
        for text in ["aaaa", "bbbb", "cccc", "dddddddddddd"] {
            log.push(entry(text, None), |number, entry| gone.push((number, entry.text.to_string())));
        }
        assert_eq!(gone, [(0, "aaaa".to_owned()), (1, "bbbb".to_owned()), (2, "cccc".to_owned())]);
        assert_eq!((log.first(), log.end()), (3, 4));
        assert_eq!(log.entries_from(0).map(|(number, _)| number).collect::<Vec<_>>(), [3]);
        assert_eq!(log.entries_from(9).count(), 0);
    }

    #[test]
    fn only_the_last_of_successive_snapshots_remains() {
        let mut log = MessageLog::new(MAX_LOG_BYTES);
        for (text, snapshot) in
            [("a", None), ("b1", Some("b")), ("b2", Some("b")), ("c", None), ("b3", Some("b"))]
        {
            log.push(entry(text, snapshot), |_, _| ());
        }
        let texts = |common: &TabHistory| common.messages.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&log.history(0, false, usize::MAX)), ["a", "b2", "c", "b3"]);
        assert_eq!(log.history(4, true, usize::MAX).messages.len(), 1);
        // The first message remains, and the latest of the others.
        for (limit, count) in [(0, 1), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4)] {
            let common = log.history(0, false, limit);
            assert_eq!(common.is_cut, count < 4, "{limit}");
            let texts = texts(&common);
            assert_eq!(texts.len(), count, "{limit}");
            assert_eq!(
                (texts[0].as_str(), texts.last().unwrap().as_str()),
                ("a", if count == 1 { "a" } else { "b3" })
            );
        }
        let nothing = log.history(9, false, 0);
        assert!(nothing.messages.is_empty() && !nothing.is_cut);
    }
}
