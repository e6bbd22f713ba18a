//! What a model is told beforehand: the base text, what the user and the project add, the skills
//! that there are, date and place.
//!
//! | file | concept |
//! |---|---|
//! | `system_prompt` | the parts and their order; no file is read, no clock |
//! | `built_in` | the base text where the user gives none, made from the active tools |
//! | `base` | `--system-prompt`, `SYSTEM.md` and what is appended |
//! | `context` | AGENTS.md and CLAUDE.md |
//! | `rules` | rules that a model is told of beforehand |
//! | `skill` | a skill as a model is told of it |
//! | `date` | a day |

mod base;
mod built_in;
mod context;
mod date;
mod rules;
mod skill;
mod system_prompt;

pub use base::{BaseError, Bases, Wanted, find_bases};
pub use context::{ContextComplaint, ContextFile, ContextNames, context_files, named_context_files};
pub use date::Date;
pub use rules::{RuleAtHand, RulesToKeep};
pub use skill::{Skill, SkillError};
pub use system_prompt::{Parts, SystemPrompt};
