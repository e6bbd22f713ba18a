//! `attack-stand-in`: a program before or behind an agent that is attacked. An attack starts it; people do not.

use std::process::ExitCode;

use agentese_conformance::attack::stand_in::StandIn;
use clap::Args;

/// Is an agent, a server or a program between them that does what an attack wants.
#[derive(Debug, Args)]
pub(super) struct AttackStandIn {
    /// The part and its words.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    part: Vec<String>,
}

impl AttackStandIn {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        StandIn::try_from(&self.part[..]).map_err(anyhow::Error::msg)?.run()?;
        Ok(ExitCode::SUCCESS)
    }
}
