//! The system prompt of a model: the base text, additions of the user and the project, the available skills,
//! date and directory.
//!
//! | file | concept |
//! |---|---|
//! | `system_prompt` | the parts and their order; reads neither a file nor the clock |
//! | `built_in` | the default base text, composed from the active tools |
//! | `base_texts` | `--system-prompt`, `SYSTEM.md` and appended texts |
//! | `context_files` | AGENTS.md and CLAUDE.md |
//! | `rules` | rules in the system prompt |
//! | `skill` | the description of a skill for a model |
//! | `date` | a day of the calendar |
//! | `one_line` | paths without control characters |

mod base_texts;
mod built_in;
mod context_files;
mod date;
mod one_line;
mod rules;
mod skill;
mod system_prompt;

pub use base_texts::{BaseError, BaseOptions, BaseTexts, find_base_texts};
pub use context_files::{
    ContextFile, ContextFileNames, ContextFileWarning, context_files, named_context_files,
};
pub use date::Date;
pub use rules::{AvailableRule, PromptRules};
pub use skill::{Skill, SkillError};
pub use system_prompt::{PromptParts, SystemPrompt};
