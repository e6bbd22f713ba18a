//! Settings of a repository, and their selection for copies of the repository.
//!
//! Git runs programs that the configuration of a repository names. The git of the agent never reads that
//! configuration. It uses a git directory of its own, into which settings are copied. Without trust only
//! settings that run nothing are copied.

use std::path::Path;

use super::git::{Git, Variables};

/// One setting. Git lists its name with the section and the last part in lower case. The value is `None` if the setting
/// has only a name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    name: String,
    value: Option<String>,
}

/// The settings that a copy receives.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings(Vec<Setting>);

/// Settings that name a program, as patterns: `*` matches any part in the middle. If an untrusted repository has such a
/// setting, it is not copied. Hooks, aliases, editors and pagers are not listed, because a copy does not receive them.
/// Filters are detected by the attributes of files.
const PROGRAMS: &[&str] = &[
    "core.alternaterefscommand",
    "core.askpass",
    "core.fsmonitor",
    "core.gitproxy",
    "core.sshcommand",
    "credential.*.helper",
    "credential.helper",
    "diff.*.command",
    "diff.*.textconv",
    "diff.external",
    "gpg.*.defaultkeycommand",
    "gpg.*.program",
    "gpg.program",
    "hook.*.command",
    "include.path",
    "includeif.*.path",
    "merge.*.driver",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "uploadpack.packobjectshook",
];

/// Settings that run no program. Copies of trusted and untrusted repositories receive them.
const HARMLESS: &[&str] = &[
    "author.email",
    "author.name",
    "branch.*.merge",
    "branch.*.remote",
    "committer.email",
    "committer.name",
    "core.attributesfile",
    "core.autocrlf",
    "core.checkstat",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.trustctime",
    "i18n.commitencoding",
    "i18n.logoutputencoding",
    "remote.*.fetch",
    "remote.*.pushurl",
    "remote.*.url",
    "user.email",
    "user.name",
    "user.useconfigonly",
];

/// Settings that a copy does not receive, as patterns, or as sections that end in a dot. They concern the git directory
/// itself, or they are hooks, aliases, editors and pagers.
const EXCLUDED: &[&str] = &[
    "alias.",
    "core.bare",
    "core.editor",
    "core.fsmonitor",
    "core.hookspath",
    "core.pager",
    "core.repositoryformatversion",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.splitindex",
    "core.untrackedcache",
    "core.worktree",
    "extensions.",
    "gc.",
    "include.",
    "includeif.",
    "index.",
    "maintenance.",
    "pager.",
    "sequence.editor",
];

impl Settings {
    /// Reads the settings for copies of the repository at `root`. Fails if the repository is not trusted and has a
    /// setting that names a program.
    pub async fn read(git: &Git, root: &Path, trusted: bool) -> Result<Self, String> {
        let includes = if trusted { "--includes" } else { "--no-includes" };
        let list = ["config", includes, "--show-scope", "--list", "--null"];
        let all = parse(&git.pipe(root, &Variables::new(), &list, Vec::new()).await?);
        if !trusted && let Some(setting) = all.iter().find(|setting| setting.names_a_program()) {
            return Err(untrusted_error(&format!("its configuration names a program ({})", setting.name)));
        }
        let counts = |setting: &Setting| match trusted {
            true => !EXCLUDED.iter().any(|pattern| matches_pattern(pattern, &setting.name)),
            false => HARMLESS.iter().any(|pattern| matches_pattern(pattern, &setting.name)),
        };
        Ok(Self(all.into_iter().filter(counts).collect()))
    }

    /// Returns the content of a configuration file with these settings. `objects` is the hash format of the
    /// repository's objects.
    pub fn text(&self, objects: &str, lfs: &Path) -> String {
        let mut text = match objects {
            "sha1" => "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned(),
            other => format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectFormat = {other}\n"
            ),
        };
        // The user's own filter for large files stores them here.
        let storage = Setting { name: "lfs.storage".into(), value: Some(lfs.to_string_lossy().into_owned()) };
        for setting in std::iter::once(&storage).chain(&self.0) {
            text.push_str(&setting.text());
        }
        text
    }
}

