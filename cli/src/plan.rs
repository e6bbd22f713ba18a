//! Plan of a run, from options, environment and settings.

use std::path::{Path, PathBuf};

use agentese::types::ThinkingLevel;
use clap::CommandFactory as _;

use super::api_key::ApiKey;
use super::command_line::{Arguments, Run};
use super::error::CliError;
use super::workspace::{Workspace, file_names};
use agentese_server::config::{Environment, Settings, Trust, expand_home};
use agentese_server::conversation::UpdateContent;
use agentese_server::dialects::{self, DIALECTS, DialectEntry};
use agentese_server::extensions;
use agentese_server::mcp;
use agentese_server::prompt::SystemPrompt;
use agentese_server::resources::Resources;
use agentese_server::session::one_line;

/// Plan of a run of the agent. All inputs have been read and validated, but no component was created yet.
#[derive(Debug)]
pub(super) struct Plan {
    pub task: Task,
    pub workspace: Workspace,
    /// Trust in the content of the working directory.
    pub trust: Trust,
    /// Files that would have an effect if the directory were trusted.
    pub untrusted_files: Vec<PathBuf>,
    /// Settings of the user, and those of a trusted working directory.
    pub settings: Settings,
    pub model: ModelChoice,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// Names of the enabled tools; `None` for the default tools.
    pub tools: Option<Vec<String>>,
    pub session: SessionChoice,
    /// Name of the session.
    pub session_name: Option<String>,
    /// Directory of the sessions, if it differs from the default in the agent directory.
    pub session_dir: Option<PathBuf>,
    pub dialect: &'static DialectEntry,
    /// Command-line options for later sessions, in protocols whose sessions may be in other directories.
    pub session_options: Option<Box<Run>>,
    pub updates: UpdateContent,
    pub max_line: usize,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Locations in which extensions are searched.
    pub extensions: extensions::ExtensionPaths,
    /// MCP servers from configuration files.
    pub servers: Vec<mcp::ServerDefinition>,
    /// Unknown command-line options, which may be flags of extensions.
    pub flags: Vec<extensions::CommandLineFlag>,
}

/// Value of `--mode` for the Agent Client Protocol.
const ACP: &str = "acp";

/// Task of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    /// Serve stdin and stdout.
    Serve,
    /// Print the models: all, or those that match the text.
    ListModels(Option<String>),
    /// Write a session file as HTML.
    Export { session: PathBuf, page: Option<PathBuf> },
}

/// Choice of the model.
#[derive(Debug, Default)]
pub(super) struct ModelChoice {
    /// Provider that the command line names.
    pub provider: Option<String>,
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    pub api_key: Option<ApiKey>,
    /// Patterns of the models between which a client can cycle; empty for all models.
    pub scope: Vec<String>,
    pub script: Option<PathBuf>,
}

/// Choice of the initial session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionChoice {
    /// New session in memory only.
    InMemory,
    /// New session in a file.
    New,
    /// Latest session of the working directory; otherwise a new one.
    Newest,
    /// Session in this file, which may not exist yet.
    File(PathBuf),
    /// Session whose id has this prefix.
    Id(String),
}

/// Returns the scripted provider if a script is given, unless the name of the model contains a provider.
fn script_provider(has_script: bool, model: Option<&str>) -> Option<String> {
    let is_named = model.is_some_and(|model| model.contains('/'));
    (has_script && !is_named).then(|| agentese_server::providers::scripted::NAME.to_owned())
}

