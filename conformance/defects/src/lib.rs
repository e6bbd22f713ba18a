//! Seeded defects: measurement of the share of an agent's defects that the suite catches.
//!
//! A [`Mutator`] changes an agent's output in one way, as a defect would. The mutator itself finds the places
//! for its change. It skips values that the matcher binds (ids that agents generate, times, paths, ports,
//! durations), and places at which the change has no effect. A change is either a defect, which the suite
//! must report, or neutral; then the suite must not report it.
//!
//! [`stream`] and [`site`] use the declaration to find the values in an agent's output. No mutator contains a
//! wire name. [`change`] applies a change to all lines at once; [`proxy`] is a program between the suite and
//! a live agent.

pub mod baseline;
pub mod change;
mod exclusions;
pub mod experiment;
pub mod live;
mod mutators;
mod neutral;
mod permitted_changes;
pub mod place;
pub mod proxy;
pub mod site;
pub mod stream;
mod waits;

pub use change::{Application, Effect};
pub use mutators::{mutator, mutators};
pub use neutral::{NeutralChange, neutrals};
use place::Place;
use stream::Stream;

/// Aspect of the output that a mutator changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// The change affects the presence of frames.
    Frames,
    /// The change affects the order of frames.
    Order,
    /// The change affects the link between an answer and its command.
    Ids,
    /// The change affects the content of answers.
    Answers,
    /// The change affects the members of a frame.
    Members,
    /// The change affects values of members.
    Values,
    /// The change affects the content of texts.
    Texts,
    /// The change affects the growth of messages.
    Deltas,
    /// The change affects the bytes of frames.
    Bytes,
    /// The change affects the end of the agent.
    Process,
}

impl Group {
    /// Returns the name of the group.
    pub fn name(self) -> &'static str {
        match self {
            Group::Frames => "frames",
            Group::Order => "order",
            Group::Ids => "ids",
            Group::Answers => "answers",
            Group::Members => "members",
            Group::Values => "values",
            Group::Texts => "texts",
            Group::Deltas => "deltas",
            Group::Bytes => "bytes",
            Group::Process => "process",
        }
    }
}

/// Part of a stream that a mutator needs before it can decide about a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookahead {
    /// All output up to and including the line.
    Line,
    /// All output up to and including the next line.
    Next,
    /// The whole output. Such a mutator does not work while the agent is writing.
    All,
}

/// Function that finds the changes that a mutator can make to the line at an index.
pub(crate) type EffectFinder = fn(&Stream, usize) -> Vec<(Place, Effect)>;

/// One kind of defect.
#[derive(Debug, Clone, Copy)]
pub struct Mutator {
    /// Name of the mutator.
    pub name: &'static str,
    /// Description of the change.
    pub description: &'static str,
    /// Aspect of the output that is changed.
    pub group: Group,
    /// Part of the output that the mutator needs before it can decide.
    pub lookahead: Lookahead,
    /// `true` if the mutator skips growing values, because an earlier version of such a value is not a
    /// defect.
    spares_growth: bool,
    find: EffectFinder,
}

impl Mutator {
    pub(crate) const fn new(
        name: &'static str,
        description: &'static str,
        group: Group,
        find: EffectFinder,
    ) -> Self {
        Self { name, description, group, lookahead: Lookahead::Line, spares_growth: false, find }
    }

    pub(crate) const fn with_lookahead(mut self, sees: Lookahead) -> Self {
        self.lookahead = sees;
        self
    }

    pub(crate) const fn sparing_growth(mut self) -> Self {
        self.spares_growth = true;
        self
    }

    /// Returns all changes that the mutator can make to one line of the agent.
    pub fn applications_at(&self, stream: &Stream, at: usize) -> Vec<Application> {
        let Some(line) = stream.lines.get(at) else { return Vec::new() };
        let found = (self.find)(stream, at).into_iter().map(|(place, effect)| Application {
            mutator: self.name,
            at,
            place: (!place.0.is_empty()).then_some(place),
            effect,
        });
        let grows = |place: &Place| line.site(place).is_some_and(|site| site.grows);
        found
            .filter(|found| !(self.spares_growth && found.place.as_ref().is_some_and(grows)))
            .filter(|found| found.changes(&line.text) && !stream.is_permitted(at, found))
            .collect()
    }

    /// Returns all changes that the mutator can make to a stream.
    pub fn applications(&self, stream: &Stream) -> Vec<Application> {
        (0..stream.lines.len()).flat_map(|at| self.applications_at(stream, at)).collect()
    }
}
