//! Configuration from files: settings, system prompt, skills, templates, and locations of extensions. It is
//! read before the agent serves, and again when the user trusts the working directory.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::command_line::Run;
use super::error::CliError;
use super::limits::Limits;
use agentese_process::environment::variable;
use agentese_server::config::{
    AgentPaths, Environment, Settings, Trust, agent_dir, expand_home, load_settings, resolve,
};
use agentese_server::extensions;
use agentese_server::mcp;
use agentese_server::prompt::{self, PromptParts, SystemPrompt, context_files, find_base_texts};
use agentese_server::resources::{self, Resources, Sources};
use agentese_server::subagents::SubagentPolicy;

/// Number of displayed warnings about skills and templates.
const MAX_WARNINGS: usize = 20;

/// Locations of the configuration files, and options that affect them.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// Names of the files with settings and models.
    pub files: AgentPaths,
    /// Directory with the user's settings; `None` without a home directory.
    pub agent_dir: Option<PathBuf>,
    prompt: prompt::BaseOptions,
    skills: resources::ResourceSelection,
    templates: resources::ResourceSelection,
    extensions: extensions::ExtensionPaths,
    limits: Limits,
}

/// Content of the configuration files.
#[derive(Debug)]
pub(super) struct WorkspaceConfig {
    pub trust: Trust,
    /// Settings of the user, and those of a trusted working directory.
    pub settings: Settings,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// Locations in which extensions are searched.
    pub extensions: extensions::ExtensionPaths,
    /// MCP servers from configuration files.
    pub servers: Vec<mcp::ServerDefinition>,
    /// Files that would have an effect if the working directory were trusted.
    pub untrusted_files: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

impl Workspace {
    pub fn of(run: &Run, files: AgentPaths, environment: &dyn Environment, cwd: PathBuf) -> Self {
        let home = environment.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let absolute = |path: &PathBuf| resolve(&cwd, &expand_home(path, home.as_deref()));
        let wanted = |only_given, given: &[PathBuf]| resources::ResourceSelection {
            only_command_line: only_given,
            settings: Vec::new(),
            command_line: given.iter().map(absolute).collect(),
        };
        Self {
            agent_dir: agent_dir(&files, environment),
            files,
            prompt: prompt::BaseOptions {
                base: run.system_prompt.clone(),
                appended: run.append_system_prompt.clone(),
            },
            skills: wanted(run.no_skills, &run.skill),
            templates: wanted(run.no_prompt_templates, &run.prompt_template),
            extensions: extensions::ExtensionPaths {
                command_line: run
                    .resources
                    .extension
                    .iter()
                    .map(PathBuf::from)
                    .map(|path| absolute(&path))
                    .collect(),
                only_command_line: run.resources.no_extensions,
                ..extensions::ExtensionPaths::default()
            },
            limits: run.limits,
            cwd,
            home,
        }
    }

    /// Returns the settings of subagents. The project's agent definitions apply only if the project is
    /// trusted.
    pub fn subagents(&self, settings: &Settings, trusted: bool) -> SubagentPolicy {
        let own = |name: &str| self.agent_dir.as_ref().map(|directory| directory.join(name));
        let worktrees = own("worktrees").unwrap_or_else(|| std::env::temp_dir().join("agentese-worktrees"));
        let mut policy = SubagentPolicy::new(settings.task.clone(), worktrees);
        policy.user_agents = own("agents");
        policy.project_agents = trusted.then(|| self.project_agents());
        policy.trusted = trusted;
        policy
    }

    /// Returns the folder with the project's agent definitions.
    fn project_agents(&self) -> PathBuf {
        self.files.project_folder(&self.cwd).join("agents")
    }

    /// Returns the folder of the project's extensions.
    pub fn project_extensions(&self) -> PathBuf {
        self.files.project_folder(&self.cwd).join("extensions")
    }

