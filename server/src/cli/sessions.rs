//! `agentese sessions`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::arguments::Sessions;
use super::table::{shortened, table};
use super::{Failure, output};

/// How much of a session's first message is shown to people, in characters.
const FIRST: usize = 60;

/// One session, as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// The directory that it worked in.
    pub cwd: String,
    pub name: Option<String>,
    /// Both as in the file: `2026-11-22T02:15:13.000Z`.
    pub created: String,
    pub modified: String,
    pub messages: u64,
    /// What the user said first.
    pub first_message: Option<String>,
}

/// Prints the sessions that were asked for, newest first. Fails where there are none to be had.
pub(super) fn print(options: &Sessions) -> Result<ExitCode, Failure> {
    let listed = list(options)?;
    let text = if options.json { as_json(&listed) } else { as_table(&listed, options.all) };
    output::print(text.as_bytes())
}

/// The sessions of the store.
fn list(_options: &Sessions) -> Result<Vec<Listed>, Failure> {
    let text = "sessions are not available in this version: they are kept in memory only";
    Err(Failure::Usage(text.to_owned()))
}

/// One array, one session per line.
fn as_json(listed: &[Listed]) -> String {
    let line = |session: &Listed| {
        json!({
            "id": session.id,
            "path": session.path.to_string_lossy(),
            "cwd": session.cwd,
            "name": session.name,
            "created": session.created,
            "modified": session.modified,
            "messageCount": session.messages,
            "firstMessage": session.first_message,
        })
        .to_string()
    };
    let lines: Vec<_> = listed.iter().map(line).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

/// One session per line; the directory only where there are several.
fn as_table(listed: &[Listed], all: bool) -> String {
    let minute = |time: &str| match time.get(..16) {
        Some(start) => start.replace('T', " "),
        None => time.to_owned(),
    };
    let title = |session: &Listed| {
        let title = session.name.as_ref().or(session.first_message.as_ref());
        title.map_or_else(|| "(nothing said)".to_owned(), |title| shortened(title, FIRST))
    };
    let row = |session: &Listed| {
        [minute(&session.modified), session.messages.to_string(), session.id.clone(), title(session)]
    };
    if !all {
        let rows: Vec<_> = listed.iter().map(row).collect();
        return table(["modified (UTC)", "messages", "id", "name or first message"], &rows);
    }
    let rows: Vec<_> = listed
        .iter()
        .map(|session| {
            let [modified, messages, id, title] = row(session);
            [modified, messages, id, session.cwd.clone(), title]
        })
        .collect();
    table(["modified (UTC)", "messages", "id", "directory", "name or first message"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn listed() -> Vec<Listed> {
        let session = Listed {
            id: "0b8178".to_owned(),
            path: "/s/a.jsonl".into(),
            cwd: "/w".to_owned(),
            name: None,
            created: "2026-11-21T20:36:26.442Z".to_owned(),
            modified: "2026-11-22T02:15:13.000Z".to_owned(),
            messages: 12,
            first_message: Some(format!("mend\nthe \u{1b}[2J {}", "x".repeat(90))),
        };
        let named = Listed { name: Some("kettle".to_owned()), cwd: "/other".to_owned(), ..session.clone() };
        vec![session, named]
    }

    #[test]
    fn fm_f124_people_get_a_table_that_obeys_nobody() {
        let text = as_table(&listed(), false);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "modified (UTC)    messages  id      name or first message");
        assert!(
            lines[1].starts_with("2026-11-22 02:15  12        0b8178  mend the \\u{1b}[2J xxx"),
            "{text}"
        );
        assert!(lines[1].ends_with('…') && lines[2].ends_with("  kettle"), "{text}");
        assert!(as_table(&listed(), true).contains("  /other     kettle\n"));
    }

    #[test]
    fn programs_get_an_array() {
        let text = as_json(&listed());
        assert_eq!(text.lines().count(), 4);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value[0]["name"], Value::Null);
        assert_eq!(value[1]["messageCount"], 12);
        let names: Vec<_> = value[0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            names,
            ["id", "path", "cwd", "name", "created", "modified", "messageCount", "firstMessage"]
        );
        assert_eq!(as_json(&[]), "[]\n");
    }
}
