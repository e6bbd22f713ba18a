//! The pi dialect: the commands that omp and pisces lack or have in another form.

mod entries;

use std::path::Path;

use agentese::pi::{
    Cancellation, CommandInfo as WireCommand, CommandLocation, CommandSource as WireSource, Commands,
    DialectCommands, Disposition, Entries, FollowUpParams, ForkParams, ForkPoint, ForkPoints, ForkResult,
    GetEntriesParams, InputReceipt, Pi, PromptParams, QueuedTexts, SessionState, SessionStateBuilder,
    SessionTree, SourceInfo, SourceInfoBuilder, SourceOrigin, SourceScope, SteerParams, ThinkingLevels,
};
use agentese::serve::{Call, CommandError};
use agentese::spec::Spec;
use agentese::types::{InterruptMode, ThinkingLevel};
use agentese::wire::{Maybe, NoParams};

use super::pi_common::{self, PiCommon, RevisionFeatures, command_error, path_text, state_cache};
use crate::config::AgentPaths;
use crate::conversation::{PromptOutcome, RequestContext};
use crate::engine::{
    AnswerPolicy, BehaviorProfile, CallOrder, CompactionPolicy, EngineStatus, ExtensionPolicy,
    IdleCompactionEvents, InputPolicy, ModelPolicy, RetryPolicy, RunPolicy, RunSpan, SessionPolicy,
    ShellPolicy, StartPolicy, ToolCallPolicy,
};
use crate::providers::ThinkingLevelRules;
use crate::resources::{CommandInfo, CommandSource, Location};

/// Speaks the dialect.
pub type PiServer = pi_common::PiCommonServer<Pi>;

/// Returns the behaviour of pi since 1.5. Tool calls of one answer run side by side, and steering waits for the end
/// of the turn. Answers and results keep more metadata. A run includes all retries, compactions and queued input that
/// follow it.
fn pi_1_5() -> BehaviorProfile {
    BehaviorProfile {
        run: RunPolicy {
            interrupt_mode: InterruptMode::Wait,
            span: RunSpan::UntilSettled,
            declares_instructions: true,
            switches_model_between_turns: true,
        },
        answers: AnswerPolicy {
            starts_with_content: true,
            closes_blocks_together: true,
            stores_durations: true,
            stores_provider_details: true,
            ..AnswerPolicy::default()
        },
        tool_calls: ToolCallPolicy {
            order: CallOrder::AllInParallel,
            emits_empty_update_first: true,
            structured_results: true,
            ..ToolCallPolicy::default()
        },
        retry: RetryPolicy {
            provider_retries: false,
            drops_answer_before_compaction: true,
            records_context_edits: true,
            ..RetryPolicy::default()
        },
        compaction: CompactionPolicy {
            idle_events: IdleCompactionEvents::Hidden,
            summarizes_sequentially: true,
            ..CompactionPolicy::default()
        },
        input: InputPolicy { accepts_empty: true, ..InputPolicy::default() },
        shell: ShellPolicy { signal_exit_codes: true, ends_with_session: true, ..ShellPolicy::default() },
        sessions: SessionPolicy {
            requires_directory: true,
            stats_cover_file: true,
            ..SessionPolicy::default()
        },
        models: ModelPolicy {
            thinking_levels: ThinkingLevelRules { ids_imply_xhigh: false, strongest: ThinkingLevel::Max },
            ..ModelPolicy::default()
        },
        extensions: ExtensionPolicy {
            idle_messages_run_hooks: true,
            context_request_first: false,
            session_change_restarts: true,
            ..ExtensionPolicy::default()
        },
        start: StartPolicy { edit_takes_list: true, ..StartPolicy::default() },
        ..BehaviorProfile::default()
    }
}

/// Returns the behaviour of pi 0.55: a compaction drops the answer that it interrupts.
fn pi_0_55() -> BehaviorProfile {
    BehaviorProfile {
        compaction: CompactionPolicy {
            drops_interrupted_answer: true,
            idle_events: IdleCompactionEvents::WithoutAlreadyCompacted,
            ..CompactionPolicy::default()
        },
        input: InputPolicy { accepts_empty: true, ..InputPolicy::default() },
        ..BehaviorProfile::default()
    }
}

