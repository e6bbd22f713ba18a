//! What is wrong with a file, for its author.

use std::path::PathBuf;

use super::front_matter::FrontMatterError;
use crate::config::TextFileError;

/// A file that does not count, or one that breaks a rule and counts nevertheless. Shown as one line that begins with
/// the path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Complaint {
    /// A setting names a path where nothing is.
    #[error("{path}: named in the settings, but does not exist", path = .0.display())]
    Nothing(PathBuf),
    /// An extension names a path where nothing is.
    #[error("{path}: named by an extension, but does not exist", path = .0.display())]
    NothingBrought(PathBuf),
    /// It is neither Markdown nor a directory.
    #[error("{path}: it is neither a Markdown file (.md) nor a directory; it is left out", path = .0.display())]
    NotMarkdown(PathBuf),
    /// It is there and cannot be read.
    #[error("{path}: {source}; it is left out", path = path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: TextFileError,
    },
    /// What a working directory brings may not read beyond it.
    #[error("{path}: it is a link out of the project, to {target}; it is left out", path = path.display(), target = target.display())]
    OutOfProject {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// More than anybody wrote by hand.
    #[error("{path}: there is too much in it; what comes after {limit} files and directories is left out", path = path.display())]
    TooMuch {
        /// The directory.
        path: PathBuf,
        /// How many were looked at.
        limit: usize,
    },
    /// The front matter cannot be understood.
    #[error("{path}: {source}; it is left out", path = path.display())]
    FrontMatter {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FrontMatterError,
    },
    /// Nobody could tell when to use it.
    #[error("{path}: the skill has no description; it is left out", path = .0.display())]
    NoDescription(PathBuf),
    /// Other agents may cut or refuse it.
    #[error("{path}: its description has {length} characters; a skill should have at most {limit}", path = path.display())]
    LongDescription {
        /// The file.
        path: PathBuf,
        /// How long it is, in characters.
        length: usize,
        /// How long it should be at most.
        limit: usize,
    },
    /// Other agents may refuse it.
    #[error("{path}: the name {name:?} {rule}", path = path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// A template that no prompt could invoke.
    #[error("{path}: a template's name has no spaces; it is left out", path = .0.display())]
    NoName(PathBuf),
    /// A path with a line break could pretend to be something else.
    #[error("{0}: the model is not told about this skill")]
    Hidden(crate::prompt::SkillError),
    /// A rule would never match.
    #[error("{path}: the condition {condition:?} is not a usable regular expression: {reason}; it is left out", path = path.display())]
    Condition {
        /// The file.
        path: PathBuf,
        /// The condition.
        condition: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A rule says in an unknown way when it stops an answer.
    #[error("{path}: interruptMode is to be one of always, prose-only, tool-only, never, but is {mode:?}; it is ignored", path = path.display())]
    Interrupt {
        /// The file.
        path: PathBuf,
        /// What it says.
        mode: String,
    },
    /// Two files have one name.
    #[error("{path}: {kept} has the same name, {name:?}, and comes first; this one is left out", path = path.display(), kept = kept.display())]
    Collision {
        /// The name.
        name: String,
        /// The file that counts.
        kept: PathBuf,
        /// The one that does not.
        path: PathBuf,
    },
}
