//! The published Operator program, as an agent for tests without a model.

/// Python code that starts the agent.
pub const PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/tests/independent_agents/agents/operator_live.py");

/// Provider key that the agent sends.
pub const KEY: &str = "made-up-provider-key-0123";

/// Command line of the agent.
pub const COMMAND: [&str; 2] = ["python3", PROGRAM];
