//! Skills and prompt templates of extensions, besides the existing ones.

use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, Shared};
use crate::resources::{ResourceWarning, Resources};

impl Shared {
    /// Returns all skills and prompt templates.
    pub(in crate::engine) fn resources(&self) -> Arc<Resources> {
        let all = self.extension_resources.state().all.as_ref().map(|(all, _)| all.clone());
        all.unwrap_or_else(|| self.base_resources().clone())
    }
}

impl Engine {
    /// Adds skills and prompt templates, as files or folders. An existing resource takes precedence over a new one with
    /// its name. Returns the warnings about them.
    pub async fn extend_resources(
        &self,
        skills: Vec<PathBuf>,
        templates: Vec<PathBuf>,
    ) -> Vec<ResourceWarning> {
        let shared = self.shared.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut state = shared.extension_resources.state();
            state.skills.extend(skills);
            state.templates.extend(templates);
            state.read(shared.base_resources())
        });
        read.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}
