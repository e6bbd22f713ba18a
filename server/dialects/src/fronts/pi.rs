//! The pi dialect: the commands that omp and pisces have in another form or not at all.

mod entries;

use std::path::Path;

use agentese::pi::{
    Cancellation, CommandInfo as WireCommand, CommandLocation, CommandSource as WireSource, Commands,
    Disposition, Entries, FollowUpParams, ForkParams, ForkPoint, ForkPoints, ForkResult, GetEntriesParams,
    Own, Pi, PromptParams, QueuedTexts, SessionState, SessionStateBuilder, SessionTree, SourceInfo,
    SourceInfoBuilder, SourceOrigin, SourceScope, SteerParams, ThinkingLevels, WordsTaken,
};
use agentese::serve::{Call, Refusal};
use agentese::spec::Spec;
use agentese::types::{InterruptMode, ThinkingLevel};
use agentese::wire::{Maybe, NoParams};

use super::family::{self, Family, is_newer, refuse, text, told};
use crate::config::Home;
use crate::desk::{Caller, Taken};
use crate::engine::{Calls, Customs, View};
use crate::providers::LevelCustoms;
use crate::resources::{CommandInfo, CommandSource, Location};

/// Speaks the dialect.
pub type Front = family::Front<Pi>;

/// The behaviour since 1.5. The calls of one answer run side by side, and steering waits for the end of the
/// turn. Answers and results keep more metadata. A run lasts until no retry, compaction or queued input
/// follows it.
pub(super) const NEWER: Customs = Customs {
    calls: Calls::Together,
    interrupt: InterruptMode::Wait,
    levels: LevelCustoms { ids_tell: false, strongest: ThinkingLevel::Max },
    lists_edits: true,
    empty_messages: true,
    notes_are_prompts: true,
    tells_instructions: true,
    answers_begin_late: true,
    models_change_in_runs: true,
    closes_together: true,
    repeats_quietly: false,
    notes_edits: true,
    takes_back_first: true,
    notes_times: true,
    keeps_details: true,
    runs_until_settled: true,
    counts_whole_file: true,
    tells_of_idle_compactions: false,
    summarizes_in_turn: true,
    shows_beginnings: true,
    results_as_data: true,
    signals_have_codes: true,
    commands_end_with_session: true,
    needs_directory: true,
    context_comes_first: false,
    sessions_start_anew: true,
    ..Customs::PI
};

/// The behaviour of the first revision: an answer that a compaction cuts off is dropped.
pub(super) const FIRST: Customs = Customs {
    compaction_drops_cut_answer: true,
    empty_messages: true,
    silent_if_compacted: true,
    ..Customs::PI
};

/// Returns the outcome of queued input, if the revision reports it.
fn queued(front: &Front) -> Option<WordsTaken> {
    is_newer(front.spec).then(|| WordsTaken::new(Disposition::Queued))
}

impl Own for Front {
    async fn prompt(
        &self,
        params: PromptParams,
        call: Call<Pi, Option<WordsTaken>>,
    ) -> Result<Option<WordsTaken>, Refusal> {
        let newer = is_newer(self.spec);
        let told = move |taken: &Taken| newer.then(|| family::words_taken(taken));
        let answering = (call.clone(), self.ended());
        let accepted = move |taken: &Taken| match taken {
            _ if answering.1() => answering.0.leave_unanswered(),
            Taken::Command(_) if newer => {}
            taken => answering.0.answer(told(taken)),
        };
        let caller = Caller::new(accepted, call.replaced());
        let taken = self.stoppable(&call, self.say(params, caller)).await?;
        // Since 1.5 the response to a command of an extension follows its end, and other commands do not wait
        // for it.
        if let Taken::Command(over) = &taken
            && newer
            && !over.is_cancelled()
        {
            let (late, over, ended) = (call.take_over(), over.clone(), self.ended());
            tokio::spawn(async move {
                over.cancelled().await;
                if !ended() {
                    late.answer(Some(WordsTaken::new(Disposition::Handled)));
                }
            });
        }
        Ok(told(&taken))
    }

    async fn steer(
        &self,
        params: SteerParams,
        _: Call<Pi, Option<WordsTaken>>,
    ) -> Result<Option<WordsTaken>, Refusal> {
        self.desk.steer(params.message, params.images).await.map_err(refuse)?;
        Ok(queued(self))
    }

