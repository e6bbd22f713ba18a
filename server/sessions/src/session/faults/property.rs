//! Tests that a session read from a file equals the session that was written.

use std::path::Path;
use std::sync::Arc;

use agentese::types::{BashExecutionMessageBuilder, InputContent, ThinkingLevel};
use proptest::prelude::*;
use serde_json::json;

use super::MemoryDisk;
use super::script::{PATH, answer, compaction, create, open, reference, user};
use crate::session::{BranchSummary, EntryId, OpenError, Session};

#[derive(Debug, Clone)]
enum Action {
    User(String),
    Answer(String),
    Bash(String),
    CustomMessage(bool),
    Custom,
    Rename(String),
    Model(String),
    Thinking(usize),
    Compact(usize),
    BranchSummary(String),
    Label(usize, bool),
    Forget,
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => ".{0,8}".prop_map(Action::User),
        4 => ".{0,8}".prop_map(Action::Answer),
        1 => ".{0,8}".prop_map(Action::Bash),
        1 => any::<bool>().prop_map(Action::CustomMessage),
        1 => Just(Action::Custom),
        1 => ".{0,8}".prop_map(Action::Rename),
        1 => ".{0,8}".prop_map(Action::Model),
        1 => (0..6usize).prop_map(Action::Thinking),
        2 => any::<usize>().prop_map(Action::Compact),
        1 => ".{0,3}".prop_map(Action::BranchSummary),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(at, named)| Action::Label(at, named)),
        1 => Just(Action::Forget),
        1 => Just(Action::Reopen),
    ]
}

/// A way to damage the bytes of a file.
#[derive(Debug, Clone)]
enum Damage {
    Set(prop::sample::Index, u8),
    Zeros(prop::sample::Index, usize),
    Cut(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        (at(), 1..300usize).prop_map(|(at, count)| Damage::Zeros(at, count)),
        (at(), 1..300usize).prop_map(|(at, count)| Damage::Cut(at, count)),
        (at(), prop::collection::vec(any::<u8>(), 1..20)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let (Self::Set(at, _) | Self::Zeros(at, _) | Self::Cut(at, _) | Self::Insert(at, _)) = self;
        let at = at.index(bytes.len().max(1)).min(bytes.len());
        let upto = |count: usize| (at + count).min(bytes.len());
        match self {
            Self::Set(_, byte) => bytes.iter_mut().skip(at).take(1).for_each(|old| *old = *byte),
            Self::Zeros(_, count) => {
                let end = upto(*count);
                bytes[at..end].fill(0);
            }
            Self::Cut(_, count) => {
                let end = upto(*count);
                bytes.drain(at..end);
            }
            Self::Insert(_, more) => drop(bytes.splice(at..at, more.iter().copied())),
        }
    }
}

/// Returns the id of some entry, or an unknown id.
fn some_entry(session: &Session, at: usize) -> EntryId {
    let entry = session.entries().get(at % (session.entries().len() + 1));
    entry.map_or_else(|| "gone".into(), |entry| entry.id().clone())
}

fn apply(session: &mut Session, act: &Action) {
    match act {
        Action::User(text) => drop(session.append(user(text))),
        Action::Answer(text) => drop(session.append(answer(text))),
        Action::Bash(text) => {
            let message = BashExecutionMessageBuilder {
                command: "x".to_owned(),
                output: text.into(),
                cancelled: false,
                truncated: false,
                timestamp: 1,
            }
            .build();
            session.append(Arc::new(message.into()));
        }
        Action::CustomMessage(details) => {
            let details = details.then(|| json!({"a": 1.0}));
            session.custom_message("note", InputContent::Text("n".to_owned()), true, details);
        }
        Action::Custom => drop(session.custom("state", None)),
        Action::Rename(name) => drop(session.rename(name)),
        Action::Model(id) => session.record_model("p", id),
        Action::Thinking(level) => session.record_thinking_level(ThinkingLevel::ALL[*level]),
        Action::Compact(at) => {
            let kept = some_entry(session, *at);
            session.add_compaction(compaction(kept.as_str()));
        }
        Action::BranchSummary(text) => {
            let summary = BranchSummary {
                from_id: "root".to_owned(),
                summary: text.clone(),
                details: None,
                from_hook: None,
            };
            session.branch_summary(summary);
        }
        Action::Label(at, named) => {
            let target = some_entry(session, *at);
            session.label(target.as_str(), named.then_some("x"));
        }
        Action::Forget => session.hide_last_answer(),
        Action::Reopen => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_context_of_the_file_is_the_live_one(acts in prop::collection::vec(action(), 0..24)) {
        let disk = MemoryDisk::default();
        let mut session = create(&disk).unwrap();
        let mut forgot = false;
        for act in &acts {
            apply(&mut session, act);
            prop_assert_eq!(session.storage_error(), None);
            if matches!(act, Action::Forget) {
                forgot = true;
            }
            if !session.is_persisted() {
                prop_assert!(disk.read(Path::new(PATH)).is_none());
                continue;
            }
            let found = open(&disk.survivor(None)).unwrap();
            let json = |session: &Session| -> Vec<String> {
                session.entries().iter().map(|entry| entry.json().to_string()).collect()
            };
            prop_assert_eq!(json(&found), json(&session));
            prop_assert_eq!(found.header(), session.header());
            prop_assert_eq!(found.name(), session.name());
            prop_assert_eq!(found.branch_settings(), session.branch_settings());
            prop_assert_eq!(found.fork_messages(), session.fork_messages());
            // Answers are hidden by the open session only.
            if forgot {
                prop_assert!(found.messages().len() >= session.messages().len());
            } else {
                prop_assert_eq!(found.messages(), session.messages());
                prop_assert_eq!(found.stats(), session.stats());
            }
            if matches!(act, Action::Reopen) {
                drop(session);
                session = open(&disk).unwrap();
                forgot = false;
            }
        }
    }

    #[test]
    fn fm_f98_a_damaged_file_is_refused_or_goes_on(damages in prop::collection::vec(damage(), 1..4)) {
        let path = Path::new(PATH);
        let mut bytes = reference().1.into_bytes();
        for damage in &damages {
            damage.apply(&mut bytes);
        }
        let disk = MemoryDisk::with(path, &bytes);
        let mut session = match open(&disk) {
            Ok(session) => session,
            Err(error) => {
                prop_assert!(matches!(error, OpenError::NotASession { .. }), "{error}");
                prop_assert_eq!(disk.bytes(path).unwrap(), bytes);
                return Ok(());
            }
        };
        let (count, repairs) = (session.entries().len(), session.repairs());
        // A version that damage made: such a file is replaced and backed up, or not written.
        if disk.names().len() > 1 || session.check_writable().is_err() {
            prop_assert!(disk.names().iter().any(|name| disk.bytes(name).unwrap() == bytes));
            return Ok(());
        }
        session.append(user("on"));
        session.append(user("and on"));
        prop_assert_eq!(session.storage_error(), None);
        drop(session);
        let again = open(&disk).unwrap();
        prop_assert_eq!(again.entries().len(), count + 2);
        prop_assert_eq!(again.repairs().damaged_lines, repairs.damaged_lines);
        prop_assert!(!again.repairs().torn_tail);
        // Existing bytes stay, except for a torn end.
        let written = disk.bytes(path).unwrap();
        let kept = bytes.iter().zip(&written).take_while(|(one, other)| one == other).count();
        let last_line = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        prop_assert!(kept >= last_line, "{kept} of {last_line}");
    }
}
