//! The pi dialect.

mod ask;
mod convert;
mod dialogs;
mod service;
mod sink;
mod snapshot;

pub use dialogs::Dialogs;
pub use service::Front;
pub use sink::Sink;
