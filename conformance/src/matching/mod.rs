//! What a frame must be, and what it has otherwise.
//!
//! There are three ways to say it, each made of the one before:
//!
//! * a [`pattern`] says what one frame has, and what [`near`] makes of a frame that has almost that;
//! * [`expectations`] of a case say which frames that fit a pattern come, in which order;
//! * a [`golden`] transcript has all frames of a case as an agent said them; what may differ is declared.
//!
//! Whichever says it, what is otherwise is a [`difference`]: where in the frame, and in words. Places in frames are
//! [`path`]s, and [`shown`] has the lines as people see them.

mod difference;
pub mod expectations;
pub mod golden;
pub(crate) mod near;
pub mod path;
pub mod pattern;
pub(crate) mod shown;

pub use golden::{Choices, Compared, Comparison, Rules, checks, compare, tables};
pub use pattern::{Pattern, PatternError};
