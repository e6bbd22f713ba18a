//! What an agent is put together from, whatever dialect it speaks.

use super::Undecided;
use crate::session::Session;
use crate::{engine, extensions};

/// What the frames of a growing answer carry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Updates {
    /// The whole answer so far.
    #[default]
    Snapshots,
    /// Only what is new.
    Delta,
}

/// The parts of an agent.
pub struct Parts {
    /// What its engine is made of. Hooks and commands of extensions are added to it.
    pub options: engine::Options,
    /// The session to go on with; a fresh one where there is none.
    pub session: Option<Session>,
    /// The extensions.
    pub extensions: extensions::Options,
    /// Whether somebody has to be asked about the working directory.
    pub undecided: Option<Undecided>,
    /// What the frames of a growing answer carry, in a dialect that leaves it open.
    pub updates: Updates,
}
