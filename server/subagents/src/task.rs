//! The tool `task`, which starts subagents.

use std::collections::HashMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use super::agent::{AgentDefinition, SpawnPolicy};
use super::arguments::{self, Arguments, NAME, TaskItem};
use super::batch::Changes;
use super::call::Batch;
use super::isolation::WorktreeLease;
use super::outcome::{Label, Outcome};
use super::policy::{SharedPolicy, SubagentPolicy};
use super::progress::Progress;
use super::prompts::first_prompt;
use super::report;
use super::verification::{check_permission, resolve};
use crate::config::IsolationMode;
use crate::tools::{Parent, Selection, SubagentHost, Tool, ToolContext, ToolOutput, ToolSet};

// The text is from pisces 13.18.
const NO_ISOLATION: &str = "Task isolation is disabled. Remove the isolated argument or set task.isolation.mode to \
                            'worktree', 'fuse-overlay', or 'fuse-projfs'.";

/// Returns the tools with these names, including `task`; see [`ToolSet::select`].
pub fn select_tools<I>(names: I, policies: &SharedPolicy) -> Selection
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let mut selection = ToolSet::select(names);
    if selection.unknown.iter().any(|name| name == NAME) {
        selection.unknown.retain(|name| name != NAME);
        selection.tools.add(Arc::new(TaskTool::new(policies.clone())));
    }
    selection
}

/// The tool that starts subagents.
#[derive(Debug)]
pub struct TaskTool {
    policies: SharedPolicy,
    /// The agents that the owner of this tool may start.
    spawn_policy: SpawnPolicy,
    /// The number for the next subagent of each stored session, by the folder of its files.
    numbers: Mutex<HashMap<PathBuf, usize>>,
}

impl TaskTool {
    /// Creates the tool for an agent that is not a subagent.
    pub fn new(policies: SharedPolicy) -> Self {
        Self::nested(policies, SpawnPolicy::AnyAgent)
    }

    /// Creates the tool for a subagent.
    pub(super) fn nested(policies: SharedPolicy, spawn_policy: SpawnPolicy) -> Self {
        Self { policies, spawn_policy, numbers: Mutex::default() }
    }

    async fn call(&self, context: &ToolContext, arguments: Value) -> ToolOutput {
        let policy = self.policies.current();
        let agents_dir = policy.project_agents.as_ref().filter(|folder| folder.is_dir());
        let agents_dir =
            agents_dir.map_or(Value::Null, |folder| folder.to_string_lossy().into_owned().into());
        let Some(agents) = context.subagents.clone() else {
            return report::rejection("Subagents are not available here.", &agents_dir);
        };
        let started_ms = agents.now_ms();
        let took = || agents.now_ms().saturating_sub(started_ms).max(0);
        match self.work(context, &policy, &agents, &arguments, &agents_dir).await {
            Ok((outcomes, changes)) => report::output(&outcomes, &changes, &agents_dir, took()),
            Err(reason) => report::rejection(&reason, &agents_dir),
        }
    }

    async fn work(
        &self,
        context: &ToolContext,
        policy: &Arc<SubagentPolicy>,
        agents: &Arc<dyn SubagentHost>,
        arguments: &Value,
        agents_dir: &Value,
    ) -> Result<(Vec<Outcome>, Changes), String> {
        let arguments = arguments::parse(arguments)?;
        let definition = self.definition(policy, &arguments.agent)?;
        if arguments.isolated && policy.settings.isolation == IsolationMode::None {
            return Err(NO_ISOLATION.to_owned());
        }
        let plan = resolve(&policy.settings.verification, arguments.isolated, arguments.verify.as_ref())?;
        let parent = agents.parent().ok_or("The agent has ended.")?;
        if let Some(plan) = &plan {
            check_permission(plan, &parent, agents.as_ref(), context.call_id.as_deref()).await?;
        }
        let lease = match arguments.isolated {
            true => Some(WorktreeLease::acquire(context, &policy.worktrees, policy.trusted).await?),
            false => None,
        };
        let files = CallFiles::of(&parent, context)?;
        let first_number = self.take_numbers(&files, arguments.tasks.len());
        let labels = labels(&arguments, &definition, &parent, first_number);
        let progress = Progress::new(
            context.updates.clone(),
            agents.now_ms(),
            agents_dir.clone(),
            parent.session_file.clone(),
            &labels,
        );
        let at_once = usize::try_from(policy.settings.max_concurrency).unwrap_or(usize::MAX);
        let batch = Batch {
            context: context.clone(),
            agents: agents.clone(),
            policies: self.policies.clone(),
            nested_tool: |policies, spawns| Arc::new(Self::nested(policies, spawns)),
            policy: policy.clone(),
            schema: arguments.schema.clone().or_else(|| definition.output.clone()),
            definition,
            plan,
            lease,
            slots: Semaphore::new(at_once.clamp(1, Semaphore::MAX_PERMITS)),
            start_lock: tokio::sync::Mutex::default(),
            progress: Arc::new(progress),
            artifacts: files.folder.clone(),
            histories: parent.session_file.is_some().then(|| files.folder.clone()),
        };
        let (mut outcomes, changes) = batch.run(labels).await;
        files.end(&mut outcomes, &changes);
        Ok((outcomes, changes))
    }

