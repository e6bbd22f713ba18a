//! Errors of a client.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::framing::FrameText;
use crate::generated::recognition::BRIDGED;
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
    /// The agent rejected the command, or reported its failure.
    #[error(transparent)]
    Refused(Box<RefusedError>),
    /// The request to the model failed, after the agent's own retries.
    #[error(transparent)]
    RunFailed(Box<RunFailure>),
    /// The connection ended: the process ended, the stream ended, or the client closed it.
    #[error("the connection has ended: {0}")]
    Terminated(#[source] Termination),
    /// No response arrived in time. A later response is dropped.
    #[error("no answer to `{command}` within {after:?}")]
    TimedOut {
        /// The command's wire name.
        command: String,
        /// The time limit that elapsed.
        after: Duration,
        /// `true` if the command changes nothing. It may then be sent again.
        repeatable: bool,
    },
    /// No response arrived in time. The reader of the connection waits for a subscriber whose queue is full.
    #[error(
        "no answer to `{command}` within {after:?}: the reader is blocked by a subscriber whose queue is full"
    )]
    Stalled {
        /// The command's wire name.
        command: String,
        /// The time limit that elapsed.
        after: Duration,
        /// `true` if the command changes nothing. It may then be sent again.
        repeatable: bool,
    },
    /// The command was not sent, because too many earlier bytes wait for the agent to read them.
    #[error("`{command}` was not sent: {waiting} bytes wait for the agent, which does not read its stdin")]
    NotSent {
        /// The command's wire name.
        command: String,
        /// Number of bytes that wait for the agent.
        waiting: usize,
    },
    /// The command was not sent, because its line exceeds the agent's limit.
    #[error("`{command}` was not sent: its line has {bytes} bytes, and {revision} reads {most} at most")]
    TooLong {
        /// The command's wire name.
        command: String,
        /// Length of the line, in bytes.
        bytes: usize,
        /// Maximum length of a line, in bytes.
        most: u64,
        /// The agent's revision, as `operator@live`.
        revision: String,
    },
    /// The agent's revision of the dialect does not have the command. The command was not sent, or the agent
    /// answered that it is unknown.
    #[error("`{command}` is not in {revision}, which the agent speaks; it is in {known}")]
    NotInRevision {
        /// The command's wire name.
        command: String,
        /// The agent's revision, as `pi@0.55`.
        revision: String,
        /// The revisions that have the command, as `pi@1.5`.
        known: String,
    },
    /// The agent speaks another dialect than this client: its first recognisable frame does not exist in the
    /// client's dialect. The agent does not answer the commands of this client.
    #[error(
        "the agent does not speak {dialect}: its frames are those of {seen}, as in {frame}; use a client of that dialect{}",
        bridge_hint(seen)
    )]
    OtherDialect {
        /// The dialect of the client, as `pi`.
        dialect: &'static str,
        /// The dialects that have such frames, as `opal or acp`.
        seen: String,
        /// The beginning of the frame, with keys redacted.
        frame: String,
    },
    /// The agent's dialect has no command for the intent, or its command does not accept the parameter. No
    /// frame was sent.
    #[error("{dialect} has no command for `{intent}`{}", with(param.as_deref()))]
    NotInDialect {
        /// The name of the intent, as `export`.
        intent: &'static str,
        /// The unsupported parameter, such as `hidden`; `None` if there is no command at all.
        param: Option<String>,
        /// The dialect with its revision, as `opal@0.1`.
        dialect: String,
    },
    /// The dialect of the program was not recognised from its output.
    #[error("the agent's dialect was not recognised: {reason}")]
    NotRecognised {
        /// Description of the program's output.
        reason: String,
    },
    /// The agent speaks a protocol that has no client of its own. A bridge makes it an agent of a dialect.
    #[error(
        "an agent of {protocol} needs a bridge: put `agentese bridge --to {front} --from {protocol} --` before its command line, and use the dialect {front}"
    )]
    BridgeNeeded {
        /// The protocol, as `acp`.
        protocol: &'static str,
        /// The dialect that the bridge serves, as `pi@1.5`.
        front: &'static str,
    },
    /// A frame does not fit its declaration. The error contains the frame.
    #[error("{what} does not fit its declaration: {reason}")]
    Decode {
        /// Description of the value, as in "the answer to `get_state`".
        what: String,
        /// The wrong member and the reason.
        reason: String,
        /// The frame as received.
        frame: FrameText,
    },
    /// Parameters could not be written as JSON.
    #[error("cannot write `{command}`: {reason}")]
    Encode {
        /// The command's wire name.
        command: String,
        /// Reason why the parameters could not be written.
        reason: String,
    },
    /// The subscriber was cut off because its queue was full.
    #[error("the subscriber's queue was full: {dropped} events were dropped")]
    Detached {
        /// Number of dropped events.
        dropped: u64,
    },
    /// The dialect is unknown, or its feature is off.
    #[error("unknown dialect {dialect:?}; known: {known}")]
    UnknownDialect {
        /// The name that is not known.
        dialect: String,
        /// Names of the known dialects.
        known: &'static str,
    },
    /// The dialect does not have this revision.
    #[error("unknown revision {revision:?} of {dialect}; known: {known}")]
    UnknownRevision {
        /// Name of the dialect.
        dialect: &'static str,
        /// The revision that is not known.
        revision: String,
        /// The revisions of the dialect.
        known: String,
    },
    /// The client was not started from a program, so it cannot be started again.
    #[error("this client was not started from a program")]
    NotSpawned,
}

