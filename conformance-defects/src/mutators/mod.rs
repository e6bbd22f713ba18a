//! The mutators.

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
use crate::stream::Said;
use crate::{Effect, Mutator};

/// All mutators, group by group.
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

/// The mutator of that name.
pub fn mutator(name: &str) -> Option<Mutator> {
    mutators().into_iter().find(|mutator| mutator.name == name)
}

/// What a finder gives.
type Effects = Vec<(Place, Effect)>;

/// One effect on the line as a whole.
fn whole(effect: Effect) -> Effects {
    vec![(Place::default(), effect)]
}

/// One effect on the line as a whole, or none.
fn whole_if(applies: bool, effect: impl FnOnce() -> Effect) -> Effects {
    if applies { whole(effect()) } else { Vec::new() }
}

/// One change at a place.
fn edit(place: &Place, edit: Edit) -> (Place, Effect) {
    (place.clone(), Effect::Edit(place.clone(), edit))
}

/// Other JSON at a place.
fn put(place: &Place, json: impl ToString) -> (Place, Effect) {
    edit(place, Edit::Put(json.to_string()))
}

/// The line as a frame, and its role, where it is one.
fn is_frame(said: &Said) -> bool {
    said.frame.is_object()
}
