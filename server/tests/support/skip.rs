//! Tests that cannot run on this machine.

use std::io::Write as _;

/// Reports a skipped test with its reason on stderr, because the harness hides the output of print macros for
/// passed tests.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test} ({why})");
}
