//! What an extension shows to the user, or asks. The agent hands it to the client in the client's own
//! dialect.
//!
//! Every question and action may carry `id` (then it is answered), `extension` (whose it is; needed
//! where a process serves several) and `during`, the id of the agent's question in whose handling it
//! is made: such a dialog ends with that question, and its time does not count against the limit.

use crate::dialects::pi::dialogs::{NotifyType, WidgetPlacement};
use crate::dsl::protocol;
use crate::typed::{Count, List, Opt, Str};

protocol! {
    /// Asks the user to choose. Answered with `ValueResult`.
    record AskSelect(type = "select") {
        /// Names the question.
        id: Str,
        /// The extension that asks.
        extension: Opt<Str>,
        /// The question of the agent in whose handling it asks.
        during: Opt<Str>,
        /// The question.
        title: Str,
        /// The choices.
        options: List<Str>,
        /// After how many milliseconds nobody answers; never where it is missing.
        timeout: Opt<Count>,
        ;
        example {
            "type": "select", "id": "3", "during": "7", "title": "Allow: rm -rf build", "options": ["Allow", "Block"],
            "timeout": 10000
        }
    }

    /// Asks the user for yes or no. Answered with `ConfirmedResult`.
    record AskConfirm(type = "confirm") {
        /// Names the question.
        id: Str,
        /// The extension that asks.
        extension: Opt<Str>,
        /// The question of the agent in whose handling it asks.
        during: Opt<Str>,
        /// The question.
        title: Str,
        /// What it is about.
        message: Str,
        /// After how many milliseconds the answer is no; never where it is missing.
        timeout: Opt<Count>,
        ;
        example {"type": "confirm", "id": "4", "title": "Clear session?", "message": "All messages will be lost."}
    }

    /// Asks the user for a line of text. Answered with `ValueResult`.
    record AskInput(type = "input") {
        /// Names the question.
        id: Str,
        /// The extension that asks.
        extension: Opt<Str>,
        /// The question of the agent in whose handling it asks.
        during: Opt<Str>,
        /// The question.
        title: Str,
        /// Grey text in the empty field.
        placeholder: Opt<Str>,
        /// After how many milliseconds nobody answers; never where it is missing.
        timeout: Opt<Count>,
        ;
        example {"type": "input", "id": "5", "title": "Your name", "placeholder": "type here"}
    }

    /// Opens an editor for the user. Answered with `ValueResult`.
    record AskEditor(type = "editor") {
        /// Names the question.
        id: Str,
        /// The extension that asks.
        extension: Opt<Str>,
        /// The question of the agent in whose handling it asks.
        during: Opt<Str>,
        /// What is edited.
        title: Str,
        /// The text to begin with.
        prefill: Opt<Str>,
        ;
        example {"type": "editor", "id": "6", "title": "Edit this", "prefill": "line 1\nline 2"}
    }

    /// Withdraws a question. It counts as unanswered, and so does one that has not
    /// arrived yet.
    record AskWithdraw(type = "withdraw") {
        /// The id of the extension's own question.
        question: Str,
        ;
        example {"type": "withdraw", "question": "3"}
    }

    /// Shows a notice.
    record ShowNotice(type = "notify") {
        /// The extension that shows it.
        extension: Opt<Str>,
        /// The notice.
        message: Str,
        /// What kind it is.
        notifyType: Opt<NotifyType>,
        ;
        example {"type": "notify", "message": "Blocked.", "notifyType": "warning"}
    }

    /// Sets or clears an entry of the status bar.
    record ShowStatus(type = "set_status") {
        /// The extension that sets it.
        extension: Opt<Str>,
        /// The entry's key.
        key: Str,
        /// The text; absent to clear the entry.
        text: Opt<Str>,
        ;
        example {"type": "set_status", "key": "guard", "text": "guard is on"}
    }

    /// Sets or clears a block of lines beside the editor.
    record ShowWidget(type = "set_widget") {
        /// The extension that sets it.
        extension: Opt<Str>,
        /// The block's key.
        key: Str,
        /// The lines; absent to clear the block.
        lines: Opt<List<Str>>,
        /// Where it stands.
        placement: Opt<WidgetPlacement>,
        ;
        example {"type": "set_widget", "key": "todo", "lines": ["1. tests"], "placement": "belowEditor"}
    }

    /// Sets the title of the window or tab.
    record ShowTitle(type = "set_title") {
        /// The extension that sets it.
        extension: Opt<Str>,
        /// The title.
        title: Str,
        ;
        example {"type": "set_title", "title": "my project"}
    }

    /// Puts text into the input editor.
    record ShowEditorText(type = "set_editor_text") {
        /// The extension that sets it.
        extension: Opt<Str>,
        /// The text.
        text: Str,
        ;
        example {"type": "set_editor_text", "text": "prefilled"}
    }
}
