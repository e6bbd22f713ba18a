//! Subcommand `agentese schema`.

mod changes;

use std::process::ExitCode;

use agentese::schema;

use super::command_line::{Schema, Side};
use super::error::CliError;
use agentese_process::output;

/// Prints the requested schema. Fails for an unknown dialect.
pub(super) fn print(options: &Schema) -> Result<ExitCode, CliError> {
    if let Some([old, new]) = options.diff.as_deref() {
        return changes::print(old, new, options.json);
    }
    let dialect = &options.dialect;
    let (text, missing) = match options.side {
        Some(side) => {
            let side = match side {
                Side::Server => schema::Side::Server,
                Side::Client => schema::Side::Client,
            };
            (schema::schema(dialect, side), "unknown dialect")
        }
        None => (schema::openrpc(dialect), "unknown JSON-RPC dialect"),
    };
    let Some(text) = text else {
        let known = schema::dialects().into_iter();
        let fits = |name: &String| options.side.is_some() || schema::openrpc(name).is_some();
        let known = known.filter(fits).collect::<Vec<_>>().join(", ");
        return Err(CliError::Usage(format!("{missing} \"{dialect}\"; known: {known}")));
    };
    Ok(output::print_json(&format!("{}\n", text.trim_end()))?)
}
