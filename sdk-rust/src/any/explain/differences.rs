//! Differences in the effects of a command, compared to an agent of the front end's dialect.

use std::collections::BTreeSet;

use serde::Serialize;

use super::super::table::{CommandMapping, Divergence, Fallback, intent_spec};
use super::DialectPair;
use crate::generated::intents::Intent;

/// A difference in the effects or the response of a command, compared to an agent of the front end's dialect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// Neutral paths, as in [`Member::neutral`](crate::any::Member::neutral), whose values differ after the
    /// command. The list may also contain these names:
    ///
    /// * `order`: the positions of user messages among the other messages, and the number of turns
    /// * `answers`: the number and choice of the model's messages after this input; each single message is
    ///   complete
    /// * `calls`: the messages that contain tool calls
    /// * `stopped`: the tool calls of a stopped message. The list of messages lacks calls that had not
    ///   started, results of started calls, and the empty message at the end of the run.
    /// * `shells`: the presence of a message for a shell command of the user
    /// * `history`: everything that responses report about messages
    /// * `events`: everything that events report about the current run, until its end
    /// * `goesOn`: the presence of a run that the agent starts by itself after an automatic compaction
    pub places: Vec<String>,
    /// `true` if the difference exists only for a command that is sent during a run.
    pub busy: bool,
    /// `true` if the agent may accept or reject the command in other cases than an agent of the front end's
    /// dialect.
    pub refuses: bool,
    /// The command parameters that trigger the difference; any of them suffices. Empty if the difference
    /// applies without them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

impl DialectPair<'_> {
    /// Returns the differences of the agent, or of the translator, compared to an agent of the front end's
    /// dialect.
    pub(super) fn divergences(
        &self,
        intent: Intent,
        front: &'static CommandMapping,
    ) -> Vec<&'static Divergence> {
        match self.agent.table.mapping(self.agent.spec, intent) {
            Some(mapping) => {
                let is_other = |differs: &&Divergence| {
                    !front.differs.contains(differs) && differs.applies_to(self.agent.spec)
                };
                let others = mapping.differs.iter().filter(is_other);
                others.chain(&front.alone).collect()
            }
            None => {
                let how = match intent_spec(intent).map(|row| &row.without) {
                    Some(Fallback::Through { how, .. }) => Some(how),
                    _ => None,
                };
                how.into_iter().chain(&front.alone).collect()
            }
        }
    }

    /// Returns the differences in the effects of a command, for all of its intents.
    pub(super) fn differences(&self, wire: &str) -> Vec<Difference> {
        if self.is_same_dialect() {
            return Vec::new();
        }
        let begins = self.intents_of(wire).any(|(intent, _)| intent == Intent::Prompt);
        let of = |(intent, front): (Intent, &'static CommandMapping)| {
            // A command that also starts runs has another intent only during a run.
            let is_busy = begins && intent != Intent::Prompt;
            let divergences = self.divergences(intent, front).into_iter();
            let divergences = divergences.filter(|differs| differs.refuses || !differs.changes.is_empty());
            divergences.map(move |differs| Difference {
                places: differs.changes.clone(),
                busy: differs.busy || is_busy,
                refuses: differs.refuses,
                with: differs.with.clone(),
            })
        };
        let all: BTreeSet<Difference> = self.intents_of(wire).flat_map(of).collect();
        all.into_iter().collect()
    }
}
