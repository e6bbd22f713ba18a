//! Conversion of errors to exceptions of `agentese.errors`.

use agentese::Error;
use agentese::framing::FrameText;
use agentese::termination::{Cause, Termination};
use agentese::transport::SpawnErrorKind;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

use crate::interpreter_exit::call_python;
use crate::json;

static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let module =
        MODULE.get_or_try_init(py, || call_python(py, || py.import("agentese.errors")).map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// Returns the exception class for a rejection: the class of the documented failure, or
/// `RefusedError`.
fn rejection_class<'py>(py: Python<'py>, kind: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let documented = kind.and_then(|kind| {
        call_python(py, || py.import("agentese.generated.failures"))
            .ok()?
            .getattr("FAILURES")
            .ok()?
            .get_item(kind)
            .ok()
    });
    documented.map_or_else(|| class(py, "RefusedError"), Ok)
}

fn raise(
    py: Python<'_>,
    name: &str,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
    text: &str,
) -> PyErr {
    raise_as(py, class(py, name), fill, text)
}

fn raise_as(
    py: Python<'_>,
    class: PyResult<Bound<'_, PyAny>>,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
    text: &str,
) -> PyErr {
    let made = || {
        let details = PyDict::new(py);
        fill(&details)?;
        class?.call((text,), Some(&details))
    };
    call_python(py, made).map_or_else(|error| error, PyErr::from_value)
}

/// Converts the end of a connection to a Python `Termination`.
pub fn termination<'py>(py: Python<'py>, end: &Termination) -> PyResult<Bound<'py, PyAny>> {
    let details = PyDict::new(py);
    let cause = match end.cause() {
        Cause::Exited(_) => "exited",
        Cause::EndOfStream => "end_of_stream",
        Cause::Closed => "closed",
        Cause::Io { .. } => "io",
        _ => "internal",
    };
    details.set_item("cause", cause)?;
    details.set_item("exit_code", end.exit().and_then(|exit| exit.code))?;
    details.set_item("signal", end.exit().and_then(|exit| exit.signal))?;
    details.set_item("signal_name", end.exit().and_then(|exit| exit.signal_name()))?;
    details.set_item("stderr_tail", end.stderr_tail())?;
    details.set_item("last_frames", end.last_frames().iter().map(FrameText::as_str).collect::<Vec<_>>())?;
    details.set_item("pending", end.pending())?;
    details.set_item("closed_by_us", end.is_closed_by_us())?;
    details.set_item("text", end.to_string())?;
    call_python(py, || class(py, "Termination")?.call((), Some(&details)))
}

/// Returns Python's name for the kind of a failed start.
fn spawn_kind(kind: SpawnErrorKind) -> &'static str {
    match kind {
        SpawnErrorKind::NotFound => "not_found",
        SpawnErrorKind::NotExecutable => "not_executable",
        SpawnErrorKind::Busy => "busy",
        SpawnErrorKind::WorkingDirectory => "working_directory",
        _ => "other",
    }
}

/// Converts an error of the Rust client to a Python exception.
pub fn from_core(py: Python<'_>, error: &Error) -> PyErr {
    let raised = of_kind(py, error);
    if error.is_retryable() {
        // If the attribute cannot be set, the original error must still be raised.
        let _ = raised.value(py).setattr("is_retryable", true);
    }
    raised
}

fn of_kind(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Spawn(spawn) => raise(
            py,
            "SpawnError",
            |details| {
                details.set_item("program", &spawn.program)?;
                details.set_item("kind", spawn_kind(spawn.kind))?;
                details.set_item("errno", spawn.source.raw_os_error())
            },
            &text,
        ),
        Error::Refused(refused) => raise_as(
            py,
            rejection_class(py, refused.failure),
            |details| {
                details.set_item("command", &refused.command)?;
                details.set_item("message", &refused.message)?;
                details.set_item("code", refused.code)?;
                let data =
                    refused.data.as_ref().map(|data| json::to_python(py, &data.to_string())).transpose()?;
                details.set_item("data", data)?;
                details.set_item("attributed", refused.attributed)
            },
            &text,
        ),
        Error::RunFailed(failure) => raise(
            py,
            "RunFailedError",
            |details| {
                details.set_item("message", &failure.message)?;
                details.set_item("code", &failure.code)?;
                details.set_item("retryable", failure.retryable)
            },
            &text,
        ),
        Error::Terminated(end) => raise(
            py,
            "TerminatedError",
            |details| details.set_item("termination", termination(py, end)?),
            &text,
        ),
        Error::NotSent { command, .. } => {
            raise(py, "StalledError", |details| details.set_item("command", command), &text)
        }
        Error::TimedOut { command, after, .. } | Error::Stalled { command, after, .. } => raise(
            py,
            if matches!(error, Error::TimedOut { .. }) { "TimedOutError" } else { "StalledError" },
            |details| {
                details.set_item("command", command)?;
                details.set_item("after", after.as_secs_f64())
            },
            &text,
        ),
        Error::NotInRevision { command, revision, known } => raise(
            py,
            "NotInRevisionError",
            |details| {
                details.set_item("command", command)?;
                details.set_item("revision", revision)?;
                details.set_item("known", known)
            },
            &text,
        ),
        Error::OtherDialect { dialect, seen, frame } => raise(
            py,
            "OtherDialectError",
            |details| {
                details.set_item("dialect", dialect)?;
                details.set_item("seen", seen)?;
                details.set_item("frame", frame)
            },
            &text,
        ),
        Error::NotRecognised { .. } | Error::BridgeNeeded { .. } => {
            raise(py, "NotRecognisedError", |_| Ok(()), &text)
        }
        Error::Decode { frame, .. } => decode(py, &text, frame.as_str()),
        Error::Detached { dropped } => {
            raise(py, "DetachedError", |details| details.set_item("dropped", *dropped), &text)
        }
        _ => usage(py, &text),
    }
}

/// Returns the error for a received value that does not fit its declaration.
pub fn decode(py: Python<'_>, text: &str, raw: &str) -> PyErr {
    raise(py, "DecodeError", |details| details.set_item("raw", raw), text)
}

/// Returns the error for an outgoing value that does not fit its declaration.
pub fn encode(py: Python<'_>, text: &str) -> PyErr {
    raise(py, "EncodeError", |_| Ok(()), text)
}

/// Returns the error for a mistake of the caller.
pub fn usage(py: Python<'_>, text: &str) -> PyErr {
    raise(py, "UsageError", |_| Ok(()), text)
}

/// Returns the error for the use of an object in a forked child that did not create it.
pub fn forked(py: Python<'_>) -> PyErr {
    raise(
        py,
        "ForkedError",
        |_| Ok(()),
        "this client belongs to the parent process: a forked child starts clients of its own",
    )
}
