//! The pisces dialect. It has the commands of omp and more events, which the code of the pi family sends.

use agentese::pisces::Pisces;
use agentese::spec::Spec;
use agentese::types::CancelNotice;

use super::omp;
use super::pi_common::{self, PiCommon};
use crate::config::AgentPaths;
use crate::conversation::AgentComponents;
use crate::engine::BehaviorProfile;

/// Speaks the dialect.
pub type PiscesServer = pi_common::PiCommonServer<Pisces>;

impl PiCommon for Pisces {
    fn behavior_profile(_: &'static Spec) -> BehaviorProfile {
        omp::omp_12_7()
    }

    const PATHS: AgentPaths = omp::PATHS;

    fn configure(components: &mut AgentComponents) {
        omp::configure(components);
    }

    fn withdrawal_notice(id: &str) -> Option<Self::Dialog> {
        Some(CancelNotice::new(id).into())
    }
}
