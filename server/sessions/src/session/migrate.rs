//! Conversion of files of older versions.

use super::header::Header;
use super::members::Members;

/// Converts a file of version 1 or 2 to version 3. Lines that are not objects are left out. `new_id` generates an
/// identifier for an entry without one.
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

/// Adds ids and parents, which version 1 lacks. The parent of an entry is the entry before it. Existing ids and parents
/// stay, because the version in the header may be wrong.
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

/// Changes the role of an extension's message from `hookMessage`, as in version 2, to `custom`.
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
