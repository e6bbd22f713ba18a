//! A conversation between an agent and its user, independent of the dialect.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::message::{Message, Usage};
use super::panel::{
    Draft, ForkPoint, Model, Notice, OpenQuestion, Session, Shell, SlashCommand, Todo, Waiting,
};
use super::record::record;

/// A conversation as reported by its frames. The JSON form is the same in every language, and a stored
/// conversation can be continued. A clone is cheap: messages are shared, and copied when they change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Conversation {
    /// Name of the dialect.
    pub dialect: String,
    /// Messages in the order of their arrival, including messages that are no longer in the model's context.
    #[serde(with = "shared")]
    pub messages: Vec<Arc<Message>>,
    /// False if the agent has messages that no frame has reported, because the session was replaced or is
    /// older. The response to the history command reports them.
    pub complete: bool,
    /// Input of the user that is not in the conversation yet, including queued input.
    pub waiting: Vec<Waiting>,
    /// Activity of the agent.
    pub run: Run,
    /// Tokens and cost of the whole session, as far as reported.
    pub usage: Usage,
    /// Fill level of the model's context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Open questions.
    pub dialogs: Vec<OpenQuestion>,
    /// Running shell commands of the client.
    pub shells: Vec<Shell>,
    /// The last hundred notices: notifications, rejected commands, failures of extensions.
    pub notices: Vec<Notice>,
    /// Entries of the status line, by key.
    pub status: BTreeMap<String, Value>,
    /// Blocks of lines beside the editor, by key.
    pub widgets: BTreeMap<String, Value>,
    /// The title of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Text for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// The session.
    pub session: Session,
    /// The current model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// The current thinking level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Settings by name, such as `steeringMode` and `autoCompaction`, as far as reported.
    pub settings: Map<String, Value>,
    /// Commands that a prompt can invoke with `/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<SlashCommand>>,
    /// The available models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<Model>>,
    /// The user's messages from which a fork can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_points: Option<Vec<ForkPoint>>,
    /// The agent's list of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// Subagents as objects with `id`, `name`, `state` and further members.
    pub tasks: Vec<Map<String, Value>>,
    /// Internal state of the fold; not for other use.
    pub internal: Internal,
}

impl Conversation {
    /// Creates an empty conversation.
    #[must_use]
    pub fn begin(dialect: &str) -> Self {
        Conversation {
            dialect: dialect.to_owned(),
            messages: Vec::new(),
            complete: true,
            waiting: Vec::new(),
            run: Run::default(),
            usage: Usage::default(),
            context: None,
            dialogs: Vec::new(),
            shells: Vec::new(),
            notices: Vec::new(),
            status: BTreeMap::new(),
            widgets: BTreeMap::new(),
            title: None,
            draft: None,
            session: Session::default(),
            model: None,
            thinking_level: None,
            settings: Map::new(),
            commands: None,
            models: None,
            fork_points: None,
            todos: None,
            tasks: Vec::new(),
            internal: Internal { next: 1, ..Internal::default() },
        }
    }

    /// Returns a new unique key.
    pub(super) fn next_key(&mut self) -> String {
        let key = format!("k{}", self.internal.next);
        self.internal.next += 1;
        key
    }
}

/// Shared messages as JSON: a list of messages.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::Message;

    pub(super) fn serialize<S: Serializer>(messages: &[Arc<Message>], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(messages.iter().map(|message| &**message))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Arc<Message>>, D::Error> {
        Ok(Vec::<Message>::deserialize(from)?.into_iter().map(Arc::new).collect())
    }
}

record! {
    /// Fill level of the model's context.
    #[derive(Default)]
    Context {} {
        /// Number of tokens in the context.
        tokens: u64,
        /// Capacity of the context in tokens.
        window: u64,
    }
}

/// Activity of the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunState {
    /// No activity.
    #[default]
    Idle,
    /// The agent works on a prompt.
    Working,
    /// The agent waits before a retry of a request to the model.
    Retrying,
    /// The agent compacts the conversation.
    Compacting,
    /// The run was aborted and has not ended yet.
    Aborting,
}

record! {
    /// Activity of the agent.
    #[derive(Default)]
    Run {
        /// Summary of the activity.
        state: RunState,
        /// True during a run.
        working: bool,
        /// True after an abort, until the end of the run.
        aborting: bool,
    } {
        /// The pending retry.
        retry: Retry,
        /// The current compaction.
        compaction: Compaction,
        /// Description of the activity, sent by the agent.
        activity: String,
        /// Reason for the failure of the last run.
        error: String,
    }
}

record! {
    /// A retry of a request to the model.
    #[derive(Default)]
    Retry {} {
        /// The number of this retry, from 1.
        attempt: u64,
        /// Maximum number of retries.
        max_attempts: u64,
        /// Delay before the retry, in milliseconds.
        delay_ms: u64,
        /// The error of the failed request.
        error: String,
        /// Time of the report, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// A compaction.
    #[derive(Default)]
    Compaction {} {
        /// Reason for the compaction.
        reason: String,
    }
}

record! {
    /// Internal state of the fold.
    #[derive(Default)]
    Internal {
        /// The number of the next key.
        next: u64,
        /// Unanswered commands, by their ids as JSON.
        sent: BTreeMap<String, Sent>,
        /// Messages of shell commands that ended during a run; they follow the run.
        held: Vec<Message>,
    } {
        /// Reason for a failure of the current run, unless a better one follows.
        failure: String,
    }
}

record! {
    /// An unanswered command.
    Sent {
        /// Name of the command.
        command: String,
        /// Parameters that are neither lists nor objects.
        params: Map<String, Value>,
    }
}
