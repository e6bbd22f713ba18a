//! Filter of commands before their execution.

use std::sync::Arc;

use super::command_error::CommandError;
use crate::spec::CommandSpec;

/// Filter of commands before their execution. A rejected command is answered with the reason, in the command's
/// lane. The answer contains the command's name and id, even in dialects that omit them in other failures.
#[derive(Clone)]
pub struct Gate(Arc<dyn Fn(&'static CommandSpec) -> Result<(), CommandError> + Send + Sync>);

impl Gate {
    /// Creates a gate that rejects a command if `check` returns an error. `check` must not block.
    pub fn new(
        check: impl Fn(&'static CommandSpec) -> Result<(), CommandError> + Send + Sync + 'static,
    ) -> Self {
        Gate(Arc::new(check))
    }

    pub(super) fn check(&self, command: &'static CommandSpec) -> Result<(), CommandError> {
        (self.0)(command)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}
