//! Tests in which the disk is full, at each possible step.

use std::path::Path;

use futures::FutureExt;

use super::script::{ACTIONS, PATH, create, open, reference, user};
use super::{Fault, MemoryDisk};

#[test]
fn fm_f100_a_full_disk_is_reported_and_entries_are_written_when_there_is_room() {
    let (lines, whole) = reference();
    let path = Path::new(PATH);
    let disk = MemoryDisk::default();
    let mut session = create(&disk).unwrap();
    ACTIONS.iter().for_each(|act| act(&mut session));
    let steps = disk.steps();
    let mut failures = 0;
    for (first, count) in
        (0..steps).flat_map(|first| [1, 2, 3, 5, usize::MAX - steps].map(|count| (first, count)))
    {
        for truncate in [false, true] {
            let case = format!("{count} steps from {first}, cannot be cut: {truncate}");
            let fault = Fault::Full { steps: first..first + count, truncate };
            let disk = MemoryDisk::default().failing(fault);
            let mut session = create(&disk).unwrap();
            for act in ACTIONS {
                act(&mut session);
                failures += usize::from(session.storage_error().is_some());
                // A sync that failed once is not trusted afterwards, though everything was written.
                let text = disk.read(path).unwrap_or_default();
                if session.storage_error().is_none() && session.is_persisted() {
                    assert_eq!(text.lines().count(), session.entries().len() + 1, "{case}\n{text}");
                }
            }
            assert_eq!(session.entries().len(), lines.len(), "{case}");
            if session.storage_error().is_some() {
                let error = session.flush().now_or_never().unwrap().err();
                assert_eq!(error, session.storage_error(), "{case}");
            }

            // In any state the file can be opened, and no lines are fused.
            if let Some(text) = disk.read(path).filter(|text| text.contains('\n')) {
                let now =
                    open(&disk.survivor(None)).unwrap_or_else(|error| panic!("{case}: {error}\n{text}"));
                let found: Vec<_> = now.entries().iter().map(|entry| entry.json().to_string()).collect();
                assert_eq!(found, &lines[..found.len()], "{case}\n{text}");
            }

            // The disk has room again.
            let disk = disk.failing(Fault::Full { steps: 0..0, truncate: false });
            let _ = session.flush().now_or_never().unwrap();
            assert_eq!(disk.read(path).unwrap(), whole, "{case}");
            drop(session);
            assert_eq!(open(&disk).unwrap().entries().len(), lines.len(), "{case}");
        }
    }
    assert!(failures > steps, "{failures}");
}

#[test]
fn fm_f100_a_session_that_ends_tries_once_more() {
    let (_, whole) = reference();
    let disk = MemoryDisk::default().failing(Fault::Full { steps: 0..usize::MAX, truncate: false });
    let mut session = create(&disk).unwrap();
    ACTIONS.iter().for_each(|act| act(&mut session));
    let error = session.storage_error().unwrap().to_string();
    assert!(error.contains(PATH) && error.contains("11 lines wait"), "{error}");
    let disk = disk.failing(Fault::Full { steps: 0..0, truncate: false });
    drop(session);
    assert_eq!(disk.read(Path::new(PATH)).unwrap(), whole);
}

#[test]
fn fm_f100_a_file_that_cannot_be_written_can_be_read() {
    let (lines, whole) = reference();
    let path = Path::new(PATH);
    let disk = MemoryDisk::with(path, whole.as_bytes()).read_only();
    let mut session = open(&disk).unwrap();
    assert_eq!(session.entries().len(), lines.len());
    let error = session.check_writable().unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
    session.append(user("on"));
    assert_eq!(session.storage_error(), Some(error.clone()));
    assert_eq!(session.flush().now_or_never(), Some(Err(error)));
    drop(session);
    assert_eq!((disk.steps(), disk.read(path).unwrap()), (0, whole));
}
