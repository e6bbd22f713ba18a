//! Opal's tools: the shared tools under Opal's names, and its own tools.
//!
//! | file | tool |
//! |---|---|
//! | `named` | `read_file`, `write_file`, `edit_file`: another name for a tool |
//! | `shell` | runs commands |
//! | `sub_agent` | starts a subagent |
//! | `tasks`, `task_list`, `task_state` | a task list |
//! | `use_skill` | loads the instructions of a skill |
//! | `ask_user` | sends a question to the person behind the client |
//! | `debug_state` | returns the agent's own state |

mod ask_user;
mod debug_state;
mod named;
pub(super) mod names;
mod shell;
mod sub_agent;
mod task_list;
mod task_state;
mod tasks;
mod use_skill;

use std::sync::Arc;

use super::client::Person;
use super::features::Features;
use super::sink::Sink;
use crate::providers::Catalog;
use crate::resources::Resources;
use crate::tools::{Edit, Grep, Read, Tool, ToolSet, Write};
use crate::world::{Clock, Ids};
use named::Named;
pub(super) use task_list::{TaskList, remove as remove_tasks};

/// The dependencies of the tools of a session.
pub(super) struct With {
    pub person: Arc<Person>,
    pub sink: Arc<Sink>,
    pub features: Arc<Features>,
    pub resources: Arc<Resources>,
    pub tasks: Arc<TaskList>,
    pub catalog: Catalog,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
}

/// Returns the tools that work on files and run commands.
fn plain() -> ToolSet {
    let mut tools = ToolSet::none();
    let all: [Arc<dyn Tool>; 5] = [
        Arc::new(Named::new("read_file", Arc::new(Read))),
        Arc::new(Named::new("write_file", Arc::new(Write))),
        Arc::new(Named::new("edit_file", Arc::new(Edit::One))),
        Arc::new(Grep),
        Arc::new(shell::Shell),
    ];
    all.into_iter().for_each(|tool| tools.add(tool));
    tools
}

/// Returns the tools of a session.
pub(super) fn all(with: With) -> ToolSet {
    let With { person, sink, features, resources, tasks, catalog, clock, ids } = with;
    let mut tools = plain();
    let tasks: Arc<dyn Tool> = Arc::new(tasks::Tasks { list: tasks, clock });
    let mut for_children = plain();
    for_children.add(tasks.clone());
    let own: [Arc<dyn Tool>; 5] = [
        Arc::new(sub_agent::SubAgent {
            sink: sink.clone(),
            features: features.clone(),
            tools: for_children,
            catalog,
            ids,
        }),
        tasks,
        Arc::new(use_skill::UseSkill::new(resources)),
        Arc::new(ask_user::AskUser(person)),
        Arc::new(debug_state::DebugState { sink, features }),
    ];
    own.into_iter().for_each(|tool| tools.add(tool));
    tools
}
