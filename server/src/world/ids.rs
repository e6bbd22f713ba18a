//! Identifiers that nobody can guess, and in tests ones that everybody can.

use std::sync::atomic::{AtomicU64, Ordering};

/// Makes identifiers.
pub trait Ids: Send + Sync {
    /// A new identifier in the form of a UUID, unique for as long as this value lives.
    fn uuid(&self) -> String;

    /// An identifier for an entry of a session: eight hex digits. Not unique by itself; who uses it
    /// looks whether it is taken.
    fn entry(&self) -> String;
}

/// Random ones, from the randomness of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn entry(&self) -> String {
        format!("{:08x}", uuid::Uuid::new_v4().as_fields().0)
    }
}

/// One after the other, so that two runs have the same. Entries are counted for themselves.
#[derive(Debug, Default)]
pub struct NumberedIds {
    uuids: AtomicU64,
    entries: AtomicU64,
}

impl Ids for NumberedIds {
    fn uuid(&self) -> String {
        let number = self.uuids.fetch_add(1, Ordering::Relaxed) + 1;
        uuid::Uuid::from_u128(u128::from(number)).to_string()
    }

    fn entry(&self) -> String {
        let number = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{:08x}", number & 0xffff_ffff)
    }
}
