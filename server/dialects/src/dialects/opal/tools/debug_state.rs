//! The tool that returns the agent's own state.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::super::features::Features;
use super::super::sink::Sink;
use super::names::{DEBUG_STATE, VALUE};
use crate::tools::{Tool, ToolContext, ToolOutput};

/// Returns the state and the switches of the agent.
pub(super) struct DebugStateTool {
    pub sink: Arc<Sink>,
    pub features: Arc<Features>,
}

impl Tool for DebugStateTool {
    fn name(&self) -> &str {
        DEBUG_STATE
    }

    fn description(&self) -> &str {
        "Shows the state of this agent: its model, its messages, the tokens used, its tools. For finding out why it behaves \
         as it does."
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}, "required": []})
    }

    fn read_only(&self) -> bool {
        true
    }

    fn execute<'a>(&'a self, context: &'a ToolContext, _: Value) -> BoxFuture<'a, ToolOutput> {
        async move {
            let Some(engine) = self.sink.engine() else { return ToolOutput::error("The agent has ended.") };
            let status = engine.status();
            let state = json!({
                "session_id": status.session_id,
                "status": self.sink.status(),
                "model": status.model.map(|model| format!("{}:{}", model.provider, model.id)),
                "thinking": status.thinking,
                "messages": status.messages,
                "waiting": status.pending,
                "usage": self.sink.usage(),
                "config": self.features.config(),
                "working_dir": context.cwd,
            });
            ToolOutput::text(format!("{state:#}")).with_details(json!({VALUE: state}))
        }
        .boxed()
    }
}