    async fn follow_up(
        &self,
        params: FollowUpParams,
        _: Call<Pi, Option<WordsTaken>>,
    ) -> Result<Option<WordsTaken>, Refusal> {
        self.desk.follow_up(params.message, params.images).await.map_err(refuse)?;
        Ok(queued(self))
    }

    async fn clear_queue(&self, _: NoParams, _: Call<Pi, QueuedTexts>) -> Result<QueuedTexts, Refusal> {
        let (steering, follow_ups) = self.engine().clear_queues();
        Ok(QueuedTexts::new(steering, follow_ups))
    }

    async fn get_available_thinking_levels(
        &self,
        _: NoParams,
        _: Call<Pi, ThinkingLevels>,
    ) -> Result<ThinkingLevels, Refusal> {
        Ok(ThinkingLevels::new(self.engine().thinking_levels()))
    }

    async fn clone_session(
        &self,
        _: NoParams,
        call: Call<Pi, Cancellation>,
    ) -> Result<Cancellation, Refusal> {
        let copied = self.desk.copy(Caller::of(&call));
        let done = self.stoppable(&call, copied).await.map_err(refuse)?;
        Ok(Cancellation::new(!done))
    }

    async fn get_entries(&self, params: GetEntriesParams, _: Call<Pi, Entries>) -> Result<Entries, Refusal> {
        entries::since(self.engine(), params.since.as_deref())
    }

    async fn get_tree(&self, _: NoParams, call: Call<Pi, SessionTree>) -> Result<SessionTree, Refusal> {
        entries::tree(self.engine(), call).await
    }

    async fn get_state(&self, _: NoParams, call: Call<Pi, SessionState>) -> Result<SessionState, Refusal> {
        self.desk.ready().await;
        let state = |mut view: View| {
            view.model = view.model.map(|model| self.shown(model));
            state(view, is_newer(self.spec))
        };
        match self.told.text(self.engine(), state) {
            Some(text) => {
                call.answer_text(text);
                Ok(state(told::nothing()))
            }
            None => Ok(state(self.engine().view())),
        }
    }

    async fn fork(&self, params: ForkParams, call: Call<Pi, ForkResult>) -> Result<ForkResult, Refusal> {
        let forked = self.desk.fork(&params.entry_id, Caller::of(&call));
        let (text, done) = self.stoppable(&call, forked).await.map_err(refuse)?;
        let mut made = ForkResult::new(!done);
        // Since 1.5 the text is absent if no session was created.
        made.text = (done || !is_newer(self.spec)).then_some(text);
        Ok(made)
    }

    async fn get_fork_messages(&self, _: NoParams, _: Call<Pi, ForkPoints>) -> Result<ForkPoints, Refusal> {
        let points = self.engine().fork_messages().into_iter();
        Ok(ForkPoints::new(points.map(|(entry, text)| ForkPoint::new(entry.to_string(), text)).collect()))
    }

    async fn get_commands(&self, _: NoParams, _: Call<Pi, Commands>) -> Result<Commands, Refusal> {
        let newer = is_newer(self.spec);
        let listed = self.desk.commands().await.into_iter().map(|listed| command(listed, newer));
        Ok(Commands::new(listed.collect()))
    }
}

fn state(view: View, newer: bool) -> SessionState {
    let mut state = SessionStateBuilder {
        thinking_level: view.thinking,
        is_streaming: if newer { view.working } else { view.streaming },
        is_compacting: view.compacting,
        steering_mode: view.steering_mode,
        follow_up_mode: view.follow_up_mode,
        session_id: view.session_id,
        auto_compaction_enabled: view.auto_compaction,
        message_count: view.messages as u64,
        pending_message_count: view.pending as u64,
    }
    .build();
    state.model = Maybe::or_null(view.model);
    state.session_file = view.session_file.map(text);
    state.session_name = view.session_name;
    state
}

fn command(command: CommandInfo, newer: bool) -> WireCommand {
    let source = match command.source {
        CommandSource::Extension => WireSource::Extension,
        CommandSource::Template => WireSource::Prompt,
        CommandSource::Skill => WireSource::Skill,
    };
    let mut listed = WireCommand::new(command.name, source);
    listed.description = command.description;
    if newer {
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
    listed.path = command.path.map(text);
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

impl Family for Pi {
    fn customs(spec: &'static Spec) -> Customs {
        if is_newer(spec) { NEWER } else { FIRST }
    }

    const HOME: Home = Home::PI;
}
