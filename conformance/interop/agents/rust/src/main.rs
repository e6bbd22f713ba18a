//! Walks every command of a dialect with the Rust client: `agentese-interop-walk DIALECT PROGRAM ARGUMENTS…`.

mod dialogs;
mod report;
mod walk;

use std::time::Duration;

use report::BoxError;

/// Time limit of every wait.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let dialect = arguments.next().unwrap_or_default();
    match dialect.as_str() {
        "pi" => walk::pi::walk(arguments.collect()).await,
        "omp" => walk::omp::walk(arguments.collect()).await,
        other => Err(format!("no walk for {other:?}").into()),
    }
}