/// A failure that the agent reported.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{message}", .command.as_ref().map(|c| format!("`{c}` failed: ")).unwrap_or_default())]
#[non_exhaustive]
pub struct RefusedError {
    /// The command named in the response.
    pub command: Option<String>,
    /// The agent's error message.
    pub message: String,
    /// The JSON-RPC code, in dialects that have codes.
    pub code: Option<i64>,
    /// Additional data of a JSON-RPC error, if present.
    pub data: Option<Value>,
    /// `true` if the response had no id and was assigned to the oldest call to which it can belong.
    pub attributed: bool,
    /// Kind of failure, such as `no_api_key`, if the document of the dialect lists it. The dialect's type
    /// `Failure` has the same kinds, for example [`pi::Failure`](crate::pi::Failure).
    pub failure: Option<&'static str>,
}

/// The kinds of [`Error`], for branching.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The program could not be started.
    Spawn,
    /// The agent rejected the command.
    Refused,
    /// The run failed.
    RunFailed,
    /// The connection ended.
    Terminated,
    /// The agent's revision of the dialect does not have the command.
    NotInRevision,
    /// The agent's dialect has no command for the intent.
    NotInDialect,
    /// The agent speaks another dialect than the client.
    OtherDialect,
    /// The agent's dialect was not recognised, or the agent needs a bridge.
    NotRecognised,
    /// No response arrived in time.
    TimedOut,
    /// A subscriber or the agent does not read. Either no response arrived in time, or the command was not
    /// sent.
    Stalled,
    /// A frame does not fit its declaration.
    Decode,
    /// The caller made a mistake, such as an unknown dialect or invalid parameters.
    Usage,
    /// A subscriber was cut off.
    Detached,
}

/// Returns the end of a message that explains the use of agents without a client, if the names contain their protocol.
fn bridge_hint(names: &str) -> String {
    let mut words = names.split([' ', ',']);
    let protocol = words.find_map(|word| BRIDGED.iter().find(|protocol| protocol.name == word));
    protocol.map(|protocol| format!("; {}", protocol.error())).unwrap_or_default()
}

/// Returns the end of a message that names the unsupported parameter.
fn with(param: Option<&str>) -> String {
    param.map(|param| format!(" that takes `{param}`")).unwrap_or_default()
}

impl Error {
    /// Returns the kind.
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
            Error::NotRecognised { .. } | Error::BridgeNeeded { .. } => ErrorKind::NotRecognised,
            Error::Encode { .. }
            | Error::TooLong { .. }
            | Error::UnknownDialect { .. }
            | Error::UnknownRevision { .. }
            | Error::NotSpawned => ErrorKind::Usage,
            Error::Detached { .. } => ErrorKind::Detached,
        }
    }

    /// Returns `true` if the same call may be repeated on this connection: it was not sent, or it changes
    /// nothing. Returns `false` for a prompt that timed out, because the agent may still execute it. For a
    /// failed run, returns `true` if the same prompt may succeed: see [`RunFailure::retryable`].
    pub fn is_retryable(&self) -> bool {
        match self {
            Error::TimedOut { repeatable, .. } | Error::Stalled { repeatable, .. } => *repeatable,
            Error::NotSent { .. } => true,
            Error::RunFailed(failure) => failure.retryable,
            _ => false,
        }
    }

    /// Returns the termination if the connection ended.
    pub fn termination(&self) -> Option<&Termination> {
        match self {
            Error::Terminated(termination) => Some(termination),
            _ => None,
        }
    }

    /// Returns the failure if the run failed.
    pub fn run_failure(&self) -> Option<&RunFailure> {
        match self {
            Error::RunFailed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Returns the agent's rejection if the agent rejected the command.
    pub fn refused(&self) -> Option<&RefusedError> {
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
