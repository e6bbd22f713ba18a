//! Control messages of the event loop.

use tokio::sync::oneshot;

/// A control message, besides events.
pub(super) enum Word {
    /// The work of a prompt has ended, after all its events. Contains the reason of a late rejection.
    Over(Option<String>),
    /// A prompt was rejected before any work.
    Refused,
    /// A setting was applied or rejected.
    Set,
    /// The agent has switched to another conversation.
    Moved,
    /// The existing messages were reported in another way.
    PassOver(oneshot::Sender<()>),
    /// The switch has ended, with or without a new conversation, and its messages were reported in another
    /// way.
    Arrived(oneshot::Sender<()>),
    /// The agent has sent a question: the client must first receive the earlier events.
    Asks(oneshot::Sender<()>),
}

impl Word {
    /// Returns `true` if no other call of an earlier answer can follow.
    pub(super) fn ends_calls(&self) -> bool {
        !matches!(self, Self::Set | Self::Refused | Self::Asks(_))
    }
}
