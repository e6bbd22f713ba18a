//! The omp dialect: its additions to the commands of the family. pisces inherits all of them.
//!
//! The parts of its agent include rules on the output of the model and reminders of open tasks.

use std::sync::Arc;
use std::time::Duration;

use agentese::omp::{
    AbortAndPromptParams, BranchParams, FollowUpParams, ForkPoint, ForkPoints, ForkResult, Kept, Omp,
    OmpSessionState, OmpSessionStateBuilder, Own, PromptParams, SetInterruptModeParams, SteerParams,
};
use agentese::serve::{Call, Refusal};
use agentese::spec::Spec;
use agentese::types::{CancelNotice, Ready, ThinkingLevel};
use agentese::wire::{Maybe, NoParams};

use super::family::{self, Family, refuse, text, told};
use crate::config::{Home, ResourceFolders};
use crate::desk::{Caller, Parts, Said};
use crate::engine::{Branching, Calls, Continues, Customs, CutAnswer, Reminders, Rules, View};
use crate::tools::Todo;

/// Speaks the dialect.
pub type Front = family::Front<Omp>;

/// The behaviour of the agent: each tool decides if its calls run side by side; steering cuts a batch of
/// calls short.
pub(super) const CUSTOMS: Customs = Customs {
    calls: Calls::SideBySide,
    thinking: ThinkingLevel::High,
    branching: Branching::TakesItAlong,
    cut_answer: CutAnswer::WithResults,
    compaction_drops_cut_answer: true,
    keeps_by_count: true,
    tells_of_notes: false,
    exports_empty: true,
    reads_mentions: true,
    keeps_shell: true,
    empty_messages: true,
    silent_if_compacted: true,
    repeats_begun: false,
    begins_what_waits: true,
    pauses_refuse_prompts: true,
    intent: Some("_i"),
    page_name: "omp-session",
    tools: &["read", "bash", "edit", "write", "task"],
    ..Customs::PI
};

/// The behaviour of revisions that send an event when they are ready.
pub(super) const READY: Customs =
    Customs { pieces_apart: Duration::from_millis(50), marks_mentions: true, needs_model: true, ..CUSTOMS };

/// The location of the files of omp's users.
pub(super) const HOME: Home = Home {
    variable: "PI_CODING_AGENT_DIR",
    folder: ".omp/agent",
    settings: "config.yml",
    models: "models.yml",
    project: ".omp/settings.json",
    comments: true,
    tells_unknown: true,
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

/// Adds rules, task lists, and the continuation after a compaction.
pub(super) fn equip(parts: &mut Parts) {
    let options = &mut parts.options;
    let (settings, clock) = (&options.settings, &options.clock);
    // Installed even without rules: trust in the directory may add some.
    let cwd = options.context.cwd.clone();
    let rules = Arc::new(Rules::new(options.resources.rules(), settings.rules, cwd, clock.clone()));
    options.hooks.push(rules.clone());
    options.afterwards.push(rules);
    if settings.todo.enabled && parts.usual_tools {
        options.tools.add(Arc::new(Todo));
    }
    let reminders = Arc::new(Reminders::new(settings.todo, clock.clone()));
    options.hooks.push(reminders.clone());
    options.afterwards.push(reminders);
    let continues = Arc::new(Continues::new(settings.compaction.auto_continue, clock.clone()));
    options.hooks.push(continues.clone());
    options.afterwards.push(continues);
}

impl<D: Family> Kept<D> for family::Front<D> {
    async fn prompt(&self, params: PromptParams, call: Call<D>) -> Result<(), Refusal> {
        self.say(params, Caller::of(&call)).await.map(drop)
    }

    async fn steer(&self, params: SteerParams, _: Call<D>) -> Result<(), Refusal> {
        self.desk.steer(params.message, params.images).await.map_err(refuse)
    }

    async fn follow_up(&self, params: FollowUpParams, _: Call<D>) -> Result<(), Refusal> {
        self.desk.follow_up(params.message, params.images).await.map_err(refuse)
    }

    async fn get_state(
        &self,
        _: NoParams,
        call: Call<D, OmpSessionState>,
    ) -> Result<OmpSessionState, Refusal> {
        self.desk.ready().await;
        match self.told.text(self.engine(), state) {
            Some(text) => {
                call.answer_text(text);
                Ok(state(told::nothing()))
            }
            None => Ok(state(self.engine().view())),
        }
    }

    async fn abort_and_prompt(&self, params: AbortAndPromptParams, call: Call<D>) -> Result<(), Refusal> {
        let said = Said::new(params.message, params.images);
        self.desk.abort_and_prompt(said, Caller::of(&call)).await.map(drop).map_err(refuse)
    }

    async fn set_interrupt_mode(&self, params: SetInterruptModeParams, _: Call<D>) -> Result<(), Refusal> {
        self.engine().set_interrupt_mode(params.mode);
        Ok(())
    }

    async fn branch(&self, params: BranchParams, call: Call<D, ForkResult>) -> Result<ForkResult, Refusal> {
        // The document prescribes this text.
        let unknown = |_| Refusal::new("Invalid entry ID for branching");
        let (text, done) = self.desk.fork(&params.entry_id, Caller::of(&call)).await.map_err(unknown)?;
        let mut made = ForkResult::new(!done);
        made.text = Some(text);
        Ok(made)
    }

    async fn get_branch_messages(&self, _: NoParams, _: Call<D, ForkPoints>) -> Result<ForkPoints, Refusal> {
        let points = self.engine().fork_messages().into_iter();
        Ok(ForkPoints::new(points.map(|(entry, text)| ForkPoint::new(entry.to_string(), text)).collect()))
    }
}

/// The commands of newer revisions, which the server does not speak.
impl Own for Front {}

fn state(view: View) -> OmpSessionState {
    let mut state = OmpSessionStateBuilder {
        is_streaming: view.streaming || view.waiting,
        is_compacting: view.compacting,
        steering_mode: view.steering_mode,
        follow_up_mode: view.follow_up_mode,
        interrupt_mode: view.interrupt_mode,
        session_id: view.session_id,
        auto_compaction_enabled: view.auto_compaction,
        message_count: view.messages as u64,
        queued_message_count: view.pending as u64,
    }
    .build();
    state.model = Maybe::or_null(view.model);
    state.thinking_level = Some(view.thinking);
    state.session_file = view.session_file.map(text);
    state.session_name = view.session_name;
    state
}

impl Family for Omp {
    fn customs(spec: &'static Spec) -> Customs {
        if family::convert::declares::<Ready>(spec) { READY } else { CUSTOMS }
    }

    const HOME: Home = HOME;

    fn equip(parts: &mut Parts) {
        equip(parts);
    }

    fn withdrawal(id: &str) -> Option<Self::Dialog> {
        Some(CancelNotice::new(id).into())
    }
}
