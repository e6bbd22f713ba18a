//! Questions and notices of extensions to the user of a client of the pi family.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Object, Opt, Str};

protocol! {
    /// The answer to a dialog with a value.
    record ValueAnswer(type = "extension_ui_response") {
        /// Id of the dialog.
        id: Str,
        /// The chosen option, the entered text or the edited text.
        value: Str,
    }

    /// The answer to a dialog with yes or no.
    record ConfirmedAnswer(type = "extension_ui_response") {
        /// Id of the dialog.
        id: Str,
        /// `true` for yes, `false` for no.
        confirmed: Bool,
    }

    /// The dismissal of a dialog: the extension receives no value, or "no".
    record CancelledAnswer(type = "extension_ui_response", cancelled = true) {
        /// Id of the dialog.
        id: Str,
    }

    /// The answer to a dialog; the member that is present determines its kind.
    choice DialogAnswer {
        Cancelled(CancelledAnswer), Confirmed(ConfirmedAnswer), Value(ValueAnswer)
    }

    /// The kind of a notice.
    strings NotifyType(open) {
        /// The notice is information; this is the default.
        "info",
        /// The notice is a warning.
        "warning",
        /// The notice is about an error.
        "error",
    }

    /// The position of a widget.
    strings WidgetPlacement(open) {
        /// Above the editor; the default.
        "aboveEditor",
        /// Below the editor.
        "belowEditor",
    }

    /// Requests a choice from a list. Resolves to no value on timeout.
    dialog select(SelectDialog {
        /// Text of the question.
        title: Str,
        /// Options from which the user chooses.
        options: List<Str>,
        /// Details of each choice, in the member `description`.
        optionDetails: Opt<List<Object>> [since "omp@18.2"],
        /// Timeout in milliseconds, after which the agent answers the dialog itself.
        timeout: Opt<Count>,
    }) -> ValueAnswer {
        fallback {"cancelled": true};
        expires: "timeout";
        example {"title": "Allow dangerous command?", "options": ["Allow", "Block"], "timeout": 10000};
    }

    /// Requests a yes or no. Resolves to no on timeout.
    dialog confirm(ConfirmDialog {
        /// Text of the question.
        title: Str,
        /// Subject of the question.
        message: Str,
        /// Timeout in milliseconds, after which the agent answers the dialog itself.
        timeout: Opt<Count>,
    }) -> ConfirmedAnswer {
        fallback {"cancelled": true};
        expires: "timeout";
        example {"title": "Clear session?", "message": "All messages will be lost.", "timeout": 5000};
    }

    /// Requests a line of text. Resolves to no value on timeout.
    dialog input(InputDialog {
        /// Text of the question.
        title: Str,
        /// Grey text in the empty field.
        placeholder: Opt<Str>,
        /// Timeout in milliseconds, after which the agent answers the dialog itself.
        timeout: Opt<Count>,
    }) -> ValueAnswer {
        fallback {"cancelled": true};
        expires: "timeout";
        example {"title": "Enter a value", "placeholder": "type something..."};
    }

    /// Opens an editor for several lines of text.
    dialog editor(EditorDialog {
        /// Title of the editor.
        title: Str,
        /// Initial text of the editor.
        prefill: Opt<Str>,
        /// `true` to show the editor in the style of the input field for prompts.
        promptStyle: Opt<Bool> [since "omp@18.2"],
    }) -> ValueAnswer {
        fallback {"cancelled": true};
        example {"title": "Edit some text", "prefill": "Line 1\nLine 2\nLine 3"};
    }

    /// Shows a notice. No answer is expected.
    dialog notify(NotifyNotice {
        /// Text of the notice.
        message: Str,
        /// Kind of the notice; `info` if absent.
        notifyType: Opt<NotifyType>,
    }) {
        example {"message": "Command blocked by user", "notifyType": "warning"};
    }

    /// Sets or clears an entry of the status bar. No answer is expected.
    dialog set_status(SetStatusNotice {
        /// Key of the entry.
        statusKey: Str,
        /// Text of the entry; absent to clear it.
        statusText: Opt<Str>,
    }) {
        wire: "setStatus";
        example {"statusKey": "my-ext", "statusText": "Turn 3 running..."};
    }

    /// Sets or clears a block of lines beside the editor. No answer is expected.
    dialog set_widget(SetWidgetNotice {
        /// Key of the block.
        widgetKey: Str,
        /// Lines of the block; absent to clear it.
        widgetLines: Opt<List<Str>>,
        /// Position of the block; above the editor if absent.
        widgetPlacement: Opt<WidgetPlacement>,
    }) {
        wire: "setWidget";
        example {
            "widgetKey": "my-ext", "widgetLines": ["--- My Widget ---", "Line 1", "Line 2"],
            "widgetPlacement": "aboveEditor"
        };
    }

    /// Sets the title of the window or tab. No answer is expected.
    dialog set_title(SetTitleNotice {
        /// New title of the window or tab.
        title: Str,
    }) {
        wire: "setTitle";
        example {"title": "pi - my project"};
    }

    /// Puts text into the input editor. No answer is expected.
    dialog set_editor_text(SetEditorTextNotice {
        /// New text of the input editor.
        text: Str,
    }) {
        example {"text": "prefilled text for the user"};
    }
}
