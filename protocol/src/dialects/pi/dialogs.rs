//! What extensions ask or tell the person behind a client of the pi family.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Object, Opt, Str};

protocol! {
    /// A dialog answered with a value.
    record ValueAnswer(type = "extension_ui_response") {
        /// The id of the question.
        id: Str,
        /// The chosen option, the text entered, the text edited.
        value: Str,
    }

    /// A dialog answered with yes or no.
    record ConfirmedAnswer(type = "extension_ui_response") {
        /// The id of the question.
        id: Str,
        /// Yes or no.
        confirmed: Bool,
    }

    /// A dialog dismissed: the extension gets nothing (or "no").
    record CancelledAnswer(type = "extension_ui_response", cancelled = true) {
        /// The id of the question.
        id: Str,
    }

    /// The answer to a dialog; the member that is present says which kind.
    choice DialogAnswer {
        Cancelled(CancelledAnswer), Confirmed(ConfirmedAnswer), Value(ValueAnswer)
    }

    /// What kind of notice it is.
    strings NotifyType(open) {
        /// Information; the default.
        "info",
        /// A warning.
        "warning",
        /// An error.
        "error",
    }

    /// Where a widget stands.
    strings WidgetPlacement(open) {
        /// Above the editor; the default.
        "aboveEditor",
        /// Below the editor.
        "belowEditor",
    }

    /// Asks to choose from a list. Resolves to nothing when the time is up.
    dialog select(SelectDialog {
        /// The question.
        title: Str,
        /// The choices.
        options: List<Str>,
        /// What more there is to say of each choice: the member `description`.
        optionDetails: Opt<List<Object>> [since "omp@18.2"],
        /// After how many milliseconds the agent answers for itself.
        timeout: Opt<Count>,
    }) -> ValueAnswer {
        fallback {"cancelled": true};
        expires: "timeout";
        example {"title": "Allow dangerous command?", "options": ["Allow", "Block"], "timeout": 10000};
    }

    /// Asks for yes or no. Resolves to no when the time is up.
    dialog confirm(ConfirmDialog {
        /// The question.
        title: Str,
        /// What it is about.
        message: Str,
        /// After how many milliseconds the agent answers for itself.
        timeout: Opt<Count>,
    }) -> ConfirmedAnswer {
        fallback {"cancelled": true};
        expires: "timeout";
        example {"title": "Clear session?", "message": "All messages will be lost.", "timeout": 5000};
    }

    /// Asks for a line of text. Resolves to nothing when the time is up.
    dialog input(InputDialog {
        /// The question.
        title: Str,
        /// Grey text in the empty field.
        placeholder: Opt<Str>,
        /// After how many milliseconds the agent answers for itself.
        timeout: Opt<Count>,
    }) -> ValueAnswer {
        fallback {"cancelled": true};
        expires: "timeout";
        example {"title": "Enter a value", "placeholder": "type something..."};
    }

    /// Opens an editor for several lines of text.
    dialog editor(EditorDialog {
        /// What is edited.
        title: Str,
        /// The text to begin with.
        prefill: Opt<Str>,
        /// Whether it should look like the field for prompts.
        promptStyle: Opt<Bool> [since "omp@18.2"],
    }) -> ValueAnswer {
        fallback {"cancelled": true};
        example {"title": "Edit some text", "prefill": "Line 1\nLine 2\nLine 3"};
    }

    /// Shows a notice. No answer is expected.
    dialog notify(NotifyNotice {
        /// The notice.
        message: Str,
        /// What kind it is; `info` where it is missing.
        notifyType: Opt<NotifyType>,
    }) {
        example {"message": "Command blocked by user", "notifyType": "warning"};
    }

    /// Sets or clears an entry of the status bar. No answer is expected.
    dialog set_status(SetStatusNotice {
        /// The entry's key.
        statusKey: Str,
        /// The text; absent to clear the entry.
        statusText: Opt<Str>,
    }) {
        wire: "setStatus";
        example {"statusKey": "my-ext", "statusText": "Turn 3 running..."};
    }

    /// Sets or clears a block of lines beside the editor. No answer is expected.
    dialog set_widget(SetWidgetNotice {
        /// The block's key.
        widgetKey: Str,
        /// The lines; absent to clear the block.
        widgetLines: Opt<List<Str>>,
        /// Where it stands; above the editor where this is missing.
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
        /// The title.
        title: Str,
    }) {
        wire: "setTitle";
        example {"title": "pi - my project"};
    }

    /// Puts text into the input editor. No answer is expected.
    dialog set_editor_text(SetEditorTextNotice {
        /// The text.
        text: Str,
    }) {
        example {"text": "prefilled text for the user"};
    }
}
