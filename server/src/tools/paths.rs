//! From the path a model gives to the path that is opened.

use std::path::{Path, PathBuf};

/// The path meant by `given`, relative to `cwd`. Nothing is checked: a missing file shows when it is opened.
///
/// `~` is the home directory. A leading `@`, with which some models mark files, is dropped only where the file with
/// the mark does not exist and the one without it does. Every other character is data, a leading `-` included.
pub fn resolve(cwd: &Path, given: &str) -> PathBuf {
    let literal = absolute(cwd, given);
    match given.strip_prefix('@') {
        Some(rest) if !rest.is_empty() && literal.symlink_metadata().is_err() => {
            let unmarked = absolute(cwd, rest);
            if unmarked.symlink_metadata().is_ok() { unmarked } else { literal }
        }
        _ => literal,
    }
}

fn absolute(cwd: &Path, given: &str) -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default();
    let path = match given.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        _ => cwd.join(given),
    };
    // Drops "." and doubled slashes for readable messages; ".." stays, since behind a symlink only the system knows
    // where it leads.
    path.components().collect()
}

/// The path as one word of a POSIX shell, for commands that are suggested to the model.
pub fn shell_word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_data() {
        let cwd = Path::new("/w");
        assert_eq!(resolve(cwd, "a/./b//c"), Path::new("/w/a/b/c"));
        assert_eq!(resolve(cwd, "/etc/../x"), Path::new("/etc/../x"));
        assert_eq!(resolve(cwd, "-rf"), Path::new("/w/-rf"));
        assert_eq!(resolve(cwd, "a b;$(c)"), Path::new("/w/a b;$(c)"));
        assert_eq!(resolve(cwd, "~nobody/x"), Path::new("/w/~nobody/x"));
        assert_eq!(resolve(cwd, "@types/x"), Path::new("/w/@types/x"));
    }

    #[test]
    fn a_mark_is_dropped_where_only_the_unmarked_file_exists() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.txt"), "").unwrap();
        assert_eq!(resolve(directory.path(), "@a.txt"), directory.path().join("a.txt"));
        std::fs::write(directory.path().join("@a.txt"), "").unwrap();
        assert_eq!(resolve(directory.path(), "@a.txt"), directory.path().join("@a.txt"));
    }

    #[test]
    fn shell_words_survive_quotes() {
        assert_eq!(shell_word(Path::new("/a'b $c")), r"'/a'\''b $c'");
    }
}
