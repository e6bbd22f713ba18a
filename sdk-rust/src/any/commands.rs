//! The neutral commands as methods. Each fails with [`Error::NotInDialect`] before anything is sent where the agent's
//! dialect has no command for it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Agent, Run};
use crate::error::Error;
use crate::generated::intents::Intent;
use crate::view::{Context, ForkPoint, Message, Model, Session, SlashCommand, Todo, Usage};

/// Words of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Words {
    /// The text.
    pub text: String,
    /// Images that go with it, in dialects that take them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// `steer` or `followUp`: what becomes of a prompt where a run is going on, in dialects that ask for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_busy: Option<String>,
}

impl Words {
    /// The words, with an image more.
    #[must_use]
    pub fn image(mut self, mime_type: impl Into<String>, data: impl Into<String>) -> Self {
        self.images.push(Image { kind: "image", mime_type: mime_type.into(), data: data.into() });
        self
    }
}

impl<T: Into<String>> From<T> for Words {
    fn from(text: T) -> Self {
        Words { text: text.into(), ..Words::default() }
    }
}

/// An image that goes with words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Image {
    #[serde(rename = "type")]
    kind: &'static str,
    /// The MIME type.
    pub mime_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// What an agent is doing, and with which settings, as far as its dialect tells.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct State {
    /// The model in use.
    pub model: Option<Model>,
    /// How hard it thinks.
    pub thinking_level: Option<String>,
    /// Whether a run is going on.
    pub working: Option<bool>,
    /// Whether a summary is being made.
    pub compacting: Option<bool>,
    /// How many messages the conversation has.
    pub messages: Option<u64>,
    /// How many words wait in the queues.
    pub waiting: Option<u64>,
    /// The session.
    pub session: Session,
    /// Settings by name, such as `steeringMode` and `autoCompaction`.
    pub settings: Map<String, Value>,
    /// Tokens and cost of the session.
    pub usage: Usage,
    /// How full the model's context is.
    pub context: Context,
}

/// Tokens and cost of a session.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Stats {
    /// Tokens and cost.
    pub usage: Usage,
    /// How full the model's context is.
    pub context: Context,
}

/// A session that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct KeptSession {
    /// What opens it.
    pub session: String,
    /// Its name.
    pub name: Option<String>,
    /// When it changed last, as the agent says.
    pub modified: Option<String>,
}

/// What came of another place in the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Forked {
    /// True where an extension of the agent prevented it.
    pub cancelled: bool,
    /// The words that stood there.
    pub text: Option<String>,
}

/// What a shell command of the user did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ShellResult {
    /// What it wrote.
    pub output: String,
    /// Its exit code; none where it was stopped.
    pub exit_code: Option<i64>,
    /// Whether it was stopped.
    pub cancelled: bool,
    /// Whether the output was cut.
    pub truncated: bool,
}

/// The words that were taken back from the queues.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ClearedQueue {
    /// The steering words.
    pub steering: Vec<String>,
    /// The follow-up words.
    pub follow_up: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Given {
    outcome: Option<String>,
    cancelled: bool,
    sessions: Vec<KeptSession>,
    points: Vec<ForkPoint>,
    messages: Vec<Message>,
    message: Option<Message>,
    text: Option<String>,
    models: Vec<Model>,
    model: Option<Model>,
    levels: Vec<String>,
    thinking_level: Option<String>,
    path: Option<String>,
    commands: Vec<SlashCommand>,
    todos: Vec<Todo>,
}

fn params(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn one(name: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value.into())])
}

impl Agent {
    /// Sends words that begin a run, and gives the run.
    ///
    /// # Errors
    /// As every call; [`Error::Refused`] where the agent is at work and does not queue.
    pub async fn prompt(&self, words: impl Into<Words>) -> Result<Run, Error> {
        self.start(Intent::Prompt, params(words.into())).await
    }

    /// Stops the run that is going on and begins one with these words.
    ///
    /// # Errors
    /// As every call.
    pub async fn abort_and_prompt(&self, words: impl Into<Words>) -> Result<Run, Error> {
        self.start(Intent::AbortAndPrompt, params(words.into())).await
    }

    /// Sends words to the run that is going on. Gives `started`, `queued` or `handled` where the agent says it.
    ///
    /// # Errors
    /// As every call.
    pub async fn steer(&self, words: impl Into<Words>) -> Result<Option<String>, Error> {
        Ok(self.given(Intent::Steer, params(words.into())).await?.outcome)
    }

