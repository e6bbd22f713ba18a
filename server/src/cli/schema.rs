//! `agentese schema`.

use std::io::Write;
use std::process::ExitCode;

use agentese::schema;

use super::Failure;
use super::arguments::{Schema, Side};

/// Prints the schema that was asked for. Fails for a dialect that does not exist.
pub(super) fn print(options: &Schema) -> Result<ExitCode, Failure> {
    let dialect = &options.dialect;
    let (text, missing) = match options.side {
        Some(side) => {
            let side = match side {
                Side::Server => schema::Side::Server,
                Side::Client => schema::Side::Client,
            };
            (schema::schema(dialect, side), "no such dialect")
        }
        None => (schema::openrpc(dialect), "no dialect that speaks JSON-RPC"),
    };
    let Some(text) = text else {
        let known = schema::dialects().into_iter();
        let fits = |name: &String| options.side.is_some() || schema::openrpc(name).is_some();
        let known = known.filter(fits).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("\"{dialect}\" is {missing}; there is {known}")));
    };
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.trim_end().as_bytes()).and_then(|()| stdout.write_all(b"\n"));
    match written {
        // `agentese schema … | head` has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(source) => Err(Failure::Io { context: "stdout".to_owned(), source }),
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}