/// Returns the outcome of queued input. Returns `None` if the revision does not report outcomes.
fn queued_result(server: &PiServer) -> Option<InputReceipt> {
    server.features.reports_input.then(|| InputReceipt::new(Disposition::Queued))
}

impl DialectCommands for PiServer {
    async fn prompt(
        &self,
        params: PromptParams,
        call: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        let reports_input = self.features.reports_input;
        let to_result =
            move |outcome: &PromptOutcome| reports_input.then(|| pi_common::input_receipt(outcome));
        let responder = (call.clone(), self.input_ended());
        let on_accepted = move |outcome: &PromptOutcome| match outcome {
            _ if responder.1() => responder.0.leave_unanswered(),
            PromptOutcome::Command(_) if reports_input => {}
            outcome => responder.0.answer(to_result(outcome)),
        };
        let context = RequestContext::new(on_accepted, call.replaced());
        let outcome = self.stoppable(&call, self.submit_prompt(params, context)).await?;
        if let PromptOutcome::Command(command_end) = &outcome
            && reports_input
            && !command_end.is_cancelled()
        {
            let (late_call, command_end, ended) = (call.take_over(), command_end.clone(), self.input_ended());
            tokio::spawn(async move {
                command_end.cancelled().await;
                if !ended() {
                    late_call.answer(Some(InputReceipt::new(Disposition::Handled)));
                }
            });
        }
        Ok(to_result(&outcome))
    }

    async fn steer(
        &self,
        params: SteerParams,
        _: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        self.conversation.steer(params.message, params.images).await.map_err(command_error)?;
        Ok(queued_result(self))
    }

    async fn follow_up(
        &self,
        params: FollowUpParams,
        _: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        self.conversation.follow_up(params.message, params.images).await.map_err(command_error)?;
        Ok(queued_result(self))
    }

    async fn clear_queue(&self, _: NoParams, _: Call<Pi, QueuedTexts>) -> Result<QueuedTexts, CommandError> {
        let (steering, follow_ups) = self.engine().clear_queues();
        Ok(QueuedTexts::new(steering, follow_ups))
    }

    async fn get_available_thinking_levels(
        &self,
        _: NoParams,
        _: Call<Pi, ThinkingLevels>,
    ) -> Result<ThinkingLevels, CommandError> {
        Ok(ThinkingLevels::new(self.engine().thinking_levels()))
    }

    async fn clone_session(
        &self,
        _: NoParams,
        call: Call<Pi, Cancellation>,
    ) -> Result<Cancellation, CommandError> {
        let copied = self.conversation.copy(RequestContext::for_call(&call));
        let done = self.stoppable(&call, copied).await.map_err(command_error)?;
        Ok(Cancellation::new(!done))
    }

    async fn get_entries(
        &self,
        params: GetEntriesParams,
        _: Call<Pi, Entries>,
    ) -> Result<Entries, CommandError> {
        entries::entries_since(self.engine(), params.since.as_deref())
    }

    async fn get_tree(&self, _: NoParams, call: Call<Pi, SessionTree>) -> Result<SessionTree, CommandError> {
        entries::tree(self.engine(), call).await
    }

    async fn get_state(
        &self,
        _: NoParams,
        call: Call<Pi, SessionState>,
    ) -> Result<SessionState, CommandError> {
        self.conversation.ready().await;
        let state = |mut status: EngineStatus| {
            status.model = status.model.map(|model| self.describe_model(model));
            state(status, self.features.streams_until_settled)
        };
        match self.state_cache.text(self.engine(), state) {
            Some(text) => {
                call.answer_text(text);
                Ok(state(state_cache::empty_view()))
            }
            None => Ok(state(self.engine().status())),
        }
    }

