//! The commands and dialogs that the published sources of Operator have and its document has not.
//!
//! Source: the RPC server among the published sources. Nothing in them asks the dialogs, so the members of a question are what
//! its reader would expect, and any other is kept.

use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Nothing, Nullable, Opt, OptNull, Str};

use super::types::OperatorMessage;

protocol! {
    /// A session that another one took the place of.
    record OperatorSwitched [since "operator@live"] {
        /// Whether that was prevented; the agent always says false.
        cancelled: Opt<Bool>,
        ;
        example {"cancelled": false}
    }

    /// A session that was forked.
    record OperatorForked [since "operator@live"] {
        /// The entry from which it goes on.
        entry_id: Opt<Str>,
        /// Whether that was prevented; the agent always says false.
        cancelled: Opt<Bool>,
        ;
        example {"entry_id": "aaaa1111", "cancelled": false}
    }

    /// Words of the user for the turn that is going on.
    record OperatorQueuedWords [since "operator@live"] {
        /// The words.
        message: Str,
        ;
        example {"message": "Use tabs"}
    }

    /// Queues words that reach the model when the tools that run now are done. Without a turn they wait for the next one.
    command steer(OperatorQueuedWords) -> Nothing [since "operator@live"] {
        answer: Done;
        run: Acts;
        lane: Immediate;
        errors {
            MissingParameters "'message' required and session must be active" => "the words are missing or empty, or there is no session";
        }
        example {"message": "Use tabs"};
    }

    /// Queues words that reach the model when the turn is over; the run goes on with them. Without a turn they wait for the
    /// next one.
    command follow_up(OperatorQueuedWords) -> Nothing [since "operator@live"] {
        answer: Done;
        run: Acts;
        lane: Immediate;
        errors {
            MissingParameters "'message' required and session must be active" => "the words are missing or empty, or there is no session";
        }
        example {"message": "And add a test"};
    }

    /// Messages of the process, without the user's prompts.
    record OperatorMessages [since "operator@live"] {
        /// The messages, the oldest first.
        messages: List<OperatorMessage>,
    }