/// Returns the message that rejects an untrusted repository.
pub(super) fn untrusted_error(reason: &str) -> String {
    format!(
        "Isolated task execution requires trust for this repository: {reason}, and the directory is not trusted. Git \
         would run that program. Trust the directory, or work without isolation."
    )
}

impl Setting {
    fn names_a_program(&self) -> bool {
        let value = self.value.as_deref().unwrap_or("true");
        // Git has a monitor of its own. An empty value cancels the value in another file.
        let switch = self.name == "core.fsmonitor" && is_boolean(value);
        !value.is_empty() && !switch && PROGRAMS.iter().any(|pattern| matches_pattern(pattern, &self.name))
    }

    fn text(&self) -> String {
        let (section, rest) = self.name.split_once('.').unwrap_or((&self.name, ""));
        let (middle, last) = match rest.rsplit_once('.') {
            Some((middle, last)) => (Some(middle), last),
            None => (None, rest),
        };
        let head = match middle {
            Some(middle) => format!("[{section} \"{}\"]", middle.replace('\\', "\\\\").replace('"', "\\\"")),
            None => format!("[{section}]"),
        };
        match &self.value {
            Some(value) => format!("{head}\n\t{last} = \"{}\"\n", escaped(value)),
            None => format!("{head}\n\t{last}\n"),
        }
    }
}

fn is_boolean(value: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "1", "0"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn escaped(value: &str) -> String {
    let escape = |character| match character {
        '\\' => "\\\\".to_owned(),
        '"' => "\\\"".to_owned(),
        '\n' => "\\n".to_owned(),
        other => other.to_string(),
    };
    value.chars().map(escape).collect()
}

/// Returns true if a pattern applies to that setting.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None if pattern.ends_with('.') => name.starts_with(pattern),
        None => pattern == name,
    }
}

/// Parses git's list of all settings with their scopes. Returns the settings that come from the repository.
fn parse(listed: &[u8]) -> Vec<Setting> {
    let mut parts = listed.split(|byte| *byte == 0);
    let mut settings = Vec::new();
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        if scope == b"local" || scope == b"worktree" {
            let entry = String::from_utf8_lossy(entry);
            let (name, value) = match entry.split_once('\n') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&*entry, None),
            };
            settings.push(Setting { name: name.to_owned(), value });
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_written_as_git_does() {
        let listed = b"system\0a.b\nc\0local\0core.bare\0local\0filter.a \"b\\.x.clean\ncat \"$1\" \\\nnext\0worktree\0x.y\n\0";
        let settings = parse(listed);
        let names: Vec<_> =
            settings.iter().map(|setting| (setting.name.as_str(), setting.value.as_deref())).collect();
        let command = "cat \"$1\" \\\nnext";
        assert_eq!(
            names,
            [("core.bare", None), ("filter.a \"b\\.x.clean", Some(command)), ("x.y", Some(""))]
        );
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        std::fs::write(&file, Settings(settings).text("sha1", Path::new("/l f s"))).unwrap();
        let git = |name: &str| {
            let output =
                std::process::Command::new("git").arg("config").arg("-f").arg(&file).arg(name).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        assert_eq!(git("filter.a \"b\\.x.clean"), format!("{command}\n"));
        assert_eq!((git("x.y"), git("lfs.storage")), ("\n".into(), "/l f s\n".into()));
    }

    #[test]
    fn program_settings_are_distinguished_from_switches() {
        let names = |name: &str, value: &str| {
            Setting { name: name.into(), value: Some(value.into()) }.names_a_program()
        };
        for name in
            ["core.sshcommand", "credential.https://x.helper", "diff.a.b.textconv", "includeif.a.path"]
        {
            assert!(names(name, "p") && !names(name, ""), "{name}");
        }
        for name in ["alias.st", "core.hookspath", "filter.x.clean", "user.name", "diff.algorithm"] {
            assert!(!names(name, "p"), "{name}");
        }
        assert!(names("core.fsmonitor", "/p") && !names("core.fsmonitor", "True"));
        assert!(!PROGRAMS.iter().any(|name| HARMLESS.contains(name)));
    }
}
