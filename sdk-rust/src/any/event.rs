//! Events in a form that is independent of the dialect.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::view::{
    Block, Context, Message, Notice, OpenQuestion, PendingInput, Retry, Role, RunState, ToolState, Usage,
};

/// A change of the conversation by one frame. The JSON form is the same in every language.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// The activity of the agent changed. After `idle`, a retry, a compaction or a queued prompt may start more
    /// work. The end of a [`Run`](super::Run) takes this into account.
    #[serde(rename = "state")]
    StateChanged {
        /// New state of the run.
        state: RunState,
        /// Reason for the failure of the last run.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A message started.
    #[serde(rename = "messageBegan")]
    MessageStarted {
        /// Key of the message in the conversation.
        message: String,
        /// Author of the message.
        role: Role,
    },
    /// Text was added to a text block of the model. Messages of other authors arrive complete, with
    /// `MessageEnded`.
    TextGrew {
        /// The message's key.
        message: String,
        /// Index of the block.
        block: usize,
        /// The added text.
        text: String,
    },
    /// Text was added to a block of reasoning.
    ThinkingGrew {
        /// The message's key.
        message: String,
        /// Index of the block.
        block: usize,
        /// The added text.
        text: String,
    },
    /// JSON text was added to the arguments of a tool call.
    ArgumentsGrew {
        /// The message's key.
        message: String,
        /// Index of the block.
        block: usize,
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The added part of the arguments' JSON text, if the agent sends it.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The arguments, as far as they can be parsed.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// A block changed in another way than by additional text: another kind, an image, data, or edited text.
    BlockChanged {
        /// The message's key.
        message: String,
        /// Index of the block.
        block: usize,
        /// The new block.
        value: Block,
    },
    /// A message is complete.
    MessageEnded {
        /// The complete message. Usage, stop reason and error are included if the agent reported them.
        #[serde(serialize_with = "whole")]
        message: Arc<Message>,
    },
    /// The model's context no longer contains a message.
    MessageGone {
        /// The message's key.
        message: String,
    },
    /// A tool started.
    ToolStarted {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// The complete arguments of the call.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
    },
    /// A tool reported progress.
    ToolUpdated {
        /// The call's id.
        call_id: String,
        /// The complete output so far.
        output: Vec<Block>,
        /// Structured details for a front end.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A tool ended.
    ToolEnded {
        /// The call's id.
        call_id: String,
        /// The tool's name.
        name: String,
        /// `done`, `failed`, or `skipped`.
        state: ToolState,
        /// The result of the tool.
        result: Vec<Block>,
        /// Structured details for a front end.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// The agent replaced the whole conversation, by another session or by its full history. Earlier events no
    /// longer apply.
    #[serde(rename = "replaced")]
    ConversationReplaced {
        /// All messages of the conversation.
        #[serde(serialize_with = "each")]
        messages: Vec<Arc<Message>>,
    },
    /// The queue changed. The event contains all queued input.
    #[serde(rename = "queue")]
    QueueChanged {
        /// The queued input of the user.
        waiting: Vec<PendingInput>,
    },
    /// The agent sent a question.
    #[serde(rename = "asked")]
    QuestionOpened {
        /// The question of the agent.
        question: OpenQuestion,
    },
    /// A question is closed: answered, withdrawn by the agent, or timed out.
    #[serde(rename = "answered")]
    QuestionClosed {
        /// The question's key.
        question: String,
    },
    /// A notice for the user.
    #[serde(rename = "notice")]
    NoticeAdded {
        /// The notice with its text and level.
        notice: Notice,
    },
    /// A retry of a request to the model is scheduled.
    #[serde(rename = "retryBegan")]
    RetryStarted {
        /// Number and delay of the retry.
        retry: Retry,
    },
    /// The retry ended.
    RetryEnded,
    /// A compaction started.
    #[serde(rename = "compactionBegan")]
    CompactionStarted {
        /// Reason for the compaction.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The compaction ended. The event for the summary message was emitted before.
    CompactionEnded,
    /// The usage of the session changed.
    #[serde(rename = "usage")]
    UsageChanged {
        /// Tokens and cost.
        usage: Usage,
        /// Fill level of the model's context.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<Context>,
    },
    /// Members of the conversation changed for which no other event exists. Read their values from the
    /// conversation.
    #[serde(rename = "changed")]
    MembersChanged {
        /// Names of the changed members, as in the JSON form of the conversation.
        members: Vec<&'static str>,
    },
}

fn whole<S: Serializer>(message: &Arc<Message>, to: S) -> Result<S::Ok, S::Error> {
    message.as_ref().serialize(to)
}

fn each<S: Serializer>(messages: &[Arc<Message>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(messages.iter().map(AsRef::as_ref))
}
