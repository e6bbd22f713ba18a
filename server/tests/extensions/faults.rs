//! Tests of misbehaving extensions: one failure is reported, and the agent continues.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::{check_runs, command, file, plain, runs, settings};
use crate::support::LONG;
use crate::support::process::{Agent, Place};

/// Returns an agent with an extension that subscribes only to `events`, for tests with a time limit of milliseconds.
fn with_subscription(place: &Place, how: &str, events: &str, script: Value, host: Value) -> Command {
    let mut command = zoo(place, how, script, host);
    command.env("ZOO_EVENTS", events);
    command
}

fn zoo(place: &Place, how: &str, script: Value, host: Value) -> Command {
    settings(place, host);
    let mut command = command(place, &["zoo"], script);
    command.env("ZOO", how);
    command
}

/// Returns the text of the reported failure. Fails if there is not exactly one.
#[track_caller]
fn single_failure(agent: &Agent) -> String {
    let failures = agent.failures();
    assert_eq!(failures.len(), 1, "{failures:#?}");
    assert_eq!(failures[0]["extensionPath"], json!(file("zoo")));
    failures[0]["error"].as_str().unwrap().to_owned()
}

fn limits() -> Value {
    json!({"hookTimeoutMs": 100, "startTimeoutMs": 60_000})
}

#[test]
fn fm_f92_failed_start_is_one_failure() {
    for (how, part) in [
        ("never", "it did not report its contents within"),
        ("exit-at-start", "its process ended with code 3: last words"),
        ("old", "it uses version 0 of the protocol, the agent version 1"),
    ] {
        let place = Place::new();
        let host = json!({"startTimeoutMs": if how == "never" { 300 } else { 60_000 }});
        let mut agent = Agent::start(zoo(&place, how, plain(), host));
        agent.prompt("hello");
        agent.until_event("agent_end");
        agent.until_failures(1);
        let failure = single_failure(&agent);
        assert!(failure.contains(part), "{how}: {failure}");
        assert_eq!(agent.finish().0.code(), Some(0), "{how}");
    }
}

