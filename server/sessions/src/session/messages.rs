//! The messages of a session, and the choice of messages that stay decoded in memory.

use std::sync::Arc;

use agentese::types::{AgentMessage, ToolResultMessage};

use super::body::{Body, Role};
use super::live_session::Session;
use super::message_snapshot::{DecodedEntries, MessageSnapshot, StoredMessage};
use super::session_writer::SessionWriter;
use super::storage::StoredFile;

/// Maximum total length in bytes of the texts whose decoded messages stay in memory. In a longer conversation, each
/// message is decoded when it is needed.
const MAX_DECODED_LENGTH: usize = 256 << 10;

impl Session {
    /// Returns the messages that the model sees now. The messages of a short conversation are decoded and stay in
    /// memory.
    pub fn message_snapshot(&mut self) -> MessageSnapshot {
        let text = |position: &usize| self.entries[*position].text().len();
        if self.visible.iter().map(text).sum::<usize>() <= MAX_DECODED_LENGTH {
            self.keep_decoded();
        }
        let stored = |position: &usize| match self.edited.get(position) {
            Some(edited) => edited.clone().into(),
            None => self.entries[*position].stored_message(),
        };
        let system_message = self.repeated_system_message.iter().cloned().map(StoredMessage::from);
        system_message.chain(self.visible.iter().skip(self.repeated_message_count()).map(stored)).collect()
    }

    /// Returns all messages that the model sees, decoded, in order.
    pub fn messages(&self) -> Vec<Arc<AgentMessage>> {
        let _open = self.open_texts();
        let visible = self
            .visible
            .iter()
            .skip(self.repeated_message_count())
            .filter_map(|position| self.visible_message(*position));
        self.repeated_system_message.iter().cloned().chain(visible).collect()
    }

    /// Returns the messages that the model sees, newest first. Each message is decoded when the iterator reaches it.
    /// The file with their texts stays open during the iteration.
    pub fn messages_rev(&self) -> impl Iterator<Item = Arc<AgentMessage>> {
        let system_message = self.repeated_system_message.iter().cloned();
        let visible = self.visible.iter().skip(self.repeated_message_count());
        let open = self.open_texts();
        let visible = visible.inspect(move |_| {
            let _open = &open;
        });
        visible.rev().filter_map(|position| self.visible_message(*position)).chain(system_message)
    }

    /// Returns the message of an entry as the model sees it.
    pub(super) fn visible_message(&self, position: usize) -> Option<Arc<AgentMessage>> {
        self.edited.get(&position).cloned().or_else(|| self.entries[position].message())
    }

    /// Decodes the messages that the model sees and keeps them in memory.
    fn keep_decoded(&mut self) {
        for at in self.repeated_message_count()..self.visible.len() {
            let position = self.visible[at];
            if !self.entries[position].is_decoded() && !self.edited.contains_key(&position) {
                self.entries[position].keep_decoded();
                self.record_decoded(position);
            }
        }
    }

    /// Records that the decoded message of an entry is in memory.
    pub(super) fn record_decoded(&mut self, position: usize) {
        self.decoded_entries.positions.push(position);
        self.decoded_entries.length += self.entries[position].text().len();
    }

    /// Records all entries whose decoded messages are in memory.
    pub(super) fn find_decoded(&mut self) {
        self.decoded_entries = DecodedEntries::default();
        for position in 0..self.entries.len() {
            if self.entries[position].is_decoded() {
                self.record_decoded(position);
            }
        }
    }

    /// Drops the decoded messages and keeps the texts. Older texts that are in the file are dropped too.
    pub fn drop_decoded(&mut self) {
        for position in std::mem::take(&mut self.decoded_entries).positions {
            self.entries[position].drop_decoded();
        }
        for (line, text) in self.file.as_ref().map(SessionWriter::take_moved_texts).into_iter().flatten() {
            // The header is line 0.
            if let Some(entry) = line.checked_sub(1).and_then(|position| self.entries.get_mut(position)) {
                entry.move_to_file(text);
            }
        }
    }

    /// Opens the file with the texts and returns it, so that it stays open while many texts are read.
    pub(super) fn open_texts(&self) -> Option<Arc<dyn StoredFile>> {
        self.entries.first()?.text().open()
    }

    /// Drops the decoded messages if the total length of their texts exceeds the limit.
    pub(super) fn limit_decoded(&mut self) {
        if self.decoded_entries.length > MAX_DECODED_LENGTH {
            self.drop_decoded();
        }
    }

