//! Dialogs and notices of an extension for the user. The agent passes them to the client in the client's own dialect.
//!
//! Every request and action may carry `id` (which requires an answer) and `extension` (its extension; required if a
//! process serves several). It may also carry `during`, the id of the agent's request that the extension is handling.
//! Such a dialog ends with that request, and its duration is excluded from the time limit.

use crate::dialects::pi::dialogs::{NotifyType, WidgetPlacement};
use crate::dsl::protocol;
use crate::typed::{Count, List, Opt, Str};

protocol! {
    /// Requests a choice of the user. Answered with `ValueResult`.
    record SelectQuestion(type = "select") {
        /// Id of the request.
        id: Str,
        /// Path of the extension that sends the request.
        extension: Opt<Str>,
        /// Id of the agent's request that the extension is handling.
        during: Opt<Str>,
        /// Text of the question.
        title: Str,
        /// Options from which the user chooses.
        options: List<Str>,
        /// Timeout in milliseconds, after which the dialog ends without an answer; no timeout if absent.
        timeout: Opt<Count>,
        ;
        example {
            "type": "select", "id": "3", "during": "7", "title": "Allow: rm -rf build", "options": ["Allow", "Block"],
            "timeout": 10000
        }
    }

    /// Requests a yes or no of the user. Answered with `ConfirmationResult`.
    record ConfirmQuestion(type = "confirm") {
        /// Id of the request.
        id: Str,
        /// Path of the extension that sends the request.
        extension: Opt<Str>,
        /// Id of the agent's request that the extension is handling.
        during: Opt<Str>,
        /// Text of the question.
        title: Str,
        /// Subject of the question.
        message: Str,
        /// Timeout in milliseconds, after which the answer is no; no timeout if absent.
        timeout: Opt<Count>,
        ;
        example {"type": "confirm", "id": "4", "title": "Clear session?", "message": "All messages will be lost."}
    }

    /// Requests a line of text from the user. Answered with `ValueResult`.
    record InputQuestion(type = "input") {
        /// Id of the request.
        id: Str,
        /// Path of the extension that sends the request.
        extension: Opt<Str>,
        /// Id of the agent's request that the extension is handling.
        during: Opt<Str>,
        /// Text of the question.
        title: Str,
        /// Grey text in the empty field.
        placeholder: Opt<Str>,
        /// Timeout in milliseconds, after which the dialog ends without an answer; no timeout if absent.
        timeout: Opt<Count>,
        ;
        example {"type": "input", "id": "5", "title": "Your name", "placeholder": "type here"}
    }

    /// Opens an editor for the user. Answered with `ValueResult`.
    record EditorQuestion(type = "editor") {
        /// Id of the request.
        id: Str,
        /// Path of the extension that sends the request.
        extension: Opt<Str>,
        /// Id of the agent's request that the extension is handling.
        during: Opt<Str>,
        /// Title of the editor.
        title: Str,
        /// Initial text of the editor.
        prefill: Opt<Str>,
        ;
        example {"type": "editor", "id": "6", "title": "Edit this", "prefill": "line 1\nline 2"}
    }

    /// Withdraws a dialog. The dialog ends without an answer, even if its own frame has not arrived yet.
    record QuestionWithdrawal(type = "withdraw") {
        /// Id of the extension's request for the dialog.
        question: Str,
        ;
        example {"type": "withdraw", "question": "3"}
    }

    /// Shows a notice.
    record ExtensionNotice(type = "notify") {
        /// Path of the extension that shows the notice.
        extension: Opt<Str>,
        /// Text of the notice.
        message: Str,
        /// Kind of the notice.
        notifyType: Opt<NotifyType>,
        ;
        example {"type": "notify", "message": "Blocked.", "notifyType": "warning"}
    }

    /// Sets or clears an entry of the status bar.
    record ExtensionStatus(type = "set_status") {
        /// Path of the extension that sets the entry.
        extension: Opt<Str>,
        /// Key of the entry.
        key: Str,
        /// Text of the entry; absent to clear it.
        text: Opt<Str>,
        ;
        example {"type": "set_status", "key": "guard", "text": "guard is on"}
    }

    /// Sets or clears a block of lines beside the editor.
    record ExtensionWidget(type = "set_widget") {
        /// Path of the extension that sets the block.
        extension: Opt<Str>,
        /// Key of the block.
        key: Str,
        /// Lines of the block; absent to clear it.
        lines: Opt<List<Str>>,
        /// Position of the block.
        placement: Opt<WidgetPlacement>,
        ;
        example {"type": "set_widget", "key": "todo", "lines": ["1. tests"], "placement": "belowEditor"}
    }

    /// Sets the title of the window or tab.
    record ExtensionTitle(type = "set_title") {
        /// Path of the extension that sets the title.
        extension: Opt<Str>,
        /// New title of the window or tab.
        title: Str,
        ;
        example {"type": "set_title", "title": "my project"}
    }

    /// Puts text into the input editor.
    record ExtensionEditorText(type = "set_editor_text") {
        /// Path of the extension that sets the text.
        extension: Opt<Str>,
        /// New text of the input editor.
        text: Str,
        ;
        example {"type": "set_editor_text", "text": "prefilled"}
    }
}
