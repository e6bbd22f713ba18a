//! What the frames of omp mean for a conversation.

use crate::meaning::Meaning;

/// What the frames of omp mean.
pub const MEANING: Meaning = Meaning { readers: &[], rules: &[], silent: &[], asks: &[] };
