//! Configuration from files: settings, system prompt, skills, templates, and locations of extensions. It is
//! read before the agent serves, and again after its directory becomes trusted.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::arguments::Run;
use super::error::Failure;
use super::limits::Limits;
use agentese_process::environment::variable;
use agentese_server::config::{
    Environment, Home, Settings, Trust, agent_dir, expand_home, load_settings, resolve,
};
use agentese_server::extensions;
use agentese_server::mcp;
use agentese_server::prompt::{self, Parts, SystemPrompt, context_files, find_bases};
use agentese_server::resources::{self, Resources, Sources};
use agentese_server::subagents::Policy;

/// Number of displayed warnings about skills and templates.
const SHOWN: usize = 20;

/// Locations of the files, and the related options.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    /// Names of the files for settings and models.
    pub files: Home,
    /// `None` without a home directory.
    pub agent_dir: Option<PathBuf>,
    prompt: prompt::Wanted,
    skills: resources::Wanted,
    templates: resources::Wanted,
    extensions: extensions::Wanted,
    limits: Limits,
}

/// Content of these files.
#[derive(Debug)]
pub(super) struct Found {
    pub trust: Trust,
    /// Settings of the user, and those of a trusted working directory.
    pub settings: Settings,
    pub system_prompt: SystemPrompt,
    pub resources: Resources,
    /// Locations of extensions.
    pub extensions: extensions::Wanted,
    /// MCP servers from configuration files.
    pub servers: Vec<mcp::Definition>,
    /// Files that would apply if the working directory were trusted.
    pub left_out: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

impl Surroundings {
    pub fn of(run: &Run, files: Home, environment: &dyn Environment, cwd: PathBuf) -> Self {
        let home = environment.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let absolute = |path: &PathBuf| resolve(&cwd, &expand_home(path, home.as_deref()));
        let wanted = |only_given, given: &[PathBuf]| resources::Wanted {
            only_given,
            settings: Vec::new(),
            given: given.iter().map(absolute).collect(),
        };
        Self {
            agent_dir: agent_dir(&files, environment),
            files,
            prompt: prompt::Wanted {
                base: run.system_prompt.clone(),
                appended: run.append_system_prompt.clone(),
            },
            skills: wanted(run.no_skills, &run.skill),
            templates: wanted(run.no_prompt_templates, &run.prompt_template),
            extensions: extensions::Wanted {
                given: run
                    .resources
                    .extension
                    .iter()
                    .map(PathBuf::from)
                    .map(|path| absolute(&path))
                    .collect(),
                only_given: run.resources.no_extensions,
                ..extensions::Wanted::default()
            },
            limits: run.limits,
            cwd,
            home,
        }
    }

    /// Returns the settings of subagents. The project's agents apply if it is trusted.
    pub fn subagents(&self, settings: &Settings, trusted: bool) -> Policy {
        let own = |name: &str| self.agent_dir.as_ref().map(|directory| directory.join(name));
        let worktrees = own("worktrees").unwrap_or_else(|| std::env::temp_dir().join("agentese-worktrees"));
        let mut policy = Policy::new(settings.task.clone(), worktrees);
        policy.user_agents = own("agents");
        policy.project_agents = trusted.then(|| self.project_agents());
        policy.trusted = trusted;
        policy
    }

    /// Returns the folder of the project's agents.
    fn project_agents(&self) -> PathBuf {
        self.files.project_folder(&self.cwd).join("agents")
    }

    /// Returns the folder of the project's extensions.
    pub fn project_extensions(&self) -> PathBuf {
        self.files.project_folder(&self.cwd).join("extensions")
    }

    /// Reads all files. `trust` is an earlier decision. Fails if a file from the command line does not exist,
    /// or if instructions are unreadable.
    pub fn read(&self, trust: Option<bool>) -> Result<Found, Failure> {
        let Self { cwd, home, agent_dir, .. } = self;
        let (home, agent_dir) = (home.as_deref(), agent_dir.as_deref());
        let mut loaded = load_settings(&self.files, agent_dir, cwd, home, trust);
        self.limits.replace(&mut loaded.settings.limits);
        let mut warnings: Vec<String> = loaded.complaints.iter().map(ToString::to_string).collect();
        let trusted = loaded.trust == Trust::Granted;
        let bases = find_bases(&self.prompt, agent_dir, &self.files.project_folder(cwd), cwd, trusted)?;
        let (context, complaints) = context_files(agent_dir, cwd);
        warnings.extend(complaints.iter().map(ToString::to_string));
        let with = |wanted: &resources::Wanted, settings: &[PathBuf]| resources::Wanted {
            settings: settings.to_vec(),
            ..wanted.clone()
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
        warnings.extend(few(complaints.iter().chain(&hidden)));
        let parts = Parts {
            base: bases.base,
            appended: bases.appended,
            context,
            rules: resources.rules_for_model(),
            skills,
            cwd: cwd.clone(),
        };
        let own = Some(self.project_extensions()).filter(|folder| !trusted && extensions::brings_any(folder));
        let extensions = extensions::Wanted {
            project: trusted.then(|| self.project_extensions()),
            agent_dir: self.agent_dir.clone(),
            settings: loaded.settings.extensions.clone(),
            ..self.extensions.clone()
        };
        let places = mcp::Places { cwd, home, agent_dir };
        let servers = mcp::find(places, &variable, trusted);
        warnings.extend(servers.complaints);
        let agents = Some(self.project_agents()).filter(|folder| !trusted && folder.is_dir());
        let left_out =
            loaded.left_out.into_iter().chain(bases.left_out).chain(servers.left_out).chain(agents);
        let left_out = left_out.chain(sources.left_out());
        Ok(Found {
            trust: loaded.trust,
            settings: loaded.settings,
            system_prompt: parts.into(),
            resources,
            extensions,
            servers: servers.definitions,
            left_out: left_out.chain(own.filter(|_| !self.extensions.only_given)).collect(),
            warnings,
        })
    }
}

/// Returns the first warnings, and the number of the others.
fn few(complaints: impl Iterator<Item = impl Display>) -> Vec<String> {
    let mut shown: Vec<String> = complaints.map(|complaint| complaint.to_string()).collect();
    if shown.len() > SHOWN {
        let more = shown.len() - SHOWN;
        shown.truncate(SHOWN);
        shown.push(format!("{more} more messages about skills and prompt templates are not shown"));
    }
    shown
}

/// Returns the names of files, relative to the working directory if possible.
pub(super) fn names(cwd: &Path, files: &[PathBuf]) -> String {
    let shown = |file: &PathBuf| file.strip_prefix(cwd).unwrap_or(file).display().to_string();
    files.iter().map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_warnings_are_few() {
        assert_eq!(few(0..20).len(), 20);
        let many = few(0..50);
        assert_eq!(
            (many.len(), many[20].as_str()),
            (21, "30 more messages about skills and prompt templates are not shown")
        );
    }
}
