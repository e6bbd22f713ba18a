//! Conversion of a command's text into a program with arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::CommandLine;

/// Settings of the shell that runs commands. The default is bash without further settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellSettings {
    /// Path of the shell. With `None`, the first of these applies: `/bin/bash`, bash in `PATH`, sh in `PATH`.
    pub program: Option<PathBuf>,
    /// `true` for a login shell.
    pub login: bool,
    /// Lines that run before every command.
    pub prefix: Option<String>,
    /// A directory added at the front of `PATH`.
    pub path_prefix: Option<PathBuf>,
    /// Variables added to the inherited environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of variables that are removed from the inherited environment, such as variables with keys.
    pub hidden: Vec<OsString>,
}

impl ShellSettings {
    /// Returns the program and arguments that run `command` in `cwd`. Never fails; if the shell is missing,
    /// the start fails later.
    pub fn command_line(&self, command: &str, cwd: &Path) -> CommandLine {
        let mut text = match &self.prefix {
            Some(prefix) => format!("{prefix}\n{command}"),
            None => command.to_owned(),
        };
        // A shell would take the text for another option, and not every shell accepts `--` after `-c`.
        if text.starts_with(['-', '+']) {
            text.insert(0, ' ');
        }
        let mut environment = self.environment.clone();
        if let Some(directory) = &self.path_prefix {
            let mut path = OsString::from(directory);
            if let Some(inherited) = std::env::var_os("PATH").filter(|path| !path.is_empty()) {
                path.push(":");
                path.push(inherited);
            }
            environment.push(("PATH".into(), path));
        }
        CommandLine {
            program: self.program.as_ref().map_or_else(default_shell, |program| program.into()),
            arguments: vec![if self.login { "-lc" } else { "-c" }.into(), text.into()],
            cwd: cwd.to_owned(),
            environment,
            hidden: self.hidden.clone(),
        }
    }
}

fn default_shell() -> OsString {
    if Path::new("/bin/bash").exists() {
        return "/bin/bash".into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let bash =
        std::env::split_paths(&path).map(|directory| directory.join("bash")).find(|bash| bash.is_file());
    bash.map_or_else(|| "sh".into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f89_a_command_is_never_an_option() {
        let line = ShellSettings::default().command_line("-e x", Path::new("/w"));
        assert_eq!(line.arguments, ["-c", " -e x"]);
        let line = ShellSettings::default().command_line("+e x", Path::new("/w"));
        assert_eq!(line.arguments, ["-c", " +e x"]);
    }

    #[test]
    fn prefix_and_path_are_added() {
        let settings = ShellSettings {
            login: false,
            program: Some("/bin/zsh".into()),
            prefix: Some("set -e".into()),
            path_prefix: Some("/agent/bin".into()),
            environment: Vec::new(),
            hidden: Vec::new(),
        };
        let line = settings.command_line("ls", Path::new("/w"));
        assert_eq!(line.program, "/bin/zsh");
        assert_eq!(line.arguments, ["-c", "set -e\nls"]);
        assert!(line.environment[0].1.to_string_lossy().starts_with("/agent/bin:"));
    }
}
