//! Conversion of a path from a model to the path of a file.

use std::path::{Path, PathBuf};

use unicode_normalization::UnicodeNormalization;

/// Returns the path of a file that a model calls `given`, relative to `cwd`. Accepts any text; opening a
/// missing file fails later.
///
/// `~` is the home directory. If no file has exactly this name, typographic spaces become plain spaces. A
/// leading `@`, with which some models mark files, is removed if a file exists only without it. All other
/// characters are kept, including a leading `-`.
pub fn resolve(cwd: &Path, given: &str) -> PathBuf {
    let literal = absolute(cwd, given);
    if exists(&literal) {
        return literal;
    }
    let plain = with_plain_spaces(given);
    let unmarked = plain.strip_prefix('@').filter(|rest| !rest.is_empty()).map(|rest| absolute(cwd, rest));
    unmarked.filter(|path| exists(path)).unwrap_or_else(|| absolute(cwd, &plain))
}

/// Returns the path of an existing file, as [`resolve`] does. If the file is missing, tries other characters
/// that look the same. They are decomposed characters, a narrow space before AM and PM, and typographic
/// apostrophes.
pub fn resolve_existing(cwd: &Path, given: &str) -> PathBuf {
    let path = resolve(cwd, given);
    if exists(&path) {
        return path;
    }
    let text = path.to_string_lossy();
    let forms = [
        with_narrow_space(&text),
        text.nfd().collect(),
        text.replace('\'', "\u{2019}"),
        text.nfd().collect::<String>().replace('\'', "\u{2019}"),
    ];
    forms.into_iter().map(PathBuf::from).find(|form| exists(form)).unwrap_or(path)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn absolute(cwd: &Path, given: &str) -> PathBuf {
    let home = || std::env::home_dir().unwrap_or_default();
    let path = match given.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        _ => cwd.join(given),
    };
    // Drops "." and doubled slashes for readable messages; ".." stays, because only the system can resolve it
    // behind a symlink.
    path.components().collect()
}

fn with_plain_spaces(text: &str) -> String {
    text.replace(
        |character| {
            matches!(character, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
        },
        " ",
    )
}

/// Replaces the space before AM and PM by a narrow one, as in names of screenshots on macOS.
fn with_narrow_space(text: &str) -> String {
    ["AM", "PM", "am", "pm"]
        .iter()
        .fold(text.to_owned(), |text, half| text.replace(&format!(" {half}."), &format!("\u{202f}{half}.")))
}

/// Quotes the path for a POSIX shell, for commands that are suggested to the model.
pub fn shell_word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Returns the path as text on one line. Control characters are escaped, so that a name cannot begin a new
/// line.
pub fn to_single_line(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
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
        assert_eq!(resolve(cwd, "a\u{a0}b\u{202f}c\u{3000}d"), Path::new("/w/a b c d"));
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
    fn names_that_look_the_same_are_found() {
        for (name, given) in [
            ("Screenshot at 9.41\u{202f}AM.png", "Screenshot at 9.41 AM.png"),
            ("e\u{301}te\u{301}.txt", "\u{e9}t\u{e9}.txt"),
            ("it\u{2019}s.txt", "it's.txt"),
            ("l\u{2019}e\u{301}te\u{301}.txt", "l'\u{e9}t\u{e9}.txt"),
            ("plain space.txt", "plain\u{a0}space.txt"),
            ("hard\u{a0}space.txt", "hard\u{a0}space.txt"),
            ("marked.txt", "@marked.txt"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join(name);
            std::fs::write(&file, "").unwrap();
            assert_eq!(resolve_existing(directory.path(), given), file, "{given}");
            let other = directory.path().join("other");
            assert_eq!(resolve_existing(directory.path(), "other"), other);
        }
    }

    #[test]
    fn shell_words_survive_quotes() {
        assert_eq!(shell_word(Path::new("/a'b $c")), r"'/a'\''b $c'");
    }

    #[test]
    fn a_name_stays_in_its_line() {
        assert_eq!(to_single_line(Path::new("a/b c.txt")), "a/b c.txt");
        assert_eq!(to_single_line(Path::new("é\nb\u{1b}")), r"é\nb\u{1b}");
    }
}
