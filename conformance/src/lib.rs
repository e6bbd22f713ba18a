//! Transcripts of real agents, and an agent that plays them.
//!
//! A [`transcript`] is a file of JSON lines: what a client and an agent said to each other.
//! [`replay`] plays the agent's side of one, so that clients are tested against what real agents
//! really sent.

pub mod replay;
pub mod transcript;

pub use replay::replay;
pub use transcript::{Transcript, TranscriptError};
