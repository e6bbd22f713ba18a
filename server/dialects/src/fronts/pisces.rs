//! The pisces dialect: the commands are the commands of omp. Its additions are events, which the family
//! writes.

use agentese::pisces::Pisces;
use agentese::spec::Spec;
use agentese::types::CancelNotice;

use super::family::{self, Family};
use super::omp;
use crate::config::Home;
use crate::desk::Parts;
use crate::engine::Customs;

/// Speaks the dialect.
pub type Front = family::Front<Pisces>;

impl Family for Pisces {
    fn customs(_: &'static Spec) -> Customs {
        omp::CUSTOMS
    }

    const HOME: Home = omp::HOME;

    fn equip(parts: &mut Parts) {
        omp::equip(parts);
    }

    fn withdrawal(id: &str) -> Option<Self::Dialog> {
        Some(CancelNotice::new(id).into())
    }
}
