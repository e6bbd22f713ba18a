//! Control messages of the event loop.

use tokio::sync::oneshot;

/// A control message, besides events.
pub(super) enum Control {
    /// The work of a prompt has ended, after all its events. Contains the reason of a late rejection.
    PromptEnded(Option<String>),
    /// A prompt was rejected before any work.
    PromptRejected,
    /// A setting was applied or rejected.
    SettingFinished,
    /// The agent has switched to another conversation.
    SessionSwitched,
    /// The existing messages were reported in another way.
    MarkReported(oneshot::Sender<()>),
    /// The switch has ended, with or without a new conversation, and its messages were reported in another
    /// way.
    SwitchEnded(oneshot::Sender<()>),
    /// The agent has sent a question: the client must first receive the earlier events.
    QuestionReceived(oneshot::Sender<()>),
}

impl Control {
    /// Returns `true` if no other call of an earlier answer can follow.
    pub(super) fn ends_calls(&self) -> bool {
        !matches!(self, Self::SettingFinished | Self::PromptRejected | Self::QuestionReceived(_))
    }
}
