//! Types shared by several dialects.

pub mod content;
pub mod driver;
pub mod entry;
pub mod formats;
pub mod message;
pub mod model;
pub mod model_log;
pub mod profile;
pub mod report;
pub mod session;
pub mod steps;
pub mod stream;
pub mod suite;
