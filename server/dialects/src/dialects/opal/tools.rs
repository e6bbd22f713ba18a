//! Opal's tools: tools that all agents share, under Opal's names, and tools that only Opal has.
//!
//! | file | tool |
//! |---|---|
//! | `renamed_tool` | `read_file`, `write_file`, `edit_file`: another name for a tool |
//! | `shell` | runs commands |
//! | `sub_agent` | starts a subagent |
//! | `tasks`, `task_list`, `task_state` | a task list |
//! | `use_skill` | loads the instructions of a skill |
//! | `ask_user` | sends a question to the user of the client |
//! | `debug_state` | returns the agent's own state |
//! | `names` | the names of the tools and of members of their results |

mod ask_user;
mod debug_state;
pub(super) mod names;
mod renamed_tool;
mod shell;
mod sub_agent;
mod task_list;
mod task_state;
mod tasks;
mod use_skill;

use std::sync::Arc;

use super::client::ClientUi;
use super::features::Features;
use super::sink::Sink;
use crate::providers::Catalog;
use crate::resources::Resources;
use crate::runtime::{Clock, Ids};
use crate::tools::{EditTool, GrepTool, ReadTool, Tool, ToolSet, WriteTool};
use renamed_tool::RenamedTool;
pub(super) use task_list::{TaskList, remove as remove_tasks};

/// The parts of a session that its tools use.
pub(super) struct ToolDependencies {
    pub client_ui: Arc<ClientUi>,
    pub sink: Arc<Sink>,
    pub features: Arc<Features>,
    pub resources: Arc<Resources>,
    pub tasks: Arc<TaskList>,
    pub catalog: Catalog,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn Ids>,
}

/// Returns the tools that work on files and run commands.
fn workspace_tools() -> ToolSet {
    let mut tools = ToolSet::none();
    let all: [Arc<dyn Tool>; 5] = [
        Arc::new(RenamedTool::new("read_file", Arc::new(ReadTool))),
        Arc::new(RenamedTool::new("write_file", Arc::new(WriteTool))),
        Arc::new(RenamedTool::new("edit_file", Arc::new(EditTool::One))),
        Arc::new(GrepTool),
        Arc::new(shell::ShellTool),
    ];
    all.into_iter().for_each(|tool| tools.add(tool));
    tools
}

/// Returns the tools of a session.
pub(super) fn session_tools(dependencies: ToolDependencies) -> ToolSet {
    let ToolDependencies { client_ui, sink, features, resources, tasks, catalog, clock, ids } = dependencies;
    let mut tools = workspace_tools();
    let tasks: Arc<dyn Tool> = Arc::new(tasks::TasksTool { list: tasks, clock });
    let mut for_children = workspace_tools();
    for_children.add(tasks.clone());
    let own: [Arc<dyn Tool>; 5] = [
        Arc::new(sub_agent::SubAgentTool {
            sink: sink.clone(),
            features: features.clone(),
            tools: for_children,
            catalog,
            ids,
        }),
        tasks,
        Arc::new(use_skill::UseSkillTool::new(resources)),
        Arc::new(ask_user::AskUserTool(client_ui)),
        Arc::new(debug_state::DebugStateTool { sink, features }),
    ];
    own.into_iter().for_each(|tool| tools.add(tool));
    tools
}
