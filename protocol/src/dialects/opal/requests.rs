//! What Opal's server asks its client.

use crate::dsl::protocol;
use crate::typed::{Bool, List, Opt, Str};

protocol! {
    /// The action that the user chose.
    record ConfirmResult {
        /// One of the actions.
        action: Str,
        ;
        example {"action": "allow"}
    }

    /// Asks for permission for an action of a tool.
    dialog confirm(OpalConfirm {
        /// The session.
        session_id: Str,
        /// The question.
        title: Str,
        /// What it is about.
        message: Str,
        /// What can be answered.
        actions: List<Str>,
    }) -> ConfirmResult {
        wire: "client/confirm";
        fallback {"action": "deny"};
        example {"session_id": "abc123", "title": "Run command?", "message": "ls", "actions": ["allow", "deny"]};
    }

    /// The text that the user entered.
    record InputResult {
        /// The text.
        text: Str,
        ;
        example {"text": "main"}
    }

    /// Asks for free text.
    dialog input(OpalInput {
        /// The session.
        session_id: Str,
        /// What is asked for.
        prompt: Str,
        /// Whether the text is a secret.
        sensitive: Opt<Bool>,
    }) -> InputResult {
        wire: "client/input";
        example {"session_id": "abc123", "prompt": "Branch name?", "sensitive": false};
    }

    /// What the user answered.
    record AskUserResult {
        /// The answer.
        answer: Str,
        ;
        example {"answer": "blue"}
    }

    /// Asks a question, with or without choices.
    dialog ask_user(OpalAskUser {
        /// The session.
        session_id: Str,
        /// The question.
        question: Str,
        /// The choices; empty if any answer is accepted.
        choices: Opt<List<Str>>,
    }) -> AskUserResult {
        wire: "client/ask_user";
        example {"session_id": "abc123", "question": "Which colour?", "choices": ["red", "blue"]};
    }
}
