//! Helpers for the tests: a suite of a few cases in a folder, and agents that are short shell scripts.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use agentese::types::Scenario;
use serde_json::{Value, json};
use tempfile::TempDir;

/// An agent that sends the same answer to every line, with the id of the line. The commands of a probe get
/// this answer too, so that the probe does not time out.
pub const AGENT: &str = r#"while read -r line; do id=${line#*'"id":"'}; id=${id%%'"'*}; echo '{"id":"'"$id"'","type":"response","command":"abort","success":true}'; done"#;

/// A suite in a temporary folder.
pub struct Suite {
    folder: TempDir,
}

impl Suite {
    /// Creates a suite with a profile for an agent that is a shell script.
    pub fn new(agent: &str) -> Self {
        let suite = Self { folder: tempfile::tempdir().unwrap() };
        suite.write("profiles/pi.json", &profile(agent));
        suite
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, value: &Value) {
        self.write_text(name, &value.to_string());
    }

    pub fn write_text(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Adds a case; the members in `more` replace the defaults.
    pub fn case(&self, name: &str, more: &Value) {
        self.write(&format!("cases/pi/{name}.json"), &case(name, more));
    }

    /// Runs the subcommand `run` with these arguments.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentese-conformance"));
        command.arg("--suite").arg(self.path()).args(["run", "--dialect", "pi"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Returns the JSON report of a run, and the exit code.
    pub fn report(&self, arguments: &[&str]) -> (Value, i32) {
        let path = self.path().join("report.json");
        let mut all = vec!["--json", path.to_str().unwrap()];
        all.extend(arguments);
        let output = self.run(&all);
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        (serde_json::from_str(&text).unwrap(), output.status.code().unwrap())
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// Returns a profile whose agent is a shell script.
pub fn profile(agent: &str) -> Value {
    json!({
        "profile": 1, "name": "pi", "dialect": "pi@0.55", "agent": "shell", "command": ["/bin/sh", "-c", agent],
        "environment": {"PATH": "/usr/bin:/bin", "HOME": "${HOME}"}, "exit_grace_ms": 2000,
        "claims": {"without": ["extensions"]},
    })
}

/// Returns a case with one command that must succeed.
pub fn case(name: &str, more: &Value) -> Value {
    let mut case = json!({
        "scenario": 1, "name": name, "dialect": "pi@0.55", "title": format!("the title of {name}"), "level": "must",
        "covers": ["command abort"], "expect": answers(true, "must"),
        "steps": [{"send": {"id": "a", "type": "abort"}}, {"wait": {"id": "a"}, "timeout_ms": 20000}],
    });
    for (name, value) in more.as_object().unwrap() {
        case[name] = value.clone();
    }
    case
}

/// Returns cases by their names, each with changes of the defaults.
pub fn cases(cases: &[(&str, Value)]) -> Vec<Scenario> {
    cases.iter().map(|(name, more)| serde_json::from_value(case(name, more)).unwrap()).collect()
}

/// Returns a check that there is one answer, with this `success`.
pub fn answers(success: bool, level: &str) -> Value {
    json!([{"check": "answers", "says": "it is answered", "of": {"type": "response"}, "level": level,
            "frames": [{"success": success}]}])
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the verdicts by case, with `*` if the failure is expected.
pub fn verdicts(report: &Value) -> Vec<String> {
    let cases = report["cases"].as_array().unwrap().iter();
    let verdict = |case: &Value| {
        let star = if case["expected"] == true { "*" } else { "" };
        format!("{} {}{star}", case["name"].as_str().unwrap(), case["verdict"].as_str().unwrap())
    };
    cases.map(verdict).collect()
}
