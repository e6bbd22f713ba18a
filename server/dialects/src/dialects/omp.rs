//! The omp dialect: the commands that omp adds to the pi family. pisces inherits all of them.
//!
//! The components of its agent include rules on the output of the model and reminders of open tasks.

use std::sync::Arc;
use std::time::Duration;

use agentese::omp::{
    AbortAndPromptParams, BaseService, BranchParams, DialectCommands, FollowUpParams, ForkPoint, ForkPoints,
    ForkResult, Omp, OmpSessionState, OmpSessionStateBuilder, PromptParams, SetInterruptModeParams,
    SteerParams,
};
use agentese::serve::{Call, CommandError};
use agentese::spec::Spec;
use agentese::types::{CancelNotice, Ready, ThinkingLevel};
use agentese::wire::{Maybe, NoParams};

use super::pi_common::{self, PiCommon, command_error, path_text, state_cache};
use crate::config::{AgentPaths, ResourceFolders};
use crate::conversation::{AgentComponents, PromptRequest, RequestContext};
use crate::engine::{
    AnswerPolicy, BehaviorProfile, BranchEffect, CallOrder, CompactionPolicy, ContinueAfterCompaction,
    EngineStatus, ExportPolicy, ExtensionPolicy, FileMentions, IdleCompactionEvents, InputPolicy,
    InterruptedAnswer, ModelPolicy, RetryPolicy, RuleWatcher, RunPolicy, RunSpan, SessionPolicy, ShellPolicy,
    StartPolicy, TodoReminders, ToolCallPolicy,
};
use crate::tools::TodoTool;

/// Speaks the dialect.
pub type OmpServer = pi_common::PiCommonServer<Omp>;

/// Returns the behaviour of omp 12.7: tool calls of one answer run side by side if the tools permit it, and steering
/// interrupts running calls.
pub(super) fn omp_12_7() -> BehaviorProfile {
    BehaviorProfile {
        run: RunPolicy { span: RunSpan::TurnsAndRetryPauses, ..RunPolicy::default() },
        answers: AnswerPolicy { interrupted: InterruptedAnswer::WithErrorResults, ..AnswerPolicy::default() },
        tool_calls: ToolCallPolicy {
            order: CallOrder::SharedInParallel,
            purpose_argument: Some("_i"),
            ..ToolCallPolicy::default()
        },
        retry: RetryPolicy { retries_started_answers: false, ..RetryPolicy::default() },
        compaction: CompactionPolicy {
            drops_interrupted_answer: true,
            keeps_provider_tokens: true,
            idle_events: IdleCompactionEvents::WithoutAlreadyCompacted,
            ..CompactionPolicy::default()
        },
        input: InputPolicy {
            accepts_empty: true,
            file_mentions: FileMentions::Read,
            starts_waiting_prompts: true,
        },
        shell: ShellPolicy { keeps_state: true, ..ShellPolicy::default() },
        sessions: SessionPolicy { branch_effect: BranchEffect::MovesRun, ..SessionPolicy::default() },
        export: ExportPolicy { exports_empty_sessions: true, name_prefix: "omp-session" },
        models: ModelPolicy { default_thinking: ThinkingLevel::High, ..ModelPolicy::default() },
        extensions: ExtensionPolicy { emits_idle_messages: false, ..ExtensionPolicy::default() },
        start: StartPolicy {
            default_tools: &["read", "bash", "edit", "write", "task"],
            ..StartPolicy::default()
        },
        ..BehaviorProfile::default()
    }
}

/// Returns the behaviour of omp 13.19, which also sends an event when it is ready.
fn omp_13_19() -> BehaviorProfile {
    let mut profile = omp_12_7();
    profile.answers.min_update_interval = Duration::from_millis(50);
    profile.input.file_mentions = FileMentions::ReadWithLineHashes;
    profile.start.requires_model = true;
    profile
}

/// The location of the files of omp's users.
pub(super) const PATHS: AgentPaths = AgentPaths {
    variable: "PI_CODING_AGENT_DIR",
    folder: ".omp/agent",
    settings: "config.yml",
    models: "models.yml",
    project: ".omp/settings.json",
    comments: true,
    reports_unknown: true,
    resources: ResourceFolders {
        project: &[".omp"],
        templates: &["commands", "prompts"],
        rules: &["rules"],
        home: &[],
        loose_skills: true,
    },
    login: None,
    short_names: true,
};

