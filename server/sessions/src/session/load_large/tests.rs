//! Tests that a large file is loaded like a small one, and that changes by other programs are detected.

use std::path::Path;

use super::*;
use crate::session::faults::{MemoryDisk, script};
use crate::session::storage::Storage;
use crate::session::{OpenError, Session};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;
const ENTRY: &str = r#"{"type":"x","id":"a","parentId":null}"#;
const MESSAGE: &str = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"w\u00f6rds","timestamp":1}}"#;

fn path() -> &'static Path {
    Path::new(script::PATH)
}

fn large(disk: &MemoryDisk) -> Result<Session, OpenError> {
    Session::open(path(), script::start(disk).treat_all_as_large())
}

/// Returns the parts of a loaded file that tests compare.
fn comparable(
    read: Result<Option<LoadedFile>, &'static str>,
) -> Result<Option<impl PartialEq + std::fmt::Debug>, &'static str> {
    read.map(|read| {
        read.map(|read| {
            let entry = |entry: &Entry| {
                let message = entry.message_text().map(|text| text.to_string());
                (entry.id().clone(), entry.parent_id().cloned(), entry.json().to_string(), message)
            };
            let entries: Vec<_> = read.entries.iter().map(entry).collect();
            (read.header, entries, read.tail, read.repairs, read.migrated_from)
        })
    })
}

#[test]
fn fm_f98_a_large_file_is_read_as_a_small_one() {
    let old = r#"{"type":"session","version":2,"id":"s"}"#;
    let mut contents: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" \n\n".to_vec(),
        HEADER.into(),
        ENTRY.into(),
        b"\0".to_vec(),
        format!("{old}\n{ENTRY}\n{MESSAGE}\n").into(),
        format!("\n{HEADER}\r\n \n{ENTRY}\r\n\0\0{MESSAGE}\n{HEADER}\nnonsense\n{ENTRY}\n{{\"type\":\"message\",\"message\":{{}}}}").into(),
        [HEADER.as_bytes(), b"\n\xff\xfe\n", MESSAGE.as_bytes(), b"\n\xe2\x82"].concat(),
        [b"\xff\n", HEADER.as_bytes(), b"\n"].concat(),
    ];
    let whole = format!("{HEADER}\n{ENTRY}\n{MESSAGE}\n");
    contents.extend((0..whole.len()).map(|cut| whole.as_bytes()[..cut].to_vec()));
    for content in contents {
        let disk = MemoryDisk::with(path(), &content);
        let file = disk.open(path(), true).unwrap();
        let lazy_file = LazyFile::new(Arc::new(disk), path().to_owned(), file).unwrap();
        let large = load_large(Arc::new(lazy_file), || "new".to_owned()).unwrap();
        let small = load(content.clone(), || "new".to_owned());
        assert_eq!(comparable(large), comparable(small), "{}", String::from_utf8_lossy(&content));
    }
}

