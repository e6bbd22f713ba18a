//! The commands, events and dialogs of a revision that no case of the conformance suite covers.

use std::collections::BTreeSet;
use std::path::Path;

use agentese_protocol::Index;
use anyhow::Context as _;
use serde_json::Value;

/// Returns the commands, events and dialogs of a revision that no case of its dialect covers, as in `command
/// get_tree`.
///
/// # Errors
/// Fails if the revision does not exist, or if a case cannot be read. The text names the revision or the case.
pub fn uncovered(root: &Path, revision: &str) -> anyhow::Result<Vec<String>> {
    let index = Index::named(revision)
        .with_context(|| format!("unknown revision {revision}; name one as NAME@REVISION"))?;
    let folder = root.join("conformance/cases").join(index.dialect.name);
    let mut covered = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "json") {
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let case: Value = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
            let rows = case["covers"].as_array().into_iter().flatten();
            covered.extend(rows.filter_map(Value::as_str).map(str::to_owned));
        }
    }
    let commands = index.commands.iter().map(|row| format!("command {}", row.wire));
    let events = index.events.iter().map(|row| format!("event {}", row.name));
    let dialogs = index.dialogs.iter().map(|row| format!("dialog {}", row.wire));
    Ok(commands.chain(events).chain(dialogs).filter(|row| !covered.contains(row)).collect())
}
