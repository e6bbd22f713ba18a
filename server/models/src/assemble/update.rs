//! Changes of a message while it is built from a provider's events.

use crate::partial_json::JsonDelta;

/// A change of a message. `index` is the position of the block in the message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A text block opened.
    TextStart {
        /// Position of the block.
        index: usize,
    },
    /// Text was added to a text block.
    TextDelta {
        /// Position of the block.
        index: usize,
        /// The text that was added.
        delta: String,
    },
    /// A text block closed.
    TextEnd {
        /// Position of the block.
        index: usize,
    },
    /// A thinking block opened.
    ThinkingStart {
        /// Position of the block.
        index: usize,
    },
    /// Text was added to a thinking block.
    ThinkingDelta {
        /// Position of the block.
        index: usize,
        /// The text that was added.
        delta: String,
    },
    /// A thinking block closed.
    ThinkingEnd {
        /// Position of the block.
        index: usize,
    },
    /// A tool call opened.
    ToolCallStart {
        /// Position of the block.
        index: usize,
    },
    /// JSON text was added to the arguments of a tool call.
    ToolCallDelta {
        /// Position of the block.
        index: usize,
        /// The text that was added.
        delta: String,
        /// The resulting change of the arguments so far, as normalized JSON text.
        json_delta: JsonDelta,
    },
    /// A tool call closed.
    ToolCallEnd {
        /// Position of the block.
        index: usize,
    },
}

impl Update {
    /// Returns true if the change closes a block.
    pub fn closes(&self) -> bool {
        matches!(self, Self::TextEnd { .. } | Self::ThinkingEnd { .. } | Self::ToolCallEnd { .. })
    }

    /// Returns the position of the block that changed.
    pub fn index(&self) -> usize {
        match self {
            Self::TextStart { index }
            | Self::TextDelta { index, .. }
            | Self::TextEnd { index }
            | Self::ThinkingStart { index }
            | Self::ThinkingDelta { index, .. }
            | Self::ThinkingEnd { index }
            | Self::ToolCallStart { index }
            | Self::ToolCallDelta { index, .. }
            | Self::ToolCallEnd { index } => *index,
        }
    }
}
