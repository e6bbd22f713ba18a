//! Control messages to the event loop.

use tokio::sync::oneshot;

/// A message to the event loop that is not an event of the agent.
pub(super) enum Control {
    /// The run of a prompt has ended, and all its events precede this message. Contains the reason if the
    /// agent rejected the prompt after its acceptance.
    PromptEnded(Option<String>),
    /// A prompt was rejected before its run had started.
    PromptRejected,
    /// A setting change was applied or rejected.
    SettingFinished,
    /// The agent has switched to another conversation.
    SessionSwitched,
    /// The engine has received the current messages as part of a history, so their events must not be
    /// reported.
    MarkReported(oneshot::Sender<()>),
    /// A change of the conversation has ended, successfully or not. The engine has received the messages of
    /// the current conversation as a history.
    SwitchEnded(oneshot::Sender<()>),
    /// The agent has sent a question, before which the client must receive all earlier events.
    QuestionReceived(oneshot::Sender<()>),
}

impl Control {
    /// Returns `true` if no further tool call of the last answer can follow after this message.
    pub(super) fn ends_calls(&self) -> bool {
        !matches!(self, Self::SettingFinished | Self::PromptRejected | Self::QuestionReceived(_))
    }
}
