//! Comparison of frames with their expectations.
//!
//! There are three ways to state an expectation, each based on the one before:
//!
//! * a [`pattern`] describes one frame; [`near`] finds frames that almost fit;
//! * the [`expectations`] of a case list the frames that fit a pattern, in order;
//! * a [`golden`] transcript has all frames of a case as an agent sent them; allowed differences are
//!   declared.
//!
//! Each way reports a [`difference`]: its place in the frame, and a description. Places in frames are
//! [`path`]s, and [`excerpts`] formats lines for reports.

mod difference;
pub(crate) mod excerpts;
pub mod expectations;
pub mod golden;
pub(crate) mod near;
pub mod path;
pub mod pattern;

pub use golden::{Choices, Comparison, ComparisonResult, Rules, checks, compare, tables};
pub use pattern::{Pattern, PatternError};

pub(crate) use difference::short;
