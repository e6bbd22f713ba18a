//! Identifiers: random identifiers, and numbered ones for tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// Source of identifiers.
pub trait Ids: Send + Sync {
    /// Returns a new identifier in the form of a UUID, unique during the lifetime of this value.
    fn uuid(&self) -> String;

    /// Returns an identifier for an entry of a session: eight hex digits. The identifier can occur twice, so
    /// the caller must check for duplicates.
    fn entry(&self) -> String;
}

/// Random identifiers, from the randomness of the operating system.
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

/// Numbered identifiers, the same in every run. Identifiers of entries have their own counter.
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
