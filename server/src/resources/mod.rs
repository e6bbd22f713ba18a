//! Skills, prompt templates and rules: what a prompt invokes with `/name`, and what a model is told of. All of it is text;
//! nothing here is executed, and reading it needs no trust.
//!
//! | file | concept |
//! |---|---|
//! | `place` | where is looked, in which order, and who put it there |
//! | `walk` | the files in a place |
//! | `front_matter` | the YAML before a text |
//! | `skill`, `template`, `rule` | one file, read and checked |
//! | `stream_pattern` | what a rule looks for, in a text that comes in pieces |
//! | `load` | all of them, each name once |
//! | `arguments` | the words after a template's name, and where they go |
//! | `expand` | from `/name words` to the text for a model |
//! | `commands` | the list for clients |

mod arguments;
mod commands;
mod complaint;
mod expand;
mod front_matter;
mod load;
mod place;
mod rule;
mod skill;
mod stream_pattern;
mod template;
mod walk;

pub(crate) use arguments::split as split_arguments;
pub use commands::{CommandInfo, CommandSource, ExtensionCommands, NoExtensions};
pub use complaint::Complaint;
pub use expand::ExpandError;
pub use front_matter::{FrontMatterError, members};
pub use load::{MissingPath, Resources};
pub use place::{Location, Sources, Wanted};
pub use rule::Rule;
pub use skill::SkillFile;
pub use stream_pattern::{Position, StreamPattern};
pub use template::Template;
