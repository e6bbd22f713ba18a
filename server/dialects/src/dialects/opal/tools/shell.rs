//! The tool that runs shell commands, under Opal's name and with Opal's time unit.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::tools::{BashTool, Tool, ToolContext, ToolOutput};

const TIMEOUT: &str = "timeout";

/// Runs shell commands. Their timeout is in milliseconds.
pub(super) struct ShellTool;

impl Tool for ShellTool {
    fn name(&self) -> &str {
        "shell"
    }

    fn description(&self) -> &str {
        "Runs a shell command in the working directory and gives its output, stdout and stderr together. What is long is cut to \
         its end, and the whole output is kept in a file. The command gets no input. A timeout in milliseconds may be set."
    }

    fn parameters(&self) -> Value {
        let mut parameters = BashTool.parameters();
        parameters["properties"][TIMEOUT]["description"] =
            "Milliseconds after which the command is ended; none by default".into();
        parameters
    }

    fn read_only(&self) -> bool {
        BashTool.read_only()
    }

    fn shared(&self) -> bool {
        BashTool.shared()
    }

    fn is_terminal(&self) -> bool {
        BashTool.is_terminal()
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, mut arguments: Value) -> BoxFuture<'a, ToolOutput> {
        if let Some(milliseconds) = arguments[TIMEOUT].as_f64() {
            arguments[TIMEOUT] = (milliseconds / 1000.0).into();
        }
        BashTool.execute(context, arguments)
    }
}
