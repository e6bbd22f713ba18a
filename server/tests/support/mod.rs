//! Shared support for the tests of the served agent.

#![allow(dead_code)] // Each test program uses its own part of it.

pub mod clock;
pub mod dice;
pub mod link;
#[path = "../../../sdk-rust/tests/support/long.rs"]
pub mod long;
pub mod process;
pub mod rows;
pub mod trace;

use std::future::Future;
use std::path::PathBuf;

use agentese::types::ModelScript;
use serde_json::Value;

pub use long::LONG;

/// Returns the path of the program `agentese` in the workspace's target directory.
pub fn agentese() -> PathBuf {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("agentese");
    assert!(program.exists(), "{} is missing: cargo build -p agentese-cli", program.display());
    program
}

/// Waits for a future. Fails if the time limit has passed.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: nothing within {LONG:?}"),
    }
}

/// Returns a script from its JSON.
pub fn script(json: Value) -> ModelScript {
    serde_json::from_value(json).unwrap()
}

/// Runs a test on a runtime like that of the program.
pub fn on_one_thread<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
