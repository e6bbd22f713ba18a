//! The pisces dialect: the commands are the commands of omp. Its additions are events, which the family
//! writes.

use agentese::pisces::Pisces;

use super::family;

/// Speaks the dialect.
pub type Front = family::Front<Pisces>;