/// Adds three features of omp: rules on the output of the model, a task list, and the continuation after a
/// compaction.
pub(super) fn configure(components: &mut AgentComponents) {
    let options = &mut components.options;
    let (settings, clock) = (&options.settings, &options.clock);
    // Installed even without rules: trust in the directory may add some.
    let cwd = options.context.cwd.clone();
    let rules = Arc::new(RuleWatcher::new(options.resources.rules(), settings.rules, cwd, clock.clone()));
    options.hooks.push(rules.clone());
    options.post_run_policies.push(rules);
    if settings.todo.enabled && components.has_default_tools {
        options.tools.add(Arc::new(TodoTool));
    }
    let reminders = Arc::new(TodoReminders::new(settings.todo, clock.clone()));
    options.hooks.push(reminders.clone());
    options.post_run_policies.push(reminders);
    let continuation =
        Arc::new(ContinueAfterCompaction::new(settings.compaction.auto_continue, clock.clone()));
    options.hooks.push(continuation.clone());
    options.post_run_policies.push(continuation);
}

impl<D: PiCommon> BaseService<D> for pi_common::PiCommonServer<D> {
    async fn prompt(&self, params: PromptParams, call: Call<D>) -> Result<(), CommandError> {
        self.submit_prompt(params, RequestContext::for_call(&call)).await.map(drop)
    }

    async fn steer(&self, params: SteerParams, _: Call<D>) -> Result<(), CommandError> {
        self.conversation.steer(params.message, params.images).await.map_err(command_error)
    }

    async fn follow_up(&self, params: FollowUpParams, _: Call<D>) -> Result<(), CommandError> {
        self.conversation.follow_up(params.message, params.images).await.map_err(command_error)
    }

    async fn get_state(
        &self,
        _: NoParams,
        call: Call<D, OmpSessionState>,
    ) -> Result<OmpSessionState, CommandError> {
        self.conversation.ready().await;
        match self.state_cache.text(self.engine(), state) {
            Some(text) => {
                call.answer_text(text);
                Ok(state(state_cache::empty_view()))
            }
            None => Ok(state(self.engine().status())),
        }
    }

    async fn abort_and_prompt(
        &self,
        params: AbortAndPromptParams,
        call: Call<D>,
    ) -> Result<(), CommandError> {
        let request = PromptRequest::new(params.message, params.images);
        self.conversation
            .abort_and_prompt(request, RequestContext::for_call(&call))
            .await
            .map(drop)
            .map_err(command_error)
    }

    async fn set_interrupt_mode(
        &self,
        params: SetInterruptModeParams,
        _: Call<D>,
    ) -> Result<(), CommandError> {
        self.engine().set_interrupt_mode(params.mode);
        Ok(())
    }

    async fn branch(
        &self,
        params: BranchParams,
        call: Call<D, ForkResult>,
    ) -> Result<ForkResult, CommandError> {
        // The document prescribes this text.
        let unknown = |_| CommandError::new("Invalid entry ID for branching");
        let (text, done) = self
            .conversation
            .fork(&params.entry_id, RequestContext::for_call(&call))
            .await
            .map_err(unknown)?;
        let mut result = ForkResult::new(!done);
        result.text = Some(text);
        Ok(result)
    }

    async fn get_branch_messages(
        &self,
        _: NoParams,
        _: Call<D, ForkPoints>,
    ) -> Result<ForkPoints, CommandError> {
        let points = self.engine().fork_messages().into_iter();
        Ok(ForkPoints::new(points.map(|(entry, text)| ForkPoint::new(entry.to_string(), text)).collect()))
    }
}

/// Commands of newer revisions. The server does not implement them.
impl DialectCommands for OmpServer {}

fn state(status: EngineStatus) -> OmpSessionState {
    let mut state = OmpSessionStateBuilder {
        is_streaming: status.streaming || status.waiting,
        is_compacting: status.compacting,
        steering_mode: status.steering_mode,
        follow_up_mode: status.follow_up_mode,
        interrupt_mode: status.interrupt_mode,
        session_id: status.session_id,
        auto_compaction_enabled: status.auto_compaction,
        message_count: status.messages as u64,
        queued_message_count: status.pending as u64,
    }
    .build();
    state.model = Maybe::or_null(status.model);
    state.thinking_level = Some(status.thinking);
    state.session_file = status.session_file.map(path_text);
    state.session_name = status.session_name;
    state
}

impl PiCommon for Omp {
    fn behavior_profile(spec: &'static Spec) -> BehaviorProfile {
        if pi_common::convert::declares::<Ready>(spec) { omp_13_19() } else { omp_12_7() }
    }

    const PATHS: AgentPaths = PATHS;

    fn configure(components: &mut AgentComponents) {
        configure(components);
    }

    fn withdrawal_notice(id: &str) -> Option<Self::Dialog> {
        Some(CancelNotice::new(id).into())
    }
}
