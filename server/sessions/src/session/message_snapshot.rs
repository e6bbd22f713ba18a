//! Messages that the model sees, for readers of one message at a time.

use std::fmt;
use std::sync::Arc;

use agentese::types::AgentMessage;

use super::body::{PackedBody, Role};
use super::source::MessageSource;
use super::storage::StoredFile;

/// Maximum total length of texts that are decoded in one go, in bytes.
const LONG: usize = 2 << 20;

/// A message that is decoded when it is read, or earlier.
#[derive(Clone)]
pub struct StoredMessage(MessageState);

#[derive(Clone)]
enum MessageState {
    Decoded(Arc<AgentMessage>),
    Source(MessageSource),
}

impl StoredMessage {
    /// Reads the message. A message whose text is lost has no text.
    pub fn read(&self) -> Option<Arc<AgentMessage>> {
        match &self.0 {
            MessageState::Decoded(message) => Some(message.clone()),
            MessageState::Source(source) => source.decode_message().map(|decoded| decoded.message),
        }
    }

    /// Returns the length of the text that is still to be decoded, in bytes. A decoded message has 0.
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

    /// Returns the author of the message, without decoding if the text is known to have the declared shape.
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

/// Messages of a conversation as they were at one moment. Clones share them.
#[derive(Debug, Clone)]
pub struct MessageSnapshot {
    messages: Arc<[StoredMessage]>,
    /// Total length of the texts that are still to be decoded, in bytes.
    length: usize,
}

impl MessageSnapshot {
    /// Reads the messages, oldest first, each when it is reached.
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

/// Entries whose messages are kept decoded.
#[derive(Debug, Default)]
pub(super) struct DecodedEntries {
    pub positions: Vec<usize>,
    /// Total length of the texts of these entries, in bytes.
    pub length: usize,
}
