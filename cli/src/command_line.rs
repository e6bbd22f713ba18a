//! Options of the command line.

use std::path::PathBuf;
use std::sync::LazyLock;

use agentese::types::ThinkingLevel;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::api_key::ApiKey;
use super::limits::Limits;
use agentese_server::dialects::DIALECTS;

const ABOUT: &str = "\
A headless coding agent. A client sends commands to its stdin and reads answers and events from
its stdout, one JSON object per line.";

/// Help text of `--dialect`.
static DIALECT: LazyLock<String> = LazyLock::new(|| {
    let ids: Vec<_> = DIALECTS.iter().map(|frontend| frontend.spec().id()).collect();
    format!("Dialect to speak; a name alone is the first of its revisions. Served: {}", ids.join(", "))
});

const USAGE: &str = "\
agentese --mode rpc [OPTIONS]
       agentese --mode acp [OPTIONS]
       agentese --list-models [SEARCH]
       agentese --export FILE [HTML]
       agentese COMMAND";

const EXAMPLES: &str = "\
Examples:
  agentese --mode rpc --provider scripted
      Serve the pi dialect with the embedded model, which needs no key and no network.
  echo '{\"type\":\"prompt\",\"message\":\"What is here?\"}' | agentese --mode rpc
      Ask once. The agent finishes its work after the end of stdin, then exits with 0.
  agentese --mode rpc --model sonnet:high --tools read,bash --no-session
      Choose a model by a part of its name, its thinking level, and its tools.
  agentese --mode rpc --script answers.json
      Let the embedded model play the answers of a file, one after the other.
  agentese --mode acp
      Serve an editor that speaks the Agent Client Protocol: Zed, JetBrains, Neovim; see docs/acp.md.
  agentese schema --dialect pi --side server
      Print the JSON Schema of every frame that a server of the dialect may send.
  agentese schema --diff pi@0.55 pi@1.5
      Print what changes between two revisions, and what a client of the older one survives.
  agentese web
      Open a page in the browser to talk to the agent.
  agentese web -- pi --mode rpc
      The same for another agent of the family.
  agentese inspect session.jsonl
      Step through a recorded session, with the conversation that it tells.

Options that are not listed are flags of extensions: --NAME, or --NAME VALUE. A flag that no
extension defines is ignored, with a warning.

Environment:
  AGENTESE_LOG         Log level on stderr: error, warn (the default), info, debug, trace, or a filter
                       such as agentese=debug,agentese_server=debug
  PI_CODING_AGENT_DIR  The agent directory, with settings, sessions and programs
  AGENTESE_HOME        The agent directory where ~/.pi/agent does not exist; the default is
                       ~/.agentese/agent
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …
                       Keys of providers; docs/models.md lists them all

Files:
  settings.json        In the agent directory, and in .pi/ of a working directory that is trusted
  SYSTEM.md            In the same places: replaces the system prompt. APPEND_SYSTEM.md adds to it
  prompts/NAME.md      In the agent directory and in .pi/: the prompt template /NAME
  skills/NAME/SKILL.md In the same places and in .agents/: instructions that the model reads when it
                       needs them, or when a prompt says /skill:NAME
  AGENTS.md            In the agent directory, the working directory and its parents: context for the
                       model. CLAUDE.md is read where there is no AGENTS.md

In RPC mode stdout carries frames and nothing else. The exit code is 0 on success and 1 after a
failure, whose reason is on stderr.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "agentese",
    version,
    about = ABOUT,
    override_usage = USAGE,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    // As with pi, the last occurrence of a repeated option wins; lists grow.
    args_override_self = true
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
    /// Send one command to an agent and print what comes of it
    Call(Call),
    /// Print the schema of a dialect
    Schema(Schema),
    /// List the sessions of the working directory
    Sessions(Sessions),
    /// Print a script that completes this command line in a shell
    Completions(Completions),
    /// Serve a page on this machine that talks to an agent, and open it
    Web(Web),
    /// Show a recorded session in the browser, frame by frame
    Inspect(Inspect),
    /// Speak one dialect to a client, with an agent of another dialect behind it
    Bridge(Bridge),
}

