//! An open session.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::types::{AgentMessage, AssistantBlock, AssistantMessage, StopReason, SystemMessage};

use super::body::{Body, Role};
use super::context::ModelContext;
use super::entry::Entry;
use super::header::Header;
use super::load::Repairs;
use super::message_snapshot::DecodedEntries;
use super::session_writer::SessionWriter;
use super::tree::Tree;
use super::{BranchSettings, EntryMessage, SessionOptions, Stats, context, system_messages};

/// An open session with its entries and its file.
#[derive(Debug)]
pub struct Session {
    pub(super) options: SessionOptions,
    pub(super) header: Header,
    pub(super) entries: Vec<Entry>,
    pub(super) tree: Tree,
    pub(super) leaf: Option<usize>,
    /// Positions of the entries whose messages the model sees.
    pub(super) visible: Vec<usize>,
    /// Positions of the entries whose decoded messages are in memory.
    pub(super) decoded_entries: DecodedEntries,
    /// Number of visible messages that the newest compaction left: its summary and the kept messages.
    pub(super) compacted_count: usize,
    /// System message that replaces the first visible message. It comes from the newest compaction, or is combined from
    /// several earlier system messages.
    pub(super) repeated_system_message: Option<Arc<AgentMessage>>,
    /// Messages with edited content, by the positions of their entries.
    pub(super) edited: HashMap<usize, Arc<AgentMessage>>,
    /// Positions of hidden entries, such as answers that were retried. The file has them, but the model does not see
    /// them.
    pub(super) hidden: HashSet<usize>,
    pub(super) name: Option<String>,
    pub(super) file: Option<SessionWriter>,
    pub(super) repairs: Repairs,
    pub(super) external: Option<ExternalSession>,
}

/// Identifier and file of a session that a remote agent stores, and that this session mirrors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExternalSession {
    /// Identifier at the remote agent.
    pub id: Option<String>,
    /// File of the remote agent.
    pub file: Option<PathBuf>,
}

impl Session {
    /// Replaces all entries of the session.
    pub(super) fn replace_entries(&mut self, entries: Vec<Entry>) {
        self.tree = Tree::of(&entries);
        self.repairs.duplicate_ids = self.tree.duplicates;
        self.leaf = entries.len().checked_sub(1);
        self.name = entries.iter().rev().find_map(name);
        self.entries = entries;
        self.find_decoded();
        self.hidden.clear();
        self.rebuild();
    }

    pub(super) fn rebuild(&mut self) {
        let path = self.tree.path(self.leaf);
        let ModelContext { indices, system_message, compaction, edited } =
            context::model_context(&self.entries, &path, &self.hidden);
        self.edited = edited;
        self.compacted_count =
            indices.iter().filter(|index| compaction.is_some_and(|at| **index <= at)).count();
        self.repeated_system_message = system_message;
        self.visible = indices.into_iter().map(|index| path[index]).collect();
    }

    /// Records that a remote agent stores the session. This process does not write the remote agent's file.
    pub fn set_external(&mut self, external: ExternalSession) {
        self.external = Some(external);
    }

    /// Returns the identifier of the session.
    pub fn id(&self) -> &str {
        let external = self.external.as_ref().and_then(|external| external.id.as_deref());
        external.unwrap_or_else(|| self.header.id())
    }

    /// Returns the path of the file, which need not exist yet; `None` if the session is only in memory.
    pub fn file(&self) -> Option<&Path> {
        let external = self.external.as_ref().and_then(|external| external.file.as_deref());
        external.or_else(|| self.file.as_ref().map(SessionWriter::path))
    }

    /// Returns the parent of the session as written in the header.
    pub fn parent(&self) -> Option<&str> {
        self.header.parent()
    }

    /// Returns the name of the session, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the directory in which the session began.
    pub fn cwd(&self) -> &Path {
        self.header.cwd().map_or(&self.options.cwd, Path::new)
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns all entries, of every branch, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the entry with that identifier.
    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.tree.find(&self.entries, id).map(|position| &self.entries[position])
    }

    /// Returns the entry that becomes the parent of the next entry.
    pub fn leaf(&self) -> Option<&Entry> {
        self.leaf.map(|position| &self.entries[position])
    }

    /// Returns the entries of the active branch, from the root to the leaf.
    pub fn path(&self) -> Vec<&Entry> {
        self.tree.path(self.leaf).into_iter().map(|position| &self.entries[position]).collect()
    }

    /// Returns the defects that were found in the file when it was opened.
    pub fn repairs(&self) -> Repairs {
        self.repairs
    }

