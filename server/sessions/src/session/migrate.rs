//! Files of older versions.

use super::header::Header;
use super::members::Members;

/// Converts a file of version 1 or 2 to version 3: its header, and every line that is an object. `new_id` makes
/// identifiers for entries without one.
pub(super) fn migrate<'a>(
    header: &Header,
    lines: impl Iterator<Item = &'a str>,
    mut new_id: impl FnMut() -> String,
) -> (Header, Vec<String>) {
    let mut entries: Vec<Members<'a>> = lines.filter_map(|line| Members::read(line).ok()).collect();
    if header.version() == 1 {
        link(&mut entries, &mut new_id);
    }
    let lines = entries.into_iter().map(|mut entry| {
        rename_hook_message(&mut entry);
        entry.line()
    });
    (header.migrated(), lines.collect())
}

/// Adds ids and links, which version 1 lacks: each entry follows the previous one. An entry that has them keeps them,
/// because the version may be wrong.
fn link(entries: &mut [Members<'_>], new_id: &mut impl FnMut() -> String) {
    let ids: Vec<String> = entries.iter().map(|entry| entry.get("id").unwrap_or_else(&mut *new_id)).collect();
    for (position, entry) in entries.iter_mut().enumerate() {
        entry.set("id", &ids[position], "type");
        if entry.raw("parentId").is_none() {
            entry.set("parentId", &position.checked_sub(1).map(|before| &ids[before]), "id");
        }
        // It was a line number; the header is line 0.
        if let Some(index) = entry.get::<usize>("firstKeptEntryIndex") {
            entry.remove("firstKeptEntryIndex");
            let kept = index.checked_sub(1).and_then(|position| ids.get(position));
            entry.set("firstKeptEntryId", &kept.map_or("", String::as_str), "summary");
        }
    }
}

/// Renames the messages of extensions, which version 2 called `hookMessage`.
fn rename_hook_message(entry: &mut Members<'_>) {
    let Some(message) = entry.raw("message") else { return };
    let Ok(mut message) = Members::read(message) else { return };
    if message.get::<String>("role").as_deref() == Some("hookMessage") {
        message.set("role", &"custom", "");
        let message = message.line();
        entry.set_raw("message", message, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f105_entries_of_version_1_are_linked() {
        let header = Header::read(r#"{"type":"session","id":"s","x":1.0}"#).unwrap();
        let lines = [
            r#"{"type":"message","message":{"role":"hookMessage","n":1.0}}"#,
            "damaged",
            r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":1,"tokensBefore":5}"#,
        ];
        let mut number = 0;
        let (header, lines) = migrate(&header, lines.into_iter(), || {
            number += 1;
            format!("id{number}")
        });
        assert_eq!(header.json(), r#"{"type":"session","version":3,"id":"s","x":1.0}"#);
        assert_eq!(
            lines,
            [
                r#"{"type":"message","id":"id1","parentId":null,"message":{"role":"custom","n":1.0}}"#,
                r#"{"type":"compaction","id":"id2","parentId":"id1","summary":"s","firstKeptEntryId":"id1","tokensBefore":5}"#,
            ]
        );
    }
}