    /// Returns the messages of this process; the user's prompts are not among them.
    command get_messages() -> OperatorMessages [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"messages": [
            {"contents": [{"type": "text", "content": "Hello"}], "id": "m-1", "timestamp": 1767225600.5, "role": "assistant"}
        ]};
    }

    /// The last answer.
    record OperatorLastText [since "operator@live"] {
        /// The last text of the last answer that has one; null where there is none.
        text: Nullable<Str>,
    }

    /// Returns the text of the last answer.
    command get_last_assistant_text() -> OperatorLastText [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {"text": "Hello"};
    }

    /// Numbers of the session.
    record OperatorSessionStats [since "operator@live"] {
        /// The session's id.
        session_id: OptNull<Str>,
        /// The session's name.
        session_name: OptNull<Str>,
        /// The number of entries in the session.
        entry_count: Count,
        /// Tokens in the context.
        context_tokens: Opt<Count>,
        /// The context window in tokens.
        context_window: Opt<Count>,
    }

    /// Returns the numbers of the session.
    command get_session_stats() -> OperatorSessionStats [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        reads: true;
        example {} -> {
            "session_id": "s1", "session_name": null, "entry_count": 3, "context_tokens": 0, "context_window": 200000
        };
    }

    /// Names the session. Blanks around the name are left out.
    command set_session_name(OperatorSessionNameParams {
        /// The name.
        name: Str,
    }) -> Nothing [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'name' is required" => "the name is missing or blank";
        }
        example {"name": "My talk"};
    }

    /// The model that was asked for.
    record OperatorModelSet [since "operator@live"] {
        /// Its id, as it was sent.
        model_id: Str,
    }

    /// Asks for a model. The agent says yes and goes on with the model that it has.
    command set_model(OperatorModelParams {
        /// The model's id.
        model_id: Str,
        /// The provider's name.
        provider: Opt<Str>,
    }) -> OperatorModelSet [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'model_id' is required" => "the model is missing or empty";
        }
        example {"model_id": "gpt-x", "provider": "openai"} -> {"model_id": "gpt-x"};
    }

    /// How long the model thinks.
    strings OperatorThinkingLevel(open) [since "operator@live"] {
        /// Not at all.
        "off",
        /// As little as it can.
        "minimal",
        /// A little.
        "low",
        /// Some time.
        "medium",
        /// Long.
        "high",
        /// Longer.
        "xhigh",
        /// As long as it can.
        "max",
    }

    /// The thinking level that was set.
    record OperatorThinkingSet [since "operator@live"] {
        /// The level.
        level: OperatorThinkingLevel,
    }

    /// Sets the thinking level.
    command set_thinking_level(OperatorThinkingParams {
        /// The level.
        level: OperatorThinkingLevel,
    }) -> OperatorThinkingSet [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'level' required and session must be active" => "the level is missing, or there is no session";
            UnknownThinkingLevel "Unknown thinking level: {level}" => "there is no such level";
        }
        example {"level": "high"} -> {"level": "high"};
    }

    /// Whether the agent compacts on its own.
    record OperatorAutoCompaction [since "operator@live"] {
        /// Whether it does.
        enabled: Bool,
    }

    /// Sets whether the agent compacts on its own when the context fills up.
    command set_auto_compaction(OperatorAutoCompactionParams {
        /// Whether it is to.
        enabled: Bool,
    }) -> OperatorAutoCompaction [since "operator@live"] {
        answer: Done;
        lane: Immediate;
        errors {
            MissingParameters "'enabled' required" => "it is missing";
        }
        example {"enabled": true} -> {"enabled": true};
    }

    /// A dialog answered with yes or no.
    record OperatorConfirmedAnswer(type = "extension_ui_response") [since "operator@live"] {
        /// The id of the question.
        id: Str,
        /// Yes or no.
        value: Bool,
    }

    /// A dialog answered with a text.
    record OperatorValueAnswer(type = "extension_ui_response") [since "operator@live"] {
        /// The id of the question.
        id: Str,
        /// The chosen option, or the text entered.
        value: Str,
    }

    /// A dialog dismissed: who asked gets nothing.
    record OperatorCancelledAnswer(type = "extension_ui_response", cancelled = true) [since "operator@live"] {
        /// The id of the question.
        id: Str,
    }

    /// The answer to a dialog.
    choice OperatorDialogAnswer [since "operator@live"] {
        Cancelled(OperatorCancelledAnswer), Confirmed(OperatorConfirmedAnswer), Value(OperatorValueAnswer)
    }

    /// Asks for yes or no.
    dialog confirm(OperatorConfirmDialog {
        /// The question.
        title: Opt<Str>,
        /// What it is about.
        message: Opt<Str>,
    }) -> OperatorConfirmedAnswer [since "operator@live"] {
        fallback {"cancelled": true};
        example {"title": "Run it?", "message": "rm -rf build"};
    }

    /// Asks to choose from a list.
    dialog select(OperatorSelectDialog {
        /// The question.
        title: Opt<Str>,
        /// What it is about.
        message: Opt<Str>,
        /// The choices.
        options: Opt<List<Str>>,
    }) -> OperatorValueAnswer [since "operator@live"] {
        fallback {"cancelled": true};
        example {"title": "Pick one", "options": ["x", "y"]};
    }

    /// Asks for a line of text.
    dialog input(OperatorInputDialog {
        /// The question.
        title: Opt<Str>,
        /// What it is about.
        message: Opt<Str>,
        /// Grey text in the empty field.
        placeholder: Opt<Str>,
    }) -> OperatorValueAnswer [since "operator@live"] {
        fallback {"cancelled": true};
        example {"title": "Name?", "placeholder": "a word"};
    }

    /// Says something. No answer is expected.
    dialog notify(OperatorNotice {
        /// What it is about.
        title: Opt<Str>,
        /// The words.
        message: Opt<Str>,
    }) [since "operator@live"] {
        example {"message": "Done."};
    }
}
