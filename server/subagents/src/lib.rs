//! Subagents: agents that another agent starts with the tool `task`.
//!
//! A subagent is an engine of its own, with its own conversation; [`SubagentHost`](tools::SubagentHost)
//! starts it. This crate contains its prompts, its working directory, the verification of its work, and the return of
//! its changes. The user's files do not change before the end of a call; then all of the changes are applied, or
//! nothing.
//!
//! | file | concept |
//! |---|---|
//! | `policy` | the applicable settings and folders |
//! | `agent`, `definition`, `bundled` | definition of an agent: a Markdown file with a name, tools and instructions |
//! | `arguments`, `prompts` | arguments of the model, and prompts of a subagent |
//! | `task`, `call`, `batch` | the tool, and the work of one call |
//! | `worker`, `child` | the work of one subagent, from its start to the end of its verification |
//! | `submit`, `schema` | submission of the result of a subagent |
//! | `verification` | the commands that verify the work, and their execution |
//! | `isolation` | copies of the repository, their changes, and their removal |
//! | `progress`, `outcome`, `report` | output during the work and at its end |
//!
//! Applications use the crate `agentese-server`, which re-exports this one.

mod agent;
mod arguments;
mod batch;
mod bundled;
mod call;
mod child;
mod definition;
mod isolation;
mod outcome;
mod policy;
mod progress;
mod prompts;
mod report;
mod schema;
mod submit;
mod task;
mod verification;
mod worker;

use agentese_server_base::config;
use agentese_server_engine::resources;
use agentese_server_models as providers;
use agentese_server_tools as tools;

pub use isolation::sweep;
pub use policy::{SharedPolicy, SubagentPolicy};
pub use task::{TaskTool, select_tools};
