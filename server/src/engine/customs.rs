//! How an engine behaves where agents differ. A front says it once; nothing in the engine asks for a dialect.

use agentese::types::InterruptMode;

/// In which way the tool calls of one answer are carried out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Calls {
    /// One after another.
    #[default]
    OneByOne,
    /// Those that may ([`crate::tools::Tool::shared`]) side by side, the others alone. Ends and results stand in the order
    /// of the calls.
    SideBySide,
}

/// The ways of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Customs {
    /// How the calls of one answer are carried out.
    pub calls: Calls,
    /// When steering reaches the run, until a client says otherwise.
    pub interrupt: InterruptMode,
}

impl Customs {
    /// Those of pi.
    pub const PI: Self = Self { calls: Calls::OneByOne, interrupt: InterruptMode::Immediate };
}

impl Default for Customs {
    fn default() -> Self {
        Self::PI
    }
}
