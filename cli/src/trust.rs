//! Configuration of the working directory, which is loaded when the user trusts it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::components::{discover, shell};
use super::plan::Plan;
use super::workspace::{Workspace, file_names};
use agentese_process::sanitize::sanitize_line;
use agentese_process::stderr::Stderr;
use agentese_server::config::{SettingsChange, Trust, write_settings};
use agentese_server::conversation::{PendingTrust, TrustQuestion, TrustedComponents};
use agentese_server::engine::TrustedConfig;
use agentese_server::extensions::DiscoveredExtension;
use agentese_server::subagents::SharedPolicy;

/// Returns the question about trust in a working directory. Returns `None` if the directory contains
/// nothing that requires trust, or if the decision is already known. `loaded` contains the extensions that do
/// not depend on the decision.
pub(super) fn pending_trust(
    plan: &Plan,
    loaded: &[DiscoveredExtension],
    policies: &SharedPolicy,
    stderr: &Stderr,
) -> Option<PendingTrust> {
    let timeout = Duration::from_millis(plan.settings.trust_dialog_ms);
    if plan.trust != Trust::Undecided || plan.untrusted_files.is_empty() || timeout.is_zero() {
        return None;
    }
    let workspace = plan.workspace.clone();
    let directory = workspace.cwd.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned));
    let remembered = workspace.agent_dir.as_ref().map(|path| path.join("settings.json")).zip(directory);
    let question = TrustQuestion {
        title: title(&workspace.cwd, &file_names(&workspace.cwd, &plan.untrusted_files)),
        can_remember: remembered.is_some(),
        timeout,
    };
    let (stderr, shown_warnings, loaded) = (stderr.clone(), plan.warnings.clone(), loaded.to_vec());
    let policies = policies.clone();
    Some(PendingTrust::new(question, move |always| {
        let allowed = load_trusted(&workspace, &shown_warnings, &loaded, &stderr)?;
        policies.replace(workspace.subagents(&allowed.config.settings, true));
        if let Some((settings, directory)) = remembered.as_ref().filter(|_| always)
            && let Err(error) =
                write_settings(settings, &[SettingsChange::TrustedDirectory(directory.clone())])
        {
            let settings = settings.display();
            stderr.warn(format_args!("{settings}: cannot save that {directory} is trusted: {error}"));
        }
        Ok(allowed)
    }))
}

fn title(cwd: &Path, names: &str) -> String {
    let text = format!(
        "Trust {}? It contains {names}. If you trust it, these can run commands on this machine.",
        cwd.display()
    );
    sanitize_line(&text).into_owned()
}

/// Reads all configuration files again, and prints warnings that have not been printed before.
fn load_trusted(
    workspace: &Workspace,
    shown_warnings: &[String],
    loaded: &[DiscoveredExtension],
    stderr: &Stderr,
) -> Result<TrustedComponents, String> {
    let found = workspace.read(Some(true)).map_err(|failure| failure.to_string())?;
    for warning in found.warnings.iter().filter(|warning| !shown_warnings.contains(warning)) {
        stderr.warn(warning);
    }
    let mut extensions = discover(&found.extensions, stderr);
    extensions.retain(|extension| !loaded.contains(extension));
    let granted = TrustedConfig {
        shell: shell(workspace.agent_dir.as_deref(), &found.settings),
        settings: found.settings,
        system_prompt: found.system_prompt,
        resources: Arc::new(found.resources),
    };
    Ok(TrustedComponents { config: granted, extensions, servers: found.servers })
}
