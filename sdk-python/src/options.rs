//! The options of a connection, as Python passes them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentese::dynamic::{Limit, Options};
use agentese::queue::Overflow;
use agentese::tap::{Diagnostic, Direction, Tap};
use agentese::{ChildOptions, RunLimits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::frames::{FrameQueue, direction_name};

/// The maximum number of stored diagnostics; the oldest are dropped.
const MAX_DIAGNOSTICS: usize = 256;

/// Irregular input that did not end the connection, newest last.
#[derive(Default)]
pub struct Diagnostics(Mutex<VecDeque<(&'static str, String)>>);

impl Diagnostics {
    /// Returns the stored diagnostics.
    pub fn list(&self) -> Vec<(&'static str, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The tap of a connection: stores diagnostics, and passes frames and diagnostics to their
/// queues.
pub struct ConnectionTap {
    pub diagnostics: Arc<Diagnostics>,
    pub frames: Option<Arc<FrameQueue>>,
    pub wants: ObserverFlags,
}

/// Kinds of lines that Python observers of a connection request.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
pub struct ObserverFlags {
    pub frames: bool,
    pub stderr: bool,
    pub diagnostics: bool,
}

impl Tap for ConnectionTap {
    fn wants_frames(&self) -> bool {
        self.wants.frames
    }

    fn frame(&self, direction: Direction, text: &str) {
        if let Some(frames) = &self.frames {
            frames.push(direction_name(direction), text);
        }
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        let (kind, text) = match diagnostic {
            Diagnostic::Noise { text, reason } => ("noise", format!("{reason}: {text}")),
            Diagnostic::Framing(error) => ("framing", error.to_string()),
            Diagnostic::UnmatchedAnswer { id, command } => {
                let id = id.as_deref().unwrap_or("no id");
                ("unmatched_answer", format!("{id}, `{}`", command.as_deref().unwrap_or("no command")))
            }
            Diagnostic::UnknownFrame { kind } => ("unknown_frame", kind.clone()),
            Diagnostic::DialogByPolicy { method, reason: None } => ("dialog_by_policy", method.clone()),
            Diagnostic::DialogByPolicy { method, reason: Some(reason) } => {
                ("dialog_by_policy", format!("`{method}`: {reason}"))
            }
            Diagnostic::OtherDialect { dialect, seen } => {
                ("other_dialect", format!("the agent speaks {seen}, not {dialect}"))
            }
            Diagnostic::DialogMalformed { method, reason } => {
                ("dialog_malformed", format!("`{method}`: {reason}"))
            }
            Diagnostic::OtherRevision { named, seen } => {
                ("other_revision", format!("the agent speaks {seen}, not {named}"))
            }
            Diagnostic::Chunks { reason } => ("chunks", reason.clone()),
            Diagnostic::InexactNumber { number } if crate::json::is_exact(number) => return,
            Diagnostic::InexactNumber { number } => ("inexact_number", number.clone()),
            other => ("other", format!("{other:?}")),
        };
        if let Some(frames) = self.frames.as_ref().filter(|_| self.wants.diagnostics) {
            frames.push("diagnostic", &format!("{kind}: {text}"));
        }
        let mut kept = self.diagnostics.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == MAX_DIAGNOSTICS {
            kept.pop_front();
        }
        kept.push_back((kind, text));
    }
}

/// The options of a connection, read from a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ConnectionOptions {
    overflow: String,
    queue_bytes: usize,
    max_line: usize,
    timeout: Option<f64>,
    pub wants: ObserverFlags,
}

impl ConnectionOptions {
    /// Converts the options to those of the Rust client.
    pub fn into_core(self) -> PyResult<Options> {
        let overflow = match self.overflow.as_str() {
            "block" => Overflow::Block,
            "coalesce" => Overflow::Coalesce,
            "detach" => Overflow::Detach,
            other => {
                return Err(PyValueError::new_err(format!(
                    "overflow must be \"block\", \"coalesce\" or \"detach\", not {other:?}"
                )));
            }
        };
        Ok(Options {
            overflow,
            queue_bytes: self.queue_bytes,
            max_line: self.max_line,
            timeout: self.timeout.map(seconds).transpose()?,
            tap: None,
            dialogs: None,
            watch: None,
            revision: None,
        })
    }
}

/// The program to start, read from a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Program {
    command: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: Vec<(OsString, OsString)>,
    env_remove: Vec<OsString>,
    eof_grace: f64,
    term_grace: f64,
}

impl Program {
    /// Converts the options to those of the Rust client.
    pub fn into_core(self) -> PyResult<ChildOptions> {
        let mut words = self.command.into_iter();
        let mut child = ChildOptions::new(words.next().unwrap_or_default())
            .args(words)
            .graces(seconds(self.eof_grace)?, seconds(self.term_grace)?);
        child.cwd = self.cwd;
        child.env = self.env;
        child.env_remove = self.env_remove;
        Ok(child)
    }
}

/// The time limit of a call: a number of seconds, `None` for no limit, `true` for the default.
#[derive(FromPyObject)]
pub enum CallTimeout {
    Default(#[expect(dead_code, reason = "only its type matters")] bool),
    Seconds(f64),
}

/// Converts the time limit of a call to the form of the Rust client.
pub fn limit(wait: Option<CallTimeout>) -> PyResult<Limit> {
    Ok(match wait {
        None => Limit::Never,
        Some(CallTimeout::Default(_)) => Limit::Default,
        Some(CallTimeout::Seconds(number)) => Limit::After(seconds(number)?),
    })
}

/// Limits of a run as Python passes them: turns, US dollars, seconds, equal calls.
pub type RunLimitsTuple = (Option<u64>, Option<f64>, Option<f64>, Option<u64>);

/// Converts the limits of a run to the form of the Rust client.
pub fn run_limits(limits: Option<RunLimitsTuple>) -> PyResult<RunLimits> {
    let Some((max_turns, max_cost, time, max_equal_calls)) = limits else { return Ok(RunLimits::default()) };
    Ok(RunLimits { max_turns, max_cost, max_time: time.map(seconds).transpose()?, max_equal_calls })
}

fn seconds(number: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(number)
        .map_err(|error| PyValueError::new_err(format!("{number} is not a number of seconds: {error}")))
}
