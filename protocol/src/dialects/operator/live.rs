//! The commands and dialogs in the published sources of Operator that its document lacks.
//!
//! Source: the RPC server among the published sources. No code in them sends the dialogs, so the declared members are
//! the expected ones, and all other members are preserved.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Nothing, Nullable, Opt, OptNull, Str};

use super::types::OperatorMessage;

protocol! {
    /// The outcome of a change of session.
    record OperatorSwitchResult [since "operator@live"] {
        /// `true` if the change was prevented; the agent always sends `false`.
        cancelled: Opt<Bool>,
        ;
        example {"cancelled": false}
    }

    /// The outcome of a fork.
    record OperatorForkResult [since "operator@live"] {
        /// Id of the entry at which the fork continues.
        entry_id: Opt<Str>,
        /// `true` if the fork was prevented; the agent always sends `false`.
        cancelled: Opt<Bool>,
        ;
        example {"entry_id": "aaaa1111", "cancelled": false}
    }

    /// Input of the user for the current turn.
    record OperatorQueuedInput [since "operator@live"] {
        /// Text of the input.
        message: Str,
        ;
        example {"message": "Use tabs"}
    }

    /// Queues input for delivery to the model when the running tools have ended. Without a turn, the input waits for
    /// the next one.
    command steer(OperatorQueuedInput) -> Nothing [since "operator@live"] {
        answer: Done;
        run: Acts;
        lane: Immediate;
        errors {
            MissingParameters "'message' required and session must be active" => "the message is missing or empty, or there is no session";
        }
        example {"message": "Use tabs"};
    }

    /// Queues input for delivery to the model at the end of the turn; the run continues with it. Without a turn, the
    /// input waits for the next one.
    command follow_up(OperatorQueuedInput) -> Nothing [since "operator@live"] {
        answer: Done;
        run: Acts;
        lane: Immediate;
        errors {
            MissingParameters "'message' required and session must be active" => "the message is missing or empty, or there is no session";
        }
        example {"message": "And add a test"};
    }

    /// The messages of the process, without the user's prompts.
    record OperatorMessages [since "operator@live"] {
        /// The messages, oldest first.
        messages: List<OperatorMessage>,
    }

