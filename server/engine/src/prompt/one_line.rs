//! Paths in a prompt.

use std::path::Path;

/// Returns a path without control characters, so that it stays on one line.
pub(super) fn on_one_line(path: &Path) -> String {
    path.to_string_lossy().replace(char::is_control, "\u{fffd}")
}
