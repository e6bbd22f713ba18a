//! Parser of the command line, which tolerates unknown options as pi does.

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::command_line::Arguments;
use agentese_server::extensions::CommandLineFlag;

/// Parsed command line, and the unknown options.
#[derive(Debug)]
pub(super) struct ParsedArguments {
    pub arguments: Arguments,
    /// Unknown long options in the order of the command line. They may be flags of extensions.
    pub flags: Vec<CommandLineFlag>,
    pub warnings: Vec<String>,
}

/// Parses the arguments, starting with the program name. Unknown long options, each with the argument after it,
/// are collected separately: they may be flags of extensions with values. Unknown short options become
/// warnings. Any other error of clap is returned.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<ParsedArguments, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() > 2 && arguments[1] == "help" {
        // The help of `call` depends on the words after it, so clap does not have it.
        arguments.remove(1);
        arguments.push("--help".into());
    }
    // Only an agent has extensions. Without `--mode`, the argument after an unknown option may be the name of
    // a command.
    let serves = arguments.iter().any(|argument| is_option(argument, "--mode"));
    // A misspelt option that restricts access, such as `--read-only`, must not be ignored.
    let is_strict = arguments.get(1).is_some_and(|word| word == "web" || word == "inspect");
    let (mut flags, mut warnings) = (Vec::new(), Vec::new());
    loop {
        let error = match Arguments::try_parse_from(&arguments) {
            Ok(parsed) => return Ok(ParsedArguments { arguments: parsed, flags, warnings }),
            Err(error) => error,
        };
        let Some(unknown) = unknown_option(&error).filter(|_| !is_strict) else { return Err(error) };
        let Some(at) = arguments.iter().skip(1).position(|argument| is_option(argument, &unknown)) else {
            return Err(error);
        };
        let removed = arguments.remove(at + 1).to_string_lossy().into_owned();
        let Some(name) = unknown.strip_prefix("--") else {
            warnings.push(format!("unknown option {removed} is ignored"));
            continue;
        };
        let value = removed.strip_prefix(&unknown).and_then(|rest| rest.strip_prefix('='));
        let takes_next = serves && value.is_none() && arguments.get(at + 1).is_some_and(is_word);
        let next = takes_next.then(|| arguments.remove(at + 1).to_string_lossy().into_owned());
        let meant = suggested_option(&error).map(str::to_owned);
        flags.push(CommandLineFlag {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            next,
            suggestion: meant,
        });
    }
}

/// Returns `true` if an argument can be the value of the preceding option, because it is neither an option
/// nor a file.
fn is_word(argument: &OsString) -> bool {
    !argument.to_string_lossy().starts_with(['-', '@'])
}

/// Returns `true` if an argument is the option: `--name`, `--name=value`, or short options such as `-xyz` that
/// include its letter.
fn is_option(argument: &OsString, option: &str) -> bool {
    let argument = argument.to_string_lossy();
    match argument.strip_prefix(option) {
        Some(rest) if rest.is_empty() || rest.starts_with('=') => true,
        _ if option.starts_with("--") || argument.starts_with("--") => false,
        _ => argument.starts_with('-') && argument.contains(option.trim_start_matches('-')),
    }
}

fn unknown_option(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) if name.starts_with('-') => Some(name.clone()),
        _ => None,
    }
}

