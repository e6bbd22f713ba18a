//! Options of the command line.

use std::path::PathBuf;
use std::sync::LazyLock;

use agentese::types::ThinkingLevel;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::api_key::ApiKey;
use super::limits::Limits;
use agentese_server::dialects::DIALECTS;

const ABOUT: &str = "\
Coding agent without a user interface, and tools for other agents.

With --mode, reads commands from stdin and writes responses and events to stdout: one JSON object per \
line (a frame). The commands call, web and bridge start and drive other agents. The command inspect shows \
a recorded session.";

/// Help text of `--dialect`.
static DIALECT: LazyLock<String> = LazyLock::new(|| {
    let ids: Vec<_> = DIALECTS.iter().map(|frontend| frontend.spec().id()).collect();
    format!("Serve this dialect; without @REVISION, the oldest listed. Known: {}", ids.join(", "))
});

const USAGE: &str = "\
agentese --mode rpc [OPTIONS]
       agentese --mode acp [OPTIONS]
       agentese --list-models [SEARCH]
       agentese --export FILE|ID [HTML]
       agentese COMMAND";

const EXAMPLES: &str = "\
Examples:
  agentese --mode rpc --provider scripted
      Serve the pi dialect with the scripted model, which needs no key and no network.
  echo '{\"type\":\"prompt\",\"message\":\"What is here?\"}' | agentese --mode rpc
      Send one prompt. After the end of stdin the agent finishes its work and exits with 0.
  agentese --mode rpc --model sonnet:high --tools read,bash --no-session
      Select a model by a part of its name, the thinking level, and the tools.
  agentese --mode rpc --script answers.json
      Use the scripted model with the answers in a file, in order.
  agentese --mode acp
      Serve an editor through the Agent Client Protocol: Zed, JetBrains, Neovim; see docs/acp.md.
  agentese schema --dialect pi --side server
      Print the JSON Schema of all frames that an agent of the dialect may send.
  agentese schema --diff pi@0.55 pi@1.5
      Print the changes between two revisions, and mark those that break older clients.
  agentese web
      Serve a web page for the agent, and open it in the browser.
  agentese web -- pi --mode rpc
      Do the same for another agent.
  agentese inspect session.jsonl
      Show the frames of a recorded session and the resulting conversation.

Unlisted options are flags of extensions: --NAME, or --NAME VALUE. An option that no extension defines, \
such as a misspelt one, only causes a warning.

Environment:
  AGENTESE_LOG         Log level on stderr: error, warn (the default), info,
                       debug or trace; or a filter such as
                       agentese=debug,agentese_server=debug
  PI_CODING_AGENT_DIR  Agent directory, with settings, sessions and programs;
                       default: ~/.pi/agent (omp, pisces: ~/.omp/agent) if it
                       exists, else AGENTESE_HOME
  OPAL_HOME            The same for opal; default: ~/.opal if it exists, else
                       AGENTESE_HOME
  AGENTESE_HOME        Agent directory if the above do not apply; default:
                       ~/.agentese/agent
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …
                       API keys of providers; docs/models.md has all variables

Files in the agent directory and in .pi/ of the working directory:
  settings.json         Settings
  SYSTEM.md             Replaces the system prompt
  APPEND_SYSTEM.md      Adds to the system prompt
  prompts/NAME.md       Prompt template /NAME
  skills/NAME/SKILL.md  Instructions that the model reads on demand, or that a
                        prompt invokes with /skill:NAME; also in .agents/

The first three are read from .pi/ only if the working directory is trusted. AGENTS.md, or else CLAUDE.md, is \
context for the model; it is read from the agent directory, the working directory and its parents.

With --mode, stdout contains only frames. The exit code is 0 on success, 1 on failure and 2 for an invalid \
command line, with the reason on stderr.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "agentese",
    version,
    about = ABOUT,
    override_usage = USAGE,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    // As in pi, the last occurrence of a repeated option applies. Options with a list collect all
    // occurrences.
    args_override_self = true
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: Run,
}

