//! What can go wrong in a client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::framing::FrameText;
use crate::outcome::RunFailure;
use crate::termination::Termination;
use crate::transport::SpawnError;

/// A failure of a call, a run or the connection.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The agent's program could not be started.
    #[error(transparent)]
    Spawn(Arc<SpawnError>),
    /// The agent rejected the command.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// The run failed: its request to the model, after the retries that the agent makes by itself.
    #[error(transparent)]
    RunFailed(Box<RunFailure>),
    /// The connection is over: the process ended, the stream ended, or we closed it.
    #[error("the connection is over: {0}")]
    Terminated(#[source] Termination),
    /// No answer came in time. An answer that comes later is dropped.
    #[error("no answer to `{command}` within {after:?}")]
    TimedOut {
        /// The command's wire name.
        command: String,
        /// How long it was waited for.
        after: Duration,
        /// Whether the command changes nothing, so that it may be sent again.
        repeatable: bool,
    },
    /// No answer came in time because the reader waits for a subscriber that does not read.
    #[error(
        "no answer to `{command}` within {after:?}: the reader is blocked by a subscriber whose queue is full"
    )]
    Stalled {
        /// The command's wire name.
        command: String,
        /// How long it was waited for.
        after: Duration,
        /// Whether the command changes nothing, so that it may be sent again.
        repeatable: bool,
    },
    /// The command was not sent, because the agent does not read what was sent before.
    #[error("`{command}` was not sent: {waiting} bytes wait for the agent, which does not read its stdin")]
    NotSent {
        /// The command's wire name.
        command: String,
        /// How many bytes wait to be read.
        waiting: usize,
    },
    /// The command was not sent: its line is longer than the agent reads.
    #[error("`{command}` was not sent: its line has {bytes} bytes, and {revision} reads {most} at most")]
    TooLong {
        /// The command's wire name.
        command: String,
        /// How long its line is, in bytes.
        bytes: usize,
        /// How long a line may be, in bytes.
        most: u64,
        /// The agent's revision, as `operator@live`.
        revision: String,
    },
    /// The agent speaks a revision of its dialect that does not have the command. Nothing was sent, or the agent
    /// answered that it does not know the command.
    #[error("`{command}` is not in {revision}, which the agent speaks; it is in {known}")]
    NotInRevision {
        /// The command's wire name.
        command: String,
        /// The agent's revision, as `pi@0.55`.
        revision: String,
        /// The revisions that have the command, as `pi@1.5`.
        known: String,
    },
    /// The agent speaks another dialect than this client: a frame came that the client's dialect cannot have, before any
    /// that it has. The agent answers nothing that this client sends.
    #[error(
        "the agent does not speak {dialect}: its frames are those of {seen}, as in {frame}; use a client of that dialect"
    )]
    OtherDialect {
        /// The dialect of the client, as `pi`.
        dialect: &'static str,
        /// The dialects that have such frames, as `opal or acp`.
        seen: String,
        /// How the frame begins, without keys.
        frame: String,
    },
    /// The agent's dialect has no command that does that, or none that takes that parameter. Nothing was sent.
    #[error("{dialect} has no command for `{intent}`{}", with(param.as_deref()))]
    NotInDialect {
        /// The name of what was wanted, as `export`.
        intent: &'static str,
        /// The parameter that the dialect's command does not take, as `hidden`; none where there is no such command.
        param: Option<String>,
        /// The dialect with its revision, as `opal@0.1`.
        dialect: String,
    },
    /// Nothing that the program says belongs to a known dialect.
    #[error("the agent's dialect was not recognised: {reason}")]
    NotRecognised {
        /// What was seen.
        reason: String,
    },
    /// A frame does not fit its declaration. The frame is kept.
    #[error("{what} does not fit its declaration: {reason}")]
    Decode {
        /// What was read, as in "the answer to `get_state`".
        what: String,
        /// Which member is wrong, and why.
        reason: String,
        /// The whole frame.
        frame: FrameText,
    },
    /// Parameters could not be written as JSON.
    #[error("cannot write `{command}`: {reason}")]
    Encode {
        /// The command's wire name.
        command: String,
        /// Why.
        reason: String,
    },
    /// The subscriber was cut off because its queue was full.
    #[error("cut off with a full queue; {dropped} events were dropped")]
    Detached {
        /// How many events it did not get.
        dropped: u64,
    },
    /// The dialect is unknown, or its feature is off.
    #[error("unknown dialect {asked:?}; known: {known}")]
    UnknownDialect {
        /// The name that was given.
        asked: String,
        /// The known dialects.
        known: &'static str,
    },
    /// The dialect does not have this revision.
    #[error("unknown revision {asked:?} of {dialect}; known: {known}")]
    UnknownRevision {
        /// The dialect.
        dialect: &'static str,
        /// The revision that was given.
        asked: String,
        /// The known revisions.
        known: String,
    },
    /// The client was not started from a program, so it cannot be started again.
    #[error("this client was not started from a program")]
    NotSpawned,
}

