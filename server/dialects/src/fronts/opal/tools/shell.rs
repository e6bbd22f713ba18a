//! The tool that runs commands, with Opal's name and unit of time.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::tools::{Bash, Tool, ToolContext, ToolOutput};

const TIMEOUT: &str = "timeout";

/// Runs commands; a timeout is in milliseconds, as in Opal.
pub(super) struct Shell;

impl Tool for Shell {
    fn name(&self) -> &str {
        "shell"
    }

    fn description(&self) -> &str {
        "Runs a shell command in the working directory and gives its output, stdout and stderr together. What is long is cut to \
         its end, and the whole output is kept in a file. The command gets no input. A timeout in milliseconds may be set."
    }

    fn parameters(&self) -> Value {
        let mut parameters = Bash.parameters();
        parameters["properties"][TIMEOUT]["description"] =
            "Milliseconds after which the command is ended; none by default".into();
        parameters
    }

    fn read_only(&self) -> bool {
        Bash.read_only()
    }

    fn shared(&self) -> bool {
        Bash.shared()
    }

    fn is_terminal(&self) -> bool {
        Bash.is_terminal()
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, mut arguments: Value) -> BoxFuture<'a, ToolOutput> {
        if let Some(milliseconds) = arguments[TIMEOUT].as_f64() {
            arguments[TIMEOUT] = (milliseconds / 1000.0).into();
        }
        Bash.execute(context, arguments)
    }
}
