//! Notices about tests that cannot run on this machine.

use std::io::Write as _;

/// Reports a skipped test with the reason. Writes to stderr directly, because the test harness hides the output of
/// print macros if a test passes.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test} ({why})");
}
