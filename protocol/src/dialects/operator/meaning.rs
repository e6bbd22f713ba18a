//! What the frames of operator mean for a conversation.

use crate::meaning::Meaning;

/// What the frames of operator mean.
pub const MEANING: Meaning = Meaning { readers: &[], rules: &[], silent: &[], asks: &[] };
