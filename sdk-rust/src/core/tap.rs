//! Looking at every frame that passes, for tracing.

use crate::framing::FramingError;

/// Which way a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the agent.
    Sent,
    /// From the agent.
    Received,
}

/// Something odd that did not stop the connection.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A line that is not a frame: text that a library or tool printed. It was skipped.
    Noise {
        /// The beginning of the line.
        text: String,
        /// Why it is not a frame.
        reason: String,
    },
    /// Bytes that are no line. They were skipped.
    Framing(FramingError),
    /// An answer that no call waits for (unknown, late or second). It was skipped.
    UnmatchedAnswer {
        /// The id that it carries.
        id: Option<String>,
        /// The command that it names.
        command: Option<String>,
    },
    /// A frame whose type is not declared.
    UnknownFrame {
        /// Its type.
        kind: String,
    },
    /// A dialog that was answered by the declared policy: there is no handler for it, its handler failed, or the handler's
    /// answer does not fit the declaration.
    DialogByPolicy {
        /// The dialog's method.
        method: String,
        /// How the handler failed, or what is wrong with its answer; `None` where there is no handler.
        reason: Option<String>,
    },
    /// A dialog that does not fit its declaration, or whose answer is longer than the agent reads; it was answered by the
    /// declared policy.
    DialogMalformed {
        /// The dialog's method.
        method: String,
        /// Which member is wrong, and why; or how long the answer was.
        reason: String,
    },
    /// A frame that the revision which the caller named does not send. That revision is spoken on.
    OtherRevision {
        /// The revision that was named, as `pi@0.55`.
        told: String,
        /// The one that the frame shows.
        seen: String,
    },
    /// A frame that the client's dialect cannot have, before any that it has. Every call fails with
    /// [`Error::OtherDialect`](crate::Error::OtherDialect).
    OtherDialect {
        /// The dialect of the client, as `pi`.
        dialect: &'static str,
        /// The dialects that have such frames, as `opal or acp`.
        seen: String,
    },
    /// A number that Rust does not hold as it is written: an integer beyond 64 bits, which is read as the nearest double, or a
    /// number beyond every double, which is read as the largest one. The frame was delivered, and its text is kept. In frames of
    /// more than 4 KiB it is looked for only if the tap [wants frames](Tap::wants_frames).
    InexactNumber {
        /// The first such number of the frame, as it is written.
        number: String,
    },
    /// A frame in pieces that could not be put together. What had come of it was dropped.
    Chunks {
        /// What came, and what is wrong with it.
        reason: String,
    },
}

/// Sees everything that passes. Called on the connection's own tasks: it must not block.
///
/// Keys are redacted before a tap sees them. A panic in a tap is caught and the tap is not called
/// again.
pub trait Tap: Send + Sync + 'static {
    /// Whether frames are to be shown at all: taking keys out of them costs time. Asked for every frame.
    fn wants_frames(&self) -> bool {
        true
    }

    /// A frame passed. `text` has no line feed and no key in it. One that comes in pieces is shown when it is whole.
    /// A frame is shown when it is read: up to 128 events before the one that is queued for those who listen.
    fn frame(&self, direction: Direction, text: &str) {
        let _ = (direction, text);
    }

    /// Something odd happened.
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        let _ = diagnostic;
    }
}
