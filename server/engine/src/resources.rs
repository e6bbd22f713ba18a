//! Skills, prompt templates and rules: text that a prompt invokes with `/name`, or that a model receives.
//! Nothing here is executed, and reading it needs no trust.
//!
//! | file | concept |
//! |---|---|
//! | `search_roots` | the files and folders to search, their order, and the origin of their files |
//! | `file_search` | the files below a search root |
//! | `front_matter` | the YAML before a text |
//! | `skill`, `template`, `rule` | one file, read and checked |
//! | `stream_pattern` | the search pattern of a rule, for a text in pieces |
//! | `load` | loading of all of them, with unique names |
//! | `template_arguments` | the arguments after a template's name, and their placeholders |
//! | `expand` | expansion of `/name arguments` to the text for a model |
//! | `commands` | the list for clients |
//! | `warning` | warnings about files, for their authors |

mod commands;
mod expand;
mod file_search;
mod front_matter;
mod load;
mod rule;
mod search_roots;
mod skill;
mod stream_pattern;
mod template;
mod template_arguments;
mod warning;

pub use commands::{CommandInfo, CommandSource, ExtensionCommands, NoExtensions};
pub use expand::ExpandError;
pub use front_matter::{FrontMatterError, members};
pub use load::{MissingPathError, Resources};
pub use rule::Rule;
pub use search_roots::{Location, ResourceSelection, Sources};
pub use skill::SkillFile;
pub use stream_pattern::{SearchState, StreamPattern};
pub use template::Template;
#[doc(hidden)]
pub use template_arguments::split as split_arguments;
pub use warning::ResourceWarning;
