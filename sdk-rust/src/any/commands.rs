//! The neutral commands as methods. A method fails with [`Error::NotInDialect`] if the agent's dialect has no
//! command for it or the command lacks one of the parameters. In that case no frame is sent.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::results::{
    ClearedQueue, CommandResults, ForkResult, ShellResult, State, Stats, StoredSession, UserInput,
};
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

fn single_param(name: &str, value: impl Into<Value>) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value.into())])
}

impl Agent {
    /// Sends a prompt and returns its run.
    ///
    /// # Errors
    /// As for [`Agent::call`]; [`Error::Refused`] if the agent is busy and does not queue prompts.
    pub async fn prompt(&self, input: impl Into<UserInput>) -> Result<Run, Error> {
        self.start(Intent::Prompt, params(input.into())).await
    }

    /// Aborts the current run and starts a run with this input.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn abort_and_prompt(&self, input: impl Into<UserInput>) -> Result<Run, Error> {
        self.start(Intent::AbortAndPrompt, params(input.into())).await
    }

    /// Sends a steering message to the current run. Returns `started`, `queued` or `handled` if the agent
    /// reports the outcome.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn steer(&self, input: impl Into<UserInput>) -> Result<Option<String>, Error> {
        Ok(self.results(Intent::Steer, params(input.into())).await?.outcome)
    }

    /// Queues a follow-up: input that the agent reads when it would otherwise stop. Returns `started`,
    /// `queued` or `handled` if the agent reports the outcome.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn follow_up(&self, input: impl Into<UserInput>) -> Result<Option<String>, Error> {
        Ok(self.results(Intent::FollowUp, params(input.into())).await?.outcome)
    }

    /// Aborts the current run.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn abort(&self) -> Result<(), Error> {
        self.perform(Intent::Abort, Map::new()).await
    }

    /// Removes all queued input and returns it.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn clear_queue(&self) -> Result<ClearedQueue, Error> {
        self.call_as(Intent::ClearQueue, Map::new()).await
    }

    /// Starts a new session. Returns `false` if an extension of the agent prevented the new session.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn new_session(&self) -> Result<bool, Error> {
        self.change_session(Intent::NewSession, Map::new()).await
    }

    /// Opens a stored session. `session` is the path of its file if the agent's state contains one, otherwise
    /// its id. Returns `false` if an extension of the agent prevented the change.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn open_session(&self, session: &str) -> Result<bool, Error> {
        self.change_session(Intent::OpenSession, single_param("session", session)).await
    }

    /// Returns the stored sessions.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn list_sessions(&self) -> Result<Vec<StoredSession>, Error> {
        Ok(self.results(Intent::ListSessions, Map::new()).await?.sessions)
    }

    /// Deletes a stored session.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn delete_session(&self, session: &str) -> Result<(), Error> {
        self.perform(Intent::DeleteSession, single_param("session", session)).await
    }

    /// Copies the session and continues in the copy. Returns `false` if an extension of the agent prevented
    /// this.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn clone_session(&self) -> Result<bool, Error> {
        self.change_session(Intent::CloneSession, Map::new()).await
    }

    /// Continues in a new session with the entries before an earlier user message. `entry` is the id of that
    /// message.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn fork(&self, entry: &str) -> Result<ForkResult, Error> {
        self.call_as(Intent::Fork, single_param("entry", entry)).await
    }

    /// Returns the entries from which a fork can be made.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn fork_points(&self) -> Result<Vec<ForkPoint>, Error> {
        Ok(self.results(Intent::ForkPoints, Map::new()).await?.points)
    }

    /// Returns the activity and the settings of the agent.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn state(&self) -> Result<State, Error> {
        self.call_as(Intent::State, Map::new()).await
    }

    /// Requests the messages of the conversation from the agent. [`Agent::conversation`] contains them
    /// afterwards.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn messages(&self) -> Result<Vec<Message>, Error> {
        Ok(self.results(Intent::Messages, Map::new()).await?.messages)
    }

    /// Returns the text of the model's last message.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn last_text(&self) -> Result<Option<String>, Error> {
        Ok(self.results(Intent::LastText, Map::new()).await?.text)
    }

    /// Returns the tokens and cost of the session.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn stats(&self) -> Result<Stats, Error> {
        self.call_as(Intent::Stats, Map::new()).await
    }

    /// Returns the available models.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn models(&self) -> Result<Vec<Model>, Error> {
        Ok(self.results(Intent::Models, Map::new()).await?.models)
    }

    /// Selects a model.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_model(&self, provider: &str, id: &str) -> Result<(), Error> {
        self.perform(Intent::SetModel, params(json!({"provider": provider, "id": id}))).await
    }

    /// Selects the next model and returns it, or `None` if there is no other model.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn cycle_model(&self) -> Result<Option<Model>, Error> {
        Ok(self.results(Intent::CycleModel, Map::new()).await?.model)
    }

    /// Returns the available thinking levels.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn thinking_levels(&self) -> Result<Vec<String>, Error> {
        Ok(self.results(Intent::ThinkingLevels, Map::new()).await?.levels)
    }

    /// Selects a thinking level.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_thinking(&self, level: &str) -> Result<(), Error> {
        self.perform(Intent::SetThinking, single_param("level", level)).await
    }

    /// Selects the next thinking level and returns it, or `None` if there is no other level.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn cycle_thinking(&self) -> Result<Option<String>, Error> {
        Ok(self.results(Intent::CycleThinking, Map::new()).await?.thinking_level)
    }

    /// Sets the delivery of steering messages: all at once or one at a time.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_steering_mode(&self, mode: &str) -> Result<(), Error> {
        self.perform(Intent::SetSteeringMode, single_param("mode", mode)).await
    }

    /// Sets the delivery of follow-ups: all at once or one at a time.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_follow_up_mode(&self, mode: &str) -> Result<(), Error> {
        self.perform(Intent::SetFollowUpMode, single_param("mode", mode)).await
    }

    /// Sets the moment at which steering messages reach the run.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_interrupt_mode(&self, mode: &str) -> Result<(), Error> {
        self.perform(Intent::SetInterruptMode, single_param("mode", mode)).await
    }

    /// Replaces older messages with a summary. Returns the summary if the agent sends it.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn compact(&self, instructions: Option<&str>) -> Result<Option<Message>, Error> {
        let params = instructions.map(|text| single_param("instructions", text)).unwrap_or_default();
        Ok(self.results(Intent::Compact, params).await?.message)
    }

    /// Enables or disables automatic compaction.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_auto_compaction(&self, enabled: bool) -> Result<(), Error> {
        self.perform(Intent::SetAutoCompaction, single_param("enabled", enabled)).await
    }

    /// Enables or disables automatic retries of failed requests to the model.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_auto_retry(&self, enabled: bool) -> Result<(), Error> {
        self.perform(Intent::SetAutoRetry, single_param("enabled", enabled)).await
    }

    /// Cancels the pending retry. This ends the run.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn abort_retry(&self) -> Result<(), Error> {
        self.perform(Intent::AbortRetry, Map::new()).await
    }

    /// Runs a shell command of the user; its output enters the conversation.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn bash(&self, command: &str) -> Result<ShellResult, Error> {
        self.call_as(Intent::Bash, single_param("command", command)).await
    }

    /// Runs a shell command of the user and hides its output from the model.
    ///
    /// # Errors
    /// As for [`Agent::call`]. [`Error::NotInDialect`] if the agent's command does not accept `hidden`; then
    /// no frame is sent. [`Agent::accepts_param`] returns this in advance.
    pub async fn bash_hidden(&self, command: &str) -> Result<ShellResult, Error> {
        self.call_as(Intent::Bash, params(json!({"command": command, "hidden": true}))).await
    }

    /// Stops the user's shell command.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn abort_bash(&self) -> Result<(), Error> {
        self.perform(Intent::AbortBash, Map::new()).await
    }

    /// Exports the conversation as an HTML page and returns the path of the file.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn export(&self, path: Option<&str>) -> Result<Option<String>, Error> {
        let params = path.map(|path| single_param("path", path)).unwrap_or_default();
        Ok(self.results(Intent::Export, params).await?.path)
    }

    /// Sets the name of the session.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn set_session_name(&self, name: &str) -> Result<(), Error> {
        self.perform(Intent::SetSessionName, single_param("name", name)).await
    }

    /// Returns the commands that a prompt can invoke with `/name`.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn commands(&self) -> Result<Vec<SlashCommand>, Error> {
        Ok(self.results(Intent::Commands, Map::new()).await?.commands)
    }

    /// Returns the entries of the session. `entries` has the agent's own format, and `leaf` is the id of the
    /// current entry.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn entries(&self) -> Result<Map<String, Value>, Error> {
        self.call(Intent::Entries, Map::new()).await
    }

    /// Returns the session as a tree. `tree` has the agent's own format, and `leaf` is the id of the current
    /// entry.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn tree(&self) -> Result<Map<String, Value>, Error> {
        self.call(Intent::Tree, Map::new()).await
    }

    /// Returns the agent's list of tasks.
    ///
    /// # Errors
    /// As for [`Agent::call`].
    pub async fn todos(&self) -> Result<Vec<Todo>, Error> {
        Ok(self.results(Intent::Todos, Map::new()).await?.todos)
    }

    async fn results(&self, intent: Intent, params: Map<String, Value>) -> Result<CommandResults, Error> {
        self.call_as(intent, params).await
    }

    async fn perform(&self, intent: Intent, params: Map<String, Value>) -> Result<(), Error> {
        self.call(intent, params).await.map(drop)
    }

    async fn change_session(&self, intent: Intent, params: Map<String, Value>) -> Result<bool, Error> {
        Ok(!self.results(intent, params).await?.cancelled)
    }
}
