//! Command line of `agentese call`: its own options, a command of the dialect with its parameters, and the
//! agent.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches};
use serde_json::{Map, Value};

use super::grammar::{Command, Grammar, Param, ParamKind, grammar};
use super::value;
use crate::agent_command::AgentCommand;

/// Parsed arguments of `agentese call`.
pub(super) struct ParsedCall {
    pub grammar: Grammar,
    pub command: &'static str,
    pub members: Map<String, Value>,
    /// `true` if events are printed.
    pub events: bool,
    /// Format of responses, if given.
    pub output: Option<Output>,
    /// Answers to the agent's questions, by the method of the question.
    pub answers: Map<String, Value>,
    pub timeout: Option<Duration>,
    /// Command line of the agent.
    pub agent: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Output {
    Json,
    Text,
}

/// Reason why no call is made.
#[derive(Debug)]
pub(super) enum ParseError {
    /// The user requested help, with this text.
    Help(String),
    /// The command line is invalid.
    Invalid(String),
}

const ABOUT: &str = "Send one command to an agent and print the result";

const USAGE: &str = "agentese call [OPTIONS] COMMAND [--PARAM VALUE…] [-- AGENT…]";

const AFTER: &str = "\
OPTIONS precede COMMAND. Parameters of a command are options after it; for a list, use agentese call \
COMMAND --help. AGENT… is the command line of an agent that speaks the dialect; default: agentese itself, \
which needs a key.

Examples:
  agentese call get_state
  agentese call prompt --message Hello -- agentese --mode rpc --provider scripted
  agentese call prompt --message 'What is in this folder?' -- pi --mode rpc
  agentese call --dialect opal agent/prompt --text Hello -- opal-server
  agentese call --dialect acp prompt --message Hello -- gemini --acp
  agentese call --events prompt --message Hello > events.jsonl
  agentese call --answer 'confirm={\"confirmed\":true}' prompt --message Hello -- pi --mode rpc

A run is all work of the agent for one prompt. A prompt prints the text of the model as it arrives, until \
the end of the run. Other commands print the data of their response. Questions of the agent are printed to \
stderr, and dismissed unless --answer answers them. If the dialect has several sessions and no parameter \
names one, a new session is opened.

Exit codes:
  0  the command succeeded, and so did the run of a prompt
  1  the command was rejected, the run failed, or the agent disconnected
  2  the command line is invalid";

/// Parses the arguments after `agentese call`.
pub(super) fn parse(arguments: &[OsString]) -> Result<ParsedCall, ParseError> {
    let (own, agent) = match arguments.iter().position(|word| word == "--") {
        Some(at) => (&arguments[..at], arguments[at + 1..].to_vec()),
        None => (arguments, Vec::new()),
    };
    let agent = AgentCommand::new(&dialect(own), agent)
        .map_err(|error| ParseError::Invalid(format!("cannot find the path of this program: {error}")))?;
    let grammar = grammar(&agent.dialect).map_err(|error| ParseError::Invalid(error.to_string()))?;
    let parser = grammar
        .commands
        .iter()
        .fold(options(), |parser, command| parser.subcommand(subcommand(command, &optional(&grammar))));
    let own = std::iter::once(OsStr::new("agentese call")).chain(own.iter().map(OsString::as_os_str));
    let matches = parser.try_get_matches_from(own).map_err(|error| {
        if let Some(option) = misplaced_option(&error) {
            return ParseError::Invalid(format!("{option} must precede the command"));
        }
        let text = error.to_string();
        if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            ParseError::Invalid(text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned())
        } else {
            ParseError::Help(text)
        }
    })?;
    let Some((name, params)) = matches.subcommand() else {
        return Err(ParseError::Invalid("missing command".to_owned()));
    };
    let Some(command) = grammar.commands.iter().find(|command| command.name == name) else {
        return Err(ParseError::Invalid(format!("unknown command `{name}`")));
    };
    let given = |param: &Param| {
        let values = params.get_many::<Value>(&param.name)?.cloned().collect();
        Some((param.name.clone(), value::joined(&param.kind, values)?))
    };
    Ok(ParsedCall {
        command: command.name,
        members: command.params.iter().filter_map(given).collect(),
        events: matches.get_flag("events"),
        output: matches.get_one("output").copied(),
        answers: answers(&matches, &grammar)?,
        timeout: matches.get_one("timeout").copied(),
        agent: agent.words,
        grammar,
    })
}

/// Returns the option of `call` that was placed after the command, if that is the error.
fn misplaced_option(error: &clap::Error) -> Option<String> {
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidArg)? else { return None };
    let name = unknown.strip_prefix("--").filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    options().get_arguments().any(|option| option.get_long() == Some(name)).then(|| unknown.clone())
}

/// Returns a command line with the commands of all dialects, for completion scripts.
pub(in super::super) fn all_dialects() -> clap::Command {
    let mut parser = options();
    let grammars = agentese::dynamic::CLIENTS.iter().filter_map(|client| grammar(client.name).ok());
    for command in grammars.flat_map(|grammar| grammar.commands) {
        let known = parser.find_subcommand(command.name).cloned();
        let Some(known) = known else {
            let options: Vec<_> = command.params.iter().map(plain).collect();
            parser =
                parser.subcommand(clap::Command::new(command.name).about(summary(&command)).args(options));
            continue;
        };
        let added = command
            .params
            .iter()
            .filter(|param| known.get_arguments().all(|arg| arg.get_id() != param.name.as_str()));
        let added: Vec<_> = added.map(plain).collect();
        parser = parser.mut_subcommand(command.name, |known| known.args(added));
    }
    parser
}

