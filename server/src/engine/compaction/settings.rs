//! When a conversation is compacted, and how much of it is kept.

use agentese::types::Model;

/// The settings of compaction. The defaults are those of pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// Whether the agent compacts on its own.
    pub enabled: bool,
    /// Tokens that are kept free in the model's context, for its answer and for the summary.
    pub reserve: u64,
    /// Tokens of the newest messages that stay as they are.
    pub keep_recent: u64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { enabled: true, reserve: 16_384, keep_recent: 20_000 }
    }
}

impl Compaction {
    /// Whether that many tokens leave less room in the model's context than is to be kept free.
    pub fn is_due(&self, tokens: u64, model: &Model) -> bool {
        self.enabled && tokens > model.context_window.saturating_sub(self.reserve)
    }
}
