//! Data about the envelope of a dialect for Python.

use agentese::dynamic;
use agentese::spec::Framing;
use pyo3::prelude::*;

use crate::errors;

/// Data about an envelope: `true` for JSON-RPC; the barrier command, with the member of its response that is
/// `true` during a run; the `type` of answers to dialogs.
type Facts = (bool, Option<(&'static str, &'static str)>, Option<&'static str>);

/// Returns the data about the envelope of a dialect.
#[pyfunction]
pub fn facts(py: Python<'_>, dialect: &str) -> PyResult<Facts> {
    let (spec, _) = dynamic::client(dialect).map_err(|error| errors::from_core(py, &error))?;
    let barrier = spec.run_end.barrier.map(|barrier| (barrier.command, barrier.busy));
    let answer = spec.dialog_frames.map(|frames| frames.answer);
    Ok((matches!(spec.framing, Framing::JsonRpc { .. }), barrier, answer))
}

/// Returns the wire names of the commands of a dialect, `NAME` or `NAME@REVISION`. Without a revision,
/// returns those of all revisions.
#[pyfunction]
pub fn commands(py: Python<'_>, dialect: &str) -> PyResult<Vec<&'static str>> {
    let (spec, revision) = dynamic::client(dialect).map_err(|error| errors::from_core(py, &error))?;
    Ok(revision.unwrap_or(spec).commands.iter().map(|command| command.wire).collect())
}