#[test]
fn fm_f92_missing_program_is_one_failure() {
    let place = Place::new();
    place.put("installed/x/main", "");
    let manifest =
        place.put("installed/x/extension.json", r#"{"runtime": "no-such-runtime", "entry": "main"}"#);
    let mut command = command(&place, &[], plain());
    command.arg("-e").arg(manifest);
    let mut agent = Agent::start(command);
    agent.request(json!({"type": "get_state"}));
    let failures = agent.failures();
    assert_eq!(failures.len(), 1);
    let error = failures[0]["error"].as_str().unwrap();
    assert!(error.contains("no-such-runtime did not start: No such file"), "{error}");
}

#[test]
fn fm_f92_crash_hang_or_flood_is_one_failure() {
    for (how, part) in [
        ("kill", "signal SIGKILL ended its process"),
        ("exit", "its process ended with code 3: last words"),
        ("hang", "no answer to input within 100 ms"),
        ("flood", "it sent more than"),
        ("flood-noise", "it sent more than"),
        ("no-end", "it sent a line of more than"),
    ] {
        let place = Place::new();
        // The rate limit takes effect after a moment.
        let limit = if how == "hang" { 100 } else { 60_000 };
        let host = json!({"hookTimeoutMs": limit, "startTimeoutMs": 60_000});
        let mut agent = Agent::start(with_subscription(&place, "", "input", plain(), host));
        for words in [how, "and on"] {
            agent.prompt(words);
            let frames = agent.until_event("agent_end");
            assert_eq!(frames.last().unwrap()["messages"][0]["content"][0]["text"], words);
        }
        agent.until_failures(1);
        let failure = single_failure(&agent);
        assert!(failure.contains(part), "{how}: {failure}");
        check_runs(&agent.seen);
        assert_eq!(agent.finish().0.code(), Some(0), "{how}");
    }
}

impl Agent {
    /// Sends queries until `count` failures were reported.
    pub(super) fn until_failures(&mut self, count: usize) {
        self.until_matching(count, |frame| frame["type"] == "extension_error");
    }

    /// Sends queries until the extension is running, possibly in a new process.
    #[track_caller]
    fn until_running(&mut self) {
        let since = Instant::now();
        while self.request(json!({"type": "get_commands"}))["data"]["commands"] == json!([]) {
            assert!(since.elapsed() < LONG, "the extension does not come back");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends queries until `count` frames match. The queries are needed because frames of extensions may arrive before
    /// or after any other frame.
    #[track_caller]
    fn until_matching(&mut self, count: usize, found: impl Fn(&Value) -> bool) {
        let since = Instant::now();
        while self.seen.iter().filter(|frame| found(frame)).count() < count {
            assert!(since.elapsed() < LONG, "{count} frames do not come");
            self.request(json!({"type": "get_state"}));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn fm_f92_a_guard_that_fails_lets_nothing_through() {
    for how in ["kill", "hang", "exit", "wrong-shape"] {
        let place = Place::new();
        let mut agent =
            Agent::start(with_subscription(&place, how, "tool_call", runs("touch ran"), limits()));
        agent.prompt("go");
        let frames = agent.until_event("agent_end");
        let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
        assert_eq!(end["isError"], true, "{how}: {end}");
        assert!(!place.work().join("ran").exists(), "{how}");
    }
}

#[test]
fn fm_f92_restarting_guard_blocks_every_call() {
    let place = Place::new();
    let host = json!({"restarts": 1});
    let mut agent =
        Agent::start(with_subscription(&place, "guard", "input,tool_call", runs("touch ran"), host));
    agent.prompt("exit");
    let frames = agent.until_event("agent_end");
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(end["result"]["content"][0]["text"], "guarded", "{end}");
    assert!(!place.work().join("ran").exists());
    assert_eq!(starts(&place), 2);
    assert!(single_failure(&agent).contains("its process ended with code 3"));
}

#[test]
fn fm_f92_extension_without_a_handshake_is_not_restarted() {
    let place = Place::new();
    let mut agent = Agent::start(zoo(&place, "old", plain(), json!({"restarts": 10})));
    agent.until_failures(1);
    // Another agent that starts now is ready after a while; a restart of the first extension would be ready,
    // too.
    let other_place = Place::new();
    Agent::start(zoo(&other_place, "", plain(), json!({}))).until_running();
    agent.request(json!({"type": "get_state"}));
    assert!(single_failure(&agent).contains("it uses version 0"));
    assert_eq!(agent.finish().0.code(), Some(0));
    assert_eq!(starts(&place), 1);
}

/// Returns the number of starts of the extension.
fn starts(place: &Place) -> usize {
    std::fs::read_to_string(place.work().join("starts")).unwrap().lines().count()
}

#[test]
fn fm_f92_reports_of_unknown_frames_are_limited() {
    let place = Place::new();
    let mut agent = Agent::start(with_subscription(&place, "", "input", plain(), json!({})));
    agent.prompt("unknown");
    agent.until_event("agent_end");
    let stderr = agent.finish().2;
    assert_eq!(stderr.matches("unknown frame type `no such frame`").count(), 1000);
    assert_eq!(stderr.matches("further warnings about its output are not shown").count(), 1);
}

#[test]
fn malformed_answers_are_reported_and_the_event_continues() {
    let place = Place::new();
    let mut agent = Agent::start(zoo(&place, "", plain(), json!({})));
    agent.prompt("wrong-shape");
    agent.until_event("agent_end");
    let failure = single_failure(&agent);
    assert!(failure.contains("its answer is not valid"), "{failure}");
}

#[test]
fn fm_f92_an_answer_that_comes_too_late_is_ignored() {
    let place = Place::new();
    let mut agent = Agent::start(with_subscription(&place, "", "input", plain(), limits()));
    agent.prompt("late");
    agent.until_event("agent_end");
    agent.prompt("on");
    agent.until_event("agent_end");
    agent.until_failures(1);
    assert!(single_failure(&agent).contains("no answer to input within 100 ms"));
    assert_eq!(agent.finish().0.code(), Some(0));
}

#[test]
fn non_frame_output_goes_to_stderr() {
    let place = Place::new();
    let mut agent = Agent::start(zoo(&place, "noise", plain(), json!({})));
    assert_eq!(agent.next_notice(), "unknown frame type `no such question` (protocol version 1)");
    assert_eq!(agent.next_notice(), "started");
    agent.prompt("hello");
    agent.until_event("agent_end");
    assert_eq!(agent.failures(), Vec::<&Value>::new());
    let stderr = agent.finish().2;
    for part in ["loading noise", "no such frame", "[1, 2, 3]"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the seed plays the run again")]
fn fm_f92_a_hundred_failures_in_a_session_leave_no_trace_in_it() {
    const ROUNDS: u32 = 100;
    let seed: u64 = std::env::var("AGENTESE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20);
    println!("AGENTESE_SEED={seed}");
    let mut random = Random(seed);
    let place = Place::new();
    let host = json!({"hookTimeoutMs": 100, "startTimeoutMs": 60_000, "restarts": ROUNDS});
    let mut agent = Agent::start(with_subscription(&place, "", "input", plain(), host));
    let mut prompts = Vec::new();
    for round in 0..ROUNDS {
        // The previous process has been replaced.
        agent.until_running();
        let how = random.pick(&["kill", "exit", "hang", "flood", "flood-noise"]);
        let prompt = format!("{how} {round}");
        agent.prompt(&prompt);
        agent.until_event("agent_end");
        agent.until_failures(round as usize + 1);
        prompts.push(prompt);
    }
    assert_eq!(agent.failures().len(), ROUNDS as usize);
    let messages = agent.request(json!({"type": "get_messages"}))["data"]["messages"].clone();
    let texts = |role: &str| -> Vec<String> {
        let all = messages.as_array().unwrap().iter().filter(|message| message["role"] == role);
        all.map(|message| message["content"][0]["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts("user"), prompts);
    assert_eq!(texts("assistant"), vec!["ok"; ROUNDS as usize]);
    assert_eq!(messages.as_array().unwrap().len(), 2 * ROUNDS as usize);
    let state = agent.request(json!({"type": "get_state"}));
    assert_eq!(
        (&state["data"]["isStreaming"], &state["data"]["pendingMessageCount"]),
        (&json!(false), &json!(0))
    );
    assert_eq!(check_runs(&agent.seen), ROUNDS as usize);
    assert_eq!(agent.finish().0.code(), Some(0));
}

/// Random numbers by SplitMix64, which is good enough for tests and equal on all machines.
struct Random(u64);

impl Random {
    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        from[((mixed ^ (mixed >> 27)) >> 33) as usize % from.len()]
    }
}

#[test]
fn tool_with_an_unsupported_schema_is_excluded_and_reported() {
    let place = Place::new();
    let call = |name: &str| json!({"blocks": [{"tool": {"id": name, "name": name, "args": {"n": 1}}}]});
    let script = json!({"responses": [call("fine"), call("words")], "default": {"text": "done"}});
    let mut agent = Agent::start(command(&place, &["odd_tools"], script));
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    let ends: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    assert_eq!(ends[0]["result"]["content"][0]["text"], "fine {'n': 1}");
    assert_eq!((&ends[1]["toolName"], &ends[1]["isError"]), (&json!("words"), &json!(true)));
    let (_, _, stderr) = agent.finish();
    let left_out = "the tool \"words\" is left out: its schema has the type \"array\", not \"object\"";
    assert_eq!(stderr.matches(left_out).count(), 1, "{stderr}");
}
