//! Identifiers that nobody can guess, and in tests ones that everybody can.

use std::sync::atomic::{AtomicU64, Ordering};

/// Makes identifiers.
pub trait Ids: Send + Sync {
    /// A new identifier in the form of a UUID, unique for as long as this value lives.
    fn uuid(&self) -> String;
}

/// Random ones, from the randomness of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }
}

/// One after the other, so that two runs have the same.
#[derive(Debug, Default)]
pub struct NumberedIds(AtomicU64);

impl Ids for NumberedIds {
    fn uuid(&self) -> String {
        let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        uuid::Uuid::from_u128(u128::from(number)).to_string()
    }
}
