//! The pi dialect.

mod ask;
mod convert;
mod service;
mod sink;
mod snapshot;

pub use service::Front;
pub use sink::Sink;
pub use snapshot::Updates;
