//! The pisces dialect: the commands are those of omp. What it adds are events, which the family writes.

use agentese::pisces::Pisces;

use super::family;

/// Speaks the dialect.
pub type Front = family::Front<Pisces>;
