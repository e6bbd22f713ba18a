//! What stands beside the messages of a conversation: words that wait, questions, notices, models and more.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::record;

record! {
    /// The user's words on their way into the conversation.
    #[derive(Default)]
    Waiting {
        /// A name that stays the same.
        key: String,
        /// The words.
        text: String,
        /// How many images go with them.
        images: u64,
        /// How they enter: as a prompt of their own, or by which of the queues.
        mode: Mode,
        /// How far they are.
        state: WaitingState,
    } {
        /// The id of the command that carries them.
        id: Value,
    }
}

/// How words enter the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Mode {
    /// They begin a run.
    #[default]
    Prompt,
    /// They interrupt.
    Steer,
    /// They wait until the agent would stop.
    FollowUp,
}

/// How far words are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WaitingState {
    /// The agent has not answered.
    #[default]
    Sent,
    /// The agent works on them.
    Taken,
    /// They stand in a queue.
    Queued,
}

record! {
    /// A question that waits for an answer.
    OpenQuestion {
        /// A name that stays the same.
        key: String,
        /// The question's id.
        id: Value,
        /// The dialog's wire name.
        method: String,
        /// `select`, `confirm`, `input` or `editor`.
        kind: String,
    } {
        /// The question.
        title: String,
        /// What it is about.
        text: String,
        /// What can be chosen.
        options: Vec<String>,
        /// Grey text in the empty field.
        placeholder: String,
        /// The text to begin with.
        prefill: String,
        /// Whether the answer is a secret.
        secret: bool,
        /// After how many milliseconds the agent answers for itself.
        timeout_ms: f64,
        /// When it came, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// A shell command of the client that is running.
    Shell {
        /// A name that stays the same.
        key: String,
        /// The command line.
        command: String,
        /// What it has written so far.
        output: String,
    } {
        /// The id of the command.
        id: Value,
    }
}

record! {
    /// Something for the user to know.
    Notice {
        /// A name that stays the same.
        key: String,
        /// `info`, `warning` or `error`.
        level: String,
        /// The text.
        text: String,
    } {
        /// Who says so: an extension's file, a command's name.
        source: String,
        /// When it came, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// Text for the editor.
    #[derive(Default)]
    Draft {
        /// The text.
        text: String,
        /// Grows with each.
        count: u64,
    }
}

record! {
    /// The session.
    #[derive(Default)]
    Session {} {
        /// Its id.
        id: String,
        /// Its file.
        file: String,
        /// Its name.
        name: String,
        /// Its working directory.
        directory: String,
    }
}

record! {
    /// A model that can be chosen.
    Model {
        /// Its id.
        id: String,
    } {
        /// Its provider.
        provider: String,
        /// A name for people.
        name: String,
        /// The context window in tokens.
        window: u64,
        /// Whether it can think.
        reasoning: bool,
        /// The wire format of its API, in the agent's word.
        api: String,
        /// The address of its API.
        base_url: String,
        /// What can be put in: `text`, `image`.
        input: Vec<String>,
        /// The most tokens of one answer.
        max_tokens: u64,
        /// Prices in US dollars for a million tokens, as the agent writes them.
        prices: Value,
    }
}

record! {
    /// Something that a prompt can invoke with `/name`.
    SlashCommand {
        /// The name.
        name: String,
    } {
        /// A description for people.
        description: String,
        /// Where it comes from.
        source: String,
    }
}

record! {
    /// A message of the user from which a fork can be made.
    ForkPoint {
        /// The id to name.
        id: String,
        /// The message's text.
        text: String,
    }
}

record! {
    /// Something that the agent has still to do.
    Todo {
        /// What.
        text: String,
        /// How far it is, in the agent's word.
        status: String,
    }
}
