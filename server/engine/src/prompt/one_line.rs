//! Display of paths in a prompt, on one line.

use std::path::Path;

/// Returns a path without control characters, so that it stays on one line.
pub(super) fn on_one_line(path: &Path) -> String {
    path.to_string_lossy().replace(char::is_control, "\u{fffd}")
}
