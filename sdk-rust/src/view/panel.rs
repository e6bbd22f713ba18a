//! State beside the messages of a conversation: waiting input, questions, notices, models and more.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::record;

record! {
    /// Input of the user that is not in the conversation yet.
    #[derive(Default)]
    PendingInput {
        /// A key of the input that stays the same, for rendering.
        key: String,
        /// Text of the input.
        text: String,
        /// Number of attached images.
        images: u64,
        /// Delivery of the input: as a prompt, or through one of the queues.
        mode: Delivery,
        /// Progress of the delivery.
        state: PendingInputState,
    } {
        /// The id of the command with the input.
        id: Value,
    }
}

/// Delivery of input to the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Delivery {
    /// The input starts a run.
    #[default]
    Prompt,
    /// The input interrupts the run.
    Steer,
    /// The input waits until the agent would otherwise stop.
    FollowUp,
}

/// Progress of a delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PendingInputState {
    /// The agent has not answered the command.
    #[default]
    Sent,
    /// The agent works on the input.
    Taken,
    /// The input is in a queue.
    Queued,
}

record! {
    /// A question that has no answer yet.
    OpenQuestion {
        /// A key of the question that stays the same, for rendering.
        key: String,
        /// The question's id.
        id: Value,
        /// The dialog's wire name.
        method: String,
        /// `select`, `confirm`, `input` or `editor`.
        kind: String,
    } {
        /// Text of the question.
        title: String,
        /// Explanation of the question.
        text: String,
        /// The options to choose from.
        options: Vec<String>,
        /// Placeholder text for the empty field.
        placeholder: String,
        /// Initial text of the field.
        prefill: String,
        /// `true` if the answer is a secret.
        secret: bool,
        /// Time in milliseconds after which the agent continues without an answer.
        timeout_ms: f64,
        /// Arrival, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// A running shell command of the client.
    Shell {
        /// A key of the command that stays the same, for rendering.
        key: String,
        /// Command line of the shell command.
        command: String,
        /// Output so far.
        output: String,
    } {
        /// The id of the command.
        id: Value,
    }
}

record! {
    /// A notice for the user.
    Notice {
        /// A key of the notice that stays the same, for rendering.
        key: String,
        /// `info`, `warning` or `error`.
        level: String,
        /// Text of the notice.
        text: String,
    } {
        /// Source of the notice: the file of an extension, or the name of a command.
        source: String,
        /// Arrival, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// Text for the editor.
    #[derive(Default)]
    Draft {
        /// Text for the editor.
        text: String,
        /// Number of texts for the editor so far. It distinguishes equal texts that were sent twice.
        count: u64,
    }
}

record! {
    /// The session.
    #[derive(Default)]
    Session {} {
        /// Id of the session.
        id: String,
        /// File of the session.
        file: String,
        /// Name of the session.
        name: String,
        /// Working directory of the session.
        directory: String,
    }
}

record! {
    /// An available model.
    Model {
        /// Id of the model.
        id: String,
    } {
        /// Provider of the model.
        provider: String,
        /// A name for display.
        name: String,
        /// The context window in tokens.
        window: u64,
        /// `true` if the model supports reasoning.
        reasoning: bool,
        /// The wire format of the API, as named by the agent.
        api: String,
        /// The address of the API.
        base_url: String,
        /// Supported input: `text`, `image`.
        input: Vec<String>,
        /// Maximum number of tokens in one response.
        max_tokens: u64,
        /// Prices in US dollars per million tokens, in the agent's own format.
        prices: Value,
    }
}

record! {
    /// A command that a prompt can invoke with `/name`.
    SlashCommand {
        /// Name of the command, without the slash.
        name: String,
    } {
        /// A description for users.
        description: String,
        /// Source of the command.
        source: String,
    }
}

record! {
    /// A message of the user from which a fork can be made.
    ForkPoint {
        /// The id for a fork command.
        id: String,
        /// The text of the message.
        text: String,
    }
}

record! {
    /// A task of the agent.
    Todo {
        /// Description of the task.
        text: String,
        /// Status of the task, as named by the agent.
        status: String,
    }
}
