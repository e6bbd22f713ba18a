//! Differences between agents in the commands of clients.

use agentese::types::ThinkingLevel;

use crate::providers::ThinkingLevelRules;

/// The effect of a branch of the session on the current run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BranchEffect {
    /// The agent stops the run before the branch.
    #[default]
    StopsRun,
    /// The run continues, and its later messages belong to the new branch.
    MovesRun,
}

/// Differences between agents in sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionPolicy {
    /// The effect of a branch on the current run.
    pub branch_effect: BranchEffect,
    /// `true` if switching to a session requires its directory to exist.
    pub requires_directory: bool,
    /// `true` if the statistics of a session cover its whole file; otherwise the context of the model.
    pub stats_cover_file: bool,
}

/// Differences between agents in exported pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportPolicy {
    /// `true` if a session without messages can be exported.
    pub exports_empty_sessions: bool,
    /// Default prefix for the name of a page.
    pub name_prefix: &'static str,
}

impl Default for ExportPolicy {
    fn default() -> Self {
        Self { exports_empty_sessions: false, name_prefix: "pi-session" }
    }
}

/// Differences between agents in models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPolicy {
    /// Default thinking level of models.
    pub default_thinking: ThinkingLevel,
    /// Rules for the thinking levels of models.
    pub thinking_levels: ThinkingLevelRules,
}

impl Default for ModelPolicy {
    fn default() -> Self {
        Self { default_thinking: ThinkingLevel::Medium, thinking_levels: ThinkingLevelRules::PI }
    }
}

/// Differences between agents in the treatment of extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionPolicy {
    /// `true` if clients receive events about messages that extensions add to an idle conversation.
    pub emits_idle_messages: bool,
    /// `true` if hooks of extensions run when an extension's message starts a run, as they do for user input.
    pub idle_messages_run_hooks: bool,
    /// `true` if extensions receive the request about the context before earlier events of the same step. Otherwise
    /// extensions receive them in the order in which they occurred.
    pub context_request_first: bool,
    /// `true` if extensions receive a change of session as two events: the end of one session and the start
    /// of the next. Otherwise they receive it as a single event.
    pub session_change_restarts: bool,
}

impl Default for ExtensionPolicy {
    fn default() -> Self {
        Self {
            emits_idle_messages: true,
            idle_messages_run_hooks: false,
            context_request_first: true,
            session_change_restarts: false,
        }
    }
}

/// Differences between agents in the shell commands of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellPolicy {
    /// `true` if a command inherits the directory and the variables of the previous command.
    pub keeps_state: bool,
    /// `true` if a command that was ended by a signal has the exit code that shells use for the signal. Otherwise
    /// the command is treated as stopped.
    pub signal_exit_codes: bool,
    /// `true` if commands end with their session, and add nothing to the next one.
    pub ends_with_session: bool,
}

/// Treatment of files that a prompt mentions with `@`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileMentions {
    /// The files are not read.
    #[default]
    Ignored,
    /// The files are read for the model.
    Read,
    /// The files are read for the model. Each line has a mark before it: its number, and two letters derived from its
    /// text.
    ReadWithLineHashes,
}

/// Differences between agents in the input of users.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputPolicy {
    /// `true` if a message with an empty text is accepted; the model receives a note that the message is empty.
    /// Otherwise it is rejected like every other blank message.
    pub accepts_empty: bool,
    /// Treatment of files that a prompt mentions with `@`.
    pub file_mentions: FileMentions,
    /// `true` if, at the end of input, prompts that wait for extensions are started before all work is stopped.
    pub starts_waiting_prompts: bool,
}
