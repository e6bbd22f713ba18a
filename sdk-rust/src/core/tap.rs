//! Observation of every frame, for tracing.

use crate::framing::FramingError;

/// Direction of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A frame to the agent.
    Sent,
    /// A frame from the agent.
    Received,
}

/// An irregularity that did not stop the connection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A skipped line that is not a frame: text printed by a library or a tool.
    Noise {
        /// The beginning of the line.
        text: String,
        /// Reason why it is not a frame.
        reason: String,
    },
    /// Skipped bytes that are no line.
    Framing(FramingError),
    /// A skipped answer without a waiting call: unknown, late or repeated.
    UnmatchedAnswer {
        /// Id in the answer, if present.
        id: Option<String>,
        /// Command in the answer, if present.
        command: Option<String>,
    },
    /// A frame with an undeclared type.
    UnknownFrame {
        /// Type of the frame.
        kind: String,
    },
    /// A dialog answered by the declared policy: it has no handler, its handler failed, or the handler's answer does
    /// not fit the declaration.
    DialogByPolicy {
        /// The dialog's method.
        method: String,
        /// Failure of the handler, or the problem with its answer; `None` without a handler.
        reason: Option<String>,
    },
    /// A dialog answered by the declared policy because it does not fit its declaration, or because its answer exceeds
    /// the agent's limit.
    DialogMalformed {
        /// The dialog's method.
        method: String,
        /// The wrong member with the reason, or the length of the answer.
        reason: String,
    },
    /// A frame that the revision in the client's options does not send. The client continues with that revision.
    OtherRevision {
        /// The revision in the options, as `pi@0.55`.
        named: String,
        /// The revision to which the frame belongs.
        seen: String,
    },
    /// A frame that the client's dialect cannot have, before any of its own frames. Every call fails with
    /// [`Error::OtherDialect`](crate::Error::OtherDialect).
    OtherDialect {
        /// The dialect of the client, as `pi`.
        dialect: &'static str,
        /// The dialects that have such frames, as `opal or acp`.
        seen: String,
    },
    /// A number without an exact value in Rust: an integer beyond 64 bits, read as the nearest double, or a number
    /// beyond every double, read as the largest one. The frame was delivered with its text unchanged. Frames of more
    /// than 4 KiB are searched only if the tap [wants frames](Tap::wants_frames).
    InexactNumber {
        /// The first such number of the frame, as written.
        number: String,
    },
    /// A frame that could not be assembled from its pieces. The received part was dropped.
    Chunks {
        /// The received part, and the error in it.
        reason: String,
    },
}

/// Observer of all frames and irregularities. Called on the connection's own tasks, so it must not block.
///
/// Keys are redacted before a tap receives a frame. After a panic, which is caught, the tap is not called again.
pub trait Tap: Send + Sync + 'static {
    /// Returns `true` if the tap needs frames; called for every frame, because the redaction of keys takes time.
    fn wants_frames(&self) -> bool {
        true
    }

    /// Receives a frame. `text` contains no line feed and no key. A frame in pieces is passed when it is complete.
    /// Frames are passed when they are read: up to 128 events before subscribers receive them.
    fn frame(&self, direction: Direction, text: &str) {
        let _ = (direction, text);
    }

    /// Receives an irregularity.
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        let _ = diagnostic;
    }
}
