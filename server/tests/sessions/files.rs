//! What happens to files.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use agentese::types::ThinkingLevel;
use agentese_server::session::{OpenError, Session, Store};

use super::{entries, lines, random, start, user};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[tokio::test]
async fn the_file_comes_with_the_words_of_the_user_and_with_all_before_them() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(&place.path().join("agent"), Path::new("/some/dir"));
    let mut session = Session::create(&store, start(Path::new("/some/dir")));
    let file = session.file().unwrap().to_owned();
    assert_eq!(file.parent().unwrap(), place.path().join("agent/sessions/--some-dir--"));
    assert!(file.to_str().unwrap().ends_with("Z_00000000-0000-0000-0000-000000000001.jsonl"), "{file:?}");
    session.model_changed("p", "m");
    session.thinking_changed(ThinkingLevel::Low);
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
    assert_eq!((session.file(), session.is_persisted(), session.storage_trouble()), (None, false, None));
    let (fork, _) = session.fork(session.leaf().unwrap().id().as_str(), None).unwrap();
    assert_eq!((fork.file(), fork.parent()), (None, None));
}

#[test]
fn fm_f110_files_are_the_users_alone_whatever_the_umask() {
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
fn fm_f99_what_is_no_session_is_refused_and_untouched() {
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
    session.thinking_changed(ThinkingLevel::Low);
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
    // A line that is whole but for its end is kept.
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
    assert_eq!(session.storage_trouble(), None);
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
    let trouble = session.storage_trouble().unwrap();
    assert!(trouble.to_string().contains("another file has taken its place"), "{trouble}");
    assert_eq!(session.flush().await, Err(trouble));
    assert_eq!(session.messages().len(), 2);
    // It is written when the way is free again.
    fs::rename(place.path().join("kept.jsonl"), &path).unwrap();
    assert_eq!(session.flush().await, Ok(()));
    assert_eq!(lines(&path)[1..], entries(&session));
}

#[test]
fn what_somebody_else_adds_is_not_fused_with() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    // Another program, which knows of no locks, in the middle of a line.
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
    let (path, elsewhere) = (place.path().join("s.jsonl"), place.path().join("elsewhere"));
    symlink(&elsewhere, &path).unwrap();
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    assert!(!elsewhere.exists());
    assert!(session.storage_trouble().is_some());
    assert_eq!(session.messages().len(), 1);
}

#[test]
fn fm_f100_a_directory_that_takes_no_files_stops_nothing() {
    let place = tempfile::tempdir().unwrap();
    // A file where a directory is wanted, which stops root too.
    fs::write(place.path().join("agent"), "").unwrap();
    let store = Store::new(&place.path().join("agent"), Path::new("/w"));
    let mut session = Session::create(&store, start(Path::new("/w")));
    session.append(user("one"));
    session.append(user("two"));
    assert!(session.storage_trouble().unwrap().to_string().contains("3 lines wait"));
    fs::remove_file(place.path().join("agent")).unwrap();
    session.append(user("three"));
    assert_eq!(session.storage_trouble(), None);
    assert_eq!(lines(session.file().unwrap()).len(), 4);
}

#[test]
fn fm_f100_a_file_that_cannot_be_written_can_be_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, start(place.path())).unwrap();
    session.append(user("one"));
    drop(session);
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    if fs::OpenOptions::new().append(true).open(&path).is_ok() {
        // Nothing is forbidden to root.
        return;
    }
    let mut session = Session::open(&path, start(place.path())).unwrap();
    assert!(session.writable().is_err());
    session.append(user("two"));
    assert_eq!((session.messages().len(), lines(&path).len()), (2, 2));
}
