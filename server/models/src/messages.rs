//! A conversation for those who read it a message at a time.

use std::fmt;
use std::sync::Arc;

use agentese::types::AgentMessage;

/// Messages as they are read: each is there when it is reached.
pub type MessageIter = Box<dyn Iterator<Item = Arc<AgentMessage>> + Send>;

/// The messages of a conversation, which can be read again and again. Clones share what they are read from.
#[derive(Clone)]
pub struct Messages {
    read: Arc<dyn Fn() -> MessageIter + Send + Sync>,
    is_long: bool,
}

impl Messages {
    /// Makes one of a function that begins to read them.
    pub fn new<I>(read: impl Fn() -> I + Send + Sync + 'static) -> Self
    where
        I: Iterator<Item = Arc<AgentMessage>> + Send + 'static,
    {
        Self { read: Arc::new(move || Box::new(read())), is_long: false }
    }

    /// Reads them, oldest first.
    pub fn iter(&self) -> MessageIter {
        (self.read)()
    }

    /// Returns these messages as `change` leaves each of them.
    pub fn map<F>(self, change: F) -> Self
    where
        F: Fn(Arc<AgentMessage>) -> Arc<AgentMessage> + Clone + Send + Sync + 'static,
    {
        let is_long = self.is_long;
        Self::new(move || self.iter().map(change.clone())).long(is_long)
    }

    /// Says whether to read all of them takes so long that other work should not wait for it.
    pub fn long(self, is_long: bool) -> Self {
        Self { is_long, ..self }
    }

    /// Returns whether to read all of them takes long.
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