/// Returns the dialect in the arguments before the command, or `pi` by default.
fn dialect(own: &[OsString]) -> String {
    let mut words = own.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if word == "--dialect" {
            return words.next().unwrap_or_default().into_owned();
        }
        if let Some(name) = word.strip_prefix("--dialect=") {
            return name.to_owned();
        }
    }
    agentese::dynamic::SPECS[0].name.to_owned()
}

fn options() -> clap::Command {
    let seconds = |text: &str| match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 => {
            Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
        }
        _ => Err("expected a number of seconds above 0".to_owned()),
    };
    clap::Command::new("call")
        .bin_name("agentese call")
        .about(ABOUT)
        .override_usage(USAGE)
        .after_help(AFTER)
        .subcommand_required(true)
        .subcommand_value_name("COMMAND")
        .subcommand_help_heading("Commands of the dialect")
        .disable_help_subcommand(true)
        .arg(
            Arg::new("dialect")
                .long("dialect")
                .value_name("NAME[@REVISION]")
                .default_value(agentese::dynamic::SPECS[0].name)
                .help("Dialect that the agent speaks: pi, omp, pisces, operator or opal; or acp, with the commands of pi@1.5"),
        )
        .arg(
            Arg::new("events")
                .long("events")
                .action(ArgAction::SetTrue)
                .help("Print each event as a line of JSON, in place of the text"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("FORMAT")
                .value_parser(clap::value_parser!(Output))
                .help("Format of the result; default: text for a prompt, JSON for other commands"),
        )
        .arg(
            Arg::new("answer")
                .long("answer")
                .value_name("METHOD=JSON")
                .action(ArgAction::Append)
                .help("Answer each question of this method, as in confirm={\"confirmed\":true}; may be repeated"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("SECONDS")
                .value_parser(seconds)
                .help("Time limit for the response, and for the run of a prompt; default: no limit for prompts, else the limit of the command"),
        )
}

/// Returns the name of the parameter with the session. It is optional if the call opens a session by itself.
fn optional(grammar: &Grammar) -> String {
    let member = grammar.spec.opens_session.and(grammar.spec.session_member);
    member.unwrap_or_default().to_owned()
}

fn subcommand(command: &Command, optional: &str) -> clap::Command {
    let options = command.params.iter().map(|param| option(param, param.required && param.name != optional));
    let mut parser = clap::Command::new(command.name)
        .about(summary(command))
        .long_about(command.doc.clone())
        .args(options);
    if command.alias != command.name {
        parser = parser.visible_alias(command.alias);
    }
    let kebab = command.name.replace('_', "-");
    if kebab != command.name { parser.alias(kebab) } else { parser }
}

/// Returns the first sentence of a command's description.
fn summary(command: &Command) -> String {
    let first = command.doc.split_once(". ").map_or(command.doc.as_str(), |(first, _)| first);
    first.trim_end_matches('.').to_owned()
}

fn option(param: &Param, required: bool) -> Arg {
    let arg = plain(param).required(required);
    let kebab = hyphenated(&param.name);
    if kebab == param.name { arg } else { arg.alias(kebab) }
}

/// Returns the command-line option for a parameter, without special treatment.
fn plain(param: &Param) -> Arg {
    let kind = param.kind.clone();
    let arg = Arg::new(param.name.clone())
        .long(param.name.clone())
        .help(param.doc.trim_end_matches('.').to_owned())
        .value_name(match &kind {
            ParamKind::Text | ParamKind::Texts => "TEXT",
            ParamKind::Integer | ParamKind::Number => "NUMBER",
            ParamKind::Switch => "true|false",
            ParamKind::Choice(_) => "WORD",
            ParamKind::Json => "JSON",
        });
    match kind {
        ParamKind::Choice(words) => {
            use clap::builder::TypedValueParser;
            arg.value_parser(PossibleValuesParser::new(words).map(Value::String))
        }
        ParamKind::Switch => arg
            .num_args(0..=1)
            .default_missing_value("true")
            .value_parser(|text: &str| value::read(&ParamKind::Switch, text)),
        ParamKind::Texts => arg
            .action(ArgAction::Append)
            .allow_hyphen_values(true)
            .value_parser(|text: &str| value::read(&ParamKind::Texts, text)),
        kind => arg.allow_hyphen_values(true).value_parser(move |text: &str| value::read(&kind, text)),
    }
}

/// Converts names such as `streamingBehavior` and `session_id` to the style of command-line options.
fn hyphenated(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        match letter {
            '_' => out.push('-'),
            letter if letter.is_ascii_uppercase() => {
                out.push('-');
                out.push(letter.to_ascii_lowercase());
            }
            letter => out.push(letter),
        }
    }
    out
}

fn answers(matches: &ArgMatches, grammar: &Grammar) -> Result<Map<String, Value>, ParseError> {
    let mut answers = Map::new();
    for text in matches.get_many::<String>("answer").into_iter().flatten() {
        let (method, members) = text.split_once('=').unwrap_or((text, ""));
        let known = grammar.spec.dialogs.iter().filter(|dialog| dialog.answered).map(|dialog| dialog.wire);
        let known: Vec<_> = known.collect();
        if !known.contains(&method) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let dialect = grammar.spec.name;
            return Err(ParseError::Invalid(format!(
                "--answer: unknown method `{method}`; known for {dialect}: {known}"
            )));
        }
        let members: Value = serde_json::from_str(members).map_err(|error| {
            ParseError::Invalid(format!("--answer {method}: expected a JSON object: {error}"))
        })?;
        if !members.is_object() {
            return Err(ParseError::Invalid(format!("--answer {method}: expected a JSON object")));
        }
        answers.insert(method.to_owned(), members);
    }
    Ok(answers)
}
