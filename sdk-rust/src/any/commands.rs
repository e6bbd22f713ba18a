//! The neutral commands as methods. Each fails with [`Error::NotInDialect`] before anything is sent where the agent's
//! dialect has no command for it, or none that takes one of the parameters.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::results::{ClearedQueue, Forked, Given, KeptSession, ShellResult, State, Stats, Words};
use super::{Agent, Run};
use crate::error::Error;
use crate::generated::intents::Intent;
use crate::view::{ForkPoint, Message, Model, SlashCommand, Todo};

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

    /// Runs a shell command of the user whose output the model does not get to see.
    ///
    /// # Errors
    /// As every call; [`Error::NotInDialect`] where [`Agent::takes`] says that the agent's command does not take `hidden`:
    /// nothing was sent.
    pub async fn bash_hidden(&self, command: &str) -> Result<ShellResult, Error> {
        self.get(Intent::Bash, params(json!({"command": command, "hidden": true}))).await
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
