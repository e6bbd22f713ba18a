//! A new session from a part of another.

use std::collections::HashMap;

use agentese::types::AgentMessage;

use super::body::{Body, Role};
use super::content::text;
use super::entry::Entry;
use super::entry_id::EntryId;
use super::{ForkError, Session, Store};

impl Session {
    /// The messages of the user, of every branch and in the order of the file, with their text; those
    /// without text are left out.
    pub fn fork_messages(&self) -> Vec<(EntryId, String)> {
        let _open = self.open_texts();
        let messages = self.entries.iter().filter_map(|entry| Some((entry.id().clone(), user_text(entry)?)));
        messages.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// A session with everything that led to a message of the user, and that message's text. Its
    /// entries keep their identifiers. It is kept in `store`, or in memory alone. Fails where there
    /// is no such message.
    pub fn fork(&self, entry: &str, store: Option<&Store>) -> Result<(Self, String), ForkError> {
        let position = self.tree.find(&self.entries, entry).ok_or(ForkError::Unknown)?;
        let text = user_text(&self.entries[position]).ok_or(ForkError::Unknown)?;
        let fork = self.with(self.kept(self.tree.parent(position)), store);
        Ok((fork, text))
    }

    /// A session with everything up to where this one stands. Its entries keep their identifiers. It is kept in `store`, or
    /// in memory alone.
    pub fn copy(&self, store: Option<&Store>) -> Self {
        let leaf = self.leaf().and_then(|leaf| self.tree.find(&self.entries, leaf.id().as_str()));
        self.with(self.kept(leaf), store)
    }

    /// A session that comes from this one and has those entries, with the names that they have now.
    fn with(&self, entries: Vec<Entry>, store: Option<&Store>) -> Self {
        let parent = self.file().map(|file| file.to_string_lossy().into_owned());
        let mut start = self.start.clone().parent(parent);
        start.cwd = self.cwd().to_owned();
        let mut fork = Self::in_memory(start);
        fork.take(entries);
        let labels = self.labels();
        let targets: Vec<EntryId> = fork.entries.iter().map(|entry| entry.id().clone()).collect();
        for target in targets {
            if let Some(label) = labels.get(&target) {
                fork.label(target.as_str(), Some(label));
            }
        }
        if let Some(store) = store {
            fork.keep_in(store);
            fork.save();
        }
        fork
    }

    /// The path to an entry without its labels, each entry under the one before it.
    fn kept(&self, leaf: Option<usize>) -> Vec<Entry> {
        let mut kept: Vec<Entry> = Vec::new();
        for position in self.tree.path(leaf) {
            let entry = &self.entries[position];
            if !matches!(entry.body(), Body::Label { .. }) {
                kept.push(entry.under(kept.last().map(Entry::id)));
            }
        }
        kept
    }

    /// The names that entries have now.
    fn labels(&self) -> HashMap<EntryId, String> {
        let mut labels = HashMap::new();
        for entry in &self.entries {
            match entry.body() {
                Body::Label { target, label: Some(label) } if !label.is_empty() => {
                    labels.insert(target.clone(), label.clone());
                }
                Body::Label { target, .. } => {
                    labels.remove(target);
                }
                _ => {}
            }
        }
        labels
    }
}

/// The text of a message of the user; none where the entry is something else.
fn user_text(entry: &Entry) -> Option<String> {
    let Body::Message(Role::User) = entry.body() else { return None };
    match &*entry.message()? {
        AgentMessage::User(message) => Some(text(&message.content)),
        _ => None,
    }
}
