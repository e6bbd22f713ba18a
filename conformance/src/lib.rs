//! Conformance of coding agents: cases to play against an agent, a scripted model in place of the language
//! model, transcripts of real agents, and an agent that plays them.
//!
//! * [`suite`] has the cases, profiles and golden transcripts.
//! * [`player`] plays a case against an agent and returns the lines as a [`recording`].
//! * [`model`] is the scripted model, a server on loopback.
//! * [`detect`] finds the dialect of an agent.
//! * [`judge`] judges the run of a case. [`matching`] compares frames with a pattern, with the expectations
//!   of a case, or with its golden transcript.
//! * [`mod@attack`] tests an agent under failure.
//! * [`run`] plays and judges many cases, [`report`] reports the results.
//! * A [`transcript`] is a file of JSON lines: the dialogue of a client and an agent. [`mod@replay`] plays
//!   the agent's side, so that clients are tested against the real output of agents.
//! * [`record`] writes a transcript of a real client and a real agent, and [`leaks`] makes sure that it has
//!   no key.

pub mod attack;
pub mod client;
mod decode;
pub mod detect;
pub mod file;
#[rustfmt::skip]
mod generated;
pub mod json_spelling;
pub mod judge;
pub mod leaks;
pub mod matching;
pub mod model;
pub mod player;
pub mod record;
pub mod recording;
pub mod replay;
pub mod report;
pub mod run;
pub mod suggestions;
pub mod suite;
pub mod transcript;
pub mod variables;
pub mod verdict;

pub use decode::spec;
pub use replay::replay;
pub use suite::Suite;
pub use transcript::{Transcript, TranscriptError};
