//! New sessions from a part of another session.

use std::collections::HashMap;

use agentese::types::AgentMessage;

use super::body::{Body, Role};
use super::content::text;
use super::entry::Entry;
use super::entry_id::EntryId;
use super::{ForkError, Session, Store};

impl Session {
    /// Returns the user's messages of all branches, as id and text, in the order of the file. Messages without text are
    /// left out.
    pub fn fork_messages(&self) -> Vec<(EntryId, String)> {
        let _open = self.open_texts();
        let messages = self.entries.iter().filter_map(|entry| Some((entry.id().clone(), user_text(entry)?)));
        messages.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// Creates a session with the entries before a message of the user, and returns it with the text of this message.
    /// Entries keep their identifiers. Without `store`, the new session is only in memory. Fails if `entry` is not a
    /// message of the user.
    pub fn fork(&self, entry: &str, store: Option<&Store>) -> Result<(Self, String), ForkError> {
        let position = self.tree.find(&self.entries, entry).ok_or(ForkError::Unknown)?;
        let text = user_text(&self.entries[position]).ok_or(ForkError::Unknown)?;
        let fork = self.fork_with(self.path_without_labels(self.tree.parent(position)), store);
        Ok((fork, text))
    }

    /// Creates a session with the entries of the active branch. Entries keep their identifiers. Without `store`, the
    /// new session is only in memory.
    pub fn copy(&self, store: Option<&Store>) -> Self {
        let leaf = self.leaf().and_then(|leaf| self.tree.find(&self.entries, leaf.id().as_str()));
        self.fork_with(self.path_without_labels(leaf), store)
    }

    /// Creates a session with these entries and their current labels. This session becomes its parent.
    fn fork_with(&self, entries: Vec<Entry>, store: Option<&Store>) -> Self {
        let parent = self.file().map(|file| file.to_string_lossy().into_owned());
        let mut start = self.options.clone().parent(parent);
        start.cwd = self.cwd().to_owned();
        let mut fork = Self::in_memory(start);
        fork.replace_entries(entries);
        let labels = self.labels();
        let targets: Vec<EntryId> = fork.entries.iter().map(|entry| entry.id().clone()).collect();
        for target in targets {
            if let Some(label) = labels.get(&target) {
                fork.label(target.as_str(), Some(label));
            }
        }
        if let Some(store) = store {
            fork.store_in(store);
            fork.save();
        }
        fork
    }

    /// Returns the path to an entry, without label entries. The remaining entries are linked to each other.
    fn path_without_labels(&self, leaf: Option<usize>) -> Vec<Entry> {
        let mut kept: Vec<Entry> = Vec::new();
        for position in self.tree.path(leaf) {
            let entry = &self.entries[position];
            if !matches!(entry.body(), Body::Label { .. }) {
                kept.push(entry.with_parent(kept.last().map(Entry::id)));
            }
        }
        kept
    }

    /// Returns the current label of each labelled entry.
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

/// Returns the text of a message of the user, or `None` for other entries.
fn user_text(entry: &Entry) -> Option<String> {
    let Body::Message(Role::User) = entry.body() else { return None };
    match &*entry.message()? {
        AgentMessage::User(message) => Some(text(&message.content)),
        _ => None,
    }
}