/// Subcommands, which do something other than serve a client.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Send one prompt to an agent, print the answer, and exit
    Run(RunPrompt),
    /// Send one command to an agent and print the result
    Call(Call),
    /// Print the JSON Schema of a dialect
    Schema(Schema),
    /// List the sessions of the working directory
    Sessions(Sessions),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, for `man -l -`
    Man,
    /// Serve a web page for an agent, and open it in the browser
    Web(Web),
    /// Show a recorded session in the browser, frame by frame
    Inspect(Inspect),
    /// Let a client of one dialect use an agent of another
    Bridge(Bridge),
}

/// Arguments of `call`, which are parsed when the dialect is known.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(super) struct Call {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<std::ffi::OsString>,
}

/// Options of the subcommand `schema`.
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// Print the schema of this dialect: pi, omp, pisces, operator or opal
    #[arg(long, value_name = "NAME[@REVISION]", default_value = "pi")]
    pub dialect: String,
    /// Print the schema of the frames that this side sends
    #[arg(long, value_enum, required_unless_present_any = ["openrpc", "diff"])]
    pub side: Option<Side>,
    /// Print the OpenRPC document of a JSON-RPC dialect instead of a schema
    #[arg(long, conflicts_with = "side")]
    pub openrpc: bool,
    /// Print the changes from a revision to a later one, and whether clients of the old one keep working
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["side", "openrpc", "dialect"])]
    pub diff: Option<Vec<String>>,
    /// Print the changes as JSON
    #[arg(long, requires = "diff", conflicts_with_all = ["side", "openrpc"])]
    pub json: bool,
}

/// Content of the frames of a growing answer.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Updates {
    Snapshots,
    Delta,
}

