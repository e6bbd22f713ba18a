//! The person behind the client, for everybody who has something to show or to ask: extensions, the question of
//! trust, approvals. A front implements it in its dialect.

use agentese::types::{
    AskConfirm, AskEditor, AskInput, AskSelect, ShowEditorText, ShowNotice, ShowStatus, ShowTitle, ShowWidget,
};
use futures::future::BoxFuture;

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialog {
    /// To choose. The list has the places of the options that refuse, from 0, where whoever asks knows them.
    Select(AskSelect, Vec<usize>),
    /// To say yes or no.
    Confirm(AskConfirm),
    /// To enter a line.
    Input(AskInput),
    /// To edit a text.
    Editor(AskEditor),
}

impl Dialog {
    /// The id of the question, where an extension asks it.
    pub fn id(&self) -> &str {
        match self {
            Self::Select(dialog, _) => &dialog.id,
            Self::Confirm(dialog) => &dialog.id,
            Self::Input(dialog) => &dialog.id,
            Self::Editor(dialog) => &dialog.id,
        }
    }

    /// Who asks, and in whose handling.
    pub fn owner(&self) -> (Option<&str>, Option<&str>) {
        let (extension, during) = match self {
            Self::Select(dialog, _) => (&dialog.extension, &dialog.during),
            Self::Confirm(dialog) => (&dialog.extension, &dialog.during),
            Self::Input(dialog) => (&dialog.extension, &dialog.during),
            Self::Editor(dialog) => (&dialog.extension, &dialog.during),
        };
        (extension.as_deref(), during.as_deref())
    }

    /// Its own limit, in milliseconds.
    pub fn timeout(&self) -> Option<u64> {
        match self {
            Self::Select(dialog, _) => dialog.timeout,
            Self::Confirm(dialog) => dialog.timeout,
            Self::Input(dialog) => dialog.timeout,
            Self::Editor(_) => None,
        }
    }
}

/// Something to show.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A notice.
    Notice(ShowNotice),
    /// An entry of the status bar.
    Status(ShowStatus),
    /// A block of lines.
    Widget(ShowWidget),
    /// A title.
    Title(ShowTitle),
    /// A text in the editor.
    EditorText(ShowEditorText),
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// A text.
    Value(String),
    /// Yes or no.
    Confirmed(bool),
    /// Nothing: the dialog was dismissed.
    Cancelled,
    /// A value that is no text.
    Other(serde_json::Value),
    /// Something that no dialog asks for; the text says what.
    Unreadable(String),
}

/// Shows and asks. Frames are sent in the order of the calls.
pub trait Ui: Send + Sync {
    /// Waits until more is wanted: the client reads.
    fn room(&self) -> BoxFuture<'_, ()>;

    /// Shows something.
    fn show(&self, notice: &Notice);

    /// Asks, at once, and gives what waits for the answer; dropping it withdraws the question. None where
    /// nobody can answer any more.
    fn ask(&self, dialog: &Dialog) -> Option<BoxFuture<'static, Option<Answer>>>;
}
