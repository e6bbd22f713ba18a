//! The JSON Schemas of the dialects and of the file formats, as text.

use crate::generated::schema::{CHANGES, FORMATS, OPENRPC, PROTOCOLS, SCHEMAS};

/// Side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The agent's side.
    Server,
    /// The side of the program that controls the agent.
    Client,
}

impl Side {
    /// Returns `server` or `client`.
    pub fn name(self) -> &'static str {
        match self {
            Side::Server => "server",
            Side::Client => "client",
        }
    }
}

/// Returns the JSON Schema (2020-12) of the frames that one side of a dialect may send. Declared types are
/// checked strictly. Undeclared types are accepted only if the declaration permits further types at that place.
/// `dialect` is `NAME` or `NAME@REVISION`. Returns `None` if there is no such dialect.
pub fn schema(dialect: &str, side: Side) -> Option<&'static str> {
    SCHEMAS.iter().find(|row| matches(dialect, row.0, row.1) && row.2 == side.name()).map(|row| row.3)
}

/// Works like [`schema()`], for `acp` and `agui`: protocols that are served but are not dialects.
pub fn protocol(name: &str, side: Side) -> Option<&'static str> {
    PROTOCOLS.iter().find(|row| matches(name, row.0, row.1) && row.2 == side.name()).map(|row| row.3)
}

/// Returns the OpenRPC document of a dialect that speaks JSON-RPC; `None` for other dialects.
pub fn openrpc(dialect: &str) -> Option<&'static str> {
    OPENRPC.iter().find(|row| matches(dialect, row.0, row.1)).map(|row| row.2)
}

/// Returns the changes between two revisions of a dialect as JSON; revisions are named as in `pi@1.5`.
/// Returns `None` if there is no such pair.
pub fn changes(from: &str, to: &str) -> Option<&'static str> {
    CHANGES.iter().find(|row| row.0 == from && row.1 == to).map(|row| row.2)
}

/// Returns the pairs of an older and a later revision for which [`changes`] returns a result.
pub fn known_changes() -> impl Iterator<Item = (&'static str, &'static str)> {
    CHANGES.iter().map(|row| (row.0, row.1))
}

/// Returns the schema of a file format by its name, as in `model-script`; `None` if there is no such format.
pub fn format(name: &str) -> Option<&'static str> {
    FORMATS.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Returns the names of the file formats.
pub fn formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|row| row.0)
}

/// Returns every dialect with its revision, as `NAME@REVISION`.
pub fn dialects() -> Vec<String> {
    let mut names: Vec<String> = SCHEMAS.iter().map(|row| format!("{}@{}", row.0, row.1)).collect();
    names.dedup();
    names
}

fn matches(asked: &str, name: &str, revision: &str) -> bool {
    match asked.split_once('@') {
        Some((asked, wanted)) => asked == name && wanted == revision,
        None => asked == name,
    }
}
