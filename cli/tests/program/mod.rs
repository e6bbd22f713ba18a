//! The program, and waiting for what it does.

use std::path::PathBuf;
use std::time::Duration;

/// What takes this long hangs.
pub const LONG: Duration = Duration::from_secs(60);

/// The program that cargo has built.
pub fn agentese() -> PathBuf {
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("agentese");
    assert!(program.exists(), "{} is missing: cargo build -p agentese-cli", program.display());
    program
}

/// What comes of it; fails where nothing does within [`LONG`].
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LONG, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: nothing within {LONG:?}"),
    }
}
