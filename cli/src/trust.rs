//! Content of the working directory after the user trusts it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::parts::{discover, shell};
use super::plan::Plan;
use super::surroundings::{Surroundings, names};
use agentese_process::neutral::neutral_line;
use agentese_process::stderr::Stderr;
use agentese_server::config::{Change, Trust, write_settings};
use agentese_server::desk::{Allowed, Question, Undecided};
use agentese_server::engine::Granted;
use agentese_server::extensions::Found;
use agentese_server::subagents::Policies;

/// Returns the pending decision about a working directory. Returns `None` if the directory has no relevant
/// content, or if the decision is known. `loaded` are the extensions that apply in any case.
pub(super) fn undecided(
    plan: &Plan,
    loaded: &[Found],
    policies: &Policies,
    stderr: &Stderr,
) -> Option<Undecided> {
    let timeout = Duration::from_millis(plan.settings.trust_dialog_ms);
    if plan.trust != Trust::Undecided || plan.left_out.is_empty() || timeout.is_zero() {
        return None;
    }
    let surroundings = plan.surroundings.clone();
    let directory = surroundings.cwd.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned));
    let remembered = surroundings.agent_dir.as_ref().map(|path| path.join("settings.json")).zip(directory);
    let question = Question {
        title: title(&surroundings.cwd, &names(&surroundings.cwd, &plan.left_out)),
        can_remember: remembered.is_some(),
        timeout,
    };
    let (stderr, said, loaded) = (stderr.clone(), plan.warnings.clone(), loaded.to_vec());
    let policies = policies.clone();
    Some(Undecided::new(question, move |always| {
        let allowed = allowed(&surroundings, &said, &loaded, &stderr)?;
        policies.replace(surroundings.subagents(&allowed.granted.settings, true));
        if let Some((settings, directory)) = remembered.as_ref().filter(|_| always)
            && let Err(error) = write_settings(settings, &[Change::TrustedDirectory(directory.clone())])
        {
            let settings = settings.display();
            stderr.warn(format_args!("{settings}: cannot save that {directory} is trusted: {error}"));
        }
        Ok(allowed)
    }))
}

fn title(cwd: &Path, names: &str) -> String {
    let text = format!(
        "Trust {}? It brings {names}. With your trust these can run commands on this machine.",
        cwd.display()
    );
    neutral_line(&text).into_owned()
}

/// Reads all files again, and emits the new warnings.
fn allowed(
    surroundings: &Surroundings,
    said: &[String],
    loaded: &[Found],
    stderr: &Stderr,
) -> Result<Allowed, String> {
    let found = surroundings.read(Some(true)).map_err(|failure| failure.to_string())?;
    for warning in found.warnings.iter().filter(|warning| !said.contains(warning)) {
        stderr.warn(warning);
    }
    let mut extensions = discover(&found.extensions, stderr);
    extensions.retain(|extension| !loaded.contains(extension));
    let granted = Granted {
        shell: shell(surroundings.agent_dir.as_deref(), &found.settings),
        settings: found.settings,
        system_prompt: found.system_prompt,
        resources: Arc::new(found.resources),
    };
    Ok(Allowed { granted, extensions, servers: found.servers })
}
