//! Reading the command line, forgiving what pi forgives.

use std::ffi::OsString;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::arguments::Arguments;

/// A command line that was understood, and what was left out of it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub arguments: Arguments,
    pub warnings: Vec<String>,
}

/// Reads the arguments, the program's name first. Unknown options become warnings, because front ends of
/// pi pass the options of extensions; everything else that clap refuses is an error.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut warnings = Vec::new();
    loop {
        let error = match Arguments::try_parse_from(&arguments) {
            Ok(parsed) => return Ok(Parsed { arguments: parsed, warnings }),
            Err(error) => error,
        };
        let Some(unknown) = unknown_option(&error) else { return Err(error) };
        let Some(at) = arguments.iter().skip(1).position(|argument| is_it(argument, &unknown)) else {
            return Err(error);
        };
        let removed = arguments.remove(at + 1);
        let shown = if unknown.starts_with("--") { unknown } else { removed.to_string_lossy().into_owned() };
        warnings.push(match suggested_option(&error) {
            Some(meant) => format!("unknown option {shown} is ignored; did you mean {meant}?"),
            None => format!("unknown option {shown} is ignored"),
        });
    }
}

/// Whether an argument is the option: `--name`, `--name=value`, or `-xyz` with the letter in it.
fn is_it(argument: &OsString, option: &str) -> bool {
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

/// The option that may have been meant: one that is at most two slips away.
fn suggested_option(error: &clap::Error) -> Option<&str> {
    let ContextValue::String(unknown) = error.get(ContextKind::InvalidArg)? else { return None };
    let suggested = match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(name) => name,
        ContextValue::Strings(names) => names.first()?,
        _ => return None,
    };
    // clap finds nearly always something, however far away.
    (strsim::osa_distance(unknown, suggested) <= 2).then_some(suggested)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Parsed {
        parse(std::iter::once("agentese").chain(line.split_whitespace()).map(OsString::from)).unwrap()
    }

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn unknown_options_are_warnings() {
        let parsed = read("--mode rpc --frobnicate --depth=3 --no-session");
        assert_eq!(
            parsed.warnings,
            ["unknown option --frobnicate is ignored", "unknown option --depth is ignored"]
        );
        assert!(parsed.arguments.run.no_session);
        assert_eq!(parsed.arguments.run.mode.as_deref(), Some("rpc"));
        assert!(parse(["agentese", "--thinking", "loudly"].map(OsString::from)).is_err());
    }

    #[test]
    fn messages_and_files_are_seen() {
        assert_eq!(read("--mode rpc hello @file.txt").arguments.run.messages, ["hello", "@file.txt"]);
    }

    #[test]
    fn a_mistyped_option_is_suggested() {
        let warning = |line: &str| read(line).warnings.join("\n");
        assert_eq!(
            warning("--mode rpc --no-sesion"),
            "unknown option --no-sesion is ignored; did you mean --no-session?"
        );
        assert_eq!(
            warning("--sytem-prompt=x"),
            "unknown option --sytem-prompt is ignored; did you mean --system-prompt?"
        );
        assert_eq!(warning("-x -yz"), "unknown option -x is ignored\nunknown option -yz is ignored");
    }
}
