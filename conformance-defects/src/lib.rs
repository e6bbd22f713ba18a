//! Seeded defects: how well does the suite notice what an agent does wrong?
//!
//! A [`Mutator`] changes what an agent says in one way, as a defect of an agent would. It says itself where it
//! applies: never where the matcher binds a value (ids that agents make up, times, paths, ports, durations),
//! and never where the result would be the same. A change is either a defect, which the suite has to notice, or
//! neutral, and then nobody may notice it.
//!
//! [`stream`] and [`site`] know from the declaration what stands where in what an agent says; no mutator
//! knows a name on the wire. [`change`] applies a change to all lines at once; [`proxy`] is a program that stands
//! between the suite and a live agent.

mod as_good;
pub mod change;
pub mod experiment;
mod knowledge;
pub mod live;
mod mutators;
mod neutral;
pub mod place;
pub mod proxy;
pub mod site;
pub mod stream;
pub mod trial;
mod waits;

pub use change::{Application, Effect};
pub use mutators::{mutator, mutators};
pub use neutral::{Neutral, neutrals};
use place::Place;
use stream::Stream;

/// What a mutator changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Which frames come.
    Frames,
    /// In which order they come.
    Order,
    /// Which command an answer belongs to.
    Ids,
    /// What an answer says of its command.
    Answers,
    /// Which members a frame has.
    Members,
    /// What their values are.
    Values,
    /// What texts say.
    Texts,
    /// How a message grows.
    Deltas,
    /// How frames are written.
    Bytes,
    /// How the agent ends.
    Process,
}

impl Group {
    /// Its name.
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

/// How much of a stream a mutator has to see to know whether it applies to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sees {
    /// What was said up to the line.
    Line,
    /// The line behind it, too.
    Next,
    /// Everything that is said: it cannot be done while the agent speaks.
    All,
}

/// What a mutator does to the line at an index.
pub(crate) type Find = fn(&Stream, usize) -> Vec<(Place, Effect)>;

/// One kind of defect.
#[derive(Debug, Clone, Copy)]
pub struct Mutator {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub says: &'static str,
    /// What it changes.
    pub group: Group,
    /// What it has to see.
    pub sees: Sees,
    /// Whether it may make an earlier version of a value, which is no defect where a message grows.
    spares_growth: bool,
    find: Find,
}

impl Mutator {
    pub(crate) const fn new(name: &'static str, says: &'static str, group: Group, find: Find) -> Self {
        Self { name, says, group, sees: Sees::Line, spares_growth: false, find }
    }

    pub(crate) const fn seeing(mut self, sees: Sees) -> Self {
        self.sees = sees;
        self
    }

    pub(crate) const fn not_growing(mut self) -> Self {
        self.spares_growth = true;
        self
    }

    /// Where it applies to one line of the agent.
    pub fn applications_at(&self, stream: &Stream, at: usize) -> Vec<Application> {
        let Some(said) = stream.said.get(at) else { return Vec::new() };
        let found = (self.find)(stream, at).into_iter().map(|(place, effect)| Application {
            mutator: self.name,
            at,
            place: (!place.0.is_empty()).then_some(place),
            effect,
        });
        let grows = |place: &Place| said.site(place).is_some_and(|site| site.grows);
        found
            .filter(|found| !(self.spares_growth && found.place.as_ref().is_some_and(grows)))
            .filter(|found| found.changes(&said.line) && !stream.is_as_good(at, found))
            .collect()
    }

    /// Where it applies to a stream.
    pub fn applications(&self, stream: &Stream) -> Vec<Application> {
        (0..stream.said.len()).flat_map(|at| self.applications_at(stream, at)).collect()
    }
}
