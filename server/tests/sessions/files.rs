//! Tests of operations on session files.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agentese::types::ThinkingLevel;
use agentese_server::runtime::{Clock, RandomIds};
use agentese_server::session::{OpenError, Scope, Session, SessionOptions, Store};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{entries, lines, random, start, user};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[tokio::test]
async fn file_is_created_with_the_first_user_message_and_all_earlier_entries() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(&place.path().join("agent"), Path::new("/some/dir"));
    let mut session = Session::create(&store, start(Path::new("/some/dir")));
    let file = session.file().unwrap().to_owned();
    assert_eq!(file.parent().unwrap(), place.path().join("agent/sessions/--some-dir--"));
    assert!(file.to_str().unwrap().ends_with("Z_00000000-0000-0000-0000-000000000001.jsonl"), "{file:?}");
    session.record_model("p", "m");
    session.record_thinking_level(ThinkingLevel::Low);
    session.rename("early").unwrap();
    assert_eq!(session.flush().await, Ok(()));
    assert!(!place.path().join("agent").exists() && !session.is_persisted());
    session.append(user("hello"));
    assert!(session.is_persisted());
    let written = lines(&file);
    assert_eq!(written[0], session.header().json());
    assert_eq!(written[1..], entries(&session));
    assert_eq!(session.flush().await, Ok(()));
    session.append(user("again"));
    assert_eq!(lines(&file).len(), 6, "it is there before anybody waits for the disk");
    assert_eq!(session.flush().await, Ok(()));
}

#[test]
fn nothing_is_kept_of_a_session_in_memory() {
    let mut session = Session::in_memory(start(Path::new("/")));
    session.append(user("hello"));
    assert_eq!((session.file(), session.is_persisted(), session.storage_error()), (None, false, None));
    let (fork, _) = session.fork(session.leaf().unwrap().id().as_str(), None).unwrap();
    assert_eq!((fork.file(), fork.parent()), (None, None));
}

#[test]
fn fm_f110_files_are_private_for_any_umask() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(&place.path().join("agent"), Path::new("/w"));
    let before = rustix::process::umask(rustix::fs::Mode::empty());
    let mut session = Session::create(&store, start(Path::new("/w")));
    session.append(user("secret"));
    rustix::process::umask(before);
    assert_eq!(mode(session.file().unwrap()), 0o600);
    for directory in ["agent", "agent/sessions", "agent/sessions/--w--"] {
        assert_eq!(mode(&place.path().join(directory)), 0o700, "{directory}");
    }
}

#[test]
fn fm_f99_non_session_file_is_rejected_and_untouched() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.jsonl");
    for text in ["this is not json\n{\"type\":\"message\"}\n", "\u{0}\u{0}", "{\"type\":\"session\",\"ver"] {
        fs::write(&path, text).unwrap();
        let error = Session::open(&path, start(place.path())).unwrap_err();
        assert!(matches!(error, OpenError::NotASession { .. }), "{error}");
        assert!(Session::open_or_create(&path, start(place.path())).is_err());
        assert!(matches!(Session::create_at(&path, start(place.path())), Err(OpenError::Exists { .. })));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let missing = Session::open(&place.path().join("none.jsonl"), start(place.path())).unwrap_err();
    assert!(matches!(missing, OpenError::Missing { .. }), "{missing}");
    assert!(Session::open(place.path(), start(place.path())).is_err(), "a directory");
    assert!(Session::open(Path::new("a\0b"), start(place.path())).is_err());
}

#[test]
fn fm_f112_only_regular_files_are_opened() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero")] {
        let error = Session::open(path, start(place.path())).unwrap_err();
        assert!(matches!(error, OpenError::Io { .. }), "{error}");
    }
}

#[test]
fn an_empty_file_becomes_a_session() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    fs::write(&path, "").unwrap();
    let mut session = Session::open(&path, start(place.path())).unwrap();
    session.record_thinking_level(ThinkingLevel::Low);
    assert_eq!(fs::read_to_string(&path).unwrap(), "");
    session.append(user("hello"));
    assert_eq!(lines(&path).len(), 3);
}

#[test]
fn fm_f97_a_torn_line_is_cut_off_before_the_next() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    drop(session);
    let whole = fs::read_to_string(&path).unwrap();
    for torn in
        ["{\"type\":\"mess", "\0\0\0\0", "{\"type\":\"message\",\"id\":\"x\",\"parentId\":nul", "\u{20ac}"]
    {
        fs::write(&path, format!("{whole}{torn}")).unwrap();
        let mut session = Session::open(&path, start(place.path())).unwrap();
        assert!(session.repairs().torn_tail);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}{torn}"), "opening changes nothing");
        session.append(user("two"));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}{}\n", entries(&session)[1]));
    }
    // A complete line without its end is kept.
    fs::write(&path, whole.trim_end()).unwrap();
    let mut session = Session::open(&path, start(place.path())).unwrap();
    session.append(user("two"));
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}{}\n", entries(&session)[1]));
}

