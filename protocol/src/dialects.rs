//! The dialects, one file each. To add one, write a file like these and add its constant to [`DIALECTS`].

pub mod omp;
pub mod opal;
pub mod operator;
pub mod pi;
pub mod pisces;

use crate::dialect::{BridgedProtocol, Dialect};

/// The protocols that are declared in the same way but are not dialects.
pub const PROTOCOLS: &[&Dialect] = &[&crate::acp::ACP, &crate::agui::AGUI];

/// The protocols of agents that clients drive through a bridge.
pub const BRIDGED: &[BridgedProtocol] =
    &[BridgedProtocol { protocol: &crate::acp::ACP, version_member: "protocolVersion", front: "pi@1.5" }];

/// All dialects.
pub const DIALECTS: &[&Dialect] = &[&pi::PI, &omp::OMP, &pisces::PISCES, &operator::OPERATOR, &opal::OPAL];
