//! Tests in which the disk stops answering while a thread writes, at each possible step.

use std::path::Path;

use super::script::{ACTIONS, PATH, open, reference, start, user};
use super::{Fault, LONG, MemoryDisk};
use crate::session::storage::Storage;
use crate::session::{OpenError, Session};

fn create(disk: &MemoryDisk) -> Session {
    Session::create_at(Path::new(PATH), start(disk).write_in_background()).unwrap()
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("the thread continues")
}

#[tokio::test]
async fn fm_f96_a_disk_that_stops_at_any_step_blocks_no_caller_and_loses_nothing() {
    let (lines, whole) = reference();
    let path = Path::new(PATH);
    for step in 0..2 * ACTIONS.len() {
        let disk = MemoryDisk::default();
        disk.freeze(step);
        let mut session = create(&disk);
        // Each of these would wait for the disk if it wrote itself.
        ACTIONS.iter().for_each(|act| act(&mut session));
        assert_eq!((session.entries().len(), session.storage_error()), (lines.len(), None));
        let text = disk.read(path).unwrap_or_default();
        assert!(whole.starts_with(&text), "{step}: {text}");
        disk.thaw();
        soon(session.wait_written()).await;
        assert_eq!(disk.read(path).as_ref(), Some(&whole), "{step}");
        assert_eq!(soon(session.flush()).await, Ok(()));
        // The file is free as soon as `close` completes.
        assert_eq!(soon(session.close()).await, None);
        assert_eq!(open(&disk).unwrap().entries().len(), lines.len(), "{step}");
    }
}

#[tokio::test]
async fn written_completes_only_when_the_line_is_in_the_file() {
    let disk = MemoryDisk::default();
    let mut session = create(&disk);
    for number in 0..50 {
        session.append(user("more"));
        soon(session.wait_written()).await;
        assert_eq!(disk.read(Path::new(PATH)).unwrap().lines().count(), number + 2);
    }
    disk.freeze(0);
    session.append(user("last"));
    let written = session.wait_written();
    let mut written = std::pin::pin!(written);
    assert!(futures::poll!(written.as_mut()).is_pending());
    disk.thaw();
    soon(written).await;
    assert_eq!(disk.read(Path::new(PATH)).unwrap().lines().count(), 52);
}

#[tokio::test]
async fn fm_f100_a_late_write_is_reported_until_the_disk_answers() {
    let disk = MemoryDisk::default();
    let mut session = create(&disk);
    session.append(user("one"));
    soon(session.wait_written()).await;
    disk.freeze(0);
    session.append(user("two"));
    session.mark_unresponsive();
    assert!(session.is_unresponsive());
    let error = session.unsaved_error().unwrap().to_string();
    assert_eq!(error, format!("{PATH} cannot be written: the disk does not respond"));
    disk.thaw();
    soon(session.wait_written()).await;
    assert_eq!((session.is_unresponsive(), session.unsaved_error()), (false, None));
}

#[tokio::test]
async fn fm_f100_a_full_disk_is_reported_by_the_thread() {
    let (_, whole) = reference();
    let disk = MemoryDisk::default().failing(Fault::Full { steps: 0..usize::MAX, truncate: false });
    let mut session = create(&disk);
    ACTIONS.iter().for_each(|act| act(&mut session));
    soon(session.wait_written()).await;
    let error = session.unsaved_error().unwrap();
    assert!(error.to_string().contains("11 lines wait"), "{error}");
    assert_eq!(soon(session.flush()).await, Err(error));
    // A session that ends tries once more.
    let disk = disk.failing(Fault::Full { steps: 0..0, truncate: false });
    assert_eq!(soon(session.close()).await, None);
    assert_eq!(disk.read(Path::new(PATH)).unwrap(), whole);
}

#[tokio::test]
async fn fm_f100_a_panic_of_the_thread_is_reported_as_a_storage_error() {
    let disk = MemoryDisk::default().failing(Fault::Panic { step: 3 });
    let mut session = create(&disk);
    ACTIONS.iter().for_each(|act| act(&mut session));
    soon(session.wait_written()).await;
    let error = session.unsaved_error().unwrap();
    assert!(error.to_string().contains("internal error"), "{error}");
    assert_eq!(soon(session.flush()).await, Err(error));
    assert!(soon(session.close()).await.is_some());
}

#[tokio::test]
async fn a_file_that_is_closed_between_writes_is_refused_to_others_and_goes_on_where_it_ended() {
    let (_, whole) = reference();
    let disk = MemoryDisk::default();
    let begin = || start(&disk).write_in_background().close_between_writes();
    let mut session = Session::create_at(Path::new(PATH), begin()).unwrap();
    for act in ACTIONS {
        act(&mut session);
        soon(session.wait_written()).await;
        assert_eq!(disk.locks(), 0, "it is closed");
        if session.is_persisted() {
            assert!(matches!(open(&disk), Err(OpenError::Locked { .. })));
        }
    }
    assert_eq!(soon(session.flush()).await, Ok(()));
    assert_eq!(disk.read(Path::new(PATH)).as_ref(), Some(&whole));
    assert_eq!(soon(session.close()).await, None);
    // A session that is opened is closed at once, too.
    let mut session = Session::open(Path::new(PATH), begin()).unwrap();
    assert_eq!(disk.locks(), 0);
    assert!(matches!(open(&disk), Err(OpenError::Locked { .. })));
    session.append(user("on"));
    assert_eq!(soon(session.close()).await, None);
    assert!(open(&disk).is_ok());
}

#[tokio::test]
async fn a_file_that_was_closed_and_is_another_one_now_is_left_alone() {
    let disk = MemoryDisk::default();
    let mut session =
        Session::create_at(Path::new(PATH), start(&disk).write_in_background().close_between_writes())
            .unwrap();
    ACTIONS.iter().for_each(|act| act(&mut session));
    soon(session.wait_written()).await;
    disk.rename(Path::new(PATH), Path::new("/sessions/kept.jsonl")).unwrap();
    disk.create(Path::new(PATH)).unwrap().append(b"foreign").unwrap();
    session.append(user("on"));
    soon(session.wait_written()).await;
    assert_eq!(disk.read(Path::new(PATH)).as_deref(), Some("foreign"));
    let error = session.unsaved_error().unwrap().to_string();
    assert!(error.contains("another file has replaced it"), "{error}");
    disk.rename(Path::new("/sessions/kept.jsonl"), Path::new(PATH)).unwrap();
    assert_eq!(soon(session.close()).await, None);
    assert_eq!(open(&disk).unwrap().entries().len(), ACTIONS.len() + 1);
}

// Runs outside a runtime: on a runtime's thread, a drop waits for the disk only briefly.
#[test]
fn fm_f102_the_file_is_free_when_the_session_was_dropped() {
    let disk = MemoryDisk::default();
    for count in 1..20 {
        let mut session = match count {
            1 => create(&disk),
            _ => Session::open(Path::new(PATH), start(&disk).write_in_background()).unwrap(),
        };
        session.append(user("more"));
        drop(session);
        assert_eq!(disk.read(Path::new(PATH)).unwrap().lines().count(), count + 1);
    }
}
