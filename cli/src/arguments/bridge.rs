//! The command line of `agentese bridge`.

use std::path::PathBuf;

use clap::Args;

const BRIDGE: &str = "\
Examples:
  agentese bridge --to pi -- opal-server
      Pi's dialect on stdin and stdout, an agent that speaks Opal behind it.
  agentese bridge --to opal --from omp --report losses.json -- omp --mode rpc
      The other way, and what was lost on it in a file.
  agentese bridge --explain pi opal
      What becomes of each command, event and dialog of pi with an agent that speaks Opal.

What the agent writes on stderr goes to stderr. The exit code is 1 where the agent goes away before the client.";

/// Options of `bridge`.
#[derive(Debug, Args)]
#[command(after_help = BRIDGE)]
pub(crate) struct Bridge {
    /// The dialect to speak on stdin and stdout; acp for editors, with one agent for each session; ag-ui for components
    /// of web pages, over HTTP on 127.0.0.1, with one agent for each thread
    #[arg(long, value_name = "NAME[@REVISION]", required_unless_present = "explain")]
    pub to: Option<String>,
    /// The dialect that the agent speaks; found out by asking it where this is not given. An agent that speaks acp has to be
    /// named so
    #[arg(long, value_name = "NAME[@REVISION]")]
    pub from: Option<String>,
    /// With --to ag-ui: the port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// With --to ag-ui: for how many seconds a run waits for the end of the one before it in its thread; 15 by default
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
    /// With --to ag-ui: a page of this origin, as in http://localhost:3000, may speak with the agent
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Write what was carried, approximated and lost, with counts, to this file when the client leaves
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print what becomes of each row of a front end's dialect with an agent of another one, and start nothing
    #[arg(long, num_args = 2, value_names = ["FRONT", "AGENT"], conflicts_with_all = ["to", "from", "report", "command"])]
    pub explain: Option<Vec<String>>,
    /// Print that as JSON
    #[arg(long, requires = "explain")]
    pub json: bool,
    /// The agent's command line
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "explain")]
    pub command: Vec<std::ffi::OsString>,
}
