//! Log of the messages to the tabs, limited to the latest 64 MiB.
//!
//! Each tab reads at its own pace from its own position. Missed messages remain available, unless the tab was
//! away for too long.

use std::collections::VecDeque;

use axum::extract::ws::Utf8Bytes;

/// Limit of the log in bytes.
pub(super) const KEPT: usize = 64 * 1024 * 1024;

/// Number of a tab.
pub(super) type Seat = u32;

/// Receivers of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    /// All tabs.
    All,
    /// All tabs but one.
    AllBut(Seat),
    /// One tab.
    One(Seat),
}

impl To {
    pub fn includes(self, seat: Seat) -> bool {
        match self {
            To::All => true,
            To::AllBut(other) => other != seat,
            To::One(one) => one == seat,
        }
    }
}

/// Message of the log.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub to: To,
    pub text: Utf8Bytes,
    pub kind: Kind,
}

/// Kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Event of the agent.
    Event {
        /// Type of the event, if a newer event of that type contains its whole content.
        snapshot: Option<&'static str>,
    },
    /// Other frame of the agent: a response or a question.
    Frame,
    /// Message of the server with a frame: a line of another tab, or its response.
    Told,
    /// Other message of the server.
    Word,
}

impl Entry {
    fn snapshot(&self) -> Option<&'static str> {
        if let Kind::Event { snapshot } = self.kind { snapshot } else { None }
    }

    /// Returns `true` if the message belongs to the common history: an event, or an action of a tab.
    fn is_common(&self) -> bool {
        match self.kind {
            Kind::Event { .. } => !matches!(self.to, To::One(_)),
            Kind::Told => true,
            Kind::Frame | Kind::Word => false,
        }
    }
}

/// Earlier messages for a late tab.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub messages: Vec<Utf8Bytes>,
    /// `true` if messages are missing: after the first one, or because they were dropped.
    pub is_cut: bool,
}

/// Log of messages.
#[derive(Debug)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    /// Number of the first message.
    first: u64,
    bytes: usize,
    kept: usize,
}

impl Log {
    /// Creates a log of that many bytes, which always keeps the latest message.
    pub fn new(kept: usize) -> Self {
        Self { entries: VecDeque::new(), first: 0, bytes: 0, kept }
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
        while self.bytes > self.kept && self.entries.len() > 1 {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.text.len();
            dropped(self.first, &oldest);
            self.first += 1;
        }
    }

    /// Returns the messages from a number on, with their numbers.
    pub fn from(&self, number: u64) -> impl Iterator<Item = (u64, &Entry)> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let skipped = skipped.min(self.entries.len());
        self.entries
            .range(skipped..)
            .enumerate()
            .map(move |(at, entry)| (self.first + (skipped + at) as u64, entry))
    }

    /// Returns the history from a number on, for a late tab. It contains events, without superseded
    /// snapshots. It also contains the actions of other tabs, unless `events` is set. If it exceeds `limit`
    /// bytes, only the first message and the latest ones remain.
    pub fn common(&self, number: u64, events: bool, limit: usize) -> Common {
        let mut kept: Vec<&Entry> = Vec::new();
        let wanted = |entry: &Entry| entry.is_common() && !(events && entry.kind == Kind::Told);
        for (_, entry) in self.from(number).filter(|(_, entry)| wanted(entry)) {
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
        Common { messages, is_cut: cut > 1 || number < self.first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &'static str, snapshot: Option<&'static str>) -> Entry {
        Entry { to: To::All, text: Utf8Bytes::from_static(text), kind: Kind::Event { snapshot } }
    }

    #[test]
    fn the_oldest_messages_go_and_the_numbers_stay() {
        let mut log = Log::new(8);
        let mut gone = Vec::new();
        for text in ["aaaa", "bbbb", "cccc", "dddddddddddd"] {
            log.push(entry(text, None), |number, entry| gone.push((number, entry.text.to_string())));
        }
        assert_eq!(gone, [(0, "aaaa".to_owned()), (1, "bbbb".to_owned()), (2, "cccc".to_owned())]);
        assert_eq!((log.first(), log.end()), (3, 4));
        assert_eq!(log.from(0).map(|(number, _)| number).collect::<Vec<_>>(), [3]);
        assert_eq!(log.from(9).count(), 0);
    }

    #[test]
    fn of_snapshots_that_follow_each_other_the_last_one_counts() {
        let mut log = Log::new(KEPT);
        for (text, snapshot) in
            [("a", None), ("b1", Some("b")), ("b2", Some("b")), ("c", None), ("b3", Some("b"))]
        {
            log.push(entry(text, snapshot), |_, _| ());
        }
        let texts = |common: &Common| common.messages.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&log.common(0, false, usize::MAX)), ["a", "b2", "c", "b3"]);
        assert_eq!(log.common(4, true, usize::MAX).messages.len(), 1);
        // The first message remains, and the latest of the others.
        for (limit, count) in [(0, 1), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4)] {
            let common = log.common(0, false, limit);
            assert_eq!(common.is_cut, count < 4, "{limit}");
            let texts = texts(&common);
            assert_eq!(texts.len(), count, "{limit}");
            assert_eq!(
                (texts[0].as_str(), texts.last().unwrap().as_str()),
                ("a", if count == 1 { "a" } else { "b3" })
            );
        }
        let nothing = log.common(9, false, 0);
        assert!(nothing.messages.is_empty() && !nothing.is_cut);
    }
}
