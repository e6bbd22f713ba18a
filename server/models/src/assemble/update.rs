//! How a message grows, told in the order of the provider's events.

use crate::partial_json::Grown;

/// How the message grew. `index` is the block's place in the message's content.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A text block opened.
    TextStart {
        /// The block.
        index: usize,
    },
    /// A text block grew.
    TextDelta {
        /// The block.
        index: usize,
        /// By this.
        delta: String,
    },
    /// A text block closed.
    TextEnd {
        /// The block.
        index: usize,
    },
    /// A thinking block opened.
    ThinkingStart {
        /// The block.
        index: usize,
    },
    /// A thinking block grew.
    ThinkingDelta {
        /// The block.
        index: usize,
        /// By this.
        delta: String,
    },
    /// A thinking block closed.
    ThinkingEnd {
        /// The block.
        index: usize,
    },
    /// A tool call opened.
    ToolCallStart {
        /// The block.
        index: usize,
    },
    /// The JSON text of a tool call's arguments grew.
    ToolCallDelta {
        /// The block.
        index: usize,
        /// By this.
        delta: String,
        /// What that made of the arguments.
        grown: Grown,
    },
    /// A tool call closed.
    ToolCallEnd {
        /// The block.
        index: usize,
    },
}

impl Update {
    /// Whether a block closed.
    pub fn closes(&self) -> bool {
        matches!(self, Self::TextEnd { .. } | Self::ThinkingEnd { .. } | Self::ToolCallEnd { .. })
    }

    /// The block that changed.
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
