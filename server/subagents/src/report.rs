//! Final output of a call, for the model and for clients.

use serde_json::{Value, json};

use super::batch::Changes;
use super::outcome::{Outcome, sum_usage};
use crate::tools::ToolOutput;

/// Returns the output of a rejected call, which started no subagent. As in pisces, it is not marked as an error.
pub fn rejection(reason: &str, agents_dir: &Value) -> ToolOutput {
    let details = json!({"projectAgentsDir": agents_dir, "results": [], "totalDurationMs": 0});
    ToolOutput::text(reason).with_details(details)
}

/// Returns the output of a call that started subagents.
pub fn output(outcomes: &[Outcome], changes: &Changes, agents_dir: &Value, took_ms: i64) -> ToolOutput {
    let usages = outcomes.iter().filter_map(|outcome| outcome.usage.as_ref());
    let files = outcomes.iter().filter_map(|outcome| outcome.output_file.as_ref());
    let files: Vec<_> = files.map(|path| path.to_string_lossy().into_owned()).collect();
    let details = json!({
        "projectAgentsDir": agents_dir,
        "results": outcomes.iter().map(Outcome::to_json).collect::<Vec<_>>(),
        "totalDurationMs": took_ms,
        "usage": sum_usage(usages),
        "outputPaths": files,
    });
    ToolOutput::text(text(outcomes, changes)).with_details(details)
}

fn text(outcomes: &[Outcome], changes: &Changes) -> String {
    let good = outcomes.iter().filter(|outcome| outcome.completed_work()).count();
    let mut text = format!("{good} of {} subagents completed their work.", outcomes.len());
    for outcome in outcomes {
        let label = &outcome.label;
        text.push_str(&format!("\n\n## {} ({}): {}", label.id, label.agent, status(outcome)));
        if let Some(error) = &outcome.error {
            text.push_str(&format!("\n\n{error}"));
        }
        if !outcome.output.trim().is_empty() {
            text.push_str(&format!("\n\n{}", outcome.output.trim_end()));
        }
        if let (true, Some(file)) = (outcome.truncated, &outcome.output_file) {
            text.push_str(&format!("\n\n[This is the beginning; all of it is in {}]", file.display()));
        }
    }
    if let Some(changes) = changes_text(changes, outcomes) {
        text.push_str(&format!("\n\n{changes}"));
    }
    text
}

fn status(outcome: &Outcome) -> String {
    match (&outcome.abort_reason, outcome.exit_code) {
        (Some(_), _) => "stopped".to_owned(),
        (None, 0) => "done".to_owned(),
        (None, code) => format!("failed (exit {code})"),
    }
}

fn changes_text(changes: &Changes, outcomes: &[Outcome]) -> Option<String> {
    let kept = || {
        let patches = outcomes.iter().filter(|outcome| outcome.branch.is_none());
        let patches: Vec<_> = patches
            .filter_map(|outcome| Some(format!("\n- {}", outcome.patch.as_ref()?.display())))
            .collect();
        match patches.is_empty() {
            true => String::new(),
            false => format!(" The patches are kept:{}", patches.concat()),
        }
    };
    match changes {
        Changes::None => None,
        Changes::Applied(true) => Some("The changes are applied to the working directory.".to_owned()),
        Changes::Applied(false) => Some("There were no changes.".to_owned()),
        Changes::NotApplied(reason) => Some(format!(
            "No changes were applied, and the working directory is as it was: {reason}.{}",
            kept()
        )),
        Changes::Merged(merged) => {
            let mut lines = vec![format!("Merged: {}.", list(&merged.merged))];
            lines.extend(
                merged.unmerged.iter().map(|(branch, reason)| format!("Not merged: {branch}: {reason}.")),
            );
            if !merged.unmerged.is_empty() {
                lines.push(kept().trim_start().to_owned());
            }
            Some(lines.join("\n"))
        }
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}
