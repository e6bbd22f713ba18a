//! Tests in which another program truncates the file of an open session.

use std::path::Path;

use super::script::{ACTIONS, PATH, create, create_closing, open, reference, user};
use super::{Fault, MemoryDisk};

#[test]
fn fm_f98_a_file_that_was_cut_anywhere_is_whole_again_with_the_next_line() {
    let (lines, whole) = reference();
    let path = Path::new(PATH);
    for (length, create) in
        (0..whole.len()).flat_map(|length| [(length, create as fn(&_) -> _), (length, create_closing)])
    {
        let disk = MemoryDisk::default();
        let mut session = create(&disk).unwrap();
        ACTIONS.iter().for_each(|act| act(&mut session));
        disk.overwrite(path, &whole.as_bytes()[..length]);
        session.append(user("on"));
        assert_eq!(session.storage_error(), None, "{length}");
        let text = disk.read(path).unwrap();
        assert!(text.starts_with(&whole), "{length}: {text}");
        drop(session);
        let again = open(&disk).unwrap();
        assert_eq!((again.entries().len(), again.repairs().damaged_lines), (lines.len() + 1, 0), "{length}");
    }
}

#[test]
fn fm_f98_a_shorter_file_with_other_content_is_reported_and_unchanged() {
    let (_, whole) = reference();
    let path = Path::new(PATH);
    let other = "{\"type\":\"session\",\"version\":3,\"id\":\"another\"}\n";
    for content in [other, "x", "{\"type\":\"session\"}\n"] {
        let disk = MemoryDisk::default();
        let mut session = create(&disk).unwrap();
        ACTIONS.iter().for_each(|act| act(&mut session));
        disk.overwrite(path, content.as_bytes());
        session.append(user("on"));
        let error = session.unsaved_error().unwrap().to_string();
        assert!(error.contains("another program has truncated it and written something else"), "{error}");
        assert_eq!(disk.read(path).as_deref(), Some(content));
        // The content is there again: no message of the meantime is missing.
        disk.overwrite(path, whole.as_bytes());
        session.append(user("and on"));
        assert_eq!(session.unsaved_error(), None);
        assert_eq!(disk.read(path).unwrap().lines().count(), session.entries().len() + 1);
    }
}

#[test]
fn fm_f100_a_file_that_was_cut_on_a_full_disk_is_whole_when_there_is_room() {
    let (_, whole) = reference();
    let path = Path::new(PATH);
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        for truncate in [false, true] {
            let disk = MemoryDisk::default();
            let mut session = create(&disk).unwrap();
            ACTIONS.iter().for_each(|act| act(&mut session));
            disk.overwrite(path, &whole.as_bytes()[..length]);
            let disk = disk.failing(Fault::Full { steps: 0..usize::MAX, truncate });
            session.append(user("on"));
            assert!(session.unsaved_error().is_some(), "{length}");
            let disk = disk.failing(Fault::Full { steps: 0..0, truncate: false });
            session.append(user("and on"));
            assert_eq!(session.unsaved_error(), None, "{length}");
            let text = disk.read(path).unwrap();
            assert!(text.starts_with(&whole), "{length}: {text}");
            assert_eq!(text.lines().count(), session.entries().len() + 1, "{length}: {text}");
        }
    }
}

#[test]
fn fm_f105_a_file_that_lacks_nothing_is_no_loss() {
    let (_, whole) = reference();
    let disk = MemoryDisk::with(Path::new(PATH), whole.as_bytes()).read_only();
    let mut session = open(&disk).unwrap();
    assert!(session.storage_error().is_some());
    assert_eq!(session.unsaved_error(), None);
    session.append(user("on"));
    assert_eq!(session.unsaved_error(), session.storage_error());
}
