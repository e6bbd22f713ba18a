//! What changes when a working directory turns out to be trusted.

use std::borrow::Cow;
use std::sync::Arc;

use super::overlay::Overlay;
use super::{Engine, Hooks, Shared};
use crate::config::Settings;
use crate::prompt::{Date, SystemPrompt};
use crate::resources::Resources;
use crate::tools::{ShellSettings, ToolContext};

/// What counts in a directory that is trusted, in place of what the options say.
#[derive(Debug, Clone)]
pub struct Granted {
    /// The user's settings, with those of the directory over them.
    pub settings: Settings,
    /// How commands are run.
    pub shell: ShellSettings,
    /// What models are told beforehand.
    pub system_prompt: SystemPrompt,
    /// Skills and prompt templates.
    pub resources: Arc<Resources>,
}

impl Shared {
    /// What surrounds each call of a tool.
    pub(super) fn context(&self) -> &ToolContext {
        self.overlay.get().map_or(&self.options.context, |overlay| &overlay.context)
    }

    /// Skills and prompt templates without those that extensions bring.
    pub(super) fn own_resources(&self) -> &Arc<Resources> {
        self.overlay.get().map_or(&self.options.resources, |overlay| &overlay.resources)
    }

    /// The parts of what a model is told beforehand.
    pub(super) fn prompt(&self) -> &SystemPrompt {
        self.overlay.get().map_or(&self.options.system_prompt, |overlay| &overlay.system_prompt)
    }

    /// What a model is told beforehand, as of now.
    pub(super) fn system_prompt(&self) -> String {
        self.prompt_of_now().text(&self.tools(), self.today())
    }

    /// That, as sections with names.
    pub(super) fn prompt_sections(&self) -> Vec<(&'static str, String)> {
        self.prompt_of_now().sections(&self.tools(), self.today())
    }

    fn prompt_of_now(&self) -> Cow<'_, SystemPrompt> {
        let prompt = self.prompt();
        match self.extra.skills() {
            Some(skills) => Cow::Owned(prompt.clone().with_skills(skills)),
            None => Cow::Borrowed(prompt),
        }
    }

    fn today(&self) -> Date {
        Date::of_ms(self.options.clock.now_ms())
    }
}

impl Engine {
    /// From now on the working directory is trusted; only the first call counts. Of the settings those change that no
    /// client has changed meanwhile; model and thinking level stay as they are.
    pub fn grant(&self, granted: Granted) {
        let Granted { settings, shell, system_prompt, resources } = granted;
        let mut context = self.shared.options.context.clone();
        context.shell = shell;
        context.auto_resize_images = settings.images.auto_resize;
        context.block_images = settings.images.block_images;
        if self.shared.overlay.set(Overlay { context, system_prompt, resources }).is_err() {
            return;
        }
        self.shared.options.hooks.trusted(&settings, self.shared.own_resources());
        self.shared.options.ledger.limit(settings.task.budget, settings.limits);
        self.shared.extra.renew(self.shared.own_resources());
        let before = &self.shared.options.settings;
        let mut state = self.shared.state();
        if state.queues.steering_mode() == before.steering_mode {
            state.queues.set_steering_mode(settings.steering_mode);
        }
        if state.queues.follow_up_mode() == before.follow_up_mode {
            state.queues.set_follow_up_mode(settings.follow_up_mode);
        }
        if state.retry == before.retry {
            state.retry = settings.retry;
        }
        if state.compaction == before.compaction {
            state.compaction = settings.compaction;
        }
    }
}