/// A failure that the agent answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{message}", .command.as_ref().map(|c| format!("`{c}` failed: ")).unwrap_or_default())]
#[non_exhaustive]
pub struct Refused {
    /// The command that the answer names.
    pub command: Option<String>,
    /// What the agent says.
    pub message: String,
    /// The JSON-RPC code, in dialects that have codes.
    pub code: Option<i64>,
    /// The JSON-RPC data, where there is any.
    pub data: Option<Value>,
    /// True where the answer carried no id and was given to the oldest call that it can belong to.
    pub attributed: bool,
    /// What kind of failure it is, where the dialect's document names it: `no_api_key`. Typed as the dialect's
    /// `Failure`, for example [`pi::Failure`](crate::pi::Failure).
    pub failure: Option<&'static str>,
}

/// The kinds of [`Error`], to branch on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The program could not be started.
    Spawn,
    /// The agent rejected the command.
    Refused,
    /// The run failed.
    RunFailed,
    /// The connection is over.
    Terminated,
    /// The agent's revision of the dialect does not have the command.
    NotInRevision,
    /// The agent's dialect has no command that does that.
    NotInDialect,
    /// The agent speaks another dialect than the client.
    OtherDialect,
    /// The agent's dialect was not recognised.
    NotRecognised,
    /// No answer in time.
    TimedOut,
    /// No answer in time because a subscriber does not read, or nothing sent because the agent does not.
    Stalled,
    /// A frame that does not fit.
    Decode,
    /// A mistake of the caller.
    Usage,
    /// A subscriber was cut off.
    Detached,
}

/// The end of a sentence about a command without that parameter.
fn with(param: Option<&str>) -> String {
    param.map(|param| format!(" that takes `{param}`")).unwrap_or_default()
}

impl Error {
    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Spawn(_) => ErrorKind::Spawn,
            Error::Refused(_) => ErrorKind::Refused,
            Error::RunFailed(_) => ErrorKind::RunFailed,
            Error::Terminated(_) => ErrorKind::Terminated,
            Error::NotInRevision { .. } => ErrorKind::NotInRevision,
            Error::TimedOut { .. } => ErrorKind::TimedOut,
            Error::Stalled { .. } | Error::NotSent { .. } => ErrorKind::Stalled,
            Error::Decode { .. } => ErrorKind::Decode,
            Error::NotInDialect { .. } => ErrorKind::NotInDialect,
            Error::OtherDialect { .. } => ErrorKind::OtherDialect,
            Error::NotRecognised { .. } => ErrorKind::NotRecognised,
            Error::Encode { .. }
            | Error::TooLong { .. }
            | Error::UnknownDialect { .. }
            | Error::UnknownRevision { .. }
            | Error::NotSpawned => ErrorKind::Usage,
            Error::Detached { .. } => ErrorKind::Detached,
        }
    }

    /// Whether the same call may be made again on the same connection without doing anything twice: the command was not
    /// sent, or it changes nothing. A prompt that timed out may still be carried out, so it is not retryable. Of a run that
    /// failed, whether the same prompt may succeed: see [`RunFailure::retryable`].
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::TimedOut { repeatable, .. } | Error::Stalled { repeatable, .. } => *repeatable,
            Error::NotSent { .. } => true,
            Error::RunFailed(failure) => failure.retryable,
            _ => false,
        }
    }

    /// The termination, where the connection is over.
    pub fn termination(&self) -> Option<&Termination> {
        match self {
            Error::Terminated(termination) => Some(termination),
            _ => None,
        }
    }

    /// Why the run failed, where it did.
    pub fn run_failure(&self) -> Option<&RunFailure> {
        match self {
            Error::RunFailed(failure) => Some(failure),
            _ => None,
        }
    }

    /// The agent's refusal, where it answered one.
    pub fn refused(&self) -> Option<&Refused> {
        match self {
            Error::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

impl From<SpawnError> for Error {
    fn from(error: SpawnError) -> Self {
        Error::Spawn(Arc::new(error))
    }
}
