//! Operator in the form of its published sources: the agent of tests without a model.

/// Program for Python.
pub const PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/tests/independent_agents/agents/operator_live.py");

/// Provider key that the agent sends.
pub const KEY: &str = "made-up-provider-key-0123";

/// Command line of the agent.
pub const COMMAND: [&str; 2] = ["python3", PROGRAM];
