//! One file per dialect. A new one is a file like these and a line in [`DIALECTS`].

pub mod omp;
pub mod opal;
pub mod operator;
pub mod pi;
pub mod pisces;

use crate::dialect::Dialect;

/// Protocols that are declared like dialects, and are none.
pub const PROTOCOLS: &[&Dialect] = &[&crate::acp::ACP, &crate::agui::AGUI];

/// Every dialect.
pub const DIALECTS: &[&Dialect] = &[&pi::PI, &omp::OMP, &pisces::PISCES, &operator::OPERATOR, &opal::OPAL];