    /// Returns the messages of this process, without the user's prompts.
    command get_messages() -> OperatorMessages [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"messages": [
            {"contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"}
        ]};
    }

    /// The text of the last answer.
    record OperatorLastText [since "operator@live"] {
        /// Last text block of the latest answer that contains text; null if there is no such answer.
        text: Nullable<Str>,
    }

    /// Returns the text of the last answer.
    command get_last_assistant_text() -> OperatorLastText [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"text": "Hello"};
    }

    /// Statistics of the session.
    record OperatorSessionStats [since "operator@live"] {
        /// Id of the session.
        session_id: OptNull<Str>,
        /// Name of the session.
        session_name: OptNull<Str>,
        /// Number of entries in the session.
        entry_count: Count,
        /// Number of tokens in the context.
        context_tokens: Opt<Count>,
        /// Size of the context window in tokens.
        context_window: Opt<Count>,
    }

    /// Returns statistics of the session.
    command get_session_stats() -> OperatorSessionStats [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "session_id": "s1", "session_name": null, "entry_count": 3, "context_tokens": 0, "context_window": 200000
        };
    }

    /// Sets the name of the session. White space around the name is removed.
    command set_session_name(OperatorSessionNameParams {
        /// New name of the session.
        name: Str,
    }) -> Nothing [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'name' is required" => "the name is missing or blank";
        }
        example {"name": "My talk"};
    }

    /// The requested model.
    record OperatorModelSelection [since "operator@live"] {
        /// Id of the model, as in the command.
        model_id: Str,
    }

    /// Requests another model. The agent confirms the request but keeps its current model.
    command set_model(OperatorModelParams {
        /// Id of the model.
        model_id: Str,
        /// Name of the provider.
        provider: Opt<Str>,
    }) -> OperatorModelSelection [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'model_id' is required" => "the model is missing or empty";
        }
        example {"model_id": "gpt-x", "provider": "openai"} -> {"model_id": "gpt-x"};
    }

    /// The amount of reasoning requested from the model.
    strings OperatorThinkingLevel(open) [since "operator@live"] {
        /// No reasoning.
        "off",
        /// The least reasoning.
        "minimal",
        /// Little reasoning.
        "low",
        /// Medium reasoning.
        "medium",
        /// Much reasoning.
        "high",
        /// More than `high`.
        "xhigh",
        /// The maximum of the model.
        "max",
    }

    /// The new thinking level.
    record OperatorThinkingSelection [since "operator@live"] {
        /// Thinking level of the model.
        level: OperatorThinkingLevel,
    }

    /// Sets the thinking level.
    command set_thinking_level(OperatorThinkingParams {
        /// New thinking level.
        level: OperatorThinkingLevel,
    }) -> OperatorThinkingSelection [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'level' required and session must be active" => "the level is missing, or there is no session";
            UnknownThinkingLevel "Unknown thinking level: {level}" => "no thinking level has that name";
        }
        example {"level": "high"} -> {"level": "high"};
    }

    /// The setting of automatic compaction.
    record OperatorAutoCompaction [since "operator@live"] {
        /// `true` if automatic compaction is on.
        enabled: Bool,
    }

    /// Switches automatic compaction on or off.
    command set_auto_compaction(OperatorAutoCompactionParams {
        /// `true` to switch automatic compaction on.
        enabled: Bool,
    }) -> OperatorAutoCompaction [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'enabled' required" => "`enabled` is missing";
        }
        example {"enabled": true} -> {"enabled": true};
    }

    /// The answer to a dialog with yes or no.
    record OperatorConfirmedAnswer(type = "extension_ui_response") [since "operator@live"] {
        /// Id of the dialog.
        id: Str,
        /// `true` for yes, `false` for no.
        value: Bool,
    }

    /// The answer to a dialog with a text.
    record OperatorValueAnswer(type = "extension_ui_response") [since "operator@live"] {
        /// Id of the dialog.
        id: Str,
        /// The chosen option or the entered text.
        value: Str,
    }

    /// The dismissal of a dialog: its origin receives no value.
    record OperatorCancelledAnswer(type = "extension_ui_response", cancelled = true) [since "operator@live"] {
        /// Id of the dialog.
        id: Str,
    }

    /// The answer to a dialog.
    choice OperatorDialogAnswer [since "operator@live"] {
        Cancelled(OperatorCancelledAnswer), Confirmed(OperatorConfirmedAnswer), Value(OperatorValueAnswer)
    }

    /// Requests a yes or no.
    dialog confirm(OperatorConfirmDialog {
        /// Text of the question.
        title: Opt<Str>,
        /// Subject of the question.
        message: Opt<Str>,
    }) -> OperatorConfirmedAnswer [since "operator@live"] {
        fallback {"cancelled": true};
        example {"title": "Run it?", "message": "rm -rf build"};
    }

    /// Requests a choice from a list.
    dialog select(OperatorSelectDialog {
        /// Text of the question.
        title: Opt<Str>,
        /// Subject of the question.
        message: Opt<Str>,
        /// Options from which the user chooses.
        options: Opt<List<Str>>,
    }) -> OperatorValueAnswer [since "operator@live"] {
        fallback {"cancelled": true};
        example {"title": "Pick one", "options": ["x", "y"]};
    }

    /// Requests a line of text.
    dialog input(OperatorInputDialog {
        /// Text of the question.
        title: Opt<Str>,
        /// Subject of the question.
        message: Opt<Str>,
        /// Grey text in the empty field.
        placeholder: Opt<Str>,
    }) -> OperatorValueAnswer [since "operator@live"] {
        fallback {"cancelled": true};
        example {"title": "Name?", "placeholder": "a word"};
    }

    /// Shows a notice. No answer is expected.
    dialog notify(OperatorNotice {
        /// Title of the notice.
        title: Opt<Str>,
        /// Text of the notice.
        message: Opt<Str>,
    }) [since "operator@live"] {
        example {"message": "Done."};
    }
}
