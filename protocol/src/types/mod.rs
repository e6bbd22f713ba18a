//! Types that several dialects share.

pub mod content;
pub mod driver;
pub mod formats;
pub mod message;
pub mod model;
pub mod session;
pub mod stream;
pub mod suite;
