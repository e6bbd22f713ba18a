//! Control messages to the event loop.

use tokio::sync::oneshot;

/// A message to the event loop that is not an event of the agent.
pub(super) enum Control {
    /// A prompt was processed completely, and all its events precede this message. Contains the reason if the agent
    /// rejected the prompt late.
    PromptEnded(Option<String>),
    /// A prompt was rejected before its run started.
    PromptRejected,
    /// A setting was applied or rejected.
    SettingFinished,
    /// The agent has switched to another conversation.
    SessionSwitched,
    /// The current messages were passed to the engine as part of a history, so their events must not be reported.
    MarkReported(oneshot::Sender<()>),
    /// A switch between conversations has ended, successfully or not. The messages of the current conversation were
    /// passed to the engine as a history.
    SwitchEnded(oneshot::Sender<()>),
    /// The agent has sent a question. The client must receive all earlier events before it.
    QuestionReceived(oneshot::Sender<()>),
}

impl Control {
    /// Returns `true` if no further tool call of the last answer can follow this message.
    pub(super) fn ends_calls(&self) -> bool {
        !matches!(self, Self::SettingFinished | Self::PromptRejected | Self::QuestionReceived(_))
    }
}
