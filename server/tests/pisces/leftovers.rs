//! Tests that isolated work leaves nothing behind: after an abort, after a signal, and after a kill.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::LONG;
use crate::support::process::{Agent, Place, pid_in};
use crate::{assert_clean, calls, delegate, git, in_repository, isolating, repository, script, tasks};

/// Returns a script for a subagent that runs an endless command.
fn endless() -> Value {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b"]), "isolated": true}));
    for (user, file) in [("JOB-a", "a"), ("JOB-b", "b")] {
        let command = format!("echo changed > base.txt; echo $$ > \"$HOME/{file}.pid\"; exec sleep 60");
        answers.push(calls(user, "bash", json!({"command": command})));
    }
    script(answers)
}

#[tokio::test]
async fn after_an_abort_nothing_is_left() {
    let command = "echo changed > base.txt; echo ready > ../../ready; exec sleep 60";
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"]), "isolated": true}));
    answers.push(calls("JOB-a", "bash", json!({"command": command})));
    let (mut link, place) = in_repository(isolating(json!({})), script(answers));
    link.send(json!({"type": "prompt", "message": "delegate"})).await;
    link.until_event("subagent_start").await;
    let ready = place.path().join("agentese-worktrees/ready");
    let start = Instant::now();
    while !ready.exists() {
        assert!(start.elapsed() < LONG);
        tokio::task::yield_now().await;
    }
    std::fs::remove_file(ready).unwrap();
    link.data(json!({"type": "abort"})).await;
    assert_clean(place.path()).await;
    assert_eq!(git(&place.path().join("work"), &["status", "--short"]), "");
}

struct IsolatedRun {
    place: Place,
    agent: Agent,
    commands: Vec<rustix::process::Pid>,
}

impl IsolatedRun {
    /// Starts an agent whose two subagents run commands in copies of the repository.
    fn start_commands() -> Self {
        let mut killed = Self::start_subagents(None, endless());
        let home = Self::home(&killed.place);
        killed.commands = ["a", "b"].map(|name| pid_in(&home.join(format!("{name}.pid")))).to_vec();
        killed
    }

    /// Starts an agent whose prompt starts subagents. `held` names a program (`git` or `rm`) and a shell pattern for
    /// its arguments. Matching calls write their process id to `held.pid` in the home directory, and wait there for the
    /// file `go`.
    fn start_subagents(held: Option<(&str, &str)>, script: Value) -> Self {
        let place = Place::new();
        repository(&place.work());
        place.put("home/.omp/agent/config.yml", "task: {isolation: {mode: worktree}}\n");
        let mut command = Self::command(&place, &script);
        if let Some((program, held)) = held {
            let path = std::env::var("PATH").unwrap();
            let slow = format!(
                "#!/bin/sh\nPATH='{path}'\ncase \"$*\" in *{held}*)\n  echo $$ > \"$HOME/held.pid\"\n  \
                 while [ -d \"$HOME\" ] && [ ! -e \"$HOME/go\" ]; do sleep 0.02; done;;\nesac\nexec {program} \"$@\"\n"
            );
            let git = place.put(&format!("home/slow/{program}"), slow);
            std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
            command.env("PATH", format!("{}:{path}", git.parent().unwrap().display()));
        }
        let mut agent = Agent::start(command);
        agent.send(json!({"type": "prompt", "message": "delegate"}));
        Self { place, agent, commands: Vec::new() }
    }

    fn command(place: &Place, script: &Value) -> std::process::Command {
        let script = place.script(script.clone());
        place.command(&["--mode", "rpc", "--dialect", "pisces", "--script", &script])
    }

    /// Waits until a call of the held program has started.
    fn wait_until_held(&self) {
        pid_in(&Self::home(&self.place).join("held.pid"));
    }

    fn release(&self) {
        self.place.put("home/go", "");
    }

    /// Aborts the call, and waits until its run has ended. Returns the result of the call.
    fn abort(&mut self) -> Value {
        self.agent.send(json!({"type": "abort", "id": "stop"}));
        let lines = std::iter::from_fn(|| self.agent.next_line());
        let mut frames: Vec<Value> = Vec::new();
        for frame in lines.map(|line| serde_json::from_str::<Value>(&line).unwrap()) {
            let last = frame["id"] == "stop";
            frames.push(frame);
            if last {
                return crate::result(&frames);
            }
        }
        panic!("the abort is not answered: {frames:#?}")
    }

    fn home(place: &Place) -> PathBuf {
        place.work().parent().unwrap().join("home")
    }

    fn copies(&self) -> PathBuf {
        Self::home(&self.place).join(".omp/agent/worktrees")
    }

