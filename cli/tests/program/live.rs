//! An Operator as its published sources speak: the agent of tests that has no model.

/// Its program, which Python runs.
pub const PROGRAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/tests/strangers/agents/operator_live.py");

/// What it sends as the key of its provider.
pub const KEY: &str = "made-up-provider-key-0123";

/// Its command line.
pub const COMMAND: [&str; 2] = ["python3", PROGRAM];
