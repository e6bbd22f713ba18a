//! Walks every command of a dialect with the Rust client: `agentese-interop-walk DIALECT PROGRAM MAX_ARGUMENT_CHARS…`.

mod report;
mod walk;
mod dialogs;

use std::time::Duration;

use report::BoxError;

/// Time limit of every wait.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut words = std::env::args().skip(1);
    let dialect = words.next().unwrap_or_default();
    match dialect.as_str() {
        "pi" => walk::pi::walk(words.collect()).await,
        "omp" => walk::omp::walk(words.collect()).await,
        other => Err(format!("no walk for {other:?}").into()),
    }
}