/// Returns the most similar option, if it differs by at most two edits.
fn suggested_option(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidArg)? else { return None };
    let suggested = match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(name) => name,
        ContextValue::Strings(names) => names.first()?,
        _ => return None,
    };
    // clap nearly always suggests an option, even a very different one, so the suggestion is checked.
    (strsim::osa_distance(unknown, suggested) <= 2).then_some(suggested)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> ParsedArguments {
        parse(std::iter::once("agentese").chain(line.split_whitespace()).map(OsString::from)).unwrap()
    }

    #[test]
    fn the_command_line_definition_is_valid() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_misspelt_protective_option_is_an_error() {
        let words = "agentese web --read-onyl -- agent --mode rpc".split(' ').map(OsString::from);
        assert!(parse(words).unwrap_err().to_string().contains("--read-onyl"));
        let words =
            "agentese web --deny bash,fork -- agent --mode rpc --extra".split(' ').map(OsString::from);
        let Some(super::super::command_line::Command::Web(web)) = parse(words).unwrap().arguments.command
        else {
            panic!()
        };
        assert_eq!((web.deny, web.command.len()), (vec!["bash".to_owned(), "fork".to_owned()], 4));
    }

    #[test]
    fn a_bridge_prints_json_only_with_an_explanation() {
        let is_valid =
            |line: &str| parse(format!("agentese bridge {line}").split(' ').map(OsString::from)).is_ok();
        assert!(is_valid("--json --explain pi opal") && is_valid("--to pi -- agent"));
        assert!(!is_valid("--json") && !is_valid("--json --to pi -- agent"));
    }

    fn flag(name: &str, value: Option<&str>, next: Option<&str>) -> CommandLineFlag {
        let text = |text: &str| text.to_owned();
        CommandLineFlag { name: text(name), value: value.map(text), next: next.map(text), suggestion: None }
    }

    #[test]
    fn unknown_options_are_set_aside() {
        let parsed = read("--mode rpc --frobnicate --depth=3 --to there --plan @file --no-session hello");
        assert_eq!(
            parsed.flags,
            [
                flag("frobnicate", None, None),
                flag("depth", Some("3"), None),
                flag("to", None, Some("there")),
                flag("plan", None, None)
            ]
        );
        assert!(parsed.arguments.run.no_session);
        assert_eq!(parsed.arguments.run.mode.as_deref(), Some("rpc"));
        assert_eq!(parsed.arguments.run.messages, ["@file", "hello"]);
        assert!(parse(["agentese", "--thinking", "loudly"].map(OsString::from)).is_err());
    }

    #[test]
    fn every_flag_may_be_given_twice() {
        use clap::{ArgAction, CommandFactory};
        let command = Arguments::command();
        let flags = command.get_arguments().filter(|flag| matches!(flag.get_action(), ArgAction::SetTrue));
        let flags: Vec<&str> = flags.filter_map(|flag| flag.get_long()).collect();
        assert!(flags.contains(&"trust") && flags.len() > 8, "{flags:?}");
        for flag in flags {
            read(&format!("--mode rpc --{flag} --{flag}"));
        }
    }

    #[test]
    fn the_last_value_of_an_option_applies_and_lists_of_files_grow() {
        let run = read(
            "--mode rpc --model a --model b --thinking low --thinking high --tools read --tools bash,ls
             --models x,y --models z --skill one --skill two --append-system-prompt p --append-system-prompt q",
        )
        .arguments
        .run;
        assert_eq!(
            (run.model.as_deref(), run.thinking),
            (Some("b"), Some(agentese::types::ThinkingLevel::High))
        );
        assert_eq!(
            (run.tools.unwrap(), run.models),
            (vec!["bash".to_owned(), "ls".to_owned()], vec!["z".to_owned()])
        );
        assert_eq!((run.skill.len(), run.append_system_prompt.len()), (2, 2));
    }

    #[test]
    fn the_name_of_a_command_is_not_a_value() {
        let parsed = read("--frobnicate sessions --json");
        assert_eq!(parsed.flags, [flag("frobnicate", None, None)]);
        assert!(parsed.arguments.command.is_some());
    }

    #[test]
    fn messages_and_files_are_collected() {
        assert_eq!(read("--mode rpc hello @file.txt").arguments.run.messages, ["hello", "@file.txt"]);
    }

    #[test]
    fn a_mistyped_option_is_suggested() {
        let complaints =
            |line: &str| agentese_server::extensions::flag_warnings(&read(line).flags, false).join("\n");
        assert_eq!(
            complaints("--mode rpc --no-sesion"),
            "unknown option --no-sesion is ignored; did you mean --no-session?"
        );
        assert_eq!(
            complaints("--sytem-prompt=x"),
            "unknown option --sytem-prompt is ignored; did you mean --system-prompt?"
        );
        assert_eq!(
            read("-x -yz").warnings,
            ["unknown option -x is ignored", "unknown option -yz is ignored"]
        );
    }
}
