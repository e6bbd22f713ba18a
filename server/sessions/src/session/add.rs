//! Adding entries to a session, and hiding messages from the model.

use std::collections::HashSet;
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::types::{AgentMessage, CustomMessageBuilder, InputContent, StopReason, ThinkingLevel};
use serde_json::Value;

use super::body::{Body, BranchSummary, Compaction};
use super::entry::{Entry, EntryMeta};
use super::entry_id::EntryId;
use super::error::EmptyNameError;
use super::live_session::Session;
use super::load::unique;

impl Session {
    /// Returns an unused identifier, with which [`Session::append_as`] can add a message later.
    pub fn reserve_id(&self) -> EntryId {
        self.next_meta(self.now()).id
    }

    /// Appends a message. Entries are written to the file from the first message of user or model on. On return, the
    /// system has received the entry. If a thread writes, this is so only after [`Session::wait_written`]; see
    /// [`SessionOptions::write_in_background`](super::SessionOptions::write_in_background). [`Session::storage_error`]
    /// reports failures.
    pub fn append(&mut self, message: Arc<AgentMessage>) -> EntryId {
        self.append_as(self.reserve_id(), message)
    }

    /// Appends a message as [`Session::append`] does, with an identifier from [`Session::reserve_id`].
    pub fn append_as(&mut self, id: EntryId, message: Arc<AgentMessage>) -> EntryId {
        let time = match &*message {
            // The entry has no other place for the time of the message.
            AgentMessage::Custom(custom) => custom.timestamp,
            _ => self.now(),
        };
        let meta = EntryMeta { id, ..self.next_meta(time) };
        self.add(Entry::of_message(meta, message))
    }

    /// Sets the name of the session, after removing white space around it. Fails without a change if the name is empty.
    pub fn rename(&mut self, name: &str) -> Result<(), EmptyNameError> {
        let name = name.trim();
        if name.is_empty() {
            return Err(EmptyNameError);
        }
        self.name = Some(name.to_owned());
        self.add_body(Body::SessionInfo { name: self.name.clone() });
        Ok(())
    }

    /// Records the model for the next prompt.
    pub fn record_model(&mut self, provider: &str, model_id: &str) {
        self.add_body(Body::ModelChange { provider: provider.to_owned(), model_id: model_id.to_owned() });
    }

    /// Records the thinking level for the following requests.
    pub fn record_thinking_level(&mut self, level: ThinkingLevel) {
        self.add_body(Body::ThinkingLevelChange { level: level.as_str().to_owned() });
    }

    /// Adds a compaction, so that its summary replaces the messages before the first kept entry. The system message in
    /// the compaction gets the time of the entry.
    pub fn add_compaction(&mut self, mut compaction: Compaction) -> EntryId {
        let meta = self.next_meta(self.now());
        if let Some(system_message) = compaction.system_message.as_mut().and_then(Value::as_object_mut) {
            system_message.insert("timestamp".to_owned(), meta.time.into());
        }
        let id = self.add(Entry::new(meta, Body::Compaction(compaction), None));
        self.rebuild();
        id
    }

    /// Adds the summary of an abandoned branch.
    pub fn branch_summary(&mut self, summary: BranchSummary) -> EntryId {
        self.add_body(Body::BranchSummary(summary))
    }

    /// Adds an entry with data that an extension stores. The model does not see it.
    pub fn custom(&mut self, custom_type: &str, data: Option<&Value>) -> EntryId {
        let meta = self.next_meta(self.now());
        self.add(Entry::new(meta, Body::Custom { custom_type: custom_type.to_owned() }, data))
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

    /// Adds a label to an entry, or removes it if `label` is `None`. Returns `None` if the entry does not exist.
    pub fn label(&mut self, target: &str, label: Option<&str>) -> Option<EntryId> {
        let target = self.entry(target)?.id().clone();
        Some(self.add_body(Body::Label { target, label: label.map(str::to_owned) }))
    }

    /// Hides the last answer and the results of its calls from the model, before a retry. Later messages of other
    /// kinds, such as the output of a user's command, stay visible. The answer stays in the file, as in pi.
    pub fn hide_last_answer(&mut self) {
        let message = |at: usize| self.entries[self.visible[at]].message();
        let is_answer = |at: &usize| matches!(message(*at).as_deref(), Some(AgentMessage::Assistant(_)));
        let Some(last) = (0..self.visible.len()).rev().find(is_answer) else { return };
        let is_hidden = |at: &usize| {
            matches!(message(*at).as_deref(), Some(AgentMessage::Assistant(_) | AgentMessage::ToolResult(_)))
        };
        let hidden: Vec<usize> = (last..self.visible.len()).filter(is_hidden).collect();
        self.compacted_count -= hidden.iter().filter(|at| **at < self.compacted_count).count();
        let hidden: HashSet<usize> = hidden.into_iter().map(|at| self.visible[at]).collect();
        self.visible.retain(|position| !hidden.contains(position));
        self.hidden.extend(hidden);
    }

    /// Adds entries that keep the hidden messages hidden after the session is reopened. Returns the texts of these
    /// entries.
    pub fn record_hidden(&mut self) -> Vec<FrameText> {
        let mut hidden: Vec<_> = std::mem::take(&mut self.hidden).into_iter().collect();
        hidden.sort_unstable();
        let targets: Vec<_> =
            hidden.into_iter().map(|position| self.entries[position].id().clone()).collect();
        let note = |target| {
            let id = self.add_body(Body::ContextEdit { target, content: None });
            self.entry(id.as_str()).map(Entry::json)
        };
        targets.into_iter().filter_map(note).collect()
    }

    /// Hides the last answer as [`Session::hide_last_answer`] does, but only if it was aborted.
    pub fn hide_aborted_answer(&mut self) {
        let last = self.messages_rev().find_map(|message| match &*message {
            AgentMessage::Assistant(answer) => Some(answer.stop_reason),
            _ => None,
        });
        if last == Some(StopReason::Aborted) {
            self.hide_last_answer();
        }
    }

    fn now(&self) -> i64 {
        self.options.clock.now_ms()
    }

    pub(super) fn next_meta(&self, time: i64) -> EntryMeta {
        let mut new_id = || self.options.ids.entry();
        let id = unique(&mut new_id, |id| self.tree.find(&self.entries, id).is_some());
        EntryMeta { id: id.into(), parent_id: self.leaf().map(|leaf| leaf.id().clone()), time }
    }

    fn add_body(&mut self, body: Body) -> EntryId {
        let meta = self.next_meta(self.now());
        self.add(Entry::new(meta, body, None))
    }

    fn add(&mut self, entry: Entry) -> EntryId {
        let id = entry.id().clone();
        if entry.has_model_message() && !matches!(entry.body(), Body::Compaction(_)) {
            self.visible.push(self.entries.len());
        }
        let is_decoded = entry.is_decoded();
        self.entries.push(entry);
        if is_decoded {
            self.record_decoded(self.entries.len() - 1);
            self.limit_decoded();
        }
        self.tree.push(&self.entries);
        self.leaf = Some(self.entries.len() - 1);
        self.save();
        id
    }
}
