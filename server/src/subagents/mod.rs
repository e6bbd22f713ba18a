//! Subagents: the tool `task`, with which an agent sets others to work.
//!
//! A subagent is an engine of its own, with its own conversation; [`crate::tools::Agents`] starts it. What is here says
//! what it is told, where it works, how its work is verified, and what becomes of its changes. Nothing of the user's files
//! changes before the end of a call, and then all of it or nothing does.
//!
//! | file | concept |
//! |---|---|
//! | `policy` | the settings and places that count |
//! | `definition`, `bundled` | what an agent is: a Markdown file with a name, tools and instructions |
//! | `arguments`, `assignment` | what the model says, and what a subagent is told |
//! | `task`, `batch` | the tool, and the work of one call |
//! | `worker`, `child` | the work of one subagent, from its start to the end of its verification |
//! | `submit`, `schema` | how a subagent hands in its result |
//! | `verify` | which commands verify the work, and running them |
//! | `isolate` | copies of the repository, their changes, and putting away what is left of them |
//! | `progress`, `outcome`, `report` | what is shown meanwhile and at the end |

mod arguments;
mod assignment;
mod batch;
mod bundled;
mod child;
mod definition;
mod isolate;
mod outcome;
mod policy;
mod progress;
mod report;
mod schema;
mod submit;
mod task;
mod verify;
mod worker;

pub use isolate::sweep;
pub use policy::{Policies, Policy};
pub use task::{Task, select_tools};
