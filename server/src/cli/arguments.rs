//! What can be said on the command line.

use std::path::PathBuf;

use agentese::types::ThinkingLevel;
use clap::{Args, Parser, Subcommand, ValueEnum};

const ABOUT: &str = "\
A headless coding agent. A client sends commands to its stdin and reads answers and events from
its stdout, one JSON object per line.";

const EXAMPLES: &str = "\
Examples:
  agentese --mode rpc
      Serve the pi dialect with the embedded model, which needs no key and no network.
  echo '{\"type\":\"prompt\",\"message\":\"What is here?\"}' | agentese --mode rpc
      Ask once. The agent finishes its work after the end of stdin, then exits with 0.
  agentese --mode rpc --script answers.json
      Let the embedded model say what the file says, answer by answer.
  agentese schema --dialect pi --side server
      Print the JSON Schema of every frame that a server of the dialect may send.

stdout carries frames and nothing else. Logs go to stderr; AGENTESE_LOG says how many (error, warn,
info, debug, trace, or a filter such as agentese_server=debug), warn by default.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "agentese",
    version,
    about = ABOUT,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: Run,
}

/// What can be done besides serving.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the schema of a dialect
    Schema(Schema),
}

/// Options of `schema`.
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// The dialect: pi, omp, pisces, operator or opal, with a revision after @ if one is meant
    #[arg(long, value_name = "NAME[@REVISION]", default_value = "pi")]
    pub dialect: String,
    /// Whose frames the schema accepts
    #[arg(long, value_enum, required_unless_present = "openrpc")]
    pub side: Option<Side>,
    /// Print the OpenRPC document instead, for a dialect that speaks JSON-RPC
    #[arg(long, conflicts_with = "side")]
    pub openrpc: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Side {
    /// Frames that the agent sends
    Server,
    /// Frames that its client sends
    Client,
}

/// Options of the agent.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// How to talk to the agent; rpc is the one mode there is
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// The dialect to speak; this server speaks pi
    #[arg(long, value_name = "NAME[@REVISION]", default_value = "pi")]
    pub dialect: String,

    /// The provider of the model; scripted is the embedded one
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub provider: Option<String>,
    /// The model: provider/id, an id, or a part of one, with :LEVEL for thinking
    #[arg(long, value_name = "PATTERN", help_heading = "Model")]
    pub model: Option<String>,
    /// The models that cycle_model goes through
    #[arg(long, value_name = "PATTERN,…", value_delimiter = ',', help_heading = "Model")]
    pub models: Vec<String>,
    /// How hard the model thinks: off, minimal, low, medium, high or xhigh
    #[arg(long, value_name = "LEVEL", help_heading = "Model")]
    pub thinking: Option<ThinkingLevel>,
    /// What the embedded model says, as JSON: {"responses": [{"text": "…"}, …]}
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub script: Option<PathBuf>,
    /// What the model is told beforehand
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Model")]
    pub system_prompt: Option<String>,
    /// What the model is told besides
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, help_heading = "Model")]
    pub append_system_prompt: Option<String>,

    /// The tools that the model may use
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Tools")]
    pub tools: Option<Vec<String>>,
    /// No tools at all, or only those of --tools
    #[arg(long, help_heading = "Tools")]
    pub no_tools: bool,
    /// Trust what the working directory brings along (so far it brings nothing)
    #[arg(long, help_heading = "Tools")]
    pub trust: bool,

    /// Keep the session in memory, which this version does anyway
    #[arg(long, help_heading = "Session")]
    pub no_session: bool,

    /// The longest line that is read; a longer one is refused
    #[arg(long, value_name = "BYTES", default_value_t = agentese::framing::DEFAULT_MAX_LINE,
          value_parser = at_least_a_frame, help_heading = "Limits")]
    pub max_line: usize,

    /// Ignored in RPC mode, with a warning
    #[arg(value_name = "MESSAGE", hide = true)]
    pub messages: Vec<String>,
    #[command(flatten)]
    pub harmless: Harmless,
    #[command(flatten)]
    pub refused: super::refused::Refused,
}

/// Options of pi that ask for what is the case anyway.
#[derive(Debug, Args)]
pub(super) struct Harmless {
    #[arg(long, hide = true)]
    pub offline: bool,
    #[arg(long, hide = true)]
    pub verbose: bool,
    #[arg(long, hide = true)]
    pub no_extensions: bool,
    #[arg(long, hide = true)]
    pub no_skills: bool,
    #[arg(long, hide = true)]
    pub no_prompt_templates: bool,
    #[arg(long, hide = true)]
    pub no_themes: bool,
}

/// The shortest limit under which a client can still say something.
const SHORTEST_LIMIT: usize = 64;

fn at_least_a_frame(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes >= SHORTEST_LIMIT => Ok(bytes),
        Ok(_) => Err(format!("no frame fits into less than {SHORTEST_LIMIT} bytes")),
        Err(error) => Err(format!("it is no number of bytes: {error}")),
    }
}
