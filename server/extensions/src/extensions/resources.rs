//! Skills and prompt templates from extensions.

use std::path::PathBuf;

use agentese::types::{DiscoverReason, ResourcesDiscoverAnswer, ResourcesDiscoverHook};

use super::host::{Host, LoadedExtension};
use super::wire::type_of;

impl Host {
    /// Requests folders with further skills and templates from new extensions, and loads these folders.
    pub(super) async fn discover_resources(&self, new: &[LoadedExtension]) {
        let (mut skills, mut templates) = (Vec::new(), Vec::new());
        let cwd = &self.context.cwd;
        let paths = |named: Option<Vec<String>>| -> Vec<PathBuf> {
            named.into_iter().flatten().map(|path| cwd.join(path)).collect()
        };
        for member in new.iter().filter(|member| member.subscribes_to(type_of::<ResourcesDiscoverHook>())) {
            let event = ResourcesDiscoverHook::new(cwd.to_string_lossy(), DiscoverReason::Startup);
            let Ok(Some(answer)) = self.answer::<ResourcesDiscoverAnswer>(member, event.into()).await else {
                continue;
            };
            skills.extend(paths(answer.skill_paths));
            templates.extend(paths(answer.prompt_paths));
        }
        let Some(engine) = self.engine().filter(|_| !(skills.is_empty() && templates.is_empty())) else {
            return;
        };
        for warning in engine.extend_resources(skills, templates).await {
            tracing::warn!("{warning}");
        }
        self.schedule_refresh();
    }
}
