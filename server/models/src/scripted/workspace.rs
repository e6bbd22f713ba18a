//! Survey of a directory: the shell command, and the parser of its output.

/// Time limit for a survey of a very large tree, in seconds.
pub(super) const TIMEOUT: u64 = 20;

/// A shell command that prints the directory, its entries (folders with a slash), and the number of files of each
/// extension. The command skips build outputs, dependencies, and all files after the first 20000.
pub(super) const COMMAND: &str = r#"pwd
echo "== entries"
LC_ALL=C ls -Ap | head -n 200
echo "== kinds"
find . \( -name .git -o -name node_modules -o -name target -o -name dist -o -name .venv -o -name __pycache__ \) -prune -o -type f -print 2>/dev/null | head -n 20000 | awk '
  { name = $0; sub(/.*\//, "", name); folder = $0; sub(/\/[^\/]*$/, "", folder)
    if (!(folder in seen)) { seen[folder] = 1; folders++ }
    kind = "none"; if (match(name, /.\.[A-Za-z0-9]+$/)) kind = tolower(substr(name, RSTART + 1))
    count[kind]++ }
  END { print NR, "files", folders + 0, "folders"; for (kind in count) print count[kind], kind }' | sort -rn | head -n 40"#;

/// The result of a survey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WorkspaceSummary {
    /// Path of the directory.
    pub path: String,
    /// Names of its entries; folders end in a slash.
    pub entries: Vec<String>,
    /// Number of files in all folders.
    pub files: u64,
    /// Number of folders with files.
    pub folders: u64,
    /// Number of files and extension for each extension (with its dot), most frequent first.
    pub kinds: Vec<(u64, String)>,
}

impl WorkspaceSummary {
    /// Parses the output of the command. Skips unknown lines.
    pub fn parse(output: &str) -> Self {
        let mut summary = Self::default();
        let mut lines = output.lines();
        summary.path = lines.next().unwrap_or_default().to_owned();
        let mut section = "";
        for line in lines {
            if let Some(name) = line.strip_prefix("== ") {
                section = name;
            } else if section == "entries" && !line.is_empty() {
                summary.entries.push(line.to_owned());
            } else if section == "kinds" {
                summary.kind(line);
            }
        }
        // The sort of the shell varies between machines, so equal counts are sorted by name here.
        summary.kinds.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
        summary
    }

    fn kind(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().ok();
        match words[..] {
            [files, "files", folders, "folders"] => {
                self.files = number(files).unwrap_or_default();
                self.folders = number(folders).unwrap_or_default();
            }
            [count, kind] if kind.starts_with('.') => {
                self.kinds.extend(number(count).map(|count| (count, kind.to_owned())));
            }
            _ => {}
        }
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').find(|part| !part.is_empty()).unwrap_or("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_parsed_and_unknown_lines_are_skipped() {
        let summary = WorkspaceSummary::parse(
            "/home/me/thing\n== entries\n.gitignore\nREADME.md\nsrc/\n== kinds\n12 files 3 folders\n7 .rs\n3 .md\n2 none\nnonsense\n",
        );
        assert_eq!(summary.name(), "thing");
        assert_eq!(summary.entries, [".gitignore", "README.md", "src/"]);
        assert_eq!((summary.files, summary.folders), (12, 3));
        assert_eq!(summary.kinds, [(7, ".rs".to_owned()), (3, ".md".to_owned())]);
        assert_eq!(WorkspaceSummary::parse(""), WorkspaceSummary::default());
        assert_eq!(WorkspaceSummary::parse("/").name(), "/");
    }
}
