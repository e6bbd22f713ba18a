//! The messages that the model sees at one time, read one after the other.

use std::fmt;
use std::sync::Arc;

use agentese::types::AgentMessage;

use super::body::{PackedBody, Role};
use super::source::MessageSource;
use super::storage::StoredFile;

/// Total length of texts, in bytes, above which decoding all of them takes too long.
const LONG: usize = 2 << 20;

/// A message that is decoded when it is read, unless it is already decoded.
#[derive(Clone)]
pub struct StoredMessage(MessageState);

#[derive(Clone)]
enum MessageState {
    Decoded(Arc<AgentMessage>),
    Source(MessageSource),
}

impl StoredMessage {
    /// Returns the message. If its text is lost, a note or an empty message replaces it. Returns `None` if
    /// the entry has no message.
    pub fn read(&self) -> Option<Arc<AgentMessage>> {
        match &self.0 {
            MessageState::Decoded(message) => Some(message.clone()),
            MessageState::Source(source) => source.decode_message().map(|decoded| decoded.message),
        }
    }

    /// Returns the length in bytes of the text that reading has to decode; 0 for a decoded message.
    fn length(&self) -> usize {
        match &self.0 {
            MessageState::Decoded(_) => 0,
            MessageState::Source(source) => source.text.len(),
        }
    }

    fn open(&self) -> Option<Arc<dyn StoredFile>> {
        match &self.0 {
            MessageState::Decoded(_) => None,
            MessageState::Source(source) => source.text.open(),
        }
    }

    /// Returns the author of the message. If the text is known to have the declared shape, the message is not
    /// decoded.
    pub fn role(&self) -> Role {
        match &self.0 {
            MessageState::Source(MessageSource {
                body: PackedBody::Message(role),
                message_range: Some(_),
                ..
            }) => *role,
            _ => self.read().map_or(Role::Other, |message| Role::of(&message)),
        }
    }
}

impl From<Arc<AgentMessage>> for StoredMessage {
    fn from(message: Arc<AgentMessage>) -> Self {
        Self(MessageState::Decoded(message))
    }
}

impl From<MessageSource> for StoredMessage {
    fn from(source: MessageSource) -> Self {
        Self(MessageState::Source(source))
    }
}

impl fmt::Debug for StoredMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(formatter)
    }
}

/// The messages of a conversation at one time. Clones share the messages.
#[derive(Debug, Clone)]
pub struct MessageSnapshot {
    messages: Arc<[StoredMessage]>,
    /// Total length in bytes of the texts that reading has to decode.
    length: usize,
}

impl MessageSnapshot {
    /// Returns the messages, oldest first. Each message is decoded when the iterator reaches it.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Arc<AgentMessage>> + Send + use<> {
        let messages = self.messages.clone();
        let file = messages.iter().find_map(StoredMessage::open);
        (0..messages.len()).filter_map(move |at| {
            let _open = &file;
            messages[at].read()
        })
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns true if there are no messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns true if reading all messages takes so long that other work should not wait for it.
    pub fn is_long(&self) -> bool {
        self.length > LONG
    }
}

impl FromIterator<StoredMessage> for MessageSnapshot {
    fn from_iter<I: IntoIterator<Item = StoredMessage>>(messages: I) -> Self {
        let messages: Arc<[_]> = messages.into_iter().collect();
        let length = messages.iter().map(StoredMessage::length).sum();
        Self { messages, length }
    }
}

/// Entries whose decoded messages are in memory.
#[derive(Debug, Default)]
pub(super) struct DecodedEntries {
    pub positions: Vec<usize>,
    /// Total length of the texts of these entries, in bytes.
    pub length: usize,
}
