//! The run of a prompt: the loop of turns, requests to the model, and tool calls.

pub(in crate::engine) mod agent_loop;
pub(in crate::engine) mod context_overflow;
pub(in crate::engine) mod driver;
mod end_of_run;
pub(in crate::engine) mod lifecycle;
pub(in crate::engine) mod model_request;
pub(in crate::engine) mod policy;
pub(in crate::engine) mod response_stream;
pub(in crate::engine) mod tool_calls;
