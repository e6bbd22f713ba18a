//! Additions to a conversation, and removals from the messages that the model sees.

use std::collections::HashSet;
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::types::{AgentMessage, CustomMessageBuilder, InputContent, StopReason, ThinkingLevel};
use serde_json::Value;

use super::body::{Body, BranchSummary, Compaction};
use super::entry::{Entry, Place};
use super::entry_id::EntryId;
use super::error::EmptyName;
use super::live::Session;
use super::load::unique;

impl Session {
    /// Returns an unused identifier for a message that [`Session::append_as`] adds later.
    pub fn reserve(&self) -> EntryId {
        self.place(self.now()).id
    }

    /// Appends a message. From the first message of user or model on, entries go to the file: the system has them on
    /// return, or, if a thread writes ([`Start::beside`](super::Start::beside)), when [`Session::written`] completes.
    /// [`Session::storage_trouble`] reports failures.
    pub fn append(&mut self, message: Arc<AgentMessage>) -> EntryId {
        self.append_as(self.reserve(), message)
    }

    /// Appends a message as [`Session::append`] does, under a reserved identifier.
    pub fn append_as(&mut self, id: EntryId, message: Arc<AgentMessage>) -> EntryId {
        let time = match &*message {
            // The entry has no other place for the time of the message.
            AgentMessage::Custom(custom) => custom.timestamp,
            _ => self.now(),
        };
        let place = Place { id, ..self.place(time) };
        self.add(Entry::of_message(place, message))
    }

    /// Sets the name of the session, without surrounding white space. Fails without a change if the name is empty.
    pub fn rename(&mut self, name: &str) -> Result<(), EmptyName> {
        let name = name.trim();
        if name.is_empty() {
            return Err(EmptyName);
        }
        self.name = Some(name.to_owned());
        self.note(Body::SessionInfo { name: self.name.clone() });
        Ok(())
    }

    /// Records the model for the next prompt.
    pub fn model_changed(&mut self, provider: &str, model_id: &str) {
        self.note(Body::ModelChange { provider: provider.to_owned(), model_id: model_id.to_owned() });
    }

    /// Records the thinking level for the following requests.
    pub fn thinking_changed(&mut self, level: ThinkingLevel) {
        self.note(Body::ThinkingLevelChange { level: level.as_str().to_owned() });
    }

    /// Adds a compaction: its summary replaces the messages before its first kept entry. The system message of the
    /// compaction gets the time of the entry.
    pub fn compacted(&mut self, mut compaction: Compaction) -> EntryId {
        let place = self.place(self.now());
        if let Some(told) = compaction.system_message.as_mut().and_then(Value::as_object_mut) {
            told.insert("timestamp".to_owned(), place.time.into());
        }
        let id = self.add(Entry::new(place, Body::Compaction(compaction), None));
        self.rebuild();
        id
    }

    /// Adds the summary of an abandoned branch.
    pub fn branch_summary(&mut self, summary: BranchSummary) -> EntryId {
        self.note(Body::BranchSummary(summary))
    }

    /// Adds state of an extension.
    pub fn custom(&mut self, custom_type: &str, data: Option<&Value>) -> EntryId {
        let place = self.place(self.now());
        self.add(Entry::new(place, Body::Custom { custom_type: custom_type.to_owned() }, data))
    }

    /// Adds a message of an extension.
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

    /// Sets or removes the label of an entry. Returns `None` if there is no such entry.
    pub fn label(&mut self, target: &str, label: Option<&str>) -> Option<EntryId> {
        let target = self.entry(target)?.id().clone();
        Some(self.note(Body::Label { target, label: label.map(str::to_owned) }))
    }

    /// Hides the last answer and the results of its calls from the model, before a retry. Later messages of other
    /// kinds, such as the output of a command, stay. The file keeps the answer, as pi does.
    pub fn forget_last_answer(&mut self) {
        let message = |at: usize| self.entries[self.spoken[at]].message();
        let is_answer = |at: &usize| matches!(message(*at).as_deref(), Some(AgentMessage::Assistant(_)));
        let Some(last) = (0..self.spoken.len()).rev().find(is_answer) else { return };
        let goes = |at: &usize| {
            matches!(message(*at).as_deref(), Some(AgentMessage::Assistant(_) | AgentMessage::ToolResult(_)))
        };
        let gone: Vec<usize> = (last..self.spoken.len()).filter(goes).collect();
        self.compacted -= gone.iter().filter(|at| **at < self.compacted).count();
        let gone: HashSet<usize> = gone.into_iter().map(|at| self.spoken[at]).collect();
        self.spoken.retain(|position| !gone.contains(position));
        self.forgotten.extend(gone);
    }

    /// Records the hidden messages in the file, so that they stay hidden after the session is opened again. Returns the
    /// texts of the added entries.
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

    /// Hides the last answer as [`Session::forget_last_answer`] does, if the answer was aborted.
    pub fn forget_cut_answer(&mut self) {
        let last = self.messages_back().find_map(|message| match &*message {
            AgentMessage::Assistant(answer) => Some(answer.stop_reason),
            _ => None,
        });
        if last == Some(StopReason::Aborted) {
            self.forget_last_answer();
        }
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
        }
        let is_decoded = entry.is_decoded();
        self.entries.push(entry);
        if is_decoded {
            self.note_decoded(self.entries.len() - 1);
            self.forget_surplus();
        }
        self.tree.push(&self.entries);
        self.leaf = Some(self.entries.len() - 1);
        self.save();
        id
    }
}