    fn definition(&self, policy: &SubagentPolicy, name: &str) -> Result<AgentDefinition, String> {
        let known = policy.agents().iter().filter(|agent| self.spawn_policy.allows(&agent.name));
        let found = known.clone().find(|agent| agent.name == name).cloned();
        found.ok_or_else(|| {
            let names: Vec<_> = known.map(|agent| agent.name.as_str()).collect();
            format!("Unknown agent \"{name}\"; known: {}.", names.join(", "))
        })
    }

    /// Reserves `count` numbers that were not used for subagents of the session, and returns the first. If the session
    /// is not stored, each call starts at 0, because its files are temporary.
    fn take_numbers(&self, files: &CallFiles, count: usize) -> usize {
        if files.temporary.is_some() {
            return 0;
        }
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let next = numbers.entry(files.folder.clone()).or_insert_with(|| next_number(&files.folder));
        let first = *next;
        *next = next.saturating_add(count);
        first
    }
}

fn labels(
    arguments: &Arguments,
    definition: &AgentDefinition,
    parent: &Parent,
    first_number: usize,
) -> Vec<Label> {
    let label = |(index, item): (usize, &TaskItem)| {
        let id = format!("{}-{}", first_number.saturating_add(index), item.id);
        Label {
            index,
            first_id: id.clone(),
            id,
            agent: definition.name.clone(),
            source: definition.source,
            task: first_prompt(arguments, item),
            item: item.clone(),
            model: definition.model.clone().or_else(|| parent.model.clone()),
        }
    };
    arguments.tasks.iter().enumerate().map(label).collect()
}

/// Returns a number above all numbers at the start of file names in the folder.
fn next_number(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.split_once('-')?.0.parse::<usize>().ok()
    });
    numbers.max().map_or(0, |last| last.saturating_add(1))
}

/// Folder for the files of a call.
struct CallFiles {
    folder: PathBuf,
    /// The temporary folder if the session is not stored. It is deleted at the end of the call.
    temporary: Option<TempDir>,
}

impl CallFiles {
    /// Creates the folder for a call: beside the file of the session, or a temporary folder if the session has no file.
    fn of(parent: &Parent, context: &ToolContext) -> Result<Self, String> {
        let failed = |folder: &Path, error: std::io::Error| format!("{}: {error}", folder.display());
        if let Some(file) = &parent.session_file {
            let folder = file.with_extension("");
            let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
            return created
                .map(|()| Self { folder: folder.clone(), temporary: None })
                .map_err(|error| failed(&folder, error));
        }
        let passing = tempfile::Builder::new().prefix("agentese-task-").tempdir_in(&context.temp_dir);
        let passing = passing.map_err(|error| failed(&context.temp_dir, error))?;
        Ok(Self { folder: passing.path().to_owned(), temporary: Some(passing) })
    }

    /// Deletes the temporary folder, unless it contains patches that were not applied.
    fn end(self, outcomes: &mut [Outcome], changes: &Changes) {
        let Some(passing) = self.temporary else { return };
        let waits = |outcome: &Outcome| outcome.patch.is_some() && outcome.branch.is_none();
        if matches!(changes, Changes::NotApplied(_) | Changes::Merged(_)) && outcomes.iter().any(waits) {
            let _ = passing.keep();
            return;
        }
        for outcome in outcomes {
            outcome.output_file = None;
            outcome.patch = None;
            let attempts = outcome.verification.iter_mut().flat_map(|result| &mut result.attempts);
            attempts
                .flat_map(|attempt| &mut attempt.command_results)
                .for_each(|command| command.artifact_path = None);
        }
    }
}

impl Tool for TaskTool {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Sets subagents to work, side by side, each with a conversation of its own, and waits for their results. A \
         subagent sees nothing of this conversation: its assignment has to say all that it needs. Use it for work that \
         falls into parts, and to look through much code without filling this conversation."
    }

    fn parameters(&self) -> Value {
        let policy = self.policies.current();
        let agents = policy.agents().iter().filter(|agent| self.spawn_policy.allows(&agent.name));
        let agents: Vec<_> = agents.map(|agent| format!("{}: {}.", agent.name, agent.description)).collect();
        arguments::schema(&agents.join(" "), policy.settings.isolation == IsolationMode::Worktree)
    }

    fn snippet(&self) -> Option<&str> {
        Some("Sets subagents to work on parts of a task")
    }

    fn read_only(&self) -> bool {
        false
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, arguments: Value) -> BoxFuture<'a, ToolOutput> {
        self.call(context, arguments).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_in_a_stored_session_and_restart_in_memory() {
        let task = TaskTool::new(SharedPolicy::default());
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("4-a.md"), "").unwrap();
        let files = CallFiles { folder: directory.path().to_owned(), temporary: None };
        assert_eq!((task.take_numbers(&files, 2), task.take_numbers(&files, 1)), (5, 7));
        for _ in 0..3 {
            let passing = tempfile::tempdir().unwrap();
            let files = CallFiles { folder: passing.path().to_owned(), temporary: Some(passing) };
            assert_eq!(task.take_numbers(&files, 3), 0);
        }
        assert_eq!(task.numbers.lock().unwrap().len(), 1);
    }
}
