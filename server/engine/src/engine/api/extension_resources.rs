//! Skills and prompt templates of extensions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::prompt::Skill;
use crate::resources::{ResourceWarning, Resources};

/// Resources that extensions add.
#[derive(Default)]
pub(in crate::engine) struct ExtensionResources(Mutex<AddedResources>);

/// The paths that extensions added, and the resources that result from them.
#[derive(Default)]
pub(in crate::engine) struct AddedResources {
    pub(in crate::engine) skills: Vec<PathBuf>,
    pub(in crate::engine) templates: Vec<PathBuf>,
    /// The agent's own resources together with the added ones, and the skills among them that models may use. It is
    /// `None` if extensions added no resources.
    pub(in crate::engine) all: Option<(Arc<Resources>, Vec<Skill>)>,
}

impl ExtensionResources {
    pub fn state(&self) -> MutexGuard<'_, AddedResources> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the skills that models may use. Returns `None` if extensions added no resources.
    pub fn skills(&self) -> Option<Vec<Skill>> {
        self.state().all.as_ref().map(|(_, skills)| skills.clone())
    }

    /// Loads the resources of extensions again and combines them with `own`. Blocks.
    pub fn reload(&self, own: &Resources) {
        let mut state = self.state();
        if state.all.is_some() {
            state.read(own);
        }
    }
}

impl AddedResources {
    pub fn read(&mut self, own: &Resources) -> Vec<ResourceWarning> {
        let (all, mut warnings) = own.extended(&self.skills, &self.templates);
        let (skills, hidden) = all.for_model();
        warnings.extend(hidden);
        self.all = Some((Arc::new(all), skills));
        warnings
    }
}
