//! Tests of extensions that work like subagents: their tool starts agents as child processes. Includes commands, and
//! aborts from several sides.

use std::process::Command;
use std::time::Instant;

use rustix::process::Pid;
use serde_json::{Value, json};

use super::host::{check_runs, command};
use crate::support::LONG;
use crate::support::process::{Agent, Place, assert_gone, is_alive, pid_in};

/// Returns a model script whose first answer calls a tool. All other answers are `done`.
fn calls(tool: &str, arguments: Value) -> Value {
    json!({"responses": [{"blocks": [{"tool": {"id": "call", "name": tool, "args": arguments}}]}],
        "default": {"text": "done"}})
}

/// Writes the model script for the child agents. Returns its path.
fn child(place: &Place, script: Value) -> String {
    place.file("child.json", script.to_string())
}

fn parent(place: &Place, script: Value) -> Command {
    let mut command = command(place, &["children"], script);
    command.env("AGENT", crate::support::agentese());
    command
}

/// Returns the process ids of the started children.
fn children(place: &Place) -> Vec<Pid> {
    let noted = std::fs::read_to_string(place.work().join("children")).unwrap_or_default();
    noted.lines().map(|line| Pid::from_raw(line.parse().unwrap()).unwrap()).collect()
}

/// Returns the error flag and the text of the result of the only call in a run.
#[track_caller]
fn call_result(frames: &[Value]) -> (bool, &str) {
    let ends: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    assert_eq!(ends.len(), 1, "{ends:#?}");
    let text = ends[0]["result"]["content"][0]["text"].as_str().unwrap();
    (ends[0]["isError"].as_bool().unwrap(), text)
}

impl Agent {
    /// Waits for a progress update of a tool.
    #[track_caller]
    fn until_update(&mut self, text: &str) {
        self.until(text, |frame| {
            frame["type"] == "tool_execution_update" && frame["partialResult"]["content"][0]["text"] == text
        });
    }

    /// Checks that the agent is idle. A later run would be noticed when the runs are counted after the next prompt.
    #[track_caller]
    fn check_idle(&mut self) {
        assert_eq!(self.request(json!({"type": "get_state"}))["data"]["isStreaming"], false);
    }

    /// Waits until `count` failures were reported. They need not be reported at the same time.
    #[track_caller]
    fn wait_for_failures(&mut self, count: usize) {
        let since = Instant::now();
        while self.failures().len() < count {
            assert!(since.elapsed() < LONG, "the failure is not reported");
            self.request(json!({"type": "get_state"}));
        }
        assert_eq!(self.failures().len(), count);
    }

    /// Checks that the agent handles a further prompt normally.
    #[track_caller]
    fn check_next_prompt(&mut self) {
        self.prompt("and on");
        let frames = self.until_event("agent_end");
        let messages = frames.last().unwrap()["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"][0]["text"], "done");
        check_runs(&self.seen);
    }
}

#[test]
fn fm_f93_child_crash_is_an_error_of_its_call_and_the_parent_continues() {
    for (how, error, failures) in [
        ("plain", None, 0),
        ("crash", Some("the child has ended: -9"), 0),
        // The whole extension, during its tool.
        ("die", Some("The tool child is not available: its extension has ended"), 1),
    ] {
        let place = Place::new();
        // A child that is to be killed must not finish earlier.
        let pause = if how == "crash" { 600_000 } else { 0 };
        let answer = json!({"first_ms": pause, "text": "child says so"});
        let script = child(&place, json!({"responses": [], "default": answer}));
        let mut agent = Agent::start(parent(&place, calls("child", json!({"how": how, "script": script}))));
        agent.prompt("go");
        let frames = agent.until_event("agent_end");
        assert_eq!(call_result(&frames), (error.is_some(), error.unwrap_or("child says so")), "{how}");
        agent.check_next_prompt();
        agent.wait_for_failures(failures);
        assert_eq!(agent.finish().0.code(), Some(0), "{how}");
        children(&place).into_iter().for_each(assert_gone);
    }
}

#[test]
fn fm_f93_an_endless_child_ends_with_the_abort_of_its_parent() {
    let place = Place::new();
    // Each of its answers runs a command.
    let endless = json!({"responses": [],
        "default": {"blocks": [{"tool": {"id": "c", "name": "bash", "args": {"command": "true"}}}]}});
    let script = child(&place, endless);
    let mut agent = Agent::start(parent(&place, calls("child", json!({"how": "plain", "script": script}))));
    agent.prompt("go");
    for _ in 0..3 {
        agent.until_update("turn_end");
    }
    agent.send(json!({"id": "stop", "type": "abort"}));
    let frames = agent.until_event("agent_end");
    assert_eq!(call_result(&frames), (true, "Operation aborted"));
    let [pid] = children(&place)[..] else { panic!("one child") };
    assert_gone(pid);
    agent.check_next_prompt();
}