/// Words of `call`, which are read when the dialect is known.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(super) struct Call {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<std::ffi::OsString>,
}

/// Options of `schema`.
#[derive(Debug, Args)]
pub(super) struct Schema {
    /// The dialect: pi, omp, pisces, operator or opal, optionally with a revision
    #[arg(long, value_name = "NAME[@REVISION]", default_value = "pi")]
    pub dialect: String,
    /// The side whose frames the schema accepts
    #[arg(long, value_enum, required_unless_present_any = ["openrpc", "diff"])]
    pub side: Option<Side>,
    /// Print the OpenRPC document instead, for a dialect that speaks JSON-RPC
    #[arg(long, conflicts_with = "side")]
    pub openrpc: bool,
    /// Print what changes from a revision to a later one, and whether an old client survives it
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

/// Options of `sessions`.
#[derive(Debug, Args)]
pub(super) struct Sessions {
    /// Print a JSON array, one session per line
    #[arg(long)]
    pub json: bool,
    /// List the sessions of all directories
    #[arg(long)]
    pub all: bool,
    /// The dialect whose users' sessions to list
    #[arg(long, value_name = "NAME", default_value = DIALECTS[0].spec().name)]
    pub dialect: String,
    /// The directory of the session files, instead of the one in the agent directory
    #[arg(long, value_name = "DIRECTORY")]
    pub session_dir: Option<PathBuf>,
}

/// Options of `web`.
#[derive(Debug, Args)]
pub(super) struct Web {
    /// The dialect that the agent speaks
    #[arg(long, value_name = "NAME[@REVISION]", default_value = DIALECTS[0].spec().name)]
    pub dialect: String,
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
    /// Let only commands through that read: no prompts, no answers to dialogs
    #[arg(long)]
    pub read_only: bool,
    /// Commands of the dialect that are not let through
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// The agent's command line; this program itself by default
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// Options of `inspect`.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// A transcript: JSON lines, as agentese-conformance record and the page's inspector write them
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The dialect, where the transcript does not name it
    #[arg(long, value_name = "NAME", default_value = DIALECTS[0].spec().name)]
    pub dialect: String,
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,
    /// Do not open a browser
    #[arg(long)]
    pub no_open: bool,
}

/// Additional help text of `bridge`.
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
pub(super) struct Bridge {
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

/// Options of `completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Options of the agent.
#[derive(Debug, Clone, Args)]
pub(super) struct Run {
    /// The mode to run in: rpc, or acp for editors that speak the Agent Client Protocol
    #[arg(long, value_name = "MODE", help_heading = "Protocol")]
    pub mode: Option<String>,
    /// The dialect to speak
    #[arg(long, value_name = "NAME[@REVISION]", default_value = DIALECTS[0].spec().name, help = DIALECT.as_str(),
          help_heading = "Protocol")]
    pub dialect: String,
    /// The content of message_update events
    #[arg(long, value_enum, default_value_t = Updates::Snapshots, help_heading = "Protocol",
          hide_possible_values = true, value_name = "snapshots|delta")]
    pub updates: Updates,
    /// The longest accepted input line
    #[arg(long, value_name = "BYTES", default_value_t = agentese::framing::DEFAULT_MAX_LINE,
          value_parser = at_least_a_frame, help_heading = "Protocol")]
    pub max_line: usize,

    /// The provider of the model; scripted is the embedded model
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    pub provider: Option<String>,
    /// The model: provider/id, or a part of it, with :LEVEL for thinking
    #[arg(long, value_name = "PATTERN", help_heading = "Model")]
    pub model: Option<String>,
    /// The models that cycle_model cycles through
    #[arg(
        long,
        value_name = "PATTERN,…",
        value_delimiter = ',',
        overrides_with = "models",
        help_heading = "Model"
    )]
    pub models: Vec<String>,
    /// The thinking level: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL", help_heading = "Model")]
    pub thinking: Option<ThinkingLevel>,
    /// The API key; other users can see it, so prefer the environment
    #[arg(long, value_name = "KEY", help_heading = "Model")]
    pub api_key: Option<ApiKey>,
    /// The answers of the embedded model, the provider unless another is named: {"responses": [{"text": "…"}, …]}
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub script: Option<PathBuf>,
    /// Print the models, or those with SEARCH in their names, and exit
    #[arg(long, value_name = "SEARCH", num_args = 0..=1, help_heading = "Model")]
    pub list_models: Option<Option<String>>,

    /// The system prompt, instead of the built-in one
    #[arg(long, value_name = "TEXT|FILE", allow_hyphen_values = true, help_heading = "System prompt")]
    pub system_prompt: Option<String>,
    /// Text to add to the system prompt; may be repeated
    #[arg(long, value_name = "TEXT|FILE", allow_hyphen_values = true, help_heading = "System prompt")]
    pub append_system_prompt: Vec<String>,

    /// The tools that the model may use
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        overrides_with = "tools",
        help_heading = "Tools"
    )]
    pub tools: Option<Vec<String>>,
    /// Disable all tools, except those of --tools
    #[arg(long, help_heading = "Tools")]
    pub no_tools: bool,

    #[command(flatten)]
    pub limits: Limits,

    /// Continue a session, named by its file or the beginning of its id
    #[arg(long, value_name = "FILE|ID", help_heading = "Session")]
    pub session: Option<String>,
    /// Continue the newest session of the working directory, or start a new one
    #[arg(long = "continue", short = 'c', help_heading = "Session")]
    pub continues: bool,
    /// Same as --continue; RPC mode has no session picker
    #[arg(long, short = 'r', help_heading = "Session")]
    pub resume: bool,
    /// The name of the session to begin with
    #[arg(long, short = 'n', value_name = "NAME", help_heading = "Session")]
    pub name: Option<String>,
    /// Keep the session in memory only
    #[arg(long, help_heading = "Session")]
    pub no_session: bool,
    /// The directory of the session files, instead of the one in the agent directory
    #[arg(long, value_name = "DIRECTORY", help_heading = "Session")]
    pub session_dir: Option<PathBuf>,
    /// Export a session file as an HTML page, and exit
    #[arg(long, value_names = ["FILE", "HTML"], num_args = 1..=2, help_heading = "Session")]
    pub export: Vec<PathBuf>,

    /// A skill, or a directory of skills; may be repeated
    #[arg(long, value_name = "PATH", help_heading = "Skills and prompt templates")]
    pub skill: Vec<PathBuf>,
    /// Disable skills, except those of --skill
    #[arg(long, help_heading = "Skills and prompt templates")]
    pub no_skills: bool,
    /// A prompt template, or a directory of them; may be repeated
    #[arg(long, value_name = "PATH", help_heading = "Skills and prompt templates")]
    pub prompt_template: Vec<PathBuf>,
    /// Disable prompt templates, except those of --prompt-template
    #[arg(long, help_heading = "Skills and prompt templates")]
    pub no_prompt_templates: bool,

    /// Trust the working directory: use its settings, system prompt and extensions
    #[arg(long, alias = "approve", help_heading = "Start")]
    pub trust: bool,
    /// Do not trust the working directory, whatever the settings say
    #[arg(long, alias = "no-approve", conflicts_with = "trust", help_heading = "Start")]
    pub no_trust: bool,
    /// No effect: nothing is fetched at startup
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

/// Options of pi for things that this agent does not have. Those that ask for less ask for what is the
/// case anyway.
#[derive(Debug, Default, Clone, Args)]
pub(super) struct Resources {
    /// An extension: a program, or a folder with one or more; may be repeated
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

/// Minimum limit under which a client can still send a command.
const SHORTEST_LIMIT: usize = 64;

fn at_least_a_frame(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes >= SHORTEST_LIMIT => Ok(bytes),
        Ok(_) => Err(format!("the limit has to be at least {SHORTEST_LIMIT} bytes")),
        Err(error) => Err(format!("not a number of bytes: {error}")),
    }
}
