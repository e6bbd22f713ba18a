//! Skills and prompt templates that extensions bring, beside those that were there.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Engine, Shared};
use crate::prompt::Skill;
use crate::resources::{Complaint, Resources};

/// What extensions bring.
#[derive(Default)]
pub(super) struct Extra(Mutex<State>);

#[derive(Default)]
struct State {
    skills: Vec<PathBuf>,
    templates: Vec<PathBuf>,
    /// All that there are, with the skills that models are told of; none where nothing was brought.
    all: Option<(Arc<Resources>, Vec<Skill>)>,
}

impl Extra {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The skills that models are told of, where any were brought.
    pub fn skills(&self) -> Option<Vec<Skill>> {
        self.state().all.as_ref().map(|(_, skills)| skills.clone())
    }

    /// Reads what was brought anew, beside what is there now. Blocks.
    pub fn renew(&self, own: &Resources) {
        let mut state = self.state();
        if state.all.is_some() {
            state.read(own);
        }
    }
}

impl State {
    fn read(&mut self, own: &Resources) -> Vec<Complaint> {
        let (all, mut complaints) = own.extended(&self.skills, &self.templates);
        let (skills, hidden) = all.for_model();
        complaints.extend(hidden);
        self.all = Some((Arc::new(all), skills));
        complaints
    }
}

impl Shared {
    /// Skills and prompt templates.
    pub(super) fn resources(&self) -> Arc<Resources> {
        let all = self.extra.state().all.as_ref().map(|(all, _)| all.clone());
        all.unwrap_or_else(|| self.own_resources().clone())
    }
}

impl Engine {
    /// Adds skills and prompt templates, files or folders of them, to those that are there; of several with one name
    /// the older one counts. Gives what is wrong with them.
    pub async fn extend_resources(&self, skills: Vec<PathBuf>, templates: Vec<PathBuf>) -> Vec<Complaint> {
        let shared = self.shared.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut state = shared.extra.state();
            state.skills.extend(skills);
            state.templates.extend(templates);
            state.read(shared.own_resources())
        });
        read.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}
