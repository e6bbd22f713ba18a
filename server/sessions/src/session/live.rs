//! One conversation that is open.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::types::{AgentMessage, AssistantBlock, AssistantMessage, StopReason, SystemMessage};

use super::body::{Body, Role};
use super::context::Seen;
use super::entry::Entry;
use super::header::Header;
use super::load::Repairs;
use super::transcript::Kept;
use super::tree::Tree;
use super::writer::Writer;
use super::{Restored, Spoken, Start, Stats, context, told};

/// One conversation.
#[derive(Debug)]
pub struct Session {
    pub(super) start: Start,
    pub(super) header: Header,
    pub(super) entries: Vec<Entry>,
    pub(super) tree: Tree,
    pub(super) leaf: Option<usize>,
    /// The entries whose messages the model gets to see.
    pub(super) spoken: Vec<usize>,
    /// The entries whose messages are kept decoded.
    pub(super) kept: Kept,
    /// How many of them the newest compaction left: its summary and what it kept.
    pub(super) compacted: usize,
    /// What the model is told beforehand, as the newest compaction says it again or messages before it say it together:
    /// the first of those messages.
    pub(super) told_again: Option<Arc<AgentMessage>>,
    /// Messages that the model sees with other words than their entries have, by the positions of those.
    pub(super) edited: HashMap<usize, Arc<AgentMessage>>,
    /// Answers that were tried again: they stand in the file and not before the model.
    pub(super) forgotten: HashSet<usize>,
    pub(super) name: Option<String>,
    pub(super) file: Option<Writer>,
    pub(super) repairs: Repairs,
    pub(super) elsewhere: Option<Elsewhere>,
}

/// Where another agent keeps a session that is mirrored here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// Its identifier there.
    pub id: Option<String>,
    /// Its file there.
    pub file: Option<PathBuf>,
}

impl Session {
    /// Takes entries in place of its own.
    pub(super) fn take(&mut self, entries: Vec<Entry>) {
        self.tree = Tree::of(&entries);
        self.repairs.duplicate_ids = self.tree.duplicates;
        self.leaf = entries.len().checked_sub(1);
        self.name = entries.iter().rev().find_map(name);
        self.entries = entries;
        self.find_decoded();
        self.forgotten.clear();
        self.rebuild();
    }

    pub(super) fn rebuild(&mut self) {
        let path = self.tree.path(self.leaf);
        let Seen { spoken, told, compaction, edited } = context::seen(&self.entries, &path, &self.forgotten);
        self.edited = edited;
        self.compacted = spoken.iter().filter(|index| compaction.is_some_and(|at| **index <= at)).count();
        self.told_again = told;
        self.spoken = spoken.into_iter().map(|index| path[index]).collect();
    }

    /// Another agent keeps it: its identifier and its file are those that it has there. Nothing here writes that file.
    pub fn kept_elsewhere(&mut self, elsewhere: Elsewhere) {
        self.elsewhere = Some(elsewhere);
    }