    /// Queues words that the agent reads when it would stop. Gives what [`Agent::steer`] gives.
    ///
    /// # Errors
    /// As every call.
    pub async fn follow_up(&self, words: impl Into<Words>) -> Result<Option<String>, Error> {
        Ok(self.given(Intent::FollowUp, params(words.into())).await?.outcome)
    }

    /// Stops the run that is going on.
    ///
    /// # Errors
    /// As every call.
    pub async fn abort(&self) -> Result<(), Error> {
        self.does(Intent::Abort, Map::new()).await
    }

    /// Takes back what waits in the queues.
    ///
    /// # Errors
    /// As every call.
    pub async fn clear_queue(&self) -> Result<ClearedQueue, Error> {
        self.get(Intent::ClearQueue, Map::new()).await
    }

    /// Starts a new session. Gives false where an extension of the agent prevented it.
    ///
    /// # Errors
    /// As every call.
    pub async fn new_session(&self) -> Result<bool, Error> {
        self.moves(Intent::NewSession, Map::new()).await
    }

    /// Opens a session that is kept, by its file where the state has one, else by its id. Gives false where an extension of
    /// the agent prevented it.
    ///
    /// # Errors
    /// As every call.
    pub async fn open_session(&self, session: &str) -> Result<bool, Error> {
        self.moves(Intent::OpenSession, one("session", session)).await
    }

    /// The sessions that are kept.
    ///
    /// # Errors
    /// As every call.
    pub async fn list_sessions(&self) -> Result<Vec<KeptSession>, Error> {
        Ok(self.given(Intent::ListSessions, Map::new()).await?.sessions)
    }

    /// Deletes a session that is kept.
    ///
    /// # Errors
    /// As every call.
    pub async fn delete_session(&self, session: &str) -> Result<(), Error> {
        self.does(Intent::DeleteSession, one("session", session)).await
    }

    /// Goes on in a copy of the session. Gives false where an extension of the agent prevented it.
    ///
    /// # Errors
    /// As every call.
    pub async fn clone_session(&self) -> Result<bool, Error> {
        self.moves(Intent::CloneSession, Map::new()).await
    }

    /// Goes on from an earlier place of the conversation.
    ///
    /// # Errors
    /// As every call.
    pub async fn fork(&self, entry: &str) -> Result<Forked, Error> {
        self.get(Intent::Fork, one("entry", entry)).await
    }

    /// The places from which a fork can be made.
    ///
    /// # Errors
    /// As every call.
    pub async fn fork_points(&self) -> Result<Vec<ForkPoint>, Error> {
        Ok(self.given(Intent::ForkPoints, Map::new()).await?.points)
    }

    /// What the agent is doing, and with which settings.
    ///
    /// # Errors
    /// As every call.
    pub async fn state(&self) -> Result<State, Error> {
        self.get(Intent::State, Map::new()).await
    }

    /// The messages of the conversation. [`Agent::conversation`] has them too, once they were asked for.
    ///
    /// # Errors
    /// As every call.
    pub async fn messages(&self) -> Result<Vec<Message>, Error> {
        Ok(self.given(Intent::Messages, Map::new()).await?.messages)
    }

    /// The text of the model's last message.
    ///
    /// # Errors
    /// As every call.
    pub async fn last_text(&self) -> Result<Option<String>, Error> {
        Ok(self.given(Intent::LastText, Map::new()).await?.text)
    }

    /// Tokens and cost of the session.
    ///
    /// # Errors
    /// As every call.
    pub async fn stats(&self) -> Result<Stats, Error> {
        self.get(Intent::Stats, Map::new()).await
    }

    /// The models that can be chosen.
    ///
    /// # Errors
    /// As every call.
    pub async fn models(&self) -> Result<Vec<Model>, Error> {
        Ok(self.given(Intent::Models, Map::new()).await?.models)
    }

