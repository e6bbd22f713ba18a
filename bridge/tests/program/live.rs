//! The published Operator program, as an agent for tests without a model.

/// Path of the Python program that runs the agent.
pub const PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/tests/independent_agents/agents/operator_live.py");

/// Key for a provider that the agent sends in its events.
pub const KEY: &str = "made-up-provider-key-0123";

/// Command line that starts the agent.
pub const COMMAND: [&str; 2] = ["python3", PROGRAM];