impl From<Updates> for agentese_server::conversation::UpdateContent {
    fn from(updates: Updates) -> Self {
        match updates {
            Updates::Snapshots => Self::Snapshots,
            Updates::Delta => Self::Delta,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Side {
    /// Frames that the agent sends
    Server,
    /// Frames that its client sends
    Client,
}

/// Additional help text of `run`.
const RUN_PROMPT: &str = "\
Examples:
  git diff | agentese run \"Review this change\"
      The text on stdin follows the prompt.
  agentese run \"Which crates are unused?\" --output-schema answer.json
      The answer is JSON that matches the schema.
  agentese run \"Fix the failing test\" --approve bash,edit -- pi --mode rpc
      Use another agent, and permit two of its tools.

The answer is printed to stdout, tools and notices to stderr. A question of the agent that is not about a tool of \
--approve is denied. The exit code is 0 on success, 1 on failure, 2 for an invalid command line, and 3 if the run \
ended but a question was denied.";

/// Options of `run`.
#[derive(Debug, Default, Args)]
#[command(override_usage = "agentese run [OPTIONS] [PROMPT] [-- AGENT…]", after_help = RUN_PROMPT)]
pub(super) struct RunPrompt {
    /// The prompt; the text on stdin follows it
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// Print every event as a line of JSON; docs/any.md describes the events
    #[arg(long)]
    pub json: bool,
    /// Require an answer in JSON that matches the JSON Schema in this file; up to two more prompts ask for it
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Add an image to the prompt: png, jpg, gif or webp; may be repeated
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Permit calls of these tools if the agent asks for permission
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub approve: Vec<String>,
    /// Continue the newest session
    #[arg(long = "continue", short = 'c')]
    pub continues: bool,
    /// Start the agent in this directory
    #[arg(long, value_name = "DIRECTORY")]
    pub cwd: Option<PathBuf>,
    /// Abort after this time
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<std::time::Duration>,
    /// Model of agentese: provider/id or a part of it
    #[arg(long, value_name = "PATTERN")]
    pub model: Option<String>,
    /// Provider of the model of agentese; scripted: the built-in scripted model, which needs no key
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Dialect of another agent; detected if omitted
    #[arg(long, value_name = "NAME[@REVISION]", requires = "agent")]
    pub dialect: Option<String>,
    /// Command line of another agent; default: agentese, which needs a key
    #[arg(last = true, value_name = "AGENT")]
    pub agent: Vec<std::ffi::OsString>,
}

impl RunPrompt {
    /// Converts the options of `agentese -p PROMPT`. Fails for options that `run` does not have.
    pub fn from_print(run: Run) -> Result<Self, crate::error::CliError> {
        let [prompt] = <[String; 1]>::try_from(run.messages).map_err(|prompts| {
            crate::error::CliError::Usage(format!("-p takes one prompt, found {}", prompts.len()))
        })?;
        Ok(Self {
            prompt: Some(prompt),
            continues: run.continues || run.resume,
            model: run.model,
            provider: run.provider,
            ..Self::default()
        })
    }
}

/// Options of `sessions`.
#[derive(Debug, Args)]
pub(super) struct Sessions {
    /// Print a JSON array, one session per line
    #[arg(long)]
    pub json: bool,
    /// List the sessions of all directories
    #[arg(long)]
    pub all: bool,
    /// List sessions of agents that speak this dialect
    #[arg(long, value_name = "NAME", default_value = DIALECTS[0].spec().name)]
    pub dialect: String,
    /// Read session files from this directory instead of the agent directory
    #[arg(long, value_name = "DIRECTORY")]
    pub session_dir: Option<PathBuf>,
}

/// Additional help text of `web`.
const WEB: &str = "\
Examples:
  agentese web
      Show agentese itself, with the model of your settings and your key.
  agentese web -- agentese --mode rpc --provider scripted
      Show agentese with the scripted model, which needs no key.
  agentese web --deny bash,export_html -- pi --mode rpc
      Show pi, and reject two commands of the page.
  agentese web --dialect omp --read-only -- omp --mode rpc
      Show omp, without prompts and changes.
  agentese web --dialect acp -- gemini --acp
      Show an agent that speaks the Agent Client Protocol.

The address is printed to stdout. It contains a secret: everyone who has it can use the agent.";

/// Options of the subcommand `web`.
#[derive(Debug, Args)]
#[command(after_help = WEB)]
pub(super) struct Web {
    /// Dialect that the agent speaks: pi, omp, pisces, operator or opal; or acp
    #[arg(long, value_name = "NAME[@REVISION]", default_value = DIALECTS[0].spec().name)]
    pub dialect: String,
    /// Listen on this port of 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Only print the address
    #[arg(long)]
    pub no_open: bool,
    /// Only show: no prompts, no commands that change anything, no answers to the agent's questions
    #[arg(long)]
    pub read_only: bool,
    /// Reject these commands of the dialect, such as bash,fork
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// Command line of the agent; default: agentese, which needs a key
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// Options of the subcommand `inspect`.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// Transcript in JSON lines, written by agentese-conformance record or by the page's inspector
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Dialect to use if the transcript does not name one
    #[arg(long, value_name = "NAME", default_value = DIALECTS[0].spec().name)]
    pub dialect: String,
    /// Listen on this port of 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Only print the address
    #[arg(long)]
    pub no_open: bool,
}

/// Usage of `bridge`.
const BRIDGE_USAGE: &str = "\
agentese bridge --to NAME[@REVISION] [OPTIONS] -- COMMAND…
       agentese bridge --explain FRONT AGENT [--json]";

/// Additional help text of `bridge`.
const BRIDGE: &str = "\
Examples:
  agentese bridge --to pi -- opal-server
      Let a client of pi use an agent that speaks Opal.
  agentese bridge --to opal --from omp --report losses.json -- omp --mode rpc
      Let a client of Opal use omp, and write a report of what was lost in translation.
  agentese bridge --to acp -- pi --mode rpc
      Let an editor that speaks the Agent Client Protocol use pi.
  agentese bridge --to ag-ui --port 4711 -- pi --mode rpc
      Let AG-UI components of a web page use pi. The address is printed to stdout.
  agentese bridge --explain pi opal
      Print how each command, event and dialog of pi is translated for an agent that speaks Opal.

The stderr of the agent is passed on to stderr. The exit code is 1 if the agent ends before the client.";

/// Options of the subcommand `bridge`.
#[derive(Debug, Args)]
#[command(override_usage = BRIDGE_USAGE, after_help = BRIDGE)]
pub(super) struct Bridge {
    /// Serve this dialect on stdin and stdout: pi, omp, pisces, operator or opal; acp for editors, with one agent
    /// for each session; ag-ui for web pages, over HTTP on 127.0.0.1, with one agent for each conversation
    #[arg(long, value_name = "NAME[@REVISION]", required_unless_present = "explain")]
    pub to: Option<String>,
    /// Dialect that the agent speaks: pi, omp, pisces, operator or opal; or acp; detected if omitted
    #[arg(long, value_name = "NAME[@REVISION]")]
    pub from: Option<String>,
    /// With --to ag-ui: listen on this port of 127.0.0.1; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// With --to ag-ui: allow pages of this origin, such as http://localhost:3000; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// With --to ag-ui: continue a run for this time after its connection was lost, so that the client can reconnect
    /// with the header Last-Event-ID; 0 stops it at once [default: 5]
    #[arg(long, value_name = "SECONDS")]
    pub reconnect_seconds: Option<u32>,
    /// With --to ag-ui: send parallel tool calls as the agent writes them, at the same time; by default each call and
    /// each text ends before the next begins, because older clients of AG-UI reject others
    #[arg(long)]
    pub overlapping_calls: bool,
    /// Write a loss report when the client disconnects: whether each command, event and dialog was carried,
    /// approximated or lost, and how often it occurred
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Print how each command, event and dialog of the client's dialect FRONT is translated for an agent of dialect
    /// AGENT, and exit
    #[arg(long, num_args = 2, value_names = ["FRONT", "AGENT"], conflicts_with_all = ["to", "from", "report", "command"])]
    pub explain: Option<Vec<String>>,
    /// With --explain: print the translations as JSON
    // `requires` alone does not apply beside `--to`, which conflicts with the required option.
    #[arg(long, requires = "explain", conflicts_with_all = ["to", "from", "report", "command"])]
    pub json: bool,
    /// Command line of the agent
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "explain")]
    pub command: Vec<std::ffi::OsString>,
}

/// Options of the subcommand `completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Shell that reads the script
    pub shell: clap_complete::Shell,
}

