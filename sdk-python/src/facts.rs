//! What Python has to know of a dialect's envelope.

use agentese::dynamic;
use agentese::spec::Framing;
use pyo3::prelude::*;

use crate::errors;

/// Whether it is JSON-RPC; the command that proves that a run is over and the member of its answer that is true while
/// one goes on; the `type` of answers to dialogs.
type Facts = (bool, Option<(&'static str, &'static str)>, Option<&'static str>);

/// What the tables of a dialect say of its envelope.
#[pyfunction]
pub fn facts(py: Python<'_>, dialect: &str) -> PyResult<Facts> {
    let (spec, _) = dynamic::client(dialect).map_err(|error| errors::from_core(py, &error))?;
    let barrier = spec.run_end.barrier.map(|barrier| (barrier.command, barrier.busy));
    let answer = spec.dialog_frames.map(|frames| frames.answer);
    Ok((matches!(spec.framing, Framing::JsonRpc { .. }), barrier, answer))
}

/// The wire names of the commands of a dialect, `NAME` or `NAME@REVISION`; of all its revisions where none is named.
#[pyfunction]
pub fn commands(py: Python<'_>, dialect: &str) -> PyResult<Vec<&'static str>> {
    let (spec, revision) = dynamic::client(dialect).map_err(|error| errors::from_core(py, &error))?;
    Ok(revision.unwrap_or(spec).commands.iter().map(|command| command.wire).collect())
}