    /// Chooses a model.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<(), Error> {
        self.does(Intent::SetModel, params(json!({"provider": provider, "id": id}))).await
    }

    /// Chooses the next model, and gives it; none where there is no other.
    ///
    /// # Errors
    /// As every call.
    pub async fn cycle_model(&self) -> Result<Option<Model>, Error> {
        Ok(self.given(Intent::CycleModel, Map::new()).await?.model)
    }

    /// The thinking levels that can be chosen.
    ///
    /// # Errors
    /// As every call.
    pub async fn thinking_levels(&self) -> Result<Vec<String>, Error> {
        Ok(self.given(Intent::ThinkingLevels, Map::new()).await?.levels)
    }

    /// Chooses a thinking level.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_thinking(&self, level: &str) -> Result<(), Error> {
        self.does(Intent::SetThinking, one("level", level)).await
    }

    /// Chooses the next thinking level, and gives it; none where there is no other.
    ///
    /// # Errors
    /// As every call.
    pub async fn cycle_thinking(&self) -> Result<Option<String>, Error> {
        Ok(self.given(Intent::CycleThinking, Map::new()).await?.thinking_level)
    }

    /// Says how steering words are handed over: all at once or one at a time.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_steering_mode(&self, mode: &str) -> Result<(), Error> {
        self.does(Intent::SetSteeringMode, one("mode", mode)).await
    }

    /// Says how follow-up words are handed over: all at once or one at a time.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_follow_up_mode(&self, mode: &str) -> Result<(), Error> {
        self.does(Intent::SetFollowUpMode, one("mode", mode)).await
    }

    /// Says when steering words reach the run.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_interrupt_mode(&self, mode: &str) -> Result<(), Error> {
        self.does(Intent::SetInterruptMode, one("mode", mode)).await
    }

    /// Puts a summary in the place of older messages, and gives it where the agent does.
    ///
    /// # Errors
    /// As every call.
    pub async fn compact(&self, instructions: Option<&str>) -> Result<Option<Message>, Error> {
        let params = instructions.map(|text| one("instructions", text)).unwrap_or_default();
        Ok(self.given(Intent::Compact, params).await?.message)
    }

    /// Says whether the agent makes summaries by itself.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_auto_compaction(&self, enabled: bool) -> Result<(), Error> {
        self.does(Intent::SetAutoCompaction, one("enabled", enabled)).await
    }

    /// Says whether failed requests to the model are made again.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_auto_retry(&self, enabled: bool) -> Result<(), Error> {
        self.does(Intent::SetAutoRetry, one("enabled", enabled)).await
    }

    /// Ends the wait before a request that is made again, and the run with it.
    ///
    /// # Errors
    /// As every call.
    pub async fn abort_retry(&self) -> Result<(), Error> {
        self.does(Intent::AbortRetry, Map::new()).await
    }

    /// Runs a shell command of the user; its output enters the conversation.
    ///
    /// # Errors
    /// As every call.
    pub async fn bash(&self, command: &str) -> Result<ShellResult, Error> {
        self.get(Intent::Bash, one("command", command)).await
    }

    /// Stops the user's shell command.
    ///
    /// # Errors
    /// As every call.
    pub async fn abort_bash(&self) -> Result<(), Error> {
        self.does(Intent::AbortBash, Map::new()).await
    }

    /// Writes the conversation as a page, and gives the file.
    ///
    /// # Errors
    /// As every call.
    pub async fn export(&self, path: Option<&str>) -> Result<Option<String>, Error> {
        let params = path.map(|path| one("path", path)).unwrap_or_default();
        Ok(self.given(Intent::Export, params).await?.path)
    }

    /// Gives the session a name.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_session_name(&self, name: &str) -> Result<(), Error> {
        self.does(Intent::SetSessionName, one("name", name)).await
    }

    /// What a prompt can invoke with `/name`.
    ///
    /// # Errors
    /// As every call.
    pub async fn commands(&self) -> Result<Vec<SlashCommand>, Error> {
        Ok(self.given(Intent::Commands, Map::new()).await?.commands)
    }

    /// The entries of the session, `entries` as the agent has them, and the id of the one where the conversation stands,
    /// `leaf`.
    ///
    /// # Errors
    /// As every call.
    pub async fn entries(&self) -> Result<Map<String, Value>, Error> {
        self.call(Intent::Entries, Map::new()).await
    }

    /// The session as a tree, `tree` as the agent has it, and the id of the entry where the conversation stands, `leaf`.
    ///
    /// # Errors
    /// As every call.
    pub async fn tree(&self) -> Result<Map<String, Value>, Error> {
        self.call(Intent::Tree, Map::new()).await
    }

    /// What the agent has still to do.
    ///
    /// # Errors
    /// As every call.
    pub async fn todos(&self) -> Result<Vec<Todo>, Error> {
        Ok(self.given(Intent::Todos, Map::new()).await?.todos)
    }

    async fn given(&self, intent: Intent, params: Map<String, Value>) -> Result<Given, Error> {
        self.get(intent, params).await
    }

    async fn does(&self, intent: Intent, params: Map<String, Value>) -> Result<(), Error> {
        self.call(intent, params).await.map(drop)
    }

    async fn moves(&self, intent: Intent, params: Map<String, Value>) -> Result<bool, Error> {
        Ok(!self.given(intent, params).await?.cancelled)
    }
}