    /// Returns the number of decoded messages in memory.
    #[cfg(any(test, feature = "testing"))]
    pub fn decoded(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_decoded()).count()
    }

    /// Returns the newest successful result of a tool on the active branch.
    pub fn last_result(&self, tool: &str) -> Option<ToolResultMessage> {
        let is_of_tools =
            |position: &usize| matches!(self.entries[*position].body(), Body::Message(Role::Other));
        let path = self.tree.path(self.leaf);
        path.into_iter().rev().filter(is_of_tools).find_map(|position| {
            match &*self.entries[position].message()? {
                AgentMessage::ToolResult(result) if result.tool_name == tool && !result.is_error => {
                    Some(result.clone())
                }
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use agentese::framing::FrameText;
    use agentese::types::{InputContent, UserMessage};

    use super::*;
    use crate::runtime::{NumberedIds, SystemClock};
    use crate::session::SessionOptions;
    use crate::session::source::LOST;

    fn session() -> Session {
        Session::in_memory(SessionOptions::new("/w", Arc::new(SystemClock), Arc::new(NumberedIds::default())))
    }

    fn user(text: &str) -> Arc<AgentMessage> {
        Arc::new(UserMessage::new(InputContent::Text(text.to_owned()), 1).into())
    }

    fn read(snapshot: &MessageSnapshot) -> Vec<Arc<AgentMessage>> {
        snapshot.iter().collect()
    }

    #[test]
    fn a_short_conversation_is_kept_decoded_until_it_is_forgotten() {
        let mut session = session();
        for text in ["one", "two"] {
            session.append(user(text));
        }
        session.drop_decoded();
        assert_eq!(session.decoded(), 0);
        let snapshot = session.message_snapshot();
        assert_eq!((session.decoded(), snapshot.len()), (2, 2));
        session.append(user("three"));
        assert_eq!(session.decoded(), 3);
        session.drop_decoded();
        assert_eq!(session.decoded(), 0);
        assert_eq!(read(&snapshot), [user("one"), user("two")], "as it was when it was taken");
        assert_eq!(session.messages(), read(&session.message_snapshot()));
    }

    #[test]
    fn a_long_conversation_is_decoded_while_it_is_read() {
        let mut session = session();
        let long = "x".repeat(MAX_DECODED_LENGTH / 8);
        for _ in 0..9 {
            session.append(user(&long));
            assert!(session.decoded() <= 8, "{}", session.decoded());
        }
        session.drop_decoded();
        let snapshot = session.message_snapshot();
        assert_eq!(read(&snapshot), vec![user(&long); 9]);
        assert_eq!(snapshot.iter().next_back().unwrap(), user(&long));
        assert_eq!(session.messages_rev().count(), 9);
        assert_eq!(session.decoded(), 0);
    }

    #[test]
    fn only_the_newest_texts_of_a_file_stay_in_memory() {
        let directory = tempfile::tempdir().unwrap();
        let start =
            || SessionOptions::new(directory.path(), Arc::new(SystemClock), Arc::new(NumberedIds::default()));
        let path = directory.path().join("s.jsonl");
        let mut session = Session::create_at(&path, start()).unwrap();
        let message = |number: usize| user(&format!("{number} {}", "word ".repeat(200)));
        for number in 0..500 {
            session.append(message(number));
            session.drop_decoded();
            let kept: usize =
                session.entries.iter().filter_map(|entry| entry.text().in_memory()).map(FrameText::len).sum();
            assert!(kept <= 66 << 10, "{kept} bytes after {number} messages");
        }
        let expected: Vec<_> = (0..500).map(message).collect();
        assert!(session.messages() == expected, "all is there");
        assert!(read(&session.message_snapshot()) == expected);
        let texts: Vec<_> = session.message_texts();
        let (fork, text) = session.fork(session.entries()[400].id().clone().as_str(), None).unwrap();
        assert!(text.starts_with("400 ") && fork.messages() == expected[..400]);
        drop(session);
        let session = Session::open(&path, start()).unwrap();
        assert!(session.messages() == expected && session.message_texts() == texts);
    }
    #[test]
    fn an_overwritten_message_becomes_a_note() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let start =
            SessionOptions::new(directory.path(), Arc::new(SystemClock), Arc::new(NumberedIds::default()));
        let mut session = Session::create_at(&path, start).unwrap();
        for number in 0..500 {
            session.append(user(&format!("{number} {}", "word ".repeat(200))));
            session.drop_decoded();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"7 word", "\"7 lord")).unwrap();
        let texts: Vec<_> = read(&session.message_snapshot())
            .iter()
            .map(|message| serde_json::to_string(message).unwrap())
            .collect();
        assert_eq!(texts.len(), 500);
        assert!(texts[6].contains("6 word") && texts[7].contains(LOST) && texts[8].contains("8 word"));
    }
}
