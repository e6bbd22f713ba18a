//! Tests of session files of other versions.

use std::path::{Path, PathBuf};

use agentese_server::session::{OpenError, Session};

use super::{lines, start, user};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/versions").join(name)
}

#[test]
fn fm_f105_older_versions_are_replaced_and_kept() {
    for version in ["v1", "v2"] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s.jsonl");
        let original = golden(&format!("{version}.jsonl"));
        std::fs::copy(&original, &path).unwrap();
        let mut session = Session::open(&path, start(place.path())).unwrap();
        assert_eq!(session.storage_error(), None);
        let expected = lines(&golden(&format!("{version}.migrated.jsonl")));
        assert_eq!(lines(&path), expected);
        let backup = place.path().join(format!("s.jsonl.{version}.bak"));
        assert_eq!(lines(&backup), lines(&original));
        session.append(user("more"));
        let mut names: Vec<_> =
            std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["s.jsonl", &format!("s.jsonl.{version}.bak")]);
        drop(session);
        let session = Session::open(&path, start(place.path())).unwrap();
        assert_eq!(session.entries().len(), expected.len());
        let messages = session.messages();
        let roles: Vec<&str> = messages.iter().map(|message| message.tag()).collect();
        let wanted: &[&str] = match version {
            "v1" => &["compactionSummary", "user", "user", "user"],
            _ => &["user", "custom", "user"],
        };
        assert_eq!(roles, wanted);
    }
}

#[test]
fn fm_f105_a_backup_of_something_else_is_not_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    std::fs::copy(golden("v1.jsonl"), &path).unwrap();
    std::fs::write(place.path().join("s.jsonl.v1.bak"), "mine").unwrap();
    drop(Session::open(&path, start(place.path())).unwrap());
    assert_eq!(lines(&place.path().join("s.jsonl.v1.bak")), ["mine"]);
    assert_eq!(lines(&place.path().join("s.jsonl.v1.1.bak")), lines(&golden("v1.jsonl")));
}

#[test]
fn fm_f105_a_later_version_is_read_and_not_written() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let text = std::fs::read_to_string(golden("v2.jsonl")).unwrap().replace("\"version\":2", "\"version\":4");
    std::fs::write(&path, &text).unwrap();
    let mut session = Session::open(&path, start(place.path())).unwrap();
    assert_eq!(session.fork_messages().len(), 1);
    let error = session.check_writable().unwrap_err().to_string();
    assert!(error.contains("has version 4"), "{error}");
    session.append(user("lost to the file"));
    assert_eq!(session.messages().len(), 3);
    assert_eq!(session.storage_error().unwrap().to_string(), error);
    drop(session);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn fm_f105_a_version_that_is_none_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let text = "{\"type\":\"session\",\"version\":\"3\",\"id\":\"x\"}\n";
    std::fs::write(&path, text).unwrap();
    let error = Session::open(&path, start(place.path())).unwrap_err();
    assert!(matches!(error, OpenError::NotASession { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