#[test]
fn fm_f93_a_tool_that_spins_for_ever_ends_with_the_abort_and_its_process_with_the_agent() {
    let place = Place::new();
    let mut agent = Agent::start(parent(&place, calls("child", json!({"how": "spin"}))));
    agent.prompt("go");
    agent.until_update("spinning");
    agent.send(json!({"id": "stop", "type": "abort"}));
    let frames = agent.until_event("agent_end");
    assert_eq!(call_result(&frames), (true, "Operation aborted"));
    agent.check_next_prompt();
    let own = pid_in(&place.work().join("own"));
    assert!(is_alive(own));
    assert_eq!(agent.finish().0.code(), Some(0));
    assert_gone(own);
}

#[test]
fn fm_f93_agents_that_start_agents_come_to_an_end() {
    let place = Place::new();
    place.put("home/.pi/agent/settings.json", json!({"extensionHost": {"maxDepth": 3}}).to_string());
    // All agents run the same script, which calls the tool that starts the next one.
    let script = place.work().with_file_name("script.json");
    let mut command = parent(&place, calls("child", json!({"how": "plain", "script": script})));
    let installed = place.work().with_file_name("installed").join("children");
    command.env("CHILD_EXTENSION", installed);
    let mut agent = Agent::start(command);
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    // The innermost agent lacks the tool. Its model receives an error, which ends its run.
    assert_eq!(call_result(&frames), (false, "done"));
    let children = children(&place);
    assert_eq!(children.len(), 3);
    children.into_iter().for_each(assert_gone);
    agent.check_next_prompt();
}

#[test]
fn fm_f94_a_result_without_end_is_a_flood_and_an_error_of_its_call() {
    let place = Place::new();
    let mut agent = Agent::start(parent(&place, calls("long", json!({}))));
    agent.prompt("go");
    let frames = agent.until_event("agent_end");
    assert_eq!(call_result(&frames), (true, "The tool long is not available: its extension has ended"));
    agent.check_next_prompt();
    agent.wait_for_failures(1);
    assert!(agent.failures()[0]["error"].as_str().unwrap().contains("it sent a line of more than"));
}

/// Returns the token usage of all answers, as the events report it: input and output.
fn event_usage(frames: &[Value]) -> [u64; 2] {
    let answers = frames.iter().filter(|frame| frame["type"] == "message_end");
    let usages = answers.filter(|frame| frame["message"]["role"] == "assistant");
    usages.fold([0, 0], |[input, output], frame| {
        let usage = &frame["message"]["usage"];
        [input + usage["input"].as_u64().unwrap(), output + usage["output"].as_u64().unwrap()]
    })
}

#[test]
fn fm_f95_many_aborts_at_once_are_one_end_and_the_sums_are_exact() {
    let place = Place::new();
    let call = json!({"tool": {"id": "call", "name": "stops", "args": {}}});
    let script = json!({"responses": [], "default": {"blocks": [call], "usage": {"input": 7, "output": 3}}});
    let mut agent = Agent::start(parent(&place, script));
    for round in 1..=20 {
        agent.prompt(&format!("round {round}"));
        // The client aborts too, together with the eight threads of the tool.
        agent.until("the tool", |frame| frame["type"] == "tool_execution_start");
        agent.send(json!({"id": "stop", "type": "abort"}));
        agent.until("the answer", |frame| frame["id"] == "stop");
        while agent.notice_count() < round {
            agent.next_notice();
        }
        let stats = agent.request(json!({"type": "get_session_stats"}));
        let ends = agent.seen.iter().filter(|frame| frame["type"] == "agent_end").count();
        assert_eq!(ends, round);
        let tokens = &stats["data"]["tokens"];
        assert_eq!(json!(event_usage(&agent.seen)), json!([tokens["input"], tokens["output"]]));
        assert!(event_usage(&agent.seen)[0] >= 7 * round as u64);
    }
    agent.check_idle();
    agent.prompt("the last one");
    agent.until_event("agent_end");
    assert_eq!(check_runs(&agent.seen), 21);
    assert!(agent.failures().is_empty());
}

#[test]
fn fm_f131_abort_ends_idle_children_and_starts_nothing() {
    let place = Place::new();
    let script = child(&place, json!({"responses": [], "default": {"text": "child says so"}}));
    let mut agent = Agent::start(parent(&place, calls("child", json!({"how": "reports", "script": script}))));
    agent.prompt("go");
    agent.until_update("agent_end");
    agent.until_update("reported");
    agent.send(json!({"id": "stop", "type": "abort"}));
    let frames = agent.until_event("agent_end");
    assert_eq!(call_result(&frames), (true, "Operation aborted"));
    let [pid] = children(&place)[..] else { panic!("one child") };
    assert_gone(pid);
    agent.check_idle();
    assert_eq!(check_runs(&agent.seen), 1);
    // The report of the child is queued, like other input, until the next prompt.
    agent.prompt("and on");
    let frames = agent.until_event("agent_end");
    let messages = frames.last().unwrap()["messages"].as_array().unwrap();
    let reports = messages.iter().filter(|message| message["content"] == "child says so").count();
    assert_eq!((reports, &messages.last().unwrap()["content"][0]["text"]), (1, &json!("done")));
    assert_eq!(agent.seen.iter().filter(|frame| frame["type"] == "agent_start").count(), 2);
    assert_eq!(agent.finish().0.code(), Some(0));
}
