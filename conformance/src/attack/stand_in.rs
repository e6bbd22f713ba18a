//! Programs that attacks place before or behind an agent. Only attacks start them.

mod agent;
mod garble;
mod mcp;

use std::io;
use std::path::PathBuf;

pub(super) use agent::QUESTION;
pub(super) use mcp::{MANY, TOOL};

/// The name of the command that starts this program in one of these roles.
pub const COMMAND: &str = "attack-stand-in";

/// A role of this program.
#[derive(Debug, Clone)]
pub enum StandIn {
    /// An agent that answers every command with success, and writes each line to a file.
    Agent {
        /// The dialect that the agent speaks.
        dialect: String,
        /// The file to which the lines are written.
        log: PathBuf,
    },
    /// An agent behind a proxy that inserts invalid lines between the agent's own lines.
    Garble {
        /// The random seed from which the invalid lines are drawn.
        seed: u64,
        /// The agent's command line.
        command: Vec<String>,
    },
    /// An MCP server with a defect. It records each request in a file.
    Mcp {
        /// The name of the defect.
        defect: String,
        /// The file to which the requests are written.
        log: PathBuf,
    },
}

impl StandIn {
    /// Returns the command line that starts this role.
    ///
    /// # Errors
    /// If the system does not report the path of this program.
    pub(super) fn command(&self) -> Result<Vec<String>, super::AttackError> {
        let program =
            std::env::current_exe().map_err(|error| super::AttackError::Environment(error.to_string()))?;
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let mut words = vec![path(&program), COMMAND.to_owned()];
        match self {
            Self::Agent { dialect, log } => words.extend(["agent".to_owned(), dialect.clone(), path(log)]),
            Self::Garble { seed, command } => {
                words.extend(["garble".to_owned(), seed.to_string(), "--".to_owned()]);
                words.extend_from_slice(command);
            }
            Self::Mcp { defect, log } => words.extend(["mcp".to_owned(), defect.clone(), path(log)]),
        }
        Ok(words)
    }

    /// Runs this role until stdin ends.
    ///
    /// # Errors
    /// If a file or a pipe fails, or a name is unknown.
    pub fn run(&self) -> io::Result<()> {
        match self {
            Self::Agent { dialect, log } => agent::run(dialect, log),
            Self::Garble { seed, command } => garble::run(*seed, command),
            Self::Mcp { defect, log } => mcp::run(defect, log),
        }
    }
}

impl TryFrom<&[String]> for StandIn {
    type Error = String;

    fn try_from(arguments: &[String]) -> Result<Self, String> {
        match arguments {
            [kind, dialect, log] if kind == "agent" => {
                Ok(Self::Agent { dialect: dialect.clone(), log: log.into() })
            }
            [kind, seed, command @ ..] if kind == "garble" => {
                let seed = seed.parse().map_err(|_| format!("invalid seed `{seed}`: expected a number"))?;
                let command = command.iter().skip_while(|word| *word == "--").cloned().collect();
                Ok(Self::Garble { seed, command })
            }
            [kind, defect, log] if kind == "mcp" => Ok(Self::Mcp { defect: defect.clone(), log: log.into() }),
            _ => Err(format!("unknown stand-in `{}`; known: agent, garble, mcp", arguments.join(" "))),
        }
    }
}
