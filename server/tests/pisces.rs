//! Tests of the pisces dialect within this process: subagents, verification of their work, and budgets.

#[path = "pisces/budgets.rs"]
mod budgets;
#[path = "pisces/isolation.rs"]
mod isolation;
#[path = "pisces/leftovers.rs"]
mod leftovers;
#[path = "pisces/repositories.rs"]
mod repositories;
#[path = "pisces/rules.rs"]
mod rules;
#[path = "support/mod.rs"]
mod support;
#[path = "pisces/tasks.rs"]
mod tasks;
#[path = "pisces/verification.rs"]
mod verification;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agentese::pisces::Pisces;
use agentese_server::Builder;
use agentese_server::config::{AgentPaths, Settings, load_settings};
use serde_json::{Value, json};
use support::LONG;
use support::link::{Link, builder};

/// Returns the settings from a file with these members.
fn settings(members: &Value) -> Settings {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("settings.json"), members.to_string()).unwrap();
    let loaded = load_settings(&AgentPaths::PI, Some(place.path()), place.path(), None, Some(false));
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    loaded.settings
}

/// Returns a builder with these settings and this script. Its working directory is `work`, beside the directory for
/// temporary files.
fn prepared(members: Value, script: Value) -> (Builder, tempfile::TempDir) {
    let (builder, place) = builder(script);
    let work = place.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut settings = settings(&members);
    settings.retry.enabled = false;
    (builder.cwd(work).settings(settings), place)
}

/// Starts an agent with these settings and this model script.
fn scripted(members: Value, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = prepared(members, script);
    (Link::for_dialect::<Pisces>(builder), place)
}

/// Starts the same agent as [`scripted`] in a repository. The repository has one commit with the file `base.txt`.
fn in_repository(members: Value, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = prepared(members, script);
    repository(&place.path().join("work"));
    (Link::for_dialect::<Pisces>(builder), place)
}

fn repository(work: &Path) {
    std::fs::write(work.join("base.txt"), "base\n").unwrap();
    git(work, &["init", "--quiet", "--initial-branch", "main"]);
    git(work, &["add", "--all"]);
    git(work, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "base"]);
}

fn git(work: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new("git").args(arguments).current_dir(work).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns settings that permit isolated subagents, with further settings.
fn isolating(more: Value) -> Value {
    let mut members = json!({"task": {"isolation": {"mode": "worktree"}}});
    for (key, value) in more.as_object().unwrap() {
        members["task"][key] = value.clone();
    }
    members
}

/// Returns two answers of the parent's model: a call of `task` with these arguments, and the text after the call.
fn delegate(arguments: Value) -> Vec<Value> {
    vec![
        json!({"when": {"user": "delegate", "tool_results": false},
               "blocks": [{"tool": {"id": "t", "name": "task", "args": arguments}}]}),
        json!({"when": {"user": "delegate", "tool_results": true}, "text": "over"}),
    ]
}

/// Returns a list of tasks with these ids. The assignment of the task `a` is `JOB-a`.
fn tasks(ids: &[&str]) -> Value {
    let task = |id: &&str| json!({"id": id, "description": format!("work on {id}"), "assignment": format!("JOB-{id}")});
    ids.iter().map(task).collect()
}

/// Returns an answer for a subagent whose prompt contains `user`. The answer is a call of the tool `name`.
fn calls(user: &str, name: &str, arguments: Value) -> Value {
    json!({"when": {"user": user}, "blocks": [{"tool": {"id": "c", "name": name, "args": arguments}}]})
}

/// Returns an answer for a subagent that writes a file.
fn writes(user: &str, path: &str, content: &str) -> Value {
    calls(user, "write", json!({"path": path, "content": content}))
}

/// Returns an answer for a subagent that submits a result.
fn submits(user: &str) -> Value {
    calls(user, "submit_result", json!({"result": {"data": format!("{user} is done")}}))
}

/// Returns an answer for a subagent that submits a failure.
fn reports_failure(user: &str) -> Value {
    calls(user, "submit_result", json!({"result": {"error": "the half of it is missing"}}))
}

/// Returns two answers for the subagent `id`: it writes a file, then submits its result.
fn writer(id: &str, path: &str, content: &str) -> [Value; 2] {
    let user = format!("JOB-{id}");
    [writes(&user, path, content), submits(&user)]
}

fn script(answers: impl IntoIterator<Item = Value>) -> Value {
    json!({"responses": answers.into_iter().collect::<Vec<_>>()})
}

/// Sends a prompt and returns the events of its run.
async fn run(link: &mut Link, message: &str) -> Vec<Value> {
    link.data(json!({"type": "prompt", "message": message})).await;
    link.until_event("agent_end").await
}

/// Returns the result of the call of `task` from the frames of a run.
fn result(frames: &[Value]) -> Value {
    let ended = |frame: &&Value| frame["type"] == "tool_execution_end" && frame["toolName"] == "task";
    frames.iter().find(ended).unwrap_or_else(|| panic!("{frames:#?}"))["result"].clone()
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Returns the events about subagents, as `type id status`.
fn subagent_events(frames: &[Value]) -> Vec<String> {
    let events = frames
        .iter()
        .filter(|frame| frame["type"].as_str().is_some_and(|kind| kind.starts_with("subagent_")));
    let line = |frame: &Value| {
        let kind = frame["type"].as_str().unwrap().trim_start_matches("subagent_");
        let more = [&frame["commandName"], &frame["status"], &frame["exitCode"]];
        let more = more.into_iter().filter(|value| !value.is_null()).map(|value| format!(" {value}"));
        format!("{kind} {}{}", frame["id"].as_str().unwrap(), more.collect::<String>().replace('"', ""))
    };
    events.map(line).collect()
}

/// Returns everything in a folder that a call may have left behind: worktrees, leases, outputs.
fn left_behind(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
    let folders = entries.flat_map(|path| match path.file_name().and_then(|name| name.to_str()) {
        Some("agentese-worktrees") => {
            std::fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()).collect()
        }
        Some(name) if name.starts_with("agentese-task-") || name.starts_with("pi-bash-") => vec![path],
        _ => Vec::new(),
    });
    folders.collect()
}

/// Waits until nothing of a call is left: no file, worktree or branch.
async fn assert_clean(place: &Path) {
    let start = Instant::now();
    while !left_behind(place).is_empty() {
        assert!(start.elapsed() < LONG, "{:?}", left_behind(place));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let work = place.join("work");
    assert_eq!(git(&work, &["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(git(&work, &["branch", "--format", "%(refname:short)"]), "main\n");
}
