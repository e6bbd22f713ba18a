//! This crate has no code; Cargo.toml describes its purpose.
