//! All mutators, by group.

mod answers;
mod bytes;
mod deltas;
mod frames;
mod ids;
mod members;
mod order;
mod process;
mod texts;
mod values;

use crate::place::{Edit, Place};
use crate::stream::AgentLine;
use crate::{Effect, Mutator};

/// Returns all mutators, group by group.
pub fn mutators() -> Vec<Mutator> {
    [
        frames::ALL,
        order::ALL,
        ids::ALL,
        answers::ALL,
        members::ALL,
        values::ALL,
        texts::ALL,
        deltas::ALL,
        bytes::ALL,
        process::ALL,
    ]
    .concat()
}

/// Returns the mutator with this name.
pub fn mutator(name: &str) -> Option<Mutator> {
    mutators().into_iter().find(|mutator| mutator.name == name)
}

/// The places that a mutator found in a line, each with the effect of its change.
type Effects = Vec<(Place, Effect)>;

/// Returns one effect on the whole line.
fn whole(effect: Effect) -> Effects {
    vec![(Place::default(), effect)]
}

/// Returns one effect on the whole line if `applies` is `true`, and otherwise no effect.
fn whole_if(applies: bool, effect: impl FnOnce() -> Effect) -> Effects {
    if applies { whole(effect()) } else { Vec::new() }
}

/// Returns one edit at a place.
fn edit(place: &Place, edit: Edit) -> (Place, Effect) {
    (place.clone(), Effect::Edit(place.clone(), edit))
}

/// Returns an edit that replaces the JSON at a place.
fn put(place: &Place, json: impl ToString) -> (Place, Effect) {
    edit(place, Edit::Put(json.to_string()))
}

/// Returns `true` if the line is a frame: a JSON object.
fn is_frame(line: &AgentLine) -> bool {
    line.frame.is_object()
}
