//! One conversation that is open.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use agentese::framing::FrameText;
use agentese::types::{
    AgentMessage, AssistantBlock, CustomMessageBuilder, InputContent, StopReason, SystemMessage,
    ThinkingLevel, ToolResultMessage,
};
use serde_json::Value;

use super::body::{Body, BranchSummary, Compaction, Role};
use super::context::Seen;
use super::entry::{Entry, EntryId, Place};
use super::error::{EmptyName, StorageTrouble};
use super::header::Header;
use super::load::{Repairs, unique};
use super::text::Text;
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
    /// Those messages, once somebody has looked at all of them.
    pub(super) messages: OnceLock<Vec<Arc<AgentMessage>>>,
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
        self.forgotten.clear();
        self.rebuild();
    }

    fn rebuild(&mut self) {
        let path = self.tree.path(self.leaf);
        let Seen { spoken, told, compaction, edited } = context::seen(&self.entries, &path, &self.forgotten);
        self.edited = edited;
        self.compacted = spoken.iter().filter(|index| compaction.is_some_and(|at| **index <= at)).count();
        self.told_again = told;
        self.spoken = spoken.into_iter().map(|index| path[index]).collect();
        self.messages = OnceLock::new();
    }

    /// Brings what the file lacks to it.
    pub(super) fn save(&mut self) {
        let spoken = |entry: &Entry| matches!(entry.body(), Body::Message(Role::User | Role::Assistant));
        let Some(file) = &mut self.file else { return };
        if file.is_begun() || self.entries.iter().rev().any(spoken) {
            let lines = lines(&self.header, &self.entries, file.handed());
            file.write(lines);
        }
    }

    /// Puts a file that was opened in order, where it has to be replaced, before anybody else works on it.
    pub(super) fn save_here(&mut self) {
        if let Some(file) = self.file.as_mut().filter(|file| file.is_begun()) {
            file.write_here(lines(&self.header, &self.entries, 0));
        }
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

    /// What the model gets to see, in order. The first time this decodes what nobody has looked at.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        self.messages.get_or_init(|| {
            let message = |position: &usize| self.said(*position).cloned();
            let told = self.told_again.iter().cloned();
            told.chain(self.spoken.iter().skip(self.told_again()).filter_map(message)).collect()
        })
    }

    /// The message that the model sees of an entry.
    fn said(&self, position: usize) -> Option<&Arc<AgentMessage>> {
        self.edited.get(&position).or_else(|| self.entries[position].message())
    }

    /// How many of the entries in `spoken` stand there for what the newest compaction says again.
    fn told_again(&self) -> usize {
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
        told::together(self.told_again.iter().chain(later).map(|message| &**message))
    }

    /// The messages from the last one back, each decoded when it is reached.
    fn messages_back(&self) -> impl Iterator<Item = &Arc<AgentMessage>> {
        self.spoken.iter().rev().filter_map(|position| self.said(*position))
    }

    /// The same as JSON texts, which share those of the entries where they can.
    pub fn message_texts(&self) -> Vec<FrameText> {
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
            Some(Spoken { entry: entry.id().clone(), message: self.said(*position)?.clone(), details })
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

    /// An identifier for a message that is on its way; [`Session::append_as`] adds it under that one.
    pub fn reserve(&self) -> EntryId {
        self.place(self.now()).id
    }

    /// Adds a message at the end. Once somebody has said something it goes to the file: it is handed to the system
    /// when this returns, or where a thread writes ([`Start::beside`]) when [`Session::written`] says so. See
    /// [`Session::storage_trouble`].
    pub fn append(&mut self, message: Arc<AgentMessage>) -> EntryId {
        self.append_as(self.reserve(), message)
    }

    /// As [`Session::append`], under an identifier that was reserved.
    pub fn append_as(&mut self, id: EntryId, message: Arc<AgentMessage>) -> EntryId {
        let time = match &*message {
            // Its entry has no other place for the time of the message.
            AgentMessage::Custom(custom) => custom.timestamp,
            _ => self.now(),
        };
        let place = Place { id, ..self.place(time) };
        self.add(Entry::of_message(place, message))
    }

    /// Names it; white space around the name is dropped. Fails where nothing is left, and changes
    /// nothing then.
    pub fn rename(&mut self, name: &str) -> Result<(), EmptyName> {
        let name = name.trim();
        if name.is_empty() {
            return Err(EmptyName);
        }
        self.name = Some(name.to_owned());
        self.note(Body::SessionInfo { name: self.name.clone() });
        Ok(())
    }

    /// The next prompt goes to this model.
    pub fn model_changed(&mut self, provider: &str, model_id: &str) {
        self.note(Body::ModelChange { provider: provider.to_owned(), model_id: model_id.to_owned() });
    }

    /// The model thinks this hard from now on.
    pub fn thinking_changed(&mut self, level: ThinkingLevel) {
        self.note(Body::ThinkingLevelChange { level: level.as_str().to_owned() });
    }

    /// A summary takes the place of the messages before the one that it names. What the model is told beforehand is told
    /// again at that time.
    pub fn compacted(&mut self, mut compaction: Compaction) -> EntryId {
        let place = self.place(self.now());
        if let Some(told) = compaction.system_message.as_mut().and_then(Value::as_object_mut) {
            told.insert("timestamp".to_owned(), place.time.into());
        }
        let id = self.add(Entry::new(place, Body::Compaction(compaction), None));
        self.rebuild();
        id
    }

    /// What was said on a branch that was left.
    pub fn branch_summary(&mut self, summary: BranchSummary) -> EntryId {
        self.note(Body::BranchSummary(summary))
    }

    /// State of an extension.
    pub fn custom(&mut self, custom_type: &str, data: Option<&Value>) -> EntryId {
        let place = self.place(self.now());
        self.add(Entry::new(place, Body::Custom { custom_type: custom_type.to_owned() }, data))
    }

    /// A message of an extension.
    pub fn custom_message(
        &mut self,
        custom_type: &str,
        content: InputContent,
        display: bool,
        details: Option<Value>,
    ) -> EntryId {
        let mut message =
            CustomMessageBuilder { custom_type: custom_type.into(), content, display, timestamp: self.now() }
                .build();
        message.details = details.into();
        self.append(Arc::new(message.into()))
    }

    /// Names an entry, or takes its name away. None where there is no such entry.
    pub fn label(&mut self, target: &str, label: Option<&str>) -> Option<EntryId> {
        let target = self.entry(target)?.id().clone();
        Some(self.note(Body::Label { target, label: label.map(str::to_owned) }))
    }

    /// Takes the last answer from what the model sees, with the results of its calls, before it is asked for again; what
    /// else came after it, such as a command's output, stays. The file keeps it, as pi does.
    pub fn forget_last_answer(&mut self) {
        let message = |at: usize| self.entries[self.spoken[at]].message().map(|message| &**message);
        let is_answer = |at: &usize| matches!(message(*at), Some(AgentMessage::Assistant(_)));
        let Some(last) = (0..self.spoken.len()).rev().find(is_answer) else { return };
        let goes = |at: &usize| {
            matches!(message(*at), Some(AgentMessage::Assistant(_) | AgentMessage::ToolResult(_)))
        };
        let gone: Vec<usize> = (last..self.spoken.len()).filter(goes).collect();
        self.compacted -= gone.iter().filter(|at| **at < self.compacted).count();
        let gone: HashSet<usize> = gone.into_iter().map(|at| self.spoken[at]).collect();
        self.spoken.retain(|position| !gone.contains(position));
        self.messages = OnceLock::new();
        self.forgotten.extend(gone);
    }

    /// Writes down what was taken from what the model sees, so that it stays so when the session is opened again. Gives the
    /// entries that say so, as they stand in the file.
    pub fn note_edits(&mut self) -> Vec<FrameText> {
        let mut gone: Vec<_> = std::mem::take(&mut self.forgotten).into_iter().collect();
        gone.sort_unstable();
        let targets: Vec<_> = gone.into_iter().map(|position| self.entries[position].id().clone()).collect();
        let note = |target| {
            let id = self.note(Body::ContextEdit { target, content: None });
            self.entry(id.as_str()).map(Entry::json)
        };
        targets.into_iter().filter_map(note).collect()
    }

    /// As [`Session::forget_last_answer`], where that one was aborted.
    pub fn forget_cut_answer(&mut self) {
        let last = self.messages_back().find_map(|message| match &**message {
            AgentMessage::Assistant(answer) => Some(answer.stop_reason),
            _ => None,
        });
        if last == Some(StopReason::Aborted) {
            self.forget_last_answer();
        }
    }

    /// The newest result of a tool on the active branch that was no error.
    pub fn last_result(&self, tool: &str) -> Option<&ToolResultMessage> {
        let good = |result: &&ToolResultMessage| result.tool_name == tool && !result.is_error;
        self.path().into_iter().rev().find_map(|entry| match &**entry.message()? {
            AgentMessage::ToolResult(result) => Some(result).filter(good),
            _ => None,
        })
    }

    fn now(&self) -> i64 {
        self.start.clock.now_ms()
    }

    pub(super) fn place(&self, time: i64) -> Place {
        let mut new_id = || self.start.ids.entry();
        let id = unique(&mut new_id, |id| self.tree.find(&self.entries, id).is_some());
        Place { id: id.into(), parent_id: self.leaf().map(|leaf| leaf.id().clone()), time }
    }

    fn note(&mut self, body: Body) -> EntryId {
        let place = self.place(self.now());
        self.add(Entry::new(place, body, None))
    }

    fn add(&mut self, entry: Entry) -> EntryId {
        let id = entry.id().clone();
        if entry.speaks() && !matches!(entry.body(), Body::Compaction(_)) {
            self.spoken.push(self.entries.len());
            if let Some(messages) = self.messages.get_mut() {
                messages.extend(entry.message().cloned());
            }
        }
        self.entries.push(entry);
        self.tree.push(&self.entries);
        self.leaf = Some(self.entries.len() - 1);
        self.save();
        id
    }

    /// Whether the model has answered on the active branch.
    pub fn has_assistant_message(&self) -> bool {
        self.messages_back().any(|message| matches!(**message, AgentMessage::Assistant(_)))
    }

    /// Whether its file is there.
    pub fn is_persisted(&self) -> bool {
        self.file.as_ref().is_some_and(Writer::is_there)
    }

    /// Looks whether a path leads to its file: to open it a second time would be refused. What is given blocks.
    pub fn is_at(&self, path: &Path) -> impl FnOnce() -> bool + Send + use<> {
        let is = self.file.as_ref().map(|file| file.is(self.start.absolute(path)));
        move || is.is_some_and(|is| is())
    }

    /// Begins again from its entries, as if it had been opened anew.
    pub fn reload(&mut self) {
        self.forgotten.clear();
        self.rebuild();
    }

    /// Why what is said does not reach the file, where that is so. It is kept and tried again with
    /// the next entry and with [`Session::flush`].
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        self.file.as_ref()?.trouble()
    }

    /// Why something that was said is not safe in the file, where that is so. A file that cannot be written and
    /// lacks nothing is none of that.
    pub fn unsaved(&self) -> Option<StorageTrouble> {
        self.file.as_ref()?.unsaved(self.entries.len() + 1)
    }

    /// Fails where nothing will ever reach the file, as it is of a later version or cannot be
    /// written.
    pub fn writable(&self) -> Result<(), StorageTrouble> {
        self.file.as_ref().and_then(Writer::refused).map_or(Ok(()), Err)
    }

    /// Whether everything that was said so far is handed to the system, or is so within two milliseconds.
    pub fn is_written(&self) -> bool {
        self.file.as_ref().is_none_or(Writer::is_written)
    }

    /// Waits until everything that was said so far is handed to the system, or could not be; see
    /// [`Session::storage_trouble`]. The session need not be held meanwhile.
    pub fn written(&self) -> impl Future<Output = ()> + Send + use<> {
        let written = self.file.as_ref().map(Writer::written);
        async move {
            if let Some(written) = written {
                written.await;
            }
        }
    }

    /// As [`Session::written`], in the way of the caller's thread, and for a moment only.
    pub fn linger(&self) {
        if let Some(file) = &self.file {
            file.linger();
        }
    }

    /// Somebody has waited too long for [`Session::written`]: until the disk answers that is its trouble.
    pub fn note_late(&mut self) {
        if let Some(file) = &mut self.file {
            file.note_late();
        }
    }

    /// Whether the disk has not answered since somebody waited too long.
    pub fn is_late(&self) -> bool {
        self.file.as_ref().is_some_and(Writer::is_late)
    }

    /// Ends it. What is given waits until its file can be opened again, and says why something that was said is not
    /// safe in it, where that is so.
    pub fn close(mut self) -> impl Future<Output = Option<StorageTrouble>> + Send + use<> {
        let closed = self.file.take().map(|file| file.close(self.entries.len() + 1));
        async move {
            match closed {
                Some(closed) => closed.await,
                None => None,
            }
        }
    }

    /// Whoever drops it does not wait for its file.
    pub fn abandon(&mut self) {
        if let Some(file) = &mut self.file {
            file.abandon();
        }
    }

    /// Waits until everything that was said so far is on the disk, as far as the file is there.
    /// Fails with the reason why it is not. The session need not be held meanwhile.
    pub fn flush(&mut self) -> impl Future<Output = Result<(), StorageTrouble>> + Send + use<> {
        let settled = self.file.as_mut().map(|file| {
            file.retry();
            file.settled()
        });
        async move {
            match settled {
                Some(settled) => settled.await,
                None => Ok(()),
            }
        }
    }

    /// The text of the model's last answer, its blocks joined and trimmed; none where it has no
    /// text or there is no answer. An answer that was aborted before its first block does not count.
    pub fn last_assistant_text(&self) -> Option<String> {
        let last = self.messages_back().find_map(|message| match &**message {
            AgentMessage::Assistant(answer)
                if !(answer.stop_reason == StopReason::Aborted && answer.content.is_empty()) =>
            {
                Some(answer)
            }
            _ => None,
        })?;
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
        Stats::of(self.messages())
    }

    /// Counts, tokens and cost of all that stands in the file.
    pub fn stats_of_file(&self) -> Stats {
        Stats::of_file(&self.entries)
    }
}

/// The lines of a file from that number on; the header is number 0.
fn lines(header: &Header, entries: &[Entry], from: usize) -> Vec<Text> {
    let header = (from == 0).then(|| FrameText::from(header.json().to_owned()).into());
    let entries = &entries[from.saturating_sub(1)..];
    header.into_iter().chain(entries.iter().map(|entry| entry.text().clone())).collect()
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
