//! Conformance of coding agents: cases that anyone can play against an agent, a scripted model that
//! stands in for the language model, transcripts of real agents, and an agent that plays them.
//!
//! * [`suite`] has the cases, profiles and golden transcripts.
//! * [`player`] plays a case against an agent and gives what was said as a [`recording`].
//! * [`model`] is the scripted model, a server on loopback.
//! * [`detect`] tells which dialect an agent speaks.
//! * [`judge`] says what is to be said of what was played, [`matching`] says what a frame must be: by a pattern, by what a case
//!   expects in its own words, or by its golden transcript.
//! * [`mod@attack`] sees what an agent does where everything goes wrong.
//! * [`run`] plays and judges many cases, [`report`] tells of it.
//! * A [`transcript`] is a file of JSON lines: what a client and an agent said to each other. [`mod@replay`]
//!   plays the agent's side of one, so that clients are tested against what real agents really sent.
//! * [`record`] writes a transcript of a real client and a real agent, and [`leaks`] sees to it that no key is in it.

pub mod attack;
pub mod client;
mod decode;
pub mod detect;
pub mod file;
#[rustfmt::skip]
mod generated;
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
pub mod suite;
pub mod transcript;
pub mod variables;
pub mod verdict;
pub mod words;
pub mod writing;

pub use replay::replay;
pub use suite::Suite;
pub use transcript::{Transcript, TranscriptError};
