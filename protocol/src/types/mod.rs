//! Types that several dialects share.

pub mod content;
pub mod formats;
pub mod message;
pub mod model;
pub mod report;
pub mod session;
pub mod stream;
pub mod suite;
