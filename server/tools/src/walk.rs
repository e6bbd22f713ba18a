//! Traversal of a directory in a stable order, without ignored files.

use std::ffi::OsStr;
use std::fs::FileType;
use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use super::paths;
use crate::os_error;

/// Directories of version control systems, which a traversal skips. It does not skip its starting point.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// A file or directory that a traversal has found.
pub(crate) struct WalkEntry {
    pub path: PathBuf,
    /// The path relative to the starting point; empty for the starting point itself.
    pub relative: PathBuf,
    pub kind: FileType,
}

/// Traverses a directory in the order of paths, including hidden files. Applies `.gitignore` and `.ignore`
/// files, also in parent directories and outside of repositories. Returns symbolic links and does not follow
/// them. Skips directories that cannot be read; [`Walk::finish`] reports them.
pub(crate) struct Walk {
    entries: ignore::Walk,
    root: PathBuf,
    skipped: SkippedFiles,
}

impl Walk {
    /// Creates a traversal. `enter` receives the relative path of each directory. If it returns false, the
    /// directory is skipped.
    pub(crate) fn new(root: &Path, enter: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        let mut builder = WalkBuilder::new(root);
        builder.hidden(false).require_git(false).follow_links(false).sort_by_file_name(OsStr::cmp);
        let start = root.to_owned();
        builder.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0
                || !is_directory
                || (!VERSION_CONTROL.iter().any(|name| entry.file_name() == *name)
                    && enter(&relative(entry, &start)))
        });
        Self { entries: builder.build(), root: root.to_owned(), skipped: SkippedFiles::default() }
    }

    /// Records that a file was found but could not be read.
    pub(crate) fn record_skipped(&mut self, found: &WalkEntry, reason: String) {
        self.skipped.add(&found.relative, reason);
    }

    /// Returns a notice for the model about skipped files; `None` if no file was skipped. Fails with a text
    /// for the model if the starting point could not be read.
    pub(crate) fn finish(self) -> Result<Option<String>, String> {
        match &self.skipped.first {
            Some((path, reason)) if path.as_os_str().is_empty() => {
                Err(format!("{reason}, scandir '{}'", self.root.display()))
            }
            _ => Ok(self.skipped.notice()),
        }
    }
}

fn relative(entry: &DirEntry, root: &Path) -> PathBuf {
    entry.path().strip_prefix(root).unwrap_or(entry.path()).to_owned()
}

impl Iterator for Walk {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        loop {
            match self.entries.next()? {
                Ok(entry) => {
                    // Only standard input has no type, and it is never traversed.
                    let Some(kind) = entry.file_type() else { continue };
                    return Some(WalkEntry {
                        relative: relative(&entry, &self.root),
                        path: entry.into_path(),
                        kind,
                    });
                }
                Err(error) => {
                    let path = path_of(&error).unwrap_or(&self.root).to_owned();
                    let reason = match error.into_io_error() {
                        Some(error) => os_error::reason(&error),
                        None => "it cannot be searched".to_owned(),
                    };
                    self.skipped.add(path.strip_prefix(&self.root).unwrap_or(&path), reason);
                }
            }
        }
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}

/// The files that were skipped because of errors: their number, and the first one.
#[derive(Debug, Default)]
struct SkippedFiles {
    count: u64,
    first: Option<(PathBuf, String)>,
}

impl SkippedFiles {
    fn add(&mut self, path: &Path, reason: String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (path.to_owned(), reason));
    }

    /// Returns the notice for the model; `None` if nothing was skipped.
    fn notice(&self) -> Option<String> {
        let (path, reason) = self.first.as_ref()?;
        let (path, count) = (paths::to_single_line(path), self.count);
        Some(match count {
            1 => format!("Left out, since it could not be read: {path} ({reason})."),
            _ => format!(
                "Left out, since they could not be read: {count} paths, the first is {path} ({reason})."
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(root: &Path) -> Vec<String> {
        let walk = Walk::new(root, |path| path != Path::new("closed"));
        walk.map(|found| found.relative.to_string_lossy().into_owned()).skip(1).collect()
    }

    #[test]
    fn the_order_is_that_of_paths_and_ignore_files_count() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["b", "a/z", "a/.hidden", "a-b", ".git/config", "closed/x", "out/x", "keep.log", "c.log"]
        {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
        }
        fs::write(root.join(".gitignore"), "*.log\n/out\n").unwrap();
        fs::write(root.join(".ignore"), "!keep.log\n").unwrap();
        std::os::unix::fs::symlink(root, root.join("link")).unwrap();
        let expected = [".gitignore", ".ignore", "a", "a/.hidden", "a/z", "a-b", "b", "keep.log", "link"];
        assert_eq!(names(root), expected);
        // Ignore files of the parent directory apply, and a starting point itself is never ignored.
        assert_eq!(names(&root.join("out")), ["x"]);
        assert_eq!(names(&root.join(".git")), ["config"]);
        assert_eq!(names(&root.join("link")), expected);
    }

    #[test]
    fn skipped_files_are_counted() {
        let mut skipped = SkippedFiles::default();
        assert_eq!(skipped.notice(), None);
        skipped.add(Path::new("a"), "EACCES: permission denied".into());
        assert_eq!(
            skipped.notice().unwrap(),
            "Left out, since it could not be read: a (EACCES: permission denied)."
        );
        skipped.add(Path::new("b"), "x".into());
        assert!(skipped.notice().unwrap().contains("2 paths, the first is a (EACCES"));
    }
}