    /// Returns the number of positions in `visible` that the repeated system message replaces: 0 or 1.
    pub(super) fn repeated_message_count(&self) -> usize {
        usize::from(self.repeated_system_message.is_some())
    }

    /// Returns the number of [`Session::messages`]. Does not decode them.
    pub fn message_count(&self) -> usize {
        self.visible.len()
    }

    /// Returns the current system message, which is combined from all system messages that the model sees. Returns
    /// `None` without a system message.
    pub fn instructions(&self) -> Option<SystemMessage> {
        let is_system =
            |position: &&usize| matches!(self.entries[**position].body(), Body::Message(Role::System));
        let later = self.visible.iter().skip(self.repeated_message_count()).filter(is_system);
        let later = later.filter_map(|position| self.entries[*position].message());
        let messages: Vec<_> = self.repeated_system_message.iter().cloned().chain(later).collect();
        system_messages::merge(messages.iter().map(|message| &**message))
    }

    /// Returns [`Session::messages`] as JSON texts. If possible, the texts of the entries are not copied.
    pub fn message_texts(&self) -> Vec<FrameText> {
        let _open = self.open_texts();
        let text = |message: &Arc<AgentMessage>| serde_json::to_string(&**message).ok().map(FrameText::from);
        let repeated = self.repeated_system_message.iter().filter_map(text);
        let visible = self.visible.iter().skip(self.repeated_message_count());
        let visible_text = |position: &usize| match self.edited.get(position) {
            Some(edited) => text(edited),
            None => self.entries[*position].message_text(),
        };
        repeated.chain(visible.filter_map(visible_text)).collect()
    }

    /// Returns [`Session::messages`], each with the id of its entry.
    pub fn conversation(&self) -> Vec<EntryMessage> {
        let _open = self.open_texts();
        let repeated =
            self.repeated_system_message.as_ref().zip(self.visible.first()).map(|(message, position)| {
                EntryMessage {
                    entry: self.entries[*position].id().clone(),
                    message: message.clone(),
                    details: None,
                }
            });
        let entry_message = |position: &usize| {
            let entry = &self.entries[*position];
            let details = match entry.body() {
                Body::Compaction(compaction) => compaction.details.clone(),
                _ => None,
            };
            Some(EntryMessage {
                entry: entry.id().clone(),
                message: self.visible_message(*position)?,
                details,
            })
        };
        repeated
            .into_iter()
            .chain(self.visible.iter().skip(self.repeated_message_count()).filter_map(entry_message))
            .collect()
    }

    /// Returns the number of [`Session::messages`] that the newest compaction left: its summary and the kept messages.
    /// A provider's token counts in these messages refer to the context before the compaction.
    pub fn compacted_messages(&self) -> usize {
        self.compacted_count
    }

    /// Returns the model and the thinking level of the active branch.
    pub fn branch_settings(&self) -> BranchSettings {
        BranchSettings::of(self.path().into_iter())
    }

    /// Returns true if the model has answered on the active branch.
    pub fn has_assistant_message(&self) -> bool {
        self.messages_rev().any(|message| matches!(*message, AgentMessage::Assistant(_)))
    }

    /// Selects the visible messages again, as when the session is opened. Hidden messages become visible.
    pub fn reload(&mut self) {
        self.hidden.clear();
        self.rebuild();
    }

    /// Returns the text of the model's last answer, trimmed. Returns `None` if there is no answer, or if it has no
    /// text. An answer that was aborted before its first block is skipped. With `skips_textless`, answers without text
    /// are also skipped, unless they ended normally.
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
        let last = self.messages_rev().find(is_it)?;
        let AgentMessage::Assistant(last) = &*last else { return None };
        let texts = last.content.iter().filter_map(|block| match block {
            AssistantBlock::Text(block) => Some(block.text.as_str()),
            _ => None,
        });
        let text = texts.collect::<String>();
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns counts, tokens and cost of the messages that the model sees.
    pub fn stats(&self) -> Stats {
        let _open = self.open_texts();
        let later = self
            .visible
            .iter()
            .skip(self.repeated_message_count())
            .filter_map(|position| self.visible_message(*position));
        Stats::of(self.repeated_system_message.iter().cloned().chain(later))
    }

    /// Returns counts, tokens and cost of all entries in the file.
    pub fn stats_of_file(&self) -> Stats {
        let _open = self.open_texts();
        Stats::of_file(&self.entries)
    }
}

/// Returns the name that an entry gives to the session.
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
