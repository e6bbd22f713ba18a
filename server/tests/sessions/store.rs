//! Tests of listing sessions and of finding one.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agentese_server::session::{ResolveError, Scope, Store};

/// Writes a session file that was last modified `age` seconds ago.
fn write(directory: &Path, id: &str, cwd: &str, age: u64, entries: &[&str]) -> PathBuf {
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(format!("2026-01-01T00-00-00-000Z_{id}.jsonl"));
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
    );
    fs::write(&path, [&[header.as_str()], entries].concat().join("\n") + "\n").unwrap();
    age_of(&path, age);
    path
}

fn age_of(path: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
}

fn message(id: &str, role: &str, text: &str, timestamp: i64) -> String {
    let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"{role}","content":{content},"timestamp":{timestamp}}}}}"#
    )
}

#[test]
fn list_describes_each_session() {
    let place = tempfile::tempdir().unwrap();
    let (here, there) = (Path::new("/here"), Path::new("/there"));
    let store = Store::new(place.path(), here);
    assert_eq!(store.list(Scope::All), []);
    let talk = [
        message("1", "user", "", 1_767_225_601_000),
        message("2", "user", "what is it?", 1_767_225_602_000),
        message("3", "assistant", "this", 1_767_225_603_000),
        message("4", "toolResult", "x", 1_867_225_604_000),
        r#"{"type":"session_info","id":"5","parentId":null,"name":"first"}"#.to_owned(),
        r#"{"type":"session_info","id":"6","parentId":null,"name":" second "}"#.to_owned(),
        r#"{"type":"session_info","id":"7","parentId":null,"name":""}"#.to_owned(),
        "damaged".to_owned(),
    ];
    let talk: Vec<&str> = talk.iter().map(String::as_str).collect();
    let old = write(store.directory(), "aaaa", "/here", 5, &[]);
    let young = write(store.directory(), "bbbb", "/here", 500, &talk);
    let other = write(Store::new(place.path(), there).directory(), "cccc", "/there", 1, &talk[..2]);
    fs::write(store.directory().join("garbage.jsonl"), "garbage\n").unwrap();
    fs::write(store.directory().join("note.txt"), "a note").unwrap();
    symlink(&other, store.directory().join("link.jsonl")).unwrap();

    let list = store.list(Scope::Here);
    let paths: Vec<&Path> = list.iter().map(|record| record.path.as_path()).collect();
    assert_eq!(paths, [&young, &old], "the session with the newest message comes first");
    assert_eq!(
        serde_json::to_string(&list[0]).unwrap(),
        format!(
            concat!(
                r#"{{"path":"{}","id":"bbbb","cwd":"/here","name":"second","created":"2026-01-01T00:00:00.000Z","#,
                r#""modified":"2026-01-01T00:00:03.000Z","messageCount":4,"firstMessage":"what is it?"}}"#
            ),
            young.display()
        )
    );
    let all: Vec<String> = store.list(Scope::All).into_iter().map(|record| record.id).collect();
    assert_eq!(all, ["bbbb", "cccc", "aaaa"]);
    assert_eq!(store.latest(), Some(old), "the file that was written last, and no link");
    assert_eq!(Store::new(place.path(), Path::new("/nowhere")).latest(), None);
}

#[test]
fn an_identifier_is_looked_for_here_and_then_everywhere() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(place.path(), Path::new("/here"));
    let old = write(store.directory(), "abc-old", "/here", 500, &[]);
    let young = write(store.directory(), "abc-young", "/here", 5, &[]);
    let exact = write(store.directory(), "abc", "/here", 900, &[]);
    let other = write(Store::new(place.path(), Path::new("/there")).directory(), "abd", "/there", 1, &[]);
    assert_eq!(store.resolve("abc-").unwrap(), young);
    assert_eq!(store.resolve("abc-o").unwrap(), old);
    assert_eq!(store.resolve("abc").unwrap(), exact);
    assert_eq!(store.resolve("a").unwrap(), young);
    let error = store.resolve("abd").unwrap_err();
    let ResolveError::OtherDirectory { path, cwd, .. } = &error else { panic!("{error}") };
    assert_eq!((path, cwd.as_str()), (&other, "/there"));
    assert_eq!(store.resolve("x").unwrap_err().to_string(), "no session id begins with \"x\"");
    assert_eq!(store.resolve("../x").unwrap(), Path::new("/here/../x"), "a path is accepted unchanged");
    assert_eq!(store.resolve("/a/b").unwrap(), Path::new("/a/b"));
    assert_eq!(store.resolve("x.jsonl").unwrap(), Path::new("/here/x.jsonl"));
    for wrong in ["", "..", "-x", "a b", "ä"] {
        assert!(matches!(store.resolve(wrong), Err(ResolveError::NotAnId(_))), "{wrong}");
    }
}

#[test]
fn a_directory_of_the_users_choice_holds_the_files_itself() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::at(Path::new("mine"), place.path());
    assert_eq!(store.directory(), place.path().join("mine"));
    let path = write(store.directory(), "abc", "/anywhere", 1, &[]);
    assert_eq!((store.latest(), store.resolve("a").ok()), (Some(path.clone()), Some(path)));
    assert_eq!(store.list(Scope::All).len(), 1);
}

#[test]
fn fm_f106_a_page_reads_its_own_files_only() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(place.path(), Path::new("/here"));
    let huge = write(store.directory(), "huge", "/here", 1, &[]);
    // A sparse file of a terabyte, which is impossible to read in the time of a test.
    File::options().write(true).open(&huge).unwrap().set_len(1 << 40).unwrap();
    age_of(&huge, 1);
    for number in 0..5 {
        write(store.directory(), &format!("s{number}"), "/here", 10 + number, &[]);
    }
    let ids = |skip, limit| -> Vec<String> {
        store.page(Scope::Here, skip, limit).into_iter().map(|record| record.id).collect()
    };
    assert_eq!(ids(1, 2), ["s0", "s1"]);
    assert_eq!(ids(3, 9), ["s2", "s3", "s4"]);
    assert_eq!(ids(9, 1), [""; 0]);
    assert_eq!(store.latest(), Some(huge.clone()));
    assert_eq!(store.resolve("hu").unwrap(), huge);
    let error = agentese_server::session::Session::open(&huge, super::start(place.path())).unwrap_err();
    assert!(error.to_string().ends_with("it is larger than 4 GiB"), "{error}");
}

#[test]
fn fm_f106_many_entries_are_opened_and_listed() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(place.path(), Path::new("/here"));
    let entries: Vec<String> = (0..20_000)
        .map(|number| {
            let parent = if number == 0 { "null".to_owned() } else { format!("\"{:08x}\"", number - 1) };
            message(&format!("{number:08x}"), "user", "x", 1)
                .replace("\"parentId\":null", &format!("\"parentId\":{parent}"))
        })
        .collect();
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let path = write(store.directory(), "many", "/here", 1, &entries);
    assert_eq!(store.list(Scope::Here)[0].message_count, 20_000);
    let session = agentese_server::session::Session::open(&path, super::start(place.path())).unwrap();
    assert_eq!(session.messages().len(), 20_000);
}
