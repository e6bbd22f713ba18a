//! Location of stored sessions.

use std::path::Path;

use agentese_server_base::config::AgentPaths;
use agentese_server_sessions::session::Store;

/// Returns the store for the sessions of a working directory, or `None` if no location for them is known.
pub fn store(
    files: &AgentPaths,
    session_dir: Option<&Path>,
    agent_dir: Option<&Path>,
    home: Option<&Path>,
    cwd: &Path,
) -> Option<Store> {
    match (session_dir, agent_dir) {
        (Some(directory), _) => Some(Store::at(directory, cwd)),
        (None, Some(agent_dir)) if files.short_names => {
            Some(Store::short(agent_dir, cwd, home, &std::env::temp_dir()))
        }
        (None, Some(agent_dir)) => Some(Store::new(agent_dir, cwd)),
        (None, None) => None,
    }
}
