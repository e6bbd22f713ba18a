//! `--system-prompt`, `SYSTEM.md` and appended texts.

use std::path::{Path, PathBuf};

use crate::config::{TextFileError, read_text};

/// Maximum length of a text from a file, in bytes.
const LIMIT: u64 = 1 << 20;

/// Maximum length for which a text is tried as the name of a file, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// Options of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseOptions {
    /// `--system-prompt`: a text, or a file with the text. An empty text means no option.
    pub base: Option<String>,
    /// `--append-system-prompt`: each a text, or a file with the text.
    pub appended: Vec<String>,
}

/// The texts that replace or extend the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseTexts {
    /// The base; `None` for the built-in text.
    pub base: Option<String>,
    /// Texts after the base.
    pub appended: Vec<String>,
    /// Files of the working directory that would apply if it were trusted.
    pub untrusted_files: Vec<PathBuf>,
}

/// Reason why a base text or an appended text cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// The file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Unreadable {
        /// Path of the unreadable file.
        path: PathBuf,
        /// Reason why the file cannot be read.
        source: TextFileError,
    },
    /// The file is too long. It is not cut, because a part of an instruction could mean the opposite.
    #[error("{path}: it is longer than {LIMIT} bytes", path = .0.display())]
    TooLong(PathBuf),
}

/// Finds the base and the appended texts. The options of the command line come first. Next come `SYSTEM.md` and
/// `APPEND_SYSTEM.md` in the project's folder of a trusted working directory, then the files of the same names in
/// the agent directory. Fails if an existing file cannot be read, because an agent without its instructions is
/// worse than no agent.
pub fn find_base_texts(
    options: &BaseOptions,
    agent_dir: Option<&Path>,
    project: &Path,
    cwd: &Path,
    trusted: bool,
) -> Result<BaseTexts, BaseError> {
    let mut bases = BaseTexts::default();
    let mut file = |name: &str| {
        let project = project.join(name);
        if trusted {
            if let Some(text) = read(&project)? {
                return Ok(Some(text));
            }
        } else if project.is_file() {
            bases.untrusted_files.push(project);
        }
        agent_dir.map_or(Ok(None), |directory| read(&directory.join(name)))
    };
    bases.base = match options.base.as_deref().filter(|text| !text.trim().is_empty()) {
        Some(text) => Some(text_or_file(text, cwd)?),
        None => file("SYSTEM.md")?,
    };
    let appended = options.appended.iter().filter(|text| !text.trim().is_empty());
    bases.appended = appended.map(|text| text_or_file(text, cwd)).collect::<Result<_, _>>()?;
    if bases.appended.is_empty() {
        bases.appended.extend(file("APPEND_SYSTEM.md")?);
    }
    Ok(bases)
}

/// Returns the content of the file that the text names. If there is no such file, returns the text itself.
fn text_or_file(text: &str, cwd: &Path) -> Result<String, BaseError> {
    let path = cwd.join(text);
    let is_file = text.len() <= MAX_PATH_BYTES && !text.contains(['\n', '\0']) && path.is_file();
    let content = if is_file { read(&path)? } else { None };
    Ok(content.unwrap_or_else(|| text.to_owned()))
}

/// Returns the text of a file, or `None` if there is no file or it contains only white space.
fn read(path: &Path) -> Result<Option<String>, BaseError> {
    let path = path.to_owned();
    match read_text(&path, LIMIT) {
        Ok(file) if file.truncated => Err(BaseError::TooLong(path)),
        Ok(file) if file.text.trim().is_empty() => Ok(None),
        Ok(file) => Ok(Some(file.text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(source) => Err(BaseError::Unreadable { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let (agent_dir, cwd) = (directory.path().join("agent"), directory.path().join("work"));
        std::fs::create_dir_all(cwd.join(".pi")).unwrap();
        std::fs::create_dir(&agent_dir).unwrap();
        (directory, agent_dir, cwd)
    }

    fn texts(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_command_line_wins_and_may_name_files() {
        let (_place, agent_dir, cwd) = place();
        std::fs::write(cwd.join("prompt.txt"), "from a file").unwrap();
        std::fs::write(agent_dir.join("SYSTEM.md"), "unread").unwrap();
        let options = BaseOptions {
            base: Some("prompt.txt".to_owned()),
            appended: texts(&["be brief", "", "prompt.txt", "none.txt", "a\nb", "."]),
        };
        let bases = find_base_texts(&options, Some(&agent_dir), &cwd.join(".pi"), &cwd, false).unwrap();
        assert_eq!(bases.base.as_deref(), Some("from a file"));
        assert_eq!(bases.appended, texts(&["be brief", "from a file", "none.txt", "a\nb", "."]));
        let options = BaseOptions { base: Some("x".repeat(1 << 20)), appended: Vec::new() };
        assert_eq!(
            find_base_texts(&options, None, &cwd.join(".pi"), &cwd, false).unwrap().base,
            options.base
        );
    }

    #[test]
    fn fm_f116_files_of_the_working_directory_need_trust() {
        let (_place, agent_dir, cwd) = place();
        let find = |trusted| {
            find_base_texts(&BaseOptions::default(), Some(&agent_dir), &cwd.join(".pi"), &cwd, trusted)
                .unwrap()
        };
        assert_eq!(find(true), BaseTexts::default());
        std::fs::write(agent_dir.join("SYSTEM.md"), "mine").unwrap();
        std::fs::write(agent_dir.join("APPEND_SYSTEM.md"), "and mine").unwrap();
        std::fs::write(cwd.join(".pi/SYSTEM.md"), "its").unwrap();
        std::fs::write(cwd.join(".pi/APPEND_SYSTEM.md"), " \n").unwrap();
        let trusted = find(true);
        assert_eq!((trusted.base.as_deref(), trusted.appended), (Some("its"), texts(&["and mine"])));
        let not = find(false);
        assert_eq!((not.base.as_deref(), not.appended), (Some("mine"), texts(&["and mine"])));
        assert_eq!(not.untrusted_files, [cwd.join(".pi/SYSTEM.md"), cwd.join(".pi/APPEND_SYSTEM.md")]);
    }

    #[test]
    fn unreadable_file_is_an_error() {
        let (_place, agent_dir, cwd) = place();
        std::fs::create_dir(agent_dir.join("SYSTEM.md")).unwrap();
        let error = find_base_texts(&BaseOptions::default(), Some(&agent_dir), &cwd.join(".pi"), &cwd, false)
            .unwrap_err();
        assert!(matches!(error, BaseError::Unreadable { .. }), "{error}");
        std::fs::write(cwd.join("long"), "x".repeat(2 << 20)).unwrap();
        let options = BaseOptions { base: Some("long".to_owned()), appended: Vec::new() };
        assert!(matches!(
            find_base_texts(&options, None, &cwd.join(".pi"), &cwd, false),
            Err(BaseError::TooLong(_))
        ));
    }
}
