//! `attack-stand-in`: a program around an attacked agent. Attacks start it, users do not.

use std::process::ExitCode;

use agentese_conformance::attack::stand_in::StandIn;
use clap::Args;

/// Plays an agent, a server, or a program between both, as an attack requires.
#[derive(Debug, Args)]
pub(super) struct AttackStandIn {
    /// The role and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    part: Vec<String>,
}

impl AttackStandIn {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        StandIn::try_from(&self.part[..]).map_err(anyhow::Error::msg)?.run()?;
        Ok(ExitCode::SUCCESS)
    }
}