#[test]
fn lines_that_are_longer_than_a_part_are_read() {
    let long = format!(r#"{{"type":"x","id":"l","parentId":null,"text":"{}"}}"#, "ä".repeat(PART));
    let content = format!("{HEADER}\n{ENTRY}\n{long}\n{MESSAGE}\n{long}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    std::fs::write(&path, &content).unwrap();
    let file = crate::session::disk::Disk.open(&path, false).unwrap();
    let lazy_file = LazyFile::new(Arc::new(crate::session::disk::Disk), path, file).unwrap();
    let read = load_large(Arc::new(lazy_file), || "new".to_owned()).unwrap().unwrap().unwrap();
    assert_eq!((read.entries.len(), read.tail, read.repairs), (4, Tail::Unterminated, Repairs::default()));
    assert_eq!(read.entries[1].json(), long.as_str());
    assert_eq!(read.entries[2].json(), MESSAGE);
}

#[test]
fn fm_f98_a_large_file_goes_on_where_it_ended() {
    let (lines, whole) = script::reference();
    let disk = MemoryDisk::with(path(), whole.as_bytes());
    let mut session = large(&disk).unwrap();
    let kept: Vec<String> = session.entries().iter().map(|entry| entry.json().to_string()).collect();
    assert_eq!(kept, lines);
    session.append(script::user("on"));
    drop(session);
    let text = disk.read(path()).unwrap();
    assert!(text.starts_with(&whole) && text.lines().count() == lines.len() + 2, "{text}");
    // A fork has all earlier entries, even if the file is removed.
    let session = large(&disk).unwrap();
    disk.remove(path()).unwrap();
    let last = session.fork_messages().pop().unwrap();
    let (fork, text) = session.fork(last.0.as_str(), None).unwrap();
    assert_eq!((text.as_str(), fork.entries().len()), ("on", lines.len()));
}

#[test]
fn fm_f98_a_large_file_that_is_gone_is_written_anew() {
    let (lines, whole) = script::reference();
    let disk = MemoryDisk::with(path(), whole.as_bytes());
    let mut session = large(&disk).unwrap();
    disk.remove(path()).unwrap();
    session.append(script::user("on"));
    assert_eq!(session.storage_error(), None);
    let text = disk.read(path()).unwrap();
    assert!(text.starts_with(&whole) && text.lines().count() == lines.len() + 2, "{text}");
}

#[test]
fn fm_f98_a_reader_of_messages_has_the_file_open_until_its_end() {
    let (_, whole) = script::reference();
    let disk = MemoryDisk::with(path(), whole.as_bytes());
    let session =
        Session::open(path(), script::start(&disk).close_between_writes().treat_all_as_large()).unwrap();
    let mut all = session.messages();
    let mut back = session.messages_rev();
    assert_eq!(back.next(), all.pop());
    disk.remove(path()).unwrap();
    let rest: Vec<_> = back.collect();
    assert!(rest.len() > 1 && rest.iter().rev().eq(&all), "{rest:?}");
}

#[test]
fn fm_f107_a_file_that_is_removed_while_it_is_closed_is_written_anew_and_the_loss_is_reported() {
    for large in [false, true] {
        let disk = MemoryDisk::default();
        let mut session = script::create_closing(&disk).unwrap();
        let mut texts: Vec<String> = (0..40).map(|number| format!("{number} {}", "x".repeat(5000))).collect();
        texts.iter().for_each(|text| drop(session.append(script::user(text))));
        if large {
            drop(session);
            session = Session::open(path(), script::start(&disk).close_between_writes().treat_all_as_large())
                .unwrap();
        }
        session.drop_decoded();
        let before = disk.read(path()).unwrap();
        disk.remove(path()).unwrap();
        for text in ["on", "and on"] {
            session.append(script::user(text));
            texts.push(text.to_owned());
            let error = session.unsaved_error().unwrap().to_string();
            assert!(error.contains("was removed") && error.contains(" are lost"), "{error}");
        }
        let text = disk.read(path()).unwrap();
        let known = text.lines().count() - 1;
        assert_eq!(text.lines().next(), before.lines().next(), "the header is known");
        assert_eq!(known, if large { 2 } else { known.max(10) }, "the newest lines are known");
        // The file is cut, and the known lines are written again.
        disk.overwrite(path(), &text.as_bytes()[..text.len() - 10]);
        session.append(script::user("still"));
        texts.push("still".to_owned());
        drop(session);
        let again = script::open(&disk).unwrap();
        assert_eq!((again.entries().len(), again.repairs().damaged_lines), (known + 1, 0));
        let kept = &texts[texts.len() - known - 1..];
        let messages: Vec<_> = kept.iter().map(|text| script::user(text)).collect();
        assert_eq!(again.messages(), messages);
    }
}

#[test]
fn fm_f98_lines_cut_from_a_large_file_are_reported_and_not_invented() {
    let (_, whole) = script::reference();
    for length in [0, whole.len() / 2, whole.len() - 1] {
        let disk = MemoryDisk::with(path(), whole.as_bytes());
        let mut session = large(&disk).unwrap();
        disk.overwrite(path(), &whole.as_bytes()[..length]);
        session.append(script::user("on"));
        let error = session.unsaved_error().unwrap().to_string();
        assert!(error.contains("another program has truncated it"), "{error}");
        assert_eq!(disk.read(path()).as_deref(), Some(&whole[..length]));
        // Lost lines keep their position, and lost messages have no text.
        let last = session.entries().iter().rev().nth(1).unwrap();
        assert!(last.json().as_str().contains(last.id().as_str()));
        assert_eq!(session.messages().len(), session.message_texts().len());
        // The content is there again: no message of the meantime is missing.
        disk.overwrite(path(), whole.as_bytes());
        session.append(script::user("and on"));
        assert_eq!(session.unsaved_error(), None);
    }
}

#[test]
fn fm_f98_another_text_in_a_large_file_is_not_taken_for_its_own() {
    let (_, whole) = script::reference();
    let disk = MemoryDisk::with(path(), whole.as_bytes());
    let session = large(&disk).unwrap();
    disk.overwrite(path(), whole.replace("three", "thr3e").as_bytes());
    let last = session.leaf().unwrap();
    assert!(!last.json().as_str().contains("thr"), "{last:?}");
    assert!(!last.message_text().unwrap().as_str().contains("thr"));
}