    /// Waits until nothing of the call is left.
    fn assert_clean(&self) {
        let start = Instant::now();
        while !self.is_clean() {
            assert!(start.elapsed() < LONG, "{:?}", entries(&self.copies()));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let work = self.place.work();
        assert_eq!(git(&work, &["status", "--short"]), "");
        assert_eq!(git(&work, &["branch", "--format", "%(refname:short)"]), "main\n");
    }

    fn is_clean(&self) -> bool {
        let have_ended = self.commands.iter().all(|pid| rustix::process::test_kill_process(*pid).is_err());
        let listed = git(&self.place.work(), &["worktree", "list", "--porcelain"]);
        have_ended && entries(&self.copies()).is_empty() && listed.matches("worktree ").count() == 1
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[test]
fn fm_f93_after_a_signal_nothing_is_left() {
    let mut killed = IsolatedRun::start_commands();
    killed.agent.signal(Signal::TERM);
    killed.agent.wait();
    killed.assert_clean();
}

#[test]
fn fm_f93_next_start_after_a_kill_removes_everything() {
    let mut killed = IsolatedRun::start_commands();
    killed.agent.signal(Signal::KILL);
    killed.agent.wait();
    assert_eq!(entries(&killed.copies()).len(), 2, "a folder and its lease");
    let next = Agent::start(IsolatedRun::command(&killed.place, &json!({"responses": []})));
    killed.assert_clean();
    drop(next);
}

#[test]
fn fm_f93_an_abort_does_not_wait_for_copies_that_are_slow_to_remove() {
    let mut killed = IsolatedRun::start_subagents(Some(("rm", "worktrees")), endless());
    let home = IsolatedRun::home(&killed.place);
    killed.commands = ["a", "b"].map(|name| pid_in(&home.join(format!("{name}.pid")))).to_vec();
    let result = killed.abort();
    assert_eq!(result["details"]["results"][0]["abortReason"], "The operation was aborted.", "{result}");
    killed.wait_until_held();
    assert!(!killed.is_clean(), "they are being removed");
    // The end of the process waits for the held program.
    killed.agent.close_stdin();
    killed.release();
    killed.agent.wait();
    killed.assert_clean();
}

#[test]
fn fm_f93_an_abort_stops_copies_that_are_still_made() {
    let mut killed = IsolatedRun::start_subagents(Some(("git", "checkout-index")), endless());
    killed.wait_until_held();
    let result = killed.abort();
    assert_eq!(result["details"]["results"][0]["abortReason"], "The operation was aborted.", "{result}");
    killed.assert_clean();
}

#[test]
fn merge_is_not_interrupted_by_an_abort() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"]), "isolated": true}));
    answers.extend(crate::writer("a", "made.txt", "made\n"));
    let mut killed = IsolatedRun::start_subagents(
        Some(("git", "'apply --whitespace=nowarn'*merge.patch")),
        script(answers),
    );
    killed.wait_until_held();
    // The program is cancelled before git has changed any file.
    killed.abort();
    killed.agent.close_stdin();
    killed.release();
    killed.agent.wait();
    assert_eq!(git(&killed.place.work(), &["status", "--short"]), "?? made.txt\n");
    assert_eq!(entries(&killed.copies()), Vec::<PathBuf>::new());
}

#[test]
fn sweep_keeps_copies_in_use() {
    let killed = IsolatedRun::start_commands();
    agentese_server::subagents::sweep(&killed.copies());
    assert_eq!(entries(&killed.copies()).len(), 2);
}

#[test]
fn git_gets_no_keys_of_providers() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"]), "isolated": true}));
    answers.extend(crate::writer("a", "made.txt", "made\n"));
    let place = Place::new();
    repository(&place.work());
    place.put("home/.omp/agent/config.yml", "task: {isolation: {mode: worktree, merge: branch}}\n");
    let path = std::env::var("PATH").unwrap();
    let shim = format!("#!/bin/sh\nPATH='{path}'\nenv >> \"$HOME/seen\"\nexec git \"$@\"\n");
    let git = place.put("home/shim/git", shim);
    std::fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let script = place.script(script(answers));
    // With a key, another provider would be used.
    let options = ["--mode", "rpc", "--dialect", "pisces", "--provider", "scripted", "--script", &script];
    let mut command = place.command(&options);
    command.env("PATH", format!("{}:{path}", git.parent().unwrap().display()));
    for name in agentese_server::providers::key_variables() {
        command.env(name, "canary-key");
    }
    let mut agent = Agent::start(command);
    agent.send(json!({"type": "prompt", "message": "delegate"}));
    let ended = |line: String| serde_json::from_str::<Value>(&line).unwrap()["type"] == "agent_end";
    while !ended(agent.next_line().expect("the run ends")) {}
    agent.close_stdin();
    agent.wait();
    assert!(place.work().join("made.txt").exists());
    let seen = std::fs::read_to_string(IsolatedRun::home(&place).join("seen")).unwrap();
    assert!(seen.contains("GIT_TERMINAL_PROMPT=0") && !seen.contains("canary"), "{seen}");
}
