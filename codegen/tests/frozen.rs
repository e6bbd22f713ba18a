//! A released revision never changes: its schemas accept the same frames as in the first release that contains it.
//!
//! Nothing has been released yet. Until then, a line is corrected if a recording shows a mistake of the declaration,
//! and the commit names the recording. The lines exist already, so that no revision changes unseen.
//!
//! Descriptions may improve, so they are not compared. A new revision gets its lines when it is declared: the test
//! prints them.

use agentese_codegen::json_schema::{Draft, Side, schema};
use agentese_protocol::Index;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Revision, side and hash.
const PUBLISHED: &str = include_str!("published.txt");

/// Returns a schema without descriptions, with sorted members.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            let is_text = |name: &str, value: &Value| {
                matches!(name, "description" | "$comment" | "title") && value.is_string()
            };
            let compared = names.into_iter().filter(|name| !is_text(name, &members[*name]));
            Value::Object(compared.map(|name| (name.clone(), plain(&members[name]))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}

#[test]
fn a_revision_changes_neither_once_it_is_released_nor_unseen() {
    let mut found = String::new();
    for index in Index::all() {
        for side in [Side::Server, Side::Client] {
            let schema = serde_json::to_value(schema(&index, side, Draft::Modern)).unwrap();
            let hash = Sha256::digest(plain(&schema).to_string());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            found.push_str(&format!("{} {} {hash}\n", index.id(), side.name()));
        }
    }
    for line in PUBLISHED.lines() {
        let what = line.rsplit_once(' ').unwrap().0;
        let now =
            found.lines().find(|now| now.rsplit_once(' ').unwrap().0 == what).unwrap_or("no line any more");
        assert!(
            now == line,
            "the {what} of a revision has changed: mark new parts with `since`; if the revision is not released and its \
             declaration was wrong, write the new line and name the recording in the commit:\n{now}"
        );
    }
    let is_frozen = |what: &str| PUBLISHED.lines().any(|line| line.starts_with(&format!("{what} ")));
    let new: Vec<&str> = found.lines().filter(|line| !is_frozen(line.rsplit_once(' ').unwrap().0)).collect();
    assert!(new.is_empty(), "not frozen yet; the lines for tests/published.txt:\n{}", new.join("\n"));
}