    async fn fork(&self, params: ForkParams, call: Call<Pi, ForkResult>) -> Result<ForkResult, CommandError> {
        let forked = self.conversation.fork(&params.entry_id, RequestContext::for_call(&call));
        let (text, done) = self.stoppable(&call, forked).await.map_err(command_error)?;
        let mut result = ForkResult::new(!done);
        result.text = (done || !self.features.fork_text_needs_session).then_some(text);
        Ok(result)
    }

    async fn get_fork_messages(
        &self,
        _: NoParams,
        _: Call<Pi, ForkPoints>,
    ) -> Result<ForkPoints, CommandError> {
        let points = self.engine().fork_messages().into_iter();
        Ok(ForkPoints::new(points.map(|(entry, text)| ForkPoint::new(entry.to_string(), text)).collect()))
    }

    async fn get_commands(&self, _: NoParams, _: Call<Pi, Commands>) -> Result<Commands, CommandError> {
        let has_origin = self.features.commands_have_origins;
        let listed = self.conversation.commands().await.into_iter().map(|listed| command(listed, has_origin));
        Ok(Commands::new(listed.collect()))
    }
}

fn state(status: EngineStatus, streams_until_settled: bool) -> SessionState {
    let mut state = SessionStateBuilder {
        thinking_level: status.thinking,
        is_streaming: if streams_until_settled { status.working } else { status.streaming },
        is_compacting: status.compacting,
        steering_mode: status.steering_mode,
        follow_up_mode: status.follow_up_mode,
        session_id: status.session_id,
        auto_compaction_enabled: status.auto_compaction,
        message_count: status.messages as u64,
        pending_message_count: status.pending as u64,
    }
    .build();
    state.model = Maybe::or_null(status.model);
    state.session_file = status.session_file.map(path_text);
    state.session_name = status.session_name;
    state
}

fn command(command: CommandInfo, has_origin: bool) -> WireCommand {
    let source = match command.source {
        CommandSource::Extension => WireSource::Extension,
        CommandSource::Template => WireSource::Prompt,
        CommandSource::Skill => WireSource::Skill,
    };
    let mut listed = WireCommand::new(command.name, source);
    listed.description = command.description;
    if has_origin {
        listed.source_info =
            command.path.as_deref().map(|path| source_info(path, command.location, command.source));
        return listed;
    }
    // Older revisions send the location for files, and not for extensions.
    let location = command.location.filter(|_| command.source != CommandSource::Extension);
    listed.location = location.map(|location| match location {
        Location::User => CommandLocation::User,
        Location::Project => CommandLocation::Project,
        Location::Path => CommandLocation::Path,
    });
    listed.path = command.path.map(path_text);
    listed
}

/// Returns the origin of a command in the form of pi 1.5.
fn source_info(path: &Path, location: Option<Location>, source: CommandSource) -> SourceInfo {
    let folder =
        |levels: usize| path.ancestors().nth(levels).map(|folder| folder.to_string_lossy().into_owned());
    let (from, scope) = match location {
        Some(Location::User) => ("auto", SourceScope::User),
        Some(Location::Project) => ("auto", SourceScope::Project),
        Some(Location::Path) | None => ("local", SourceScope::Temporary),
    };
    // A skill has a folder of its own, and an extension may have one.
    let in_folder = path.parent().and_then(Path::file_name).is_some_and(|name| name != "extensions");
    let levels = match (from, source) {
        ("auto", CommandSource::Skill) => 3,
        ("auto", CommandSource::Extension) if in_folder => 3,
        ("auto", _) => 2,
        _ => 1,
    };
    let mut info = SourceInfoBuilder {
        path: path.to_string_lossy().into_owned(),
        source: from.to_owned(),
        scope,
        origin: SourceOrigin::TopLevel,
    }
    .build();
    info.base_dir = folder(levels);
    info
}

impl PiCommon for Pi {
    fn behavior_profile(spec: &'static Spec) -> BehaviorProfile {
        if RevisionFeatures::of(spec).settles { pi_1_5() } else { pi_0_55() }
    }

    const PATHS: AgentPaths = AgentPaths::PI;
}
