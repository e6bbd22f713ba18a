//! Tests that kill a server at random moments.
//!
//! The test prints its seed; `AGENTESE_SEED` repeats a run, and `AGENTESE_KILLS` sets the number of kills.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentese_server::runtime::{RandomIds, SystemClock};
use agentese_server::session::{Session, SessionOptions};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use support::dice::{Dice, number, seed};
use support::process::{Place, assert_gone};

#[path = "support/mod.rs"]
mod support;

const THREADS: u64 = 4;
const KILLS: u64 = 200;
/// The longest time from the prompt to the kill, which is about the duration of a whole run.
const MAX_DELAY: Duration = Duration::from_millis(350);

/// Returns a model script whose tools start processes. Without a kill, the processes would run for a minute.
fn script() -> Value {
    let lasting = "(echo $BASHPID >> pids; exec sleep 60) & echo $$ >> pids; echo started; sleep 0.02";
    let turn = |number: usize| {
        json!({"delay_ms": 2, "blocks": [
            {"thinking": ["I ", "think ", "about ", &number.to_string()]},
            {"text": ["Turn ", "number ", &number.to_string(), " begins."]},
            {"tool": {"id": format!("a{number}"), "name": "bash", "args": {"command": lasting}}},
            {"tool": {"id": format!("b{number}"), "name": "write",
                      "args": {"path": format!("{number}.txt"), "content": "x".repeat(5000)}}},
        ]})
    };
    let last = json!({"blocks": [{"tool": {"name": "bash", "args": {"command": "echo $$ >> pids; exec sleep 60"}}}]});
    json!({"responses": [turn(1), turn(2), turn(3), last], "default": {"text": "over"}})
}

#[test]
#[expect(clippy::print_stdout, reason = "the seed plays the run again")]
fn kill_at_any_moment_loses_no_reported_message_and_leaves_no_process() {
    let seed = seed();
    let kills = number("AGENTESE_KILLS").unwrap_or(KILLS);
    println!("AGENTESE_SEED={seed} AGENTESE_KILLS={kills}");
    let thread = |thread: u64| {
        std::thread::spawn(move || {
            let mut dice = Dice(seed.wrapping_add(thread).max(1));
            let kills = kills / THREADS;
            (0..kills).map(|_| kill_after(dice.roll() % MAX_DELAY.as_micros() as u64)).sum::<usize>()
        })
    };
    let threads: Vec<_> = (0..THREADS).map(thread).collect();
    let seen: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{seen} messages were seen finished");
    assert!(seen > kills as usize, "the kills came too early to mean anything: {seen}");
}

/// Kills a server `moment` microseconds after its prompt. Returns the number of messages that were complete before.
fn kill_after(moment: u64) -> usize {
    let place = Place::new();
    let mut agent = place.scripted(script());
    let state = agent.request(json!({"type": "get_state"}));
    let file = PathBuf::from(state["data"]["sessionFile"].as_str().expect("a session file"));
    agent.send(json!({"type": "prompt", "message": "go"}));
    // The test covers the exact moment, so it has no waits.
    std::thread::sleep(Duration::from_micros(moment));
    agent.signal(Signal::KILL);
    let mut seen = Vec::new();
    // An incomplete last line is not a frame.
    while let Some(line) = agent.next_line() {
        let Ok(frame) = serde_json::from_str::<Value>(&line) else { break };
        if frame["type"] == "message_end" {
            seen.push(frame["message"].clone());
        }
    }
    agent.wait();
    check_file(&file, &seen, place.work());
    for pid in pids(&place.work().join("pids")) {
        assert_gone(pid);
    }
    seen.len()
}

fn check_file(file: &Path, seen: &[Value], cwd: PathBuf) {
    if seen.is_empty() && !file.exists() {
        return;
    }
    let start = SessionOptions::new(cwd, Arc::new(SystemClock), Arc::new(RandomIds));
    let session = Session::open(file, start).unwrap_or_else(|error| panic!("{error}"));
    let kept: Vec<Value> = session.messages().iter().map(|message| json!(**message)).collect();
    assert!(kept.len() >= seen.len(), "{} of {} messages are kept", kept.len(), seen.len());
    assert_eq!(kept[..seen.len()], *seen);
}

fn pids(file: &Path) -> Vec<Pid> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    // The last line may be incomplete as well.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)).collect()
}
