//! What the frames of pisces mean for a conversation.

use crate::meaning::Meaning;

/// What the frames of pisces mean.
pub const MEANING: Meaning = Meaning { readers: &[], rules: &[], silent: &[], asks: &[] };
