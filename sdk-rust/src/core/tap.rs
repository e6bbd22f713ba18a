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

/// An irregularity after which the connection continued.
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
    /// Skipped bytes that could not be read as a line.
    Framing(FramingError),
    /// A skipped answer that belongs to no waiting call, because its id is unknown or repeated, or because it
    /// is late.
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
    /// A dialog that was answered by the declared policy. It had no handler, its handler failed, or the
    /// handler's answer did not fit the declaration.
    DialogByPolicy {
        /// The dialog's method.
        method: String,
        /// Failure of the handler, or the problem with its answer; `None` without a handler.
        reason: Option<String>,
    },
    /// A dialog that did not fit its declaration, or whose answer exceeded the agent's limit. It was answered
    /// by the declared policy.
    DialogMalformed {
        /// The dialog's method.
        method: String,
        /// The wrong member and the reason, or the length of the answer.
        reason: String,
    },
    /// A frame that the revision in the client's options does not send. The client continues with that revision.
    OtherRevision {
        /// The revision in the options, as `pi@0.55`.
        named: String,
        /// The revision whose agents send the frame.
        seen: String,
    },
    /// A frame that does not exist in the client's dialect, received before any frame of that dialect. Every
    /// call fails with [`Error::OtherDialect`](crate::Error::OtherDialect).
    OtherDialect {
        /// The dialect of the client, as `pi`.
        dialect: &'static str,
        /// The dialects that have such frames, as `opal or acp`.
        seen: String,
    },
    /// A number that Rust cannot represent exactly. An integer of more than 64 bits is read as the nearest
    /// double, and a number beyond the largest double as that double. The frame was delivered with its text
    /// unchanged. Frames of more than 4 KiB are searched only if the tap [wants frames](Tap::wants_frames).
    InexactNumber {
        /// The first such number of the frame, as written.
        number: String,
    },
    /// A frame whose pieces did not fit together. The pieces received so far were dropped.
    Chunks {
        /// Number of received pieces, and the error.
        reason: String,
    },
}

/// Observer of all frames and irregularities. Called on the connection's own tasks, so it must not block.
///
/// Keys are redacted before a tap receives a frame. A panic is caught, and the tap is not called again.
pub trait Tap: Send + Sync + 'static {
    /// Returns `true` if the tap needs frames. Called for every frame, because frames are redacted only for
    /// taps that need them.
    fn wants_frames(&self) -> bool {
        true
    }

    /// Receives a frame. `text` contains no line feed and no key. A frame that arrives in pieces is passed when
    /// it is complete. Frames are passed as soon as they are read. The tap can therefore be up to 128 events
    /// ahead of subscribers.
    fn frame(&self, direction: Direction, text: &str) {
        let _ = (direction, text);
    }

    /// Receives an irregularity.
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        let _ = diagnostic;
    }
}
