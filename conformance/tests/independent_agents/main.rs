//! Tests with agents in three languages that were written only from docs/check-your-agent.md. A correct agent
//! passes. For an agent with a mistake, the first line that reports a failure names the mistake.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Number of mistakes that are tested concurrently. These tests mostly wait.
const AT_ONCE: usize = 5;

/// Factor for all time limits with a wrong agent. A wait then ends after twelve seconds, which is still many
/// times the usual time.
const PATIENCE: &str = "0.2";

struct Agent {
    /// File name of the program.
    file: &'static str,
    text: &'static str,
    profile: &'static str,
    /// Interpreter that the program needs.
    needs: &'static str,
    /// Minimum number of judged cases.
    judged: u64,
}

const PYTHON: Agent = Agent {
    file: "agent.py",
    text: include_str!("agents/agent.py"),
    profile: include_str!("agents/chat.profile.json"),
    needs: "python3",
    judged: 20,
};

const NODE: Agent = Agent {
    file: "agent.mjs",
    text: include_str!("agents/agent.mjs"),
    profile: include_str!("agents/pebble.profile.json"),
    needs: "node",
    judged: 20,
};

const SHELL: Agent = Agent {
    file: "agent.sh",
    text: include_str!("agents/agent.sh"),
    profile: include_str!("agents/notes.profile.json"),
    needs: "jq",
    judged: 10,
};

/// Runs the suite. Returns the report, and the first line of the output that begins with `FAIL`. Returns
/// `None` if the interpreter is not installed.
fn played(agent: &Agent, text: &str, options: &[&str]) -> Option<(Value, String)> {
    let is_there = Command::new(agent.needs).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: {} is not there for {}", agent.needs, agent.file);
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at(agent.file), text).unwrap();
    std::fs::set_permissions(at(agent.file), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(at("profile.json"), agent.profile).unwrap();
    let mut suite = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"));
    suite.args(["run", "--jobs", "2", "--profile"]).arg(at("profile.json"));
    suite.arg("--json").arg(at("report.json")).args(options);
    let output = suite.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let first = said.lines().find(|line| line.starts_with("FAIL")).unwrap_or_default().to_owned();
    Some((report(&at("report.json"), &output.stderr), first))
}

fn report(path: &Path, stderr: &[u8]) -> Value {
    let text =
        std::fs::read_to_string(path).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(stderr)));
    serde_json::from_str(&text).unwrap()
}

fn is_clean(agent: &Agent) {
    let Some((report, first)) = played(agent, agent.text, &[]) else { return };
    assert_eq!(report["exit_code"], 0, "{}: {first}", agent.file);
    let count = |name: &str| report["totals"][name].as_u64().unwrap_or_default();
    let judged = count("pass") + count("lenient");
    assert!(judged >= agent.judged, "{}: {judged} cases are judged", agent.file);
}

/// A mistake: name, original text, replacement, and texts. The first line that reports a failure must contain
/// one of these texts.
type Mistake = (&'static str, &'static str, &'static str, &'static [&'static str]);

fn is_named(agent: &Agent, (what, from, to, words): &Mistake) {
    assert_eq!(agent.text.matches(from).count(), 1, "{what}: `{from}` must occur once");
    let options = ["--patience", PATIENCE, "--only", "plain-*", "prompt-text-anthropic"];
    let Some((report, first)) = played(agent, &agent.text.replace(from, to), &options) else { return };
    assert_eq!(report["exit_code"], 1, "{what}");
    assert!(words.iter().any(|word| first.contains(word)), "{what}: {first}");
}

fn are_named(agents: &[(&Agent, &[Mistake])]) {
    let mistakes = agents.iter().flat_map(|(agent, some)| some.iter().map(move |mistake| (*agent, mistake)));
    let left = Mutex::new(mistakes);
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let play = || std::iter::from_fn(&next).for_each(|(agent, mistake)| is_named(agent, mistake));
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(play))));
}

#[test]
fn a_right_agent_in_python_has_a_clean_report() {
    is_clean(&PYTHON);
}

#[test]
fn a_right_agent_on_node_has_a_clean_report() {
    is_clean(&NODE);
}

#[test]
fn a_right_agent_in_shell_has_a_clean_report() {
    is_clean(&SHELL);
}

const IN_PYTHON: &[Mistake] = &[
    ("ids are texts", r#"{"id": command["id"], **"#, r#"{"id": str(command["id"]), **"#, &["id"]),
    (
        "`success` is a text",
        r#""success": True, "data": self.state()"#,
        r#""success": "yes", "data": self.state()"#,
        &["`success`"],
    ),
    (
        "the state never streams",
        "self.streaming, \"isCompacting\"",
        "False, \"isCompacting\"",
        &["isStreaming"],
    ),
    ("half the messages are counted", "len(self.messages),", "len(self.messages) // 2,", &["messageCount"]),
    (
        "the model gets the last message alone",
        "for it in self.messages if",
        "for it in self.messages[-1:] if",
        &["request"],
    ),
    (
        "a second prompt is taken",
        r#""prompt" and self.streaming:"#,
        r#""prompt" and False:"#,
        &["second prompt"],
    ),
    ("an abort does nothing", "            self.abort()\n", "", &["abort"]),
    ("what was stopped says `stop`", "stopReason=\"aborted\"", "stopReason=\"stop\"", &["stopReason"]),
    (
        "a failure of the model is not told",
        "stopReason=\"error\"",
        "stopReason=\"stop\"",
        &["stopReason", "error"],
    ),
    (
        "deltas stand in `text`",
        "delta=event[\"delta\"][\"text\"])",
        "text=event[\"delta\"][\"text\"])",
        &["delta"],
    ),
    (
        "the end has no messages",
        r#"{"type": "agent_end", "messages": [user, answer]}"#,
        r#"{"type": "agent_end"}"#,
        &["messages"],
    ),
    (
        "a turn does not end",
        r#"self.send({"type": "turn_end", "message": answer, "toolResults": []})"#,
        "pass",
        &["turn_end"],
    ),
    (
        "a log is on stdout",
        r#"        self.send({"type": "turn_start"})"#,
        "        print('[info] a turn begins', flush=True)\n        self.send({\"type\": \"turn_start\"})",
        &["JSON"],
    ),
];

const ON_NODE: &[Mistake] = &[
    ("runs do not end", "  send({ type: \"agent_end\", messages: [user, answer] });\n", "", &["agent_end"]),
    ("blocks are counted from 1", "contentIndex: 0", "contentIndex: 1", &["contentIndex"]),
];

const IN_SHELL: &[Mistake] = &[
    ("ids are left out", "{id: $command.id}", "{}", &["id", "was not answered"]),
    ("`isStreaming` is called otherwise", "isStreaming: false", "is_streaming: false", &["isStreaming"]),
];

#[test]
fn each_mistake_is_named_in_the_first_line() {
    are_named(&[(&PYTHON, IN_PYTHON), (&NODE, ON_NODE), (&SHELL, IN_SHELL)]);
}
