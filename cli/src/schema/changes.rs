//! Option `agentese schema --diff`.

use std::fmt::Write as _;
use std::process::ExitCode;

use agentese::schema;
use serde::Deserialize;

use super::super::error::CliError;
use agentese_process::output;

/// Changes between two revisions, generated from the declaration.
#[derive(Debug, Deserialize)]
struct Changes {
    from: String,
    to: String,
    survives: bool,
    changes: Vec<Change>,
}

#[derive(Debug, Deserialize)]
struct Change {
    change: String,
    what: String,
    name: String,
    before: Option<String>,
    after: Option<String>,
    survives: bool,
    because: String,
}

/// Prints the changes as text or as JSON. Fails for an unknown pair of revisions.
pub(super) fn print(old: &str, new: &str, json: bool) -> Result<ExitCode, CliError> {
    let Some(document) = schema::changes(old, new) else {
        let known: Vec<_> = schema::known_changes().map(|(old, new)| format!("{old} {new}")).collect();
        return Err(CliError::Usage(format!(
            "no known changes from \"{old}\" to \"{new}\"; known pairs, older revision first: {}",
            known.join(", ")
        )));
    };
    if json {
        return Ok(output::print_json(document)?);
    }
    let changes = serde_json::from_str(document)
        .map_err(|error| CliError::Usage(format!("cannot parse the changes: {error}")))?;
    Ok(output::print(&text(&changes))?)
}

/// Formats the changes with one line per change, under a heading for each kind.
fn text(changes: &Changes) -> String {
    let Changes { from, to, .. } = changes;
    let broken = changes.changes.iter().filter(|change| !change.survives).count();
    let mut out = format!("{from} to {to}; changes: {}\n", changes.changes.len());
    let _ = match changes.survives {
        true => writeln!(out, "A client of {from} survives all of them."),
        false => writeln!(out, "A client of {from} does not survive {broken} of them, marked with \"!\"."),
    };
    let mut heading = "";
    for change in &changes.changes {
        if change.change != heading {
            heading = &change.change;
            let _ = writeln!(out, "\n{}:", title(heading));
        }
        let mark = if change.survives { ' ' } else { '!' };
        let values = match (&change.before, &change.after) {
            (Some(before), Some(_)) if change.change == "renamed" => format!(" (was {before})"),
            (Some(before), Some(after)) => format!(" (was: {before}; is: {after})"),
            _ => String::new(),
        };
        let _ = writeln!(out, "{mark} {} {}{values}: {}", change.what, change.name, change.because);
    }
    out
}

/// Converts the name of a kind of change to a heading, such as `made_optional` to `Made
/// optional`.
fn title(kind: &str) -> String {
    let words = kind.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}