    /// Its identifier.
    pub fn id(&self) -> &str {
        let elsewhere = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.id.as_deref());
        elsewhere.unwrap_or_else(|| self.header.id())
    }

    /// The path of its file, also before the file is there; none for one that is in memory alone.
    pub fn file(&self) -> Option<&Path> {
        let elsewhere = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.file.as_deref());
        elsewhere.or_else(|| self.file.as_ref().map(Writer::path))
    }

    /// The session that it came from, in the words of whoever said so.
    pub fn parent(&self) -> Option<&str> {
        self.header.parent()
    }

    /// What it is called, where it was named.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The directory in which it began.
    pub fn cwd(&self) -> &Path {
        self.header.cwd().map_or(&self.start.cwd, Path::new)
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All of its entries, of every branch, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry with that identifier.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.tree.find(&self.entries, id).map(|position| &self.entries[position])
    }

    /// The entry that the next one will follow.
    pub fn leaf(&self) -> Option<&Entry> {
        self.leaf.map(|position| &self.entries[position])
    }

    /// The entries of the active branch, from the root to the leaf.
    pub fn path(&self) -> Vec<&Entry> {
        self.tree.path(self.leaf).into_iter().map(|position| &self.entries[position]).collect()
    }

    /// What was wrong with its file when it was opened.
    pub fn repairs(&self) -> Repairs {
        self.repairs
    }

    /// How many of the entries in `spoken` stand there for what the newest compaction says again.
    pub(super) fn told_again(&self) -> usize {
        usize::from(self.told_again.is_some())
    }

    /// How many [`Session::messages`] there are; nothing is decoded.
    pub fn message_count(&self) -> usize {
        self.spoken.len()
    }

    /// What the model is told beforehand by now, where the conversation says so: its messages of that kind say it together.
    pub fn instructions(&self) -> Option<SystemMessage> {
        let told = |position: &&usize| matches!(self.entries[**position].body(), Body::Message(Role::System));
        let later = self.spoken.iter().skip(self.told_again()).filter(told);
        let later = later.filter_map(|position| self.entries[*position].message());
        let told: Vec<_> = self.told_again.iter().cloned().chain(later).collect();
        told::together(told.iter().map(|message| &**message))
    }

    /// The same as JSON texts, which share those of the entries where they can.
    pub fn message_texts(&self) -> Vec<FrameText> {
        let _open = self.open_texts();
        let text = |told: &Arc<AgentMessage>| serde_json::to_string(&**told).ok().map(FrameText::from);
        let told = self.told_again.iter().filter_map(text);
        let spoken = self.spoken.iter().skip(self.told_again());
        let said = |position: &usize| match self.edited.get(position) {
            Some(edited) => text(edited),
            None => self.entries[*position].message_text(),
        };
        told.chain(spoken.filter_map(said)).collect()
    }

    /// The same with the entries that they stand in.
    pub fn conversation(&self) -> Vec<Spoken> {
        let _open = self.open_texts();
        let told = self.told_again.as_ref().zip(self.spoken.first()).map(|(told, position)| Spoken {
            entry: self.entries[*position].id().clone(),
            message: told.clone(),
            details: None,
        });
        let said = |position: &usize| {
            let entry = &self.entries[*position];
            let details = match entry.body() {
                Body::Compaction(compaction) => compaction.details.clone(),
                _ => None,
            };
            Some(Spoken { entry: entry.id().clone(), message: self.said(*position)?, details })
        };
        told.into_iter().chain(self.spoken.iter().skip(self.told_again()).filter_map(said)).collect()
    }

    /// How many of [`Session::messages`] the newest compaction left: its summary and what it kept. What
    /// a provider counted for those is of a context that is no more.
    pub fn compacted_messages(&self) -> usize {
        self.compacted
    }

    /// Model and thinking level that the active branch names.
    pub fn restored(&self) -> Restored {
        Restored::of(self.path().into_iter())
    }

    /// Whether the model has answered on the active branch.
    pub fn has_assistant_message(&self) -> bool {
        self.messages_back().any(|message| matches!(*message, AgentMessage::Assistant(_)))
    }

    /// Begins again from its entries, as if it had been opened anew.
    pub fn reload(&mut self) {
        self.forgotten.clear();
        self.rebuild();
    }

    /// The text of the model's last answer, its blocks joined and trimmed; none where it has no
    /// text or there is no answer. An answer that was aborted before its first block does not count. If `skips_textless`, none
    /// without text counts, unless it ended normally.
    pub fn last_assistant_text(&self, skips_textless: bool) -> Option<String> {
        let has_text = |answer: &AssistantMessage| {
            let is_text = |block: &AssistantBlock| matches!(block, AssistantBlock::Text(text) if !text.text.trim().is_empty());
            answer.content.iter().any(is_text)
        };
        let is_it = |message: &Arc<AgentMessage>| match &**message {
            AgentMessage::Assistant(answer) if skips_textless => {
                answer.stop_reason == StopReason::Stop || has_text(answer)
            }
            AgentMessage::Assistant(answer) => {
                answer.stop_reason != StopReason::Aborted || !answer.content.is_empty()
            }
            _ => false,
        };
        let last = self.messages_back().find(is_it)?;
        let AgentMessage::Assistant(last) = &*last else { return None };
        let texts = last.content.iter().filter_map(|block| match block {
            AssistantBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        let text = texts.collect::<String>();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Counts, tokens and cost of what the model sees.
    pub fn stats(&self) -> Stats {
        let _open = self.open_texts();
        let later = self.spoken.iter().skip(self.told_again()).filter_map(|position| self.said(*position));
        Stats::of(self.told_again.iter().cloned().chain(later))
    }

    /// Counts, tokens and cost of all that stands in the file.
    pub fn stats_of_file(&self) -> Stats {
        let _open = self.open_texts();
        Stats::of_file(&self.entries)
    }
}

/// The name that an entry gives the session.
fn name(entry: &Entry) -> Option<String> {
    match entry.body() {
        Body::SessionInfo { name } => {
            let name = name.as_deref()?.trim();
            (!name.is_empty()).then(|| name.to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