#[test]
fn fm_f98_damaged_lines_stay_in_the_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    drop(session);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(
        b"\xff\xfe{\"type\"\n{\"type\":\"future\",\"id\":\"f\",\"parentId\":\"00000001\",\"x\":1.0}\n",
    );
    fs::write(&path, &bytes).unwrap();
    let mut session = Session::open(&path, start(place.path())).unwrap();
    assert_eq!(session.repairs().damaged_lines, 1);
    session.append(user("two"));
    assert_eq!(session.messages(), [user("one"), user("two")]);
    let after = fs::read(&path).unwrap();
    assert_eq!(after[..bytes.len()], bytes);
}

#[test]
fn fm_f107_a_file_that_was_removed_is_written_anew() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a/b/s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    fs::remove_file(&path).unwrap();
    session.append(user("two"));
    assert_eq!(lines(&path)[1..], entries(&session));
    fs::remove_dir_all(place.path().join("a")).unwrap();
    session.append(user("three"));
    assert_eq!(session.storage_error(), None);
    assert_eq!(lines(&path)[1..], entries(&session));
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn fm_f107_nothing_is_written_to_a_file_that_took_its_place() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    fs::rename(&path, place.path().join("kept.jsonl")).unwrap();
    fs::write(&path, "foreign").unwrap();
    session.append(user("two"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "foreign");
    let error = session.storage_error().unwrap();
    assert!(error.to_string().contains("another file has replaced it"), "{error}");
    assert_eq!(session.flush().await, Err(error));
    assert_eq!(session.messages().len(), 2);
    // The entry is written once the path is available again.
    fs::rename(place.path().join("kept.jsonl"), &path).unwrap();
    assert_eq!(session.flush().await, Ok(()));
    assert_eq!(lines(&path)[1..], entries(&session));
}

#[test]
fn foreign_partial_line_is_not_merged_with_later_entries() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    // Another program writes without a lock, in the middle of a line.
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"type\":");
    fs::write(&path, &text).unwrap();
    session.append(user("two"));
    session.append(user("three"));
    drop(session);
    let session = Session::open(&path, random(place.path())).unwrap();
    assert_eq!((session.messages().len(), session.repairs().damaged_lines), (3, 1));
}

#[test]
fn fm_f113_a_link_in_the_way_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let (path, target) = (place.path().join("s.jsonl"), place.path().join("elsewhere"));
    symlink(&target, &path).unwrap();
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    assert!(!target.exists());
    assert!(session.storage_error().is_some());
    assert_eq!(session.messages().len(), 1);
}

#[test]
fn fm_f100_a_directory_that_takes_no_files_stops_nothing() {
    let place = tempfile::tempdir().unwrap();
    // A file in place of a directory, which also stops root.
    fs::write(place.path().join("agent"), "").unwrap();
    let store = Store::new(&place.path().join("agent"), Path::new("/w"));
    let mut session = Session::create(&store, start(Path::new("/w")));
    session.append(user("one"));
    session.append(user("two"));
    assert!(session.storage_error().unwrap().to_string().contains("3 lines wait"));
    fs::remove_file(place.path().join("agent")).unwrap();
    session.append(user("three"));
    assert_eq!(session.storage_error(), None);
    assert_eq!(lines(session.file().unwrap()).len(), 4);
}

/// A clock whose time runs backwards.
struct BackwardsClock(AtomicI64);

impl Clock for BackwardsClock {
    fn now_ms(&self) -> i64 {
        self.0.fetch_sub(1000, Ordering::Relaxed)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

/// A stopped clock.
struct StoppedClock;

impl Clock for StoppedClock {
    fn now_ms(&self) -> i64 {
        1_767_323_045_678
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

#[test]
fn fm_f108_entries_have_the_order_of_the_file_for_any_clock() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::at(place.path(), place.path());
    let clock = Arc::new(BackwardsClock(AtomicI64::new(1_767_323_045_678)));
    let begin = SessionOptions::new(place.path(), clock, Arc::new(RandomIds));
    let mut session = Session::create(&store, begin);
    let words = ["one", "two", "three"].map(user);
    for message in &words {
        session.append(message.clone());
    }
    let file = session.file().unwrap().to_owned();
    drop(session);
    let session = Session::open(&file, random(place.path())).unwrap();
    assert_eq!(session.messages(), words);
    let times: Vec<_> = session.entries().iter().map(|entry| entry.time().unwrap()).collect();
    assert!(times.is_sorted_by(|one, other| one > other), "{times:?}");
}

#[test]
fn fm_f108_sessions_of_one_time_have_files_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::at(place.path(), place.path());
    let stands = Arc::new(StoppedClock);
    let create =
        || Session::create(&store, SessionOptions::new(place.path(), stands.clone(), Arc::new(RandomIds)));
    let mut sessions = [create(), create()];
    for session in &mut sessions {
        session.append(user("one"));
        assert_eq!(session.storage_error(), None);
    }
    assert_ne!(sessions[0].file(), sessions[1].file());
    assert_eq!(store.list(Scope::Here).len(), 2);
}
