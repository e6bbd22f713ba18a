//! Requests of Opal's server to its client.

use crate::dsl::protocol;
use crate::typed::{Bool, List, Opt, Str};

protocol! {
    /// The action that the user chose.
    record ConfirmResult {
        /// One of the offered actions.
        action: Str,
        ;
        example {"action": "allow"}
    }

    /// Requests permission for an action of a tool.
    dialog confirm(OpalConfirm {
        /// Id of the session.
        session_id: Str,
        /// Text of the question.
        title: Str,
        /// Subject of the question.
        message: Str,
        /// The offered actions.
        actions: List<Str>,
    }) -> ConfirmResult {
        wire: "client/confirm";
        fallback {"action": "deny"};
        example {"session_id": "abc123", "title": "Run command?", "message": "ls", "actions": ["allow", "deny"]};
    }

    /// The text that the user entered.
    record InputResult {
        /// Text that the user entered.
        text: Str,
        ;
        example {"text": "main"}
    }

    /// Requests free text from the user.
    dialog input(OpalInput {
        /// Id of the session.
        session_id: Str,
        /// Description of the requested text.
        prompt: Str,
        /// `true` if the text is a secret.
        sensitive: Opt<Bool>,
    }) -> InputResult {
        wire: "client/input";
        example {"session_id": "abc123", "prompt": "Branch name?", "sensitive": false};
    }

    /// The answer of the user.
    record AskUserResult {
        /// Text of the answer.
        answer: Str,
        ;
        example {"answer": "blue"}
    }

    /// Sends a question to the user, with or without choices.
    dialog ask_user(OpalAskUser {
        /// Id of the session.
        session_id: Str,
        /// Text of the question.
        question: Str,
        /// The choices; empty if any answer is valid.
        choices: Opt<List<Str>>,
    }) -> AskUserResult {
        wire: "client/ask_user";
        example {"session_id": "abc123", "question": "Which colour?", "choices": ["red", "blue"]};
    }
}
