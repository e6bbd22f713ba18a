//! What the frames of opal mean for a conversation.

use crate::meaning::Meaning;

/// What the frames of opal mean.
pub const MEANING: Meaning = Meaning { readers: &[], rules: &[], silent: &[], asks: &[] };
