//! Warnings about a file, for its author.

use std::path::PathBuf;

use super::front_matter::FrontMatterError;
use crate::config::TextFileError;

/// A file that is not used, or a file that is used although it breaks a rule. Displayed as one line that
/// begins with the path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceWarning {
    /// A setting names a path that does not exist.
    #[error("{path}: named in the settings, but does not exist", path = .0.display())]
    MissingSettingPath(PathBuf),
    /// An extension names a path that does not exist.
    #[error("{path}: named by an extension, but does not exist", path = .0.display())]
    MissingExtensionPath(PathBuf),
    /// The path is neither Markdown nor a directory.
    #[error("{path}: it is neither a Markdown file (.md) nor a directory; it is left out", path = .0.display())]
    NotMarkdown(PathBuf),
    /// The path exists but cannot be read.
    #[error("{path}: {source}; it is left out", path = path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: TextFileError,
    },
    /// Files of a working directory may not link to files outside it.
    #[error("{path}: the link leads out of the project, to {target}; it is left out", path = path.display(), target = target.display())]
    OutsideProject {
        /// The link.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// More files than a person writes by hand.
    #[error("{path}: more than {limit} files and directories; the rest is left out", path = path.display())]
    TooManyFiles {
        /// The directory.
        path: PathBuf,
        /// The number of files and directories before the limit.
        limit: usize,
    },
    /// The front matter cannot be parsed.
    #[error("{path}: {source}; it is left out", path = path.display())]
    FrontMatter {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: FrontMatterError,
    },
    /// Without a description, the model cannot decide when to use the skill.
    #[error("{path}: the skill has no description; it is left out", path = .0.display())]
    NoDescription(PathBuf),
    /// Other agents may cut or reject the description.
    #[error("{path}: its description has {length} characters; a skill should have at most {limit}", path = path.display())]
    LongDescription {
        /// The file.
        path: PathBuf,
        /// Its length, in characters.
        length: usize,
        /// The recommended maximum length, in characters.
        limit: usize,
    },
    /// Other agents may reject the name.
    #[error("{path}: the name {name:?} {rule}", path = path.display())]
    InvalidName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// A template that no prompt can invoke.
    #[error("{path}: a template's name must not contain spaces; it is left out", path = .0.display())]
    InvalidTemplateName(PathBuf),
    /// A path with a line break could forge other content of the system prompt.
    #[error("{0}: the skill is hidden from the model")]
    HiddenSkill(crate::prompt::SkillError),
    /// A rule whose condition can never match.
    #[error("{path}: the condition {condition:?} is not a usable regular expression: {reason}; it is left out", path = path.display())]
    InvalidCondition {
        /// The file.
        path: PathBuf,
        /// The condition.
        condition: String,
        /// The problem.
        reason: String,
    },
    /// The interrupt mode of a rule is unknown.
    #[error("{path}: interruptMode must be one of always, prose-only, tool-only, never, found {mode:?}; it is ignored", path = path.display())]
    InvalidInterruptMode {
        /// The file.
        path: PathBuf,
        /// The mode.
        mode: String,
    },
    /// Two files have the same name.
    #[error("{path}: {kept} has the same name, {name:?}, and comes first; this one is left out", path = path.display(), kept = kept.display())]
    NameCollision {
        /// The name.
        name: String,
        /// The file that is used.
        kept: PathBuf,
        /// The file that is not used.
        path: PathBuf,
    },
}
