//! Who looks at commands before they are carried out.

use std::sync::Arc;

use super::Refusal;
use crate::spec::CommandSpec;

/// Looks at commands before they are carried out: those that it refuses are answered with its reason, in their lane. The
/// answer has the command's name and id, in dialects too that answer other failures without them.
#[derive(Clone)]
pub struct Gate(Arc<dyn Fn(&'static CommandSpec) -> Result<(), Refusal> + Send + Sync>);

impl Gate {
    /// A gate that lets through what `lets` does not refuse. It must not block.
    pub fn new(lets: impl Fn(&'static CommandSpec) -> Result<(), Refusal> + Send + Sync + 'static) -> Self {
        Gate(Arc::new(lets))
    }

    pub(super) fn lets(&self, command: &'static CommandSpec) -> Result<(), Refusal> {
        (self.0)(command)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
