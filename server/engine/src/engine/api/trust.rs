//! Changes after the decision to trust a working directory.

use std::borrow::Cow;
use std::sync::Arc;

use crate::config::Settings;
use crate::engine::config_overlay::ConfigOverlay;
use crate::engine::{Engine, Hooks, Shared};
use crate::prompt::{Date, SystemPrompt};
use crate::resources::Resources;
use crate::tools::{ShellSettings, ToolContext};

/// Configuration of a trusted directory. It replaces the corresponding options.
#[derive(Debug, Clone)]
pub struct TrustedConfig {
    /// Settings of the user, overridden by the settings of the directory.
    pub settings: Settings,
    /// Settings for the execution of commands.
    pub shell: ShellSettings,
    /// The system prompt of models.
    pub system_prompt: SystemPrompt,
    /// Skills and prompt templates.
    pub resources: Arc<Resources>,
}

impl Shared {
    /// Returns the context of each tool call.
    pub(in crate::engine) fn context(&self) -> &ToolContext {
        self.overlay.get().map_or(&self.options.context, |overlay| &overlay.context)
    }

    /// Returns skills and prompt templates without those of extensions.
    pub(in crate::engine) fn base_resources(&self) -> &Arc<Resources> {
        self.overlay.get().map_or(&self.options.resources, |overlay| &overlay.resources)
    }

    /// Returns the parts of the system prompt.
    pub(in crate::engine) fn prompt(&self) -> &SystemPrompt {
        self.overlay.get().map_or(&self.options.system_prompt, |overlay| &overlay.system_prompt)
    }

    /// Returns the current system prompt.
    pub(in crate::engine) fn system_prompt(&self) -> String {
        self.current_prompt().text(&self.tools(), self.today())
    }

    /// Returns the current system prompt as sections with names.
    pub(in crate::engine) fn prompt_sections(&self) -> Vec<(&'static str, String)> {
        self.current_prompt().sections(&self.tools(), self.today())
    }

    fn current_prompt(&self) -> Cow<'_, SystemPrompt> {
        let prompt = self.prompt();
        match self.extension_resources.skills() {
            Some(skills) => Cow::Owned(prompt.clone().with_skills(skills)),
            None => Cow::Borrowed(prompt),
        }
    }

    fn today(&self) -> Date {
        Date::of_ms(self.options.clock.now_ms())
    }
}

impl Engine {
    /// Trusts the working directory from now on. Only the first call has an effect. Model, thinking level, and
    /// settings that a client has changed stay as they are.
    pub fn apply_trust(&self, config: TrustedConfig) {
        let TrustedConfig { settings, shell, system_prompt, resources } = config;
        let mut context = self.shared.options.context.clone();
        context.shell = shell;
        context.auto_resize_images = settings.images.auto_resize;
        context.block_images = settings.images.block_images;
        if self.shared.overlay.set(ConfigOverlay { context, system_prompt, resources }).is_err() {
            return;
        }
        self.shared.options.hooks.trusted(&settings, self.shared.base_resources());
        self.shared.options.usage_tracker.set_limits(settings.task.budget, settings.limits);
        self.shared.extension_resources.reload(self.shared.base_resources());
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
