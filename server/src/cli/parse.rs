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

/// Reads the arguments, the program's name first. Unknown options become warnings; everything else
/// that clap refuses is an error.
pub(super) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut warnings = Vec::new();
    loop {
        let error = match Arguments::try_parse_from(&arguments) {
            Ok(parsed) => return Ok(Parsed { arguments: parsed, warnings }),
            Err(error) => error,
        };
        let Some(unknown) = unknown_option(&error) else { return Err(error) };
        let is_it = |argument: &OsString| {
            let argument = argument.to_string_lossy();
            argument == unknown || argument.strip_prefix(&unknown).is_some_and(|rest| rest.starts_with('='))
        };
        let Some(at) = arguments.iter().skip(1).position(is_it) else { return Err(error) };
        arguments.remove(at + 1);
        warnings.push(format!("unknown option {unknown} is ignored"));
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
    fn what_is_not_there_is_refused_by_name() {
        let reason = |line: &str| {
            let run = read(line).arguments.run;
            run.refused.reason(run.no_session)
        };
        assert_eq!(reason("--mode rpc --no-session --session-dir /tmp"), None);
        assert!(reason("--session-dir /tmp").unwrap().starts_with("--session-dir is not available"));
        assert!(reason("-c").unwrap().starts_with("--continue"));
        assert!(reason("-e ext.ts").unwrap().starts_with("--extension"));
    }
}
