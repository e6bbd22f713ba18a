//! What is other behind a command than the front end's dialect says.

use std::collections::BTreeSet;

use serde::Serialize;

use super::super::table::{Carrier, Differs, Without, neutral};
use super::Pair;
use crate::generated::intents::Intent;

/// What is other behind a command, or with its answer, than the front end's dialect says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Places in the neutral form, as in [`Member::neutral`](crate::any::Member::neutral), and what stands in them: their
    /// values are other from then on. `order` is where words of the user stand among the other messages, and how many turns
    /// there are; `answers` is how many answers of the model follow such words, and which, each of them whole; `calls` is in
    /// which answers calls stand; `stopped` is calls of a stopped answer: those that had not begun are not told,
    /// and neither is what those gave that had, nor the empty answer at the end of the run; `shells` is whether a shell command of the user leaves a message; `history` is all that
    /// answers tell of messages, `events` all that events tell of the run that is going on, until it ends; `goesOn` is whether a
    /// run of the agent's own follows a summary that it makes by itself.
    pub places: Vec<String>,
    /// Whether that is so only of a command that comes while a run is going on.
    pub busy: bool,
    /// Whether the command may be refused, or carried out, where it is not with an agent of the front end's dialect.
    pub refuses: bool,
    /// The parameters of the command with one of which that is so; none where it is so without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

impl Pair<'_> {
    /// What the agent, or who stands between, does otherwise than an agent of the front end's dialect.
    pub(super) fn otherwise(&self, intent: Intent, front: &'static Carrier) -> Vec<&'static Differs> {
        match self.agent.table.carrier(self.agent.spec, intent) {
            Some(carrier) => {
                let is_other =
                    |differs: &&Differs| !front.differs.contains(differs) && differs.is_of(self.agent.spec);
                let others = carrier.differs.iter().filter(is_other);
                others.chain(&front.alone).collect()
            }
            None => {
                let how = match neutral(intent).map(|row| &row.without) {
                    Some(Without::Through { how, .. }) => Some(how),
                    _ => None,
                };
                how.into_iter().chain(&front.alone).collect()
            }
        }
    }

    /// What is other behind a command, for whichever of its intents.
    pub(super) fn differences(&self, wire: &str) -> Vec<Difference> {
        if self.is_same() {
            return Vec::new();
        }
        let begins = self.stands_for(wire).any(|(intent, _)| intent == Intent::Prompt);
        let of = |(intent, front): (Intent, &'static Carrier)| {
            // A command that begins runs too stands for something else only while one is going on.
            let is_busy = begins && intent != Intent::Prompt;
            let told = self.otherwise(intent, front).into_iter();
            let told = told.filter(|differs| differs.refuses || !differs.changes.is_empty());
            told.map(move |differs| Difference {
                places: differs.changes.clone(),
                busy: differs.busy || is_busy,
                refuses: differs.refuses,
                with: differs.with.clone(),
            })
        };
        let all: BTreeSet<Difference> = self.stands_for(wire).flat_map(of).collect();
        all.into_iter().collect()
    }
}
