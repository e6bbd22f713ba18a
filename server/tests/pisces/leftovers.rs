//! That nothing is left of isolated work: after an abort, a signal, and a kill.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::LONG;
use crate::support::process::{Agent, Place, pid_in};
use crate::{assert_clean, calls, delegate, git, in_repository, isolating, repository, script, tasks};

/// A subagent that runs a command for ever.
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
    let begun = Instant::now();
    while !ready.exists() {
        assert!(begun.elapsed() < LONG);
        tokio::task::yield_now().await;
    }
    std::fs::remove_file(ready).unwrap();
    link.data(json!({"type": "abort"})).await;
    assert_clean(place.path());
    assert_eq!(git(&place.path().join("work"), &["status", "--short"]), "");
}

struct Killed {
    place: Place,
    agent: Agent,
    commands: Vec<rustix::process::Pid>,
}

impl Killed {
    /// An agent whose two subagents run commands in copies of the repository.
    fn at_work() -> Self {
        let place = Place::new();
        repository(&place.work());
        place.put("home/.omp/agent/config.yml", "task: {isolation: {mode: worktree}}\n");
        let mut agent = Agent::start(Self::command(&place, &endless()));
        agent.send(json!({"type": "prompt", "message": "delegate"}));
        let commands = ["a", "b"].map(|name| pid_in(&Self::home(&place).join(format!("{name}.pid"))));
        Self { place, agent, commands: commands.to_vec() }
    }

    fn command(place: &Place, script: &Value) -> std::process::Command {
        let script = place.script(script.clone());
        place.command(&["--mode", "rpc", "--dialect", "pisces", "--script", &script])
    }

    fn home(place: &Place) -> PathBuf {
        place.work().parent().unwrap().join("home")
    }

    fn copies(&self) -> PathBuf {
        Self::home(&self.place).join(".omp/agent/worktrees")
    }

    /// Waits until nothing is left of the work.
    fn assert_clean(&self) {
        let begun = Instant::now();
        while !self.is_clean() {
            assert!(begun.elapsed() < LONG, "{:?}", entries(&self.copies()));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let work = self.place.work();
        assert_eq!(git(&work, &["status", "--short"]), "");
        assert_eq!(git(&work, &["branch", "--format", "%(refname:short)"]), "main\n");
    }

    fn is_clean(&self) -> bool {
        let gone = self.commands.iter().all(|pid| rustix::process::test_kill_process(*pid).is_err());
        let listed = git(&self.place.work(), &["worktree", "list", "--porcelain"]);
        gone && entries(&self.copies()).is_empty() && listed.matches("worktree ").count() == 1
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[test]
fn fm_f93_after_a_signal_nothing_is_left() {
    let mut killed = Killed::at_work();
    killed.agent.signal(Signal::TERM);
    killed.agent.wait();
    killed.assert_clean();
}

#[test]
fn fm_f93_after_a_kill_the_next_start_puts_everything_away() {
    let mut killed = Killed::at_work();
    killed.agent.signal(Signal::KILL);
    killed.agent.wait();
    assert_eq!(entries(&killed.copies()).len(), 2, "a folder and its lease");
    let next = Agent::start(Killed::command(&killed.place, &json!({"responses": []})));
    killed.assert_clean();
    drop(next);
}

#[test]
fn what_somebody_works_on_is_not_put_away() {
    let killed = Killed::at_work();
    agentese_server::subagents::sweep(&killed.copies());
    assert_eq!(entries(&killed.copies()).len(), 2);
}