/// Options of the agent.
#[derive(Debug, Clone, Args)]
pub(super) struct Run {
    /// Serve a dialect, the protocol of a coding agent (rpc); or editors, through the Agent Client Protocol (acp)
    #[arg(long, value_name = "MODE", help_heading = "Protocol")]
    pub mode: Option<String>,
    /// Dialect to serve
    #[arg(long, value_name = "NAME[@REVISION]", default_value = DIALECTS[0].spec().name, help = DIALECT.as_str(),
          help_heading = "Protocol")]
    pub dialect: String,
    /// Content of each message_update event: the new piece and the whole answer so far (snapshots), or only the new
    /// piece (delta)
    #[arg(long, value_enum, default_value_t = Updates::Snapshots, help_heading = "Protocol",
          hide_possible_values = true, value_name = "snapshots|delta")]
    pub updates: Updates,
    /// Reject longer lines of input
    #[arg(long, value_name = "BYTES", default_value_t = agentese::framing::DEFAULT_MAX_LINE,
          value_parser = at_least_a_frame, help_heading = "Protocol")]
    pub max_line: usize,

    /// Provider of the model; scripted: the built-in scripted model, which needs no key
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub provider: Option<String>,
    /// Model: provider/id or a part of it; append :LEVEL for the thinking level
    #[arg(long, value_name = "PATTERN", help_heading = "Model")]
    pub model: Option<String>,
    /// Models between which a client can cycle
    #[arg(
        long,
        value_name = "PATTERN,…",
        value_delimiter = ',',
        overrides_with = "models",
        help_heading = "Model"
    )]
    pub models: Vec<String>,
    /// Thinking level: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL", help_heading = "Model")]
    pub thinking: Option<ThinkingLevel>,
    /// API key; visible to other users of this machine, so prefer an environment variable
    #[arg(long, value_name = "KEY", help_heading = "Model")]
    pub api_key: Option<ApiKey>,
    /// Use the scripted model, unless another is named, with answers from this file:
    /// {"responses": [{"text": "…"}, …]}
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub script: Option<PathBuf>,
    /// Print all models, or those with SEARCH in their names, and exit
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, help_heading = "Model")]
    pub list_models: Option<Option<String>>,

    /// Replace the built-in system prompt
    #[arg(long, value_name = "TEXT|FILE", allow_hyphen_values = true, help_heading = "System prompt")]
    pub system_prompt: Option<String>,
    /// Add text to the system prompt; may be repeated
    #[arg(long, value_name = "TEXT|FILE", allow_hyphen_values = true, help_heading = "System prompt")]
    pub append_system_prompt: Vec<String>,

    /// Enable only these tools
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        overrides_with = "tools",
        help_heading = "Tools"
    )]
    pub tools: Option<Vec<String>>,
    /// Disable all tools; with --tools, no effect
    #[arg(long, help_heading = "Tools")]
    pub no_tools: bool,

    #[command(flatten)]
    pub limits: Limits,

    /// Continue the session with this file or this prefix of its id
    #[arg(long, value_name = "FILE|ID", help_heading = "Session")]
    pub session: Option<String>,
    /// Continue the newest session of the working directory, or start a new one
    #[arg(long = "continue", short = 'c', help_heading = "Session")]
    pub continues: bool,
    /// Accepted for compatibility with pi; same as --continue
    #[arg(long, short = 'r', help_heading = "Session")]
    pub resume: bool,
    /// Initial name of the session
    #[arg(long, short = 'n', value_name = "NAME", help_heading = "Session")]
    pub name: Option<String>,
    /// Keep the session in memory only
    #[arg(long, help_heading = "Session")]
    pub no_session: bool,
    /// Keep session files in this directory instead of the agent directory
    #[arg(long, value_name = "DIRECTORY", help_heading = "Session")]
    pub session_dir: Option<PathBuf>,
    /// Export a session, given as a file or as a prefix of its id, as an HTML page, and exit
    #[arg(long, value_names = ["FILE|ID", "HTML"], num_args = 1..=2, help_heading = "Session")]
    pub export: Vec<PathBuf>,

    /// Load a skill, or a directory of skills; may be repeated
    #[arg(long, value_name = "PATH", help_heading = "Skills and prompt templates")]
    pub skill: Vec<PathBuf>,
    /// Disable skills, except those of --skill
    #[arg(long, help_heading = "Skills and prompt templates")]
    pub no_skills: bool,
    /// Load a prompt template, or a directory of them; may be repeated
    #[arg(long, value_name = "PATH", help_heading = "Skills and prompt templates")]
    pub prompt_template: Vec<PathBuf>,
    /// Disable prompt templates, except those of --prompt-template
    #[arg(long, help_heading = "Skills and prompt templates")]
    pub no_prompt_templates: bool,

    /// Trust the working directory: use its settings, system prompt and extensions
    #[arg(long, alias = "approve", help_heading = "Start")]
    pub trust: bool,
    /// Do not trust the working directory, regardless of the settings
    #[arg(long, alias = "no-approve", conflicts_with = "trust", help_heading = "Start")]
    pub no_trust: bool,
    /// Accepted for compatibility with pi; no effect
    #[arg(long, help_heading = "Start")]
    pub offline: bool,
    /// Log more, as with AGENTESE_LOG=info
    #[arg(long, help_heading = "Start")]
    pub verbose: bool,

    /// Ignored in RPC mode, with a warning
    #[arg(value_name = "MESSAGE", hide = true)]
    pub messages: Vec<String>,
    #[command(flatten)]
    pub resources: Resources,
}

/// Options about extensions.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct Resources {
    /// Load an extension: a program, or a folder with one or more; may be repeated
    #[arg(long, short = 'e', value_name = "PATH", help_heading = "Extensions")]
    pub extension: Vec<String>,
    /// Disable extensions, except those of --extension
    #[arg(long, help_heading = "Extensions")]
    pub no_extensions: bool,
    #[arg(long, hide = true, value_name = "PATH")]
    pub theme: Vec<String>,
    #[arg(long, short = 'p', hide = true)]
    pub print: bool,
    #[arg(long, hide = true)]
    #[arg(long, hide = true)]
    pub no_themes: bool,
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds = text.parse().map_err(|error| format!("expected a number of seconds: {error}"))?;
    std::time::Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Smallest limit of the line length with which a client can still send a command.
const SHORTEST_LIMIT: usize = 64;

fn at_least_a_frame(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes >= SHORTEST_LIMIT => Ok(bytes),
        Ok(_) => Err(format!("must be at least {SHORTEST_LIMIT} bytes")),
        Err(error) => Err(format!("expected a number of bytes: {error}")),
    }
}
