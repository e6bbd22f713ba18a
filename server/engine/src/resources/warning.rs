//! Warnings about a file, for its author.

use std::path::PathBuf;

use super::front_matter::FrontMatterError;
use crate::config::TextFileError;

/// A problem of a file: the file is not used, or it is used although it breaks a rule. Displayed as one line that
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
        /// Reason why the path cannot be read.
        source: TextFileError,
    },
    /// A link in the working directory leads to a file outside of it.
    #[error("{path}: the link leads out of the project, to {target}; it is left out", path = path.display(), target = target.display())]
    OutsideProject {
        /// Path of the link.
        path: PathBuf,
        /// The target of the link.
        target: PathBuf,
    },
    /// A directory has more files than a search reads.
    #[error("{path}: more than {limit} files and directories; the rest is left out", path = path.display())]
    TooManyFiles {
        /// Path of the directory.
        path: PathBuf,
        /// The number of files and directories before the limit.
        limit: usize,
    },
    /// The front matter cannot be parsed.
    #[error("{path}: {source}; it is left out", path = path.display())]
    FrontMatter {
        /// Path of the file with the front matter.
        path: PathBuf,
        /// Reason why the front matter cannot be parsed.
        source: FrontMatterError,
    },
    /// The skill has no description, so the model cannot decide when to use it.
    #[error("{path}: the skill has no description; it is left out", path = .0.display())]
    NoDescription(PathBuf),
    /// The description is longer than recommended, so other agents may cut or reject it.
    #[error("{path}: its description has {length} characters; a skill should have at most {limit}", path = path.display())]
    LongDescription {
        /// Path of the file with the description.
        path: PathBuf,
        /// Length of the description, in characters.
        length: usize,
        /// The recommended maximum length, in characters.
        limit: usize,
    },
    /// The name breaks a rule of the standard, so other agents may reject it.
    #[error("{path}: the name {name:?} {rule}", path = path.display())]
    InvalidName {
        /// Path of the file with the name.
        path: PathBuf,
        /// The name that breaks the rule.
        name: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// The template's name has spaces, so no prompt can invoke it.
    #[error("{path}: a template's name must not contain spaces; it is left out", path = .0.display())]
    InvalidTemplateName(PathBuf),
    /// The path of the skill has a line break or another control character, which could forge other content of the
    /// system prompt.
    #[error("{0}: the skill is hidden from the model")]
    HiddenSkill(crate::prompt::SkillError),
    /// A condition of the rule is not a usable regular expression.
    #[error("{path}: the condition {condition:?} is not a usable regular expression: {reason}; it is left out", path = path.display())]
    InvalidCondition {
        /// Path of the rule's file.
        path: PathBuf,
        /// The unusable condition.
        condition: String,
        /// Reason why the condition is unusable.
        reason: String,
    },
    /// The interrupt mode of a rule is unknown.
    #[error("{path}: interruptMode must be one of always, prose-only, tool-only, never, found {mode:?}; it is ignored", path = path.display())]
    InvalidInterruptMode {
        /// Path of the rule's file.
        path: PathBuf,
        /// The unknown mode.
        mode: String,
    },
    /// Two files have the same name.
    #[error("{path}: {kept} has the same name, {name:?}, and comes first; this one is left out", path = path.display(), kept = kept.display())]
    NameCollision {
        /// The name that both files have.
        name: String,
        /// The file that is used.
        kept: PathBuf,
        /// The file that is not used.
        path: PathBuf,
    },
}
