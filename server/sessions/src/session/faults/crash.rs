//! Tests in which the machine stops, at each possible step.

use std::path::Path;

use futures::FutureExt;

use super::script::{ACTIONS, PATH, create, create_closing, open, open_closing, reference, user};
use super::{Fault, MemoryDisk, PowerLoss};
use crate::session::{OpenError, Session};

const LOSSES: [PowerLoss; 4] = [None, Some(0), Some(5), Some(10)];
const TENTHS: [usize; 4] = [0, 1, 9, 10];

/// Numbers of entries that must survive when the machine stops.
#[derive(Debug, Clone, Copy, Default)]
struct PromisedCounts {
    /// Number of entries that the system has received.
    handed: usize,
    /// Number of entries that are synced to the disk.
    durable: usize,
}

/// Runs the actions until the machine stops.
fn run(session: &mut Session, acts: &[fn(&mut Session)]) -> PromisedCounts {
    let mut promised = PromisedCounts::default();
    for act in acts {
        act(session);
        if session.storage_error().is_some() {
            break;
        }
        if session.is_persisted() {
            promised.handed = session.entries().len();
            if session.flush().now_or_never() == Some(Ok(())) {
                promised.durable = promised.handed;
            }
        }
    }
    promised
}

fn promise(promised: PromisedCounts, loss: PowerLoss) -> usize {
    if loss.is_none() { promised.handed } else { promised.durable }
}

type OpenFn = fn(&MemoryDisk) -> Result<Session, OpenError>;

#[test]
fn fm_f96_after_a_crash_at_any_step_all_that_was_promised_is_there() {
    crash_at_any_step(create, open);
}

#[test]
fn fm_f96_a_file_that_is_closed_between_writes_keeps_all_that_was_promised() {
    crash_at_any_step(create_closing, open_closing);
}

fn crash_at_any_step(create: OpenFn, open: OpenFn) {
    let (lines, whole) = reference();
    let disk = MemoryDisk::default();
    run(&mut create(&disk).unwrap(), ACTIONS);
    let steps = disk.steps();
    assert!(steps > 2 * ACTIONS.len() - 6, "{steps}");
    for (step, tenths) in (0..steps).flat_map(|step| TENTHS.map(|tenths| (step, tenths))) {
        let disk = MemoryDisk::default().failing(Fault::Crash { step, tenths });
        let mut session = create(&disk).unwrap();
        let promised = run(&mut session, ACTIONS);
        for loss in LOSSES {
            let case = format!("step {step}, {tenths} tenths, {loss:?}, {promised:?}");
            let disk = disk.survivor(loss);
            let mut session = match open(&disk) {
                Ok(session) => session,
                // There is a part of the header at most.
                Err(OpenError::Missing { .. } | OpenError::NotASession { .. })
                    if promise(promised, loss) == 0 =>
                {
                    continue;
                }
                Err(error) => panic!("{case}: {error}"),
            };
            let found: Vec<_> = session.entries().iter().map(|entry| entry.json().to_string()).collect();
            assert!(found.len() >= promise(promised, loss), "{case}: {} entries", found.len());
            assert_eq!(found, &lines[..found.len()], "{case}");
            let count = found.len();
            // The session goes on normally, and no line is fused with a torn one.
            session.append(user("on"));
            session.append(user("and on"));
            assert_eq!(session.storage_error(), None, "{case}");
            drop(session);
            let text = disk.read(Path::new(PATH)).unwrap();
            let prefix: String = whole.split_inclusive('\n').take(count + 1).collect();
            assert!(text.starts_with(&prefix) || count == 0, "{case}");
            let again = open(&disk).unwrap();
            assert_eq!(
                (again.entries().len(), again.repairs().damaged_lines),
                (count + 2, 0),
                "{case}\n{text}"
            );
        }
    }
}

const OLD: &str = concat!(
    r#"{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}"#,
    "\n",
    r#"{"type":"message","timestamp":"2025-01-01T00:00:02.000Z","message":{"role":"user","content":"two","timestamp":2}}"#,
    "\n",
    r#"{"type":"mess"#,
);

#[test]
fn fm_f96_a_crash_while_a_file_is_replaced_leaves_the_old_or_the_new() {
    crash_while_replaced(open);
    crash_while_replaced(open_closing);
}

fn crash_while_replaced(open: OpenFn) {
    let acts = &ACTIONS[3..6];
    let path = Path::new(PATH);
    let disk = MemoryDisk::with(path, OLD.as_bytes());
    run(&mut open(&disk).unwrap(), acts);
    let backup = path.with_file_name("s.jsonl.v1.bak");
    assert_eq!(disk.names(), [path.to_owned(), backup.clone()]);
    assert_eq!(disk.read(&backup).as_deref(), Some(OLD));
    for (step, tenths) in (0..disk.steps()).flat_map(|step| TENTHS.map(|tenths| (step, tenths))) {
        let disk = MemoryDisk::with(path, OLD.as_bytes()).failing(Fault::Crash { step, tenths });
        let promised = open(&disk).map_or(PromisedCounts::default(), |mut session| run(&mut session, acts));
        for loss in LOSSES {
            let case = format!("step {step}, {tenths} tenths, {loss:?}, {promised:?}");
            let disk = disk.survivor(loss);
            let session = open(&disk).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert!(session.entries().len() >= promise(promised, loss).max(2), "{case}");
            assert_eq!(session.header().version(), 3, "{case}");
            assert_eq!(session.fork_messages()[1].1, "two", "{case}");
            assert_eq!(session.storage_error(), None, "{case}");
            assert_eq!(disk.read(&backup).as_deref(), Some(OLD), "{case}");
        }
    }
}
