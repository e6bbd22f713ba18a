//! A conversation whose messages are read one by one.

use std::fmt;
use std::sync::Arc;

use agentese::types::AgentMessage;

/// An iterator over messages, each produced on demand.
pub type MessageIter = Box<dyn Iterator<Item = Arc<AgentMessage>> + Send>;

/// The messages of a conversation, which can be read several times. Clones read from the same source.
#[derive(Clone)]
pub struct Messages {
    read: Arc<dyn Fn() -> MessageIter + Send + Sync>,
    is_long: bool,
}

impl Messages {
    /// Creates messages from a function that returns a new iterator for each reading.
    pub fn new<I>(read: impl Fn() -> I + Send + Sync + 'static) -> Self
    where
        I: Iterator<Item = Arc<AgentMessage>> + Send + 'static,
    {
        Self { read: Arc::new(move || Box::new(read())), is_long: false }
    }

    /// Reads the messages, oldest first.
    pub fn iter(&self) -> MessageIter {
        (self.read)()
    }

    /// Returns these messages; `change` converts each message when it is read.
    pub fn map<F>(self, change: F) -> Self
    where
        F: Fn(Arc<AgentMessage>) -> Arc<AgentMessage> + Clone + Send + Sync + 'static,
    {
        let is_long = self.is_long;
        Self::new(move || self.iter().map(change.clone())).long(is_long)
    }

    /// Marks the conversation as long if `is_long` is true. Reading it then takes so long that other work
    /// should not wait for it.
    pub fn long(self, is_long: bool) -> Self {
        Self { is_long, ..self }
    }

    /// Returns true if reading all messages takes long.
    pub fn is_long(&self) -> bool {
        self.is_long
    }
}

impl From<Vec<Arc<AgentMessage>>> for Messages {
    fn from(messages: Vec<Arc<AgentMessage>>) -> Self {
        let messages: Arc<[_]> = messages.into();
        Self::new(move || {
            let messages = messages.clone();
            (0..messages.len()).map(move |at| messages[at].clone())
        })
    }
}

impl fmt::Debug for Messages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Messages").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_messages_take_as_long_to_read() {
        for is_long in [false, true] {
            let messages = Messages::from(Vec::new()).long(is_long);
            assert_eq!(messages.map(|message| message).is_long(), is_long);
        }
    }
}
