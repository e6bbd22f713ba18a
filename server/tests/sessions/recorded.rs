//! Tests with files that pi 0.55 has written.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese_server::runtime::{Clock, Ids};
use agentese_server::session::{Body, Repairs, Session, SessionOptions};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::{entries, lines, start, user};

fn recorded() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/recorded");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 15);
    files
}

#[test]
fn every_line_is_an_entry_and_unchanged() {
    let place = tempfile::tempdir().unwrap();
    for file in recorded() {
        let copy = place.path().join(file.file_name().unwrap());
        std::fs::copy(&file, &copy).unwrap();
        let mut session = Session::open(&copy, start(place.path())).unwrap();
        let before = lines(&file);
        assert_eq!(session.repairs(), Repairs::default(), "{file:?}");
        assert_eq!(session.header().json(), before[0]);
        assert_eq!(entries(&session), before[1..]);
        assert_eq!(session.path().len(), before.len() - 1, "one branch: {file:?}");
        for entry in session.entries() {
            assert!(!matches!(entry.body(), Body::Other(_)), "{entry:?}");
            if matches!(entry.body(), Body::Message(_) | Body::CustomMessage { .. } | Body::Compaction(_)) {
                assert!(entry.message().is_some(), "{entry:?}");
            }
        }
        assert_eq!(lines(&copy), before, "opening changes nothing");
        session.append(user("more"));
        let after = lines(&copy);
        assert_eq!(after[..before.len()], before);
        assert_eq!(after.len(), before.len() + 1);
    }
}

/// A clock and a source of ids that repeat the values of a recorded file.
#[derive(Default)]
struct ReplaySource {
    now: AtomicI64,
    next: Mutex<String>,
}

impl Clock for ReplaySource {
    fn now_ms(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }
}

impl Ids for ReplaySource {
    fn uuid(&self) -> String {
        self.next.lock().unwrap().clone()
    }

    fn entry(&self) -> String {
        self.uuid()
    }
}

impl ReplaySource {
    fn set(&self, line: &Value) {
        let time: jiff::Timestamp = line["timestamp"].as_str().unwrap().parse().unwrap();
        self.now.store(time.as_millisecond(), Ordering::Relaxed);
        line["id"].as_str().unwrap().clone_into(&mut self.next.lock().unwrap());
    }
}

/// If the operations of a recording are repeated, the file has the same bytes as pi's.
#[test]
fn written_bytes_match_pi() {
    let place = tempfile::tempdir().unwrap();
    for file in recorded() {
        let text = std::fs::read_to_string(&file).unwrap();
        let then = Arc::new(ReplaySource::default());
        let original = place.path().join("original.jsonl");
        std::fs::write(&original, &text).unwrap();
        let original = Session::open(&original, start(place.path())).unwrap();

        let header: Value = serde_json::from_str(original.header().json()).unwrap();
        then.set(&header);
        let again = place.path().join(file.file_name().unwrap());
        let begin = SessionOptions::new(original.cwd(), then.clone(), then.clone())
            .parent(original.parent().map(str::to_owned));
        let mut session = Session::create_at(&again, begin).unwrap();
        for entry in original.entries() {
            then.set(&serde_json::from_str(entry.json().as_str()).unwrap());
            match entry.body() {
                Body::Message(_) | Body::CustomMessage { .. } => {
                    drop(session.append(entry.message().unwrap().clone()));
                }
                Body::ThinkingLevelChange { level } => session.record_thinking_level(level.parse().unwrap()),
                Body::ModelChange { provider, model_id } => session.record_model(provider, model_id),
                Body::Compaction(compaction) => drop(session.add_compaction(compaction.clone())),
                Body::Custom { custom_type } => {
                    let data = entry.member("data").map(|data| serde_json::from_str(&data).unwrap());
                    session.custom(custom_type, data.as_ref());
                }
                Body::SessionInfo { name } => session.rename(name.as_deref().unwrap()).unwrap(),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(std::fs::read_to_string(&again).unwrap(), text, "{file:?}");
        assert_eq!(session.messages(), original.messages());
        assert_eq!(session.branch_settings(), original.branch_settings());
        drop(session);
        std::fs::remove_file(again).unwrap();
    }
}