impl Plan {
    /// Reads settings, prompts, skills and context files. Fails if options contradict each other or have no
    /// effect.
    pub fn read(run: Run, environment: &dyn Environment, cwd: PathBuf) -> Result<Self, CliError> {
        let task = task(&run)?;
        check(&run, &task)?;
        let is_acp = run.mode.as_deref() == Some(ACP);
        let dialect = match is_acp {
            true => &dialects::ACP,
            false => DialectEntry::find(&run.dialect).map_err(|error| CliError::Usage(error.to_string()))?,
        };
        let session_options = is_acp.then(|| Box::new(run.clone()));
        let mut warnings = warnings(&run, &task);
        let workspace = Workspace::of(&run, dialect.paths(), environment, cwd);
        let trust = if run.no_trust { Some(false) } else { run.trust.then_some(true) };
        let found = workspace.read(trust)?;
        warnings.extend(found.warnings);
        let (cwd, home) = (&workspace.cwd, workspace.home.as_deref());
        warnings.extend(untrusted_warning(cwd, &found.untrusted_files));
        Ok(Self {
            session: session(&run, cwd, home)?,
            session_name: session_name(run.name.as_deref())?,
            session_dir: run.session_dir.map(|directory| cwd.join(expand_home(&directory, home))),
            task,
            trust: found.trust,
            untrusted_files: found.untrusted_files,
            model: ModelChoice {
                provider: run
                    .provider
                    .or_else(|| script_provider(run.script.is_some(), run.model.as_deref())),
                model: run.model,
                thinking: run.thinking,
                api_key: run.api_key,
                scope: match (run.models, &found.settings.enabled_models) {
                    (models, Some(enabled)) if models.is_empty() => enabled.clone(),
                    (models, _) => models,
                },
                script: run.script,
            },
            workspace,
            settings: found.settings,
            system_prompt: found.system_prompt,
            resources: found.resources,
            tools: tools(run.tools, run.no_tools),
            dialect,
            session_options,
            updates: run.updates.into(),
            max_line: run.max_line,
            extensions: found.extensions,
            servers: found.servers,
            flags: Vec::new(),
            warnings,
        })
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &Path {
        &self.workspace.cwd
    }

    /// Returns the directory with the user's settings; `None` without a home directory.
    pub fn agent_dir(&self) -> Option<&Path> {
        self.workspace.agent_dir.as_deref()
    }
}

/// Returns warnings about the command line itself.
fn warnings(run: &Run, task: &Task) -> Vec<String> {
    let advice = "use the provider's environment variable instead";
    let all = [
        (!run.messages.is_empty() && *task == Task::Serve).then(|| extensions::MESSAGES_IGNORED.to_owned()),
        run.api_key.is_some().then(|| format!("--api-key is visible to all users of this machine; {advice}")),
        (!run.resources.theme.is_empty())
            .then(|| "--theme has no effect: this agent has no user interface".to_owned()),
    ];
    all.into_iter().flatten().collect()
}

fn task(run: &Run) -> Result<Task, CliError> {
    let mut export = run.export.iter().cloned();
    match (export.next(), &run.list_models) {
        (Some(_), Some(_)) => usage_error("--export cannot be combined with --list-models"),
        (Some(session), None) => Ok(Task::Export { session, page: export.next() }),
        (None, Some(search)) => Ok(Task::ListModels(search.clone())),
        (None, None) => Ok(Task::Serve),
    }
}

/// Returns the error for a command line that does not select a mode.
fn no_mode(run: &Run) -> String {
    match run.messages.first() {
        Some(word) => {
            let advice = match nearest_command(word) {
                Some(command) => format!("did you mean `{command}`?"),
                None => "to serve, use --mode rpc; see agentese --help".to_owned(),
            };
            format!("unknown command \"{word}\"; {advice}")
        }
        None => "no mode given; to serve, use agentese --mode rpc; see agentese --help".to_owned(),
    }
}

/// Returns the command whose name is most similar to a word. Returns `None` if no name differs by at most two edits.
fn nearest_command(word: &str) -> Option<String> {
    let command = Arguments::command();
    let distances = command.get_subcommands().map(clap::Command::get_name);
    let distances = distances.map(|name| (strsim::osa_distance(word, name), name));
    let (distance, name) = distances.min()?;
    (distance <= 2 && distance < word.chars().count()).then(|| name.to_owned())
}

/// Rejects invalid options before any file is read.
fn check(run: &Run, task: &Task) -> Result<(), CliError> {
    if *task == Task::Serve {
        match run.mode.as_deref() {
            _ if run.resources.print => {
                return usage_error("--print is not available in this version; use --mode rpc");
            }
            Some("rpc") => {}
            Some(ACP) => check_acp(run)?,
            None => return usage_error(no_mode(run)),
            Some(mode) => {
                return usage_error(format!(
                    "--mode {mode} is not available in this version; use --mode rpc or --mode acp"
                ));
            }
        }
    }
    if run.messages.iter().any(|message| message.starts_with('@')) {
        // This is the text that pi prints.
        return usage_error("@file arguments are not supported in RPC mode");
    }
    if run.api_key.as_ref().is_some_and(ApiKey::is_empty) {
        return usage_error("--api-key is empty");
    }
    if run.api_key.is_some() && run.provider.is_none() && run.model.is_none() {
        return usage_error("--api-key requires --provider or --model, to identify the provider of the key");
    }
    Ok(())
}

/// Fails for options that have no effect in ACP, because the client opens the sessions.
fn check_acp(run: &Run) -> Result<(), CliError> {
    if run.dialect != DIALECTS[0].spec().name {
        return usage_error("--dialect cannot be combined with --mode acp, which is a protocol of its own");
    }
    if run.session.is_some() || run.continues || run.resume {
        return usage_error(
            "--session, --continue and --resume cannot be combined with --mode acp: the client opens sessions",
        );
    }
    if run.name.is_some() {
        return usage_error("--name cannot be combined with --mode acp: the client opens sessions");
    }
    Ok(())
}

/// Returns the tools that the command line names; the list is empty for `--tools ""`. Returns `None` for the
/// default tools.
fn tools(named: Option<Vec<String>>, none: bool) -> Option<Vec<String>> {
    let trimmed = |names: Vec<String>| names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
    let named = named.map(|names| trimmed(names).into_iter().filter(|name| !name.is_empty()).collect());
    named.or(none.then(Vec::new))
}

/// Returns the name of the session as one line. Fails if it is empty.
fn session_name(name: Option<&str>) -> Result<Option<String>, CliError> {
    let name = name.map(|name| one_line(name).trim().to_owned());
    match name.as_deref() {
        Some("") => usage_error("--name must not be empty"),
        _ => Ok(name),
    }
}

fn session(run: &Run, cwd: &Path, home: Option<&Path>) -> Result<SessionChoice, CliError> {
    let newest = run.continues || run.resume;
    match (&run.session, newest, run.no_session) {
        (Some(_), true, _) => usage_error("--session cannot be combined with --continue or --resume"),
        (Some(_), _, true) | (_, true, true) => {
            usage_error("--no-session cannot be combined with --session, --continue or --resume")
        }
        (None, false, true) => Ok(SessionChoice::InMemory),
        (None, true, false) => Ok(SessionChoice::Newest),
        (None, false, false) => Ok(SessionChoice::New),
        // As in pi, a text that looks like a path is a path.
        (Some(name), ..) if name.contains(['/', '\\']) || name.ends_with(".jsonl") => {
            Ok(SessionChoice::File(cwd.join(expand_home(Path::new(name), home))))
        }
        (Some(id), ..) => {
            let allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
            if id.is_empty() || !id.chars().all(allowed) {
                return usage_error(format!(
                    "--session {id:?} is neither a file nor the prefix of a session id"
                ));
            }
            Ok(SessionChoice::Id(id.clone()))
        }
    }
}

/// Returns one warning about all files that would have an effect if the working directory were trusted.
fn untrusted_warning(cwd: &Path, files: &[PathBuf]) -> Option<String> {
    let (verb, them) = if files.len() == 1 { ("is", "it") } else { ("are", "them") };
    let names = file_names(cwd, files);
    (!files.is_empty()).then(|| {
        format!("{names} {verb} not read because the directory is not trusted; use --trust to read {them}")
    })
}

fn usage_error<T>(text: impl Into<String>) -> Result<T, CliError> {
    Err(CliError::Usage(text.into()))
}

#[cfg(test)]
mod tests;
