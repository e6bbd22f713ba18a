//! What happens, in a form that no dialect has.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::view::{
    Block, Context, Message, Notice, OpenQuestion, Retry, Role, RunState, ToolState, Usage, Waiting,
};

/// One difference between the conversation before a frame and after it. As JSON it is the same in every language.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// What the agent is doing. `idle` may be followed by work again (a retry, a compaction, a queued prompt): a
    /// [`Run`](super::Run) knows when it is over.
    State {
        /// In one word.
        state: RunState,
        /// Why the last run failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A message begins.
    MessageBegan {
        /// Its key in the conversation.
        message: String,
        /// Who it is from.
        role: Role,
    },
    /// A block of the model's text has more. Messages of others come whole, when they end.
    TextGrew {
        /// The message's key.
        message: String,
        /// The place of the block.
        block: usize,
        /// What was added.
        text: String,
    },
    /// A block of reasoning has more.
    ThinkingGrew {
        /// The message's key.
        message: String,
        /// The place of the block.
        block: usize,
        /// What was added.
        text: String,
    },
    /// A call is being written.
    ArgumentsGrew {
        /// The message's key.
        message: String,
        /// The place of the block.
        block: usize,
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// What was added to the JSON text, where the agent sends pieces.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The arguments as far as they can be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// A block stands otherwise than before, or is of another kind: an image, data, text that was changed.
    BlockChanged {
        /// The message's key.
        message: String,
        /// The place of the block.
        block: usize,
        /// The block as it stands.
        value: Block,
    },
    /// A message is complete.
    MessageEnded {
        /// The message, with usage, stop reason and error where it has them.
        #[serde(serialize_with = "whole")]
        message: Arc<Message>,
    },
    /// A message is no longer in the model's context.
    MessageGone {
        /// The message's key.
        message: String,
    },
    /// A tool begins.
    ToolStarted {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The arguments, complete.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// A tool shows how far it is.
    ToolUpdated {
        /// The call's id.
        call_id: String,
        /// What it has shown so far, all of it.
        output: Vec<Block>,
        /// Facts for a front end.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A tool is done.
    ToolEnded {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// `done`, `failed`, or `skipped`.
        state: ToolState,
        /// What came of it.
        result: Vec<Block>,
        /// Facts for a front end.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// The conversation was told anew: another session, or its history. What was said before counts no more.
    Replaced {
        /// All messages.
        #[serde(serialize_with = "each")]
        messages: Vec<Arc<Message>>,
    },
    /// What waits to enter the conversation, all of it.
    Queue {
        /// The user's words.
        waiting: Vec<Waiting>,
    },
    /// The agent asks.
    Asked {
        /// The question.
        question: OpenQuestion,
    },
    /// A question waits no longer: it was answered, taken back, or its time is up.
    Answered {
        /// The question's key.
        question: String,
    },
    /// Something for the user to know.
    Notice {
        /// It.
        notice: Notice,
    },
    /// A request to the model will be made again.
    RetryBegan {
        /// Which, and after how long.
        retry: Retry,
    },
    /// That is over.
    RetryEnded,
    /// A summary is being made.
    CompactionBegan {
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// That is over; the summary is a message before this.
    CompactionEnded,
    /// What the session has used so far.
    Usage {
        /// Tokens and cost.
        usage: Usage,
        /// How full the model's context is.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<Context>,
    },
    /// Other members of the conversation have changed: look there.
    Changed {
        /// Their names, as the conversation's JSON has them.
        members: Vec<&'static str>,
    },
}

fn whole<S: Serializer>(message: &Arc<Message>, to: S) -> Result<S::Ok, S::Error> {
    message.as_ref().serialize(to)
}

fn each<S: Serializer>(messages: &[Arc<Message>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(messages.iter().map(AsRef::as_ref))
}
