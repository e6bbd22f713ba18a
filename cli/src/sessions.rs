//! Subcommand `agentese sessions`.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::command_line::Sessions;
use super::components::NO_STORE;
use super::error::CliError;
use super::table::{shortened, table};
use agentese_process::environment::variable;
use agentese_process::output;
use agentese_process::session_store::store;
use agentese_server::config::agent_dir;
use agentese_server::dialects::DialectEntry;
use agentese_server::session::{Scope, SessionSummary};

/// Maximum length of a session's first message in the table, in characters.
const TITLE_CHARS: usize = 60;

/// Prints the requested sessions, newest first. Fails if the sessions cannot be listed.
pub(super) fn print(options: &Sessions) -> Result<ExitCode, CliError> {
    let listed = list(options)?;
    if listed.is_empty() && !options.json {
        return Ok(output::print("No sessions found.\n")?);
    }
    Ok(match options.json {
        true => output::print_json(&as_json(&listed))?,
        false => output::print(&as_table(&listed, options.all))?,
    })
}

/// Returns the sessions of the working directory for agents of the dialect, newest first. Fails if they
/// cannot be listed.
pub(super) fn in_working_directory(dialect: &str) -> Result<Vec<SessionSummary>, CliError> {
    list(&Sessions { json: false, all: false, dialect: dialect.to_owned(), session_dir: None })
}

/// Returns the sessions of the store.
fn list(options: &Sessions) -> Result<Vec<SessionSummary>, CliError> {
    let cwd = std::env::current_dir()
        .map_err(|source| CliError::Io { context: "cannot find the working directory".to_owned(), source })?;
    let frontend =
        DialectEntry::find(&options.dialect).map_err(|error| CliError::Usage(error.to_string()))?;
    let files = frontend.paths();
    let agent_dir = agent_dir(&files, &variable);
    let home = variable("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let store = store(&files, options.session_dir.as_deref(), agent_dir.as_deref(), home.as_deref(), &cwd);
    let store = store.ok_or_else(|| CliError::Session(NO_STORE.to_owned()))?;
    Ok(store.list(if options.all { Scope::All } else { Scope::Here }))
}

/// Formats the sessions as an array with one session per line.
fn as_json(listed: &[SessionSummary]) -> String {
    let lines: Vec<_> = listed.iter().map(|session| json!(session).to_string()).collect();
    if lines.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

/// Formats the sessions as a table with one line per session. If `all` is `true`, each line names the
/// directory.
fn as_table(listed: &[SessionSummary], all: bool) -> String {
    let minute = |time: &str| match time.get(..16) {
        Some(start) => start.replace('T', " "),
        None => time.to_owned(),
    };
    let title = |session: &SessionSummary| {
        let title = session.name.as_ref().or(session.first_message.as_ref());
        title.map_or_else(|| "(no messages)".to_owned(), |title| shortened(title, TITLE_CHARS))
    };
    let row = |session: &SessionSummary| {
        [minute(&session.modified), session.message_count.to_string(), session.id.clone(), title(session)]
    };
    if !all {
        let rows: Vec<_> = listed.iter().map(row).collect();
        return table(["modified (UTC)", "messages", "id", "name or first message"], &rows);
    }
    let rows: Vec<_> = listed
        .iter()
        .map(|session| {
            let [modified, messages, id, title] = row(session);
            [modified, messages, id, session.cwd.clone().unwrap_or_default(), title]
        })
        .collect();
    table(["modified (UTC)", "messages", "id", "directory", "name or first message"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn listed() -> Vec<SessionSummary> {
        let session = SessionSummary {
            id: "0b8178".to_owned(),
            path: "/s/a.jsonl".into(),
            cwd: Some("/w".to_owned()),
            parent_session: None,
            name: None,
            created: "2026-11-21T20:36:26.442Z".to_owned(),
            modified: "2026-11-22T02:15:13.000Z".to_owned(),
            message_count: 12,
            first_message: Some(format!("mend\nthe \u{1b}[2J {}", "x".repeat(90))),
        };
        let named = SessionSummary {
            name: Some("kettle".to_owned()),
            cwd: Some("/other".to_owned()),
            ..session.clone()
        };
        vec![session, named]
    }

    #[test]
    fn fm_f124_the_table_escapes_control_characters() {
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
    fn json_output_is_an_array() {
        let text = as_json(&listed());
        assert_eq!(text.lines().count(), 4);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((value[0].get("name"), &value[1]["name"]), (None, &Value::from("kettle")));
        assert_eq!(value[1]["messageCount"], 12);
        let names: Vec<_> = value[0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["path", "id", "cwd", "created", "modified", "messageCount", "firstMessage"]);
        assert_eq!(as_json(&[]), "[]\n");
    }
}
