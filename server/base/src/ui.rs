//! The user behind the client, as a trait, for code that shows notices and sends questions: extensions,
//! trust, approvals. Each dialect server implements the trait.

use agentese::types::{
    ConfirmQuestion, EditorQuestion, ExtensionEditorText, ExtensionNotice, ExtensionStatus, ExtensionTitle,
    ExtensionWidget, InputQuestion, SelectQuestion,
};
use futures::future::BoxFuture;

/// A question to the user, with the possible answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialog {
    /// A choice of one option. The list contains the indices of the options that mean a refusal, counted from 0. It is
    /// empty if they are not known.
    Select(SelectQuestion, Vec<usize>),
    /// A yes-or-no question.
    Confirm(ConfirmQuestion),
    /// A question with one line of text as its answer.
    Input(InputQuestion),
    /// A text that the user edits.
    Editor(EditorQuestion),
}

impl Dialog {
    /// Returns the id of the question.
    pub fn id(&self) -> &str {
        match self {
            Self::Select(dialog, _) => &dialog.id,
            Self::Confirm(dialog) => &dialog.id,
            Self::Input(dialog) => &dialog.id,
            Self::Editor(dialog) => &dialog.id,
        }
    }

    /// Returns two optional names: the extension that sends the question, and the id of the request that the
    /// extension is handling.
    pub fn owner(&self) -> (Option<&str>, Option<&str>) {
        let (extension, during) = match self {
            Self::Select(dialog, _) => (&dialog.extension, &dialog.during),
            Self::Confirm(dialog) => (&dialog.extension, &dialog.during),
            Self::Input(dialog) => (&dialog.extension, &dialog.during),
            Self::Editor(dialog) => (&dialog.extension, &dialog.during),
        };
        (extension.as_deref(), during.as_deref())
    }

    /// Returns the time limit that the question contains, in milliseconds.
    pub fn timeout(&self) -> Option<u64> {
        match self {
            Self::Select(dialog, _) => dialog.timeout,
            Self::Confirm(dialog) => dialog.timeout,
            Self::Input(dialog) => dialog.timeout,
            Self::Editor(_) => None,
        }
    }
}

/// Information for display.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A message for the user.
    Notice(ExtensionNotice),
    /// An entry for the client's status bar.
    Status(ExtensionStatus),
    /// A block of lines that the client shows.
    Widget(ExtensionWidget),
    /// A title for the client's window.
    Title(ExtensionTitle),
    /// A text for the client's editor.
    EditorText(ExtensionEditorText),
}

/// The answer of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The text that the user entered or chose.
    Value(String),
    /// Yes (`true`) or no (`false`).
    Confirmed(bool),
    /// No answer: the dialog was dismissed.
    Cancelled,
    /// A value that is not a text.
    Other(serde_json::Value),
    /// An answer that does not fit the dialog, with a description of the fault.
    Unreadable(String),
}

/// Shows notices and sends questions to the user. Frames are sent in the order of the calls.
pub trait Ui: Send + Sync {
    /// Waits until the client reads again, so that frames can be sent.
    fn wait_for_reader(&self) -> BoxFuture<'_, ()>;

    /// Shows a notice.
    fn show(&self, notice: &Notice);

    /// Sends a question immediately, and returns a future of the answer. Dropping the future withdraws the question.
    /// Returns `None` if the client can no longer answer.
    fn show_dialog(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>>;
}
