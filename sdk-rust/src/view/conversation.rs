//! What an agent and its user have said and done, in a form that no dialect has.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::message::{Message, Usage};
use super::panel::{
    Draft, ForkPoint, Model, Notice, OpenQuestion, Session, Shell, SlashCommand, Todo, Waiting,
};
use super::record::record;

/// A conversation as far as its frames have told it. As JSON it is the same in every language: it can be kept and gone
/// on with. A clone is cheap: messages are shared, and copied when they change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Conversation {
    /// The dialect's name.
    pub dialect: String,
    /// In the order in which they came, those that are no longer in the model's context among them.
    #[serde(with = "shared")]
    pub messages: Vec<Arc<Message>>,
    /// False where the agent has messages that no frame has told: the session was replaced, or was there before. The
    /// answer of the history command tells them.
    pub complete: bool,
    /// The user's words that are not in the conversation yet, those in the queues among them.
    pub waiting: Vec<Waiting>,
    /// What the agent is doing.
    pub run: Run,
    /// Tokens and cost of the whole session, as far as they were told.
    pub usage: Usage,
    /// How full the model's context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    /// Questions that wait for an answer.
    pub dialogs: Vec<OpenQuestion>,
    /// The client's own shell commands that are running.
    pub shells: Vec<Shell>,
    /// The last hundred notices: notifications, refused commands, failures of extensions.
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
    /// The model in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// How hard the model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Settings by name, such as `steeringMode` and `autoCompaction`, as far as they were told.
    pub settings: Map<String, Value>,
    /// What a prompt can invoke with `/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<SlashCommand>>,
    /// The models that can be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<Model>>,
    /// The user's messages from which a fork can be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_points: Option<Vec<ForkPoint>>,
    /// What the agent has still to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// Subagents, by their members: `id`, `name`, `state` and more.
    pub tasks: Vec<Map<String, Value>>,
    /// What the fold has to remember; of no use to others.
    pub internal: Internal,
}

impl Conversation {
    /// A conversation in which nothing was said yet.
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

    /// The next key, which is no other's.
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
    /// How full the model's context is.
    #[derive(Default)]
    Context {} {
        /// Tokens in it.
        tokens: u64,
        /// Tokens that fit.
        window: u64,
    }
}

/// What the agent is doing, in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunState {
    /// Nothing.
    #[default]
    Idle,
    /// It works on a prompt.
    Working,
    /// It waits before it asks the model again.
    Retrying,
    /// It makes a summary of the conversation.
    Compacting,
    /// Somebody stopped it, and it has not ended yet.
    Aborting,
}

record! {
    /// What the agent is doing.
    #[derive(Default)]
    Run {
        /// In one word.
        state: RunState,
        /// Whether a run is going on.
        working: bool,
        /// Whether somebody stops it.
        aborting: bool,
    } {
        /// The retry that it waits for.
        retry: Retry,
        /// The compaction that is going on.
        compaction: Compaction,
        /// What the agent says that it is doing.
        activity: String,
        /// Why the last run failed.
        error: String,
    }
}

record! {
    /// A request to the model that is made again.
    #[derive(Default)]
    Retry {} {
        /// The number of this retry, from 1.
        attempt: u64,
        /// How many there will be at most.
        max_attempts: u64,
        /// How long the agent waits, in milliseconds.
        delay_ms: u64,
        /// What went wrong.
        error: String,
        /// When it was told, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// A compaction.
    #[derive(Default)]
    Compaction {} {
        /// Why.
        reason: String,
    }
}

record! {
    /// What the fold has to remember.
    #[derive(Default)]
    Internal {
        /// The number of the next key.
        next: u64,
        /// Commands that are not answered yet, by their ids as JSON.
        sent: BTreeMap<String, Sent>,
        /// Messages of shell commands that were over during a run: they follow it.
        held: Vec<Message>,
    } {
        /// Why the run that is going on fails, where nothing better follows.
        failure: String,
    }
}

record! {
    /// A command that is not answered yet.
    Sent {
        /// Its name.
        command: String,
        /// Those of its parameters that are neither lists nor objects.
        params: Map<String, Value>,
    }
}
