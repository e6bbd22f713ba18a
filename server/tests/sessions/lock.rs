//! Tests that a session has a single writer.

// The other process reports to its parent on stdout.
#![allow(clippy::print_stdout)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;

use agentese_server::session::{DeleteError, Holder, OpenError, Session};

use futures::executor::block_on;

use super::{lines, random, user};

const PATH: &str = "AGENTESE_TEST_SESSION";
const MANY: &str = "AGENTESE_TEST_SESSIONS";
const HELD: &str = "the session is held";

#[test]
#[ignore = "is the other process of the tests below"]
fn other_process() {
    let path = std::env::var_os(PATH).expect("the path of the session");
    let path = Path::new(&path);
    // Enough other sessions to close its own file.
    let others = std::env::var(MANY).map_or(0, |many| many.parse().unwrap());
    let begin = || random(Path::new("/")).write_in_background();
    let open_and_write = |name: String| {
        let mut session = Session::open_or_create(&path.with_file_name(name), begin()).unwrap();
        session.append(user("from the other process"));
        assert_eq!(block_on(session.flush()), Ok(()));
        session
    };
    let mut sessions: Vec<_> =
        (0..others).map(|number| open_and_write(format!("other-{number}.jsonl"))).collect();
    sessions.push(open_and_write(path.file_name().unwrap().to_str().unwrap().to_owned()));
    println!("{HELD}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// Another process that holds the session until its stdin is closed or it is killed.
struct OtherProcess(Child);

impl OtherProcess {
    fn holding(path: &Path) -> Self {
        Self::with_others(path, 0)
    }

    /// Starts a process that holds the session and `others` additional sessions.
    fn with_others(path: &Path, others: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "lock::other_process", "--ignored", "--nocapture"])
            .env(PATH, path)
            .env(MANY, others.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(HELD)), "the other process did not open it");
        Self(child)
    }
}

impl Drop for OtherProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn fm_f101_second_server_is_rejected_with_the_holder() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let other = OtherProcess::holding(&path);
    let before = std::fs::read(&path).unwrap();
    let error = Session::open(&path, random(place.path())).unwrap_err();
    let OpenError::Locked { holder: Holder(holder), .. } = error else { panic!("{error}") };
    if cfg!(target_os = "linux") {
        assert_eq!(holder, Some(other.0.id()));
        assert!(error.to_string().ends_with(&format!("is in use by process {}", other.0.id())), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn fm_f102_a_session_whose_holder_was_killed_is_free() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    // SIGKILL, without a chance to clean up.
    drop(OtherProcess::holding(&path));
    let mut session = Session::open(&path, random(place.path())).unwrap();
    assert_eq!(session.messages(), [user("from the other process")]);
    session.append(user("on"));
    assert_eq!(session.storage_error(), None);
    assert_eq!(lines(&path).len(), 3);
}

#[test]
fn fm_f101_session_is_locked_until_its_holder_ends() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let other = OtherProcess::with_others(&path, 40);
    if cfg!(target_os = "linux") {
        let open = std::fs::read_dir(format!("/proc/{}/fd", other.0.id())).unwrap();
        let open: Vec<_> = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok()).collect();
        assert!(!open.contains(&path), "{open:?}");
        let sessions =
            open.iter().filter(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        assert!(sessions.count() <= 16, "{open:?}");
    }
    let before = std::fs::read(&path).unwrap();
    let error = Session::open(&path, random(place.path())).unwrap_err();
    let OpenError::Locked { holder: Holder(holder), .. } = error else { panic!("{error}") };
    if cfg!(target_os = "linux") {
        assert_eq!(holder, Some(other.0.id()));
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let store = agentese_server::session::Store::at(place.path(), place.path());
    let sessions = store.list(agentese_server::session::Scope::Here);
    assert_eq!(sessions.len(), 41);
    for session in sessions {
        assert!(matches!(store.delete(&session.id), Err(DeleteError::Locked { .. })));
    }
    // SIGKILL, without a chance to clean up.
    drop(other);
    let mut session = Session::open(&path, random(place.path())).unwrap();
    assert_eq!(session.messages(), [user("from the other process")]);
    session.append(user("on"));
    assert_eq!(session.storage_error(), None);
}

#[test]
fn fm_f101_of_many_that_open_at_once_one_gets_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, random(place.path())).unwrap();
    session.append(user("begin"));
    drop(session);
    const MANY: usize = 4;
    for round in 0..50 {
        let (opened, tried) = (Barrier::new(MANY), Barrier::new(MANY));
        std::thread::scope(|scope| {
            let try_open = || {
                opened.wait();
                let session = Session::open(&path, random(place.path()));
                // No holder releases the session before all have tried.
                tried.wait();
                match session {
                    Ok(mut session) => {
                        session.append(user("one of many"));
                        1
                    }
                    Err(OpenError::Locked { .. }) => 0,
                    Err(error) => panic!("{error}"),
                }
            };
            let threads: Vec<_> = (0..MANY).map(|_| scope.spawn(try_open)).collect();
            let winners: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
            assert_eq!(winners, 1, "round {round}");
        });
    }
    let session = Session::open(&path, random(place.path())).unwrap();
    assert_eq!((session.messages().len(), session.repairs().damaged_lines), (51, 0));
}

#[test]
fn ended_session_releases_its_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s.jsonl");
    let mut session = Session::create_at(&path, random(place.path())).unwrap();
    assert!(session.is_at(&path)());
    session.append(user("begin"));
    assert!(session.is_at(Path::new("./s.jsonl"))() && !session.is_at(place.path())());
    let error = Session::open(&path, random(place.path())).unwrap_err();
    assert!(error.to_string().contains("in use by"), "{error}");
    drop(session);
    let mut session = Session::open(Path::new("s.jsonl"), random(place.path())).unwrap();
    assert_eq!(session.file(), Some(path.as_path()));
    session.append(user("on"));
    let forked = session.fork_messages()[1].0.to_string();
    let store = agentese_server::session::Store::at(place.path(), place.path());
    let (fork, _) = session.fork(&forked, Some(&store)).unwrap();
    assert_eq!(fork.parent(), path.to_str());
    assert_eq!(lines(fork.file().unwrap()).len(), 2);
    assert!(Session::open(fork.file().unwrap(), random(place.path())).is_err());
}