    /// Reads all files. `trust` is an earlier decision of the user. Fails if a file from the command line does
    /// not exist, or if instructions are unreadable.
    pub fn read(&self, trust: Option<bool>) -> Result<WorkspaceConfig, CliError> {
        let Self { cwd, home, agent_dir, .. } = self;
        let (home, agent_dir) = (home.as_deref(), agent_dir.as_deref());
        let mut loaded = load_settings(&self.files, agent_dir, cwd, home, trust);
        self.limits.replace(&mut loaded.settings.limits);
        let mut warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        let trusted = loaded.trust == Trust::Granted;
        let bases = find_base_texts(&self.prompt, agent_dir, &self.files.project_folder(cwd), cwd, trusted)?;
        let (context, complaints) = context_files(agent_dir, cwd);
        warnings.extend(complaints.iter().map(ToString::to_string));
        let with = |wanted: &resources::ResourceSelection, settings: &[PathBuf]| {
            resources::ResourceSelection { settings: settings.to_vec(), ..wanted.clone() }
        };
        let sources = Sources {
            folders: self.files.resources,
            cwd: cwd.clone(),
            trusted,
            home: self.home.clone(),
            agent_dir: self.agent_dir.clone(),
            skills: with(&self.skills, &loaded.settings.skills),
            templates: with(&self.templates, &loaded.settings.prompts),
        };
        let (resources, complaints) = Resources::load(&sources)?;
        let (skills, hidden) = resources.for_model();
        warnings.extend(limit_warnings(complaints.iter().chain(&hidden)));
        let parts = PromptParts {
            base: bases.base,
            appended: bases.appended,
            context,
            rules: resources.rules_for_model(),
            skills,
            cwd: cwd.clone(),
        };
        let own = Some(self.project_extensions())
            .filter(|folder| !trusted && extensions::contains_extensions(folder));
        let extensions = extensions::ExtensionPaths {
            project: trusted.then(|| self.project_extensions()),
            agent_dir: self.agent_dir.clone(),
            settings: loaded.settings.extensions.clone(),
            ..self.extensions.clone()
        };
        let places = mcp::McpPaths { cwd, home, agent_dir };
        let servers = mcp::read_config(places, &variable, trusted);
        warnings.extend(servers.warnings);
        let agents = Some(self.project_agents()).filter(|folder| !trusted && folder.is_dir());
        let left_out = loaded
            .ignored_project_file
            .into_iter()
            .chain(bases.untrusted_files)
            .chain(servers.left_out)
            .chain(agents);
        let left_out = left_out.chain(sources.untrusted_folders());
        Ok(WorkspaceConfig {
            trust: loaded.trust,
            settings: loaded.settings,
            system_prompt: parts.into(),
            resources,
            extensions,
            servers: servers.definitions,
            untrusted_files: left_out.chain(own.filter(|_| !self.extensions.only_command_line)).collect(),
            warnings,
        })
    }
}

/// Returns the first warnings, and one more with the number of those that were omitted.
fn limit_warnings(complaints: impl Iterator<Item = impl Display>) -> Vec<String> {
    let mut shown: Vec<String> = complaints.map(|complaint| complaint.to_string()).collect();
    if shown.len() > MAX_WARNINGS {
        let more = shown.len() - MAX_WARNINGS;
        shown.truncate(MAX_WARNINGS);
        shown.push(format!("{more} more messages about skills and prompt templates are not shown"));
    }
    shown
}

/// Returns the names of files, relative to the working directory if possible.
pub(super) fn file_names(cwd: &Path, files: &[PathBuf]) -> String {
    let shown = |file: &PathBuf| file.strip_prefix(cwd).unwrap_or(file).display().to_string();
    files.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_limited() {
        assert_eq!(limit_warnings(0..20).len(), 20);
        let many = limit_warnings(0..50);
        assert_eq!(
            (many.len(), many[20].as_str()),
            (21, "30 more messages about skills and prompt templates are not shown")
        );
    }
}
