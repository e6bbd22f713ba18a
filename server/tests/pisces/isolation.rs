//! Tests of copies of the repository: their content, and the transfer of changes. Other changes to the user's files are
//! excluded.

use std::sync::Arc;

use agentese_server::tools::{CommandLine, LocalSpawner, PipedProcess, ProcessHandle, Spawner};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    assert_clean, calls, delegate, git, in_repository, isolating, prepared, reports_failure, repository,
    result, run, script, scripted, submits, tasks, text, writer, writes,
};
use agentese::pisces::Pisces;

use crate::support::link::Link;

fn isolated(ids: &[&str]) -> Vec<Value> {
    delegate(json!({"agent": "task", "tasks": tasks(ids), "isolated": true}))
}

#[tokio::test]
async fn copy_has_uncommitted_files_and_only_changes_are_merged() {
    let mut answers = isolated(&["a"]);
    answers.push(calls(
        "JOB-a",
        "bash",
        json!({"command": "cat base.txt new.txt > seen.txt; rm new.txt; git status --short"}),
    ));
    answers.push(submits("JOB-a"));
    let (builder, place) = prepared(isolating(json!({})), script(answers));
    let work = place.path().join("work");
    repository(&work);
    std::fs::write(work.join("base.txt"), "changed\n").unwrap();
    std::fs::write(work.join("new.txt"), "not added\n").unwrap();
    std::fs::write(work.join("other.txt"), "mine\n").unwrap();
    git(&work, &["add", "other.txt"]);
    let mut link = Link::for_dialect::<Pisces>(builder);
    let frames = run(&mut link, "delegate").await;
    assert!(text(&result(&frames)).contains("applied"), "{frames:#?}");
    assert_eq!(std::fs::read_to_string(work.join("seen.txt")).unwrap(), "changed\nnot added\n");
    assert!(!work.join("new.txt").exists());
    let status = git(&work, &["status", "--short"]);
    assert_eq!(status, " M base.txt\nA  other.txt\n?? seen.txt\n", "the index is the user's");
    assert_clean(place.path()).await;
}

#[tokio::test]
async fn files_are_unchanged_until_all_subagents_are_done() {
    let mut answers = isolated(&["a", "b"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    // The second subagent inspects the user's files after the first one has submitted.
    answers.push(calls("JOB-b", "bash", json!({"command": "git -C ../../../work status --short > b.txt"})));
    answers.push(submits("JOB-b"));
    let (mut link, place) = in_repository(isolating(json!({"maxConcurrency": 1})), script(answers));
    run(&mut link, "delegate").await;
    let work = place.path().join("work");
    assert_eq!(std::fs::read_to_string(work.join("b.txt")).unwrap(), "", "nothing was there yet");
    assert_eq!(git(&work, &["status", "--short"]), "?? a.txt\n?? b.txt\n");
    assert_clean(place.path()).await;
}

#[tokio::test]
async fn patches_that_contradict_each_other_leave_everything_as_it_was() {
    let mut answers = isolated(&["a", "b"]);
    answers.extend(writer("a", "base.txt", "one\n"));
    answers.extend(writer("b", "base.txt", "two\n"));
    let (mut link, place) = in_repository(isolating(json!({})), script(answers));
    let result = result(&run(&mut link, "delegate").await);
    assert!(text(&result).contains("as it was"), "{result}");
    let work = place.path().join("work");
    assert_eq!(std::fs::read_to_string(work.join("base.txt")).unwrap(), "base\n");
    for (outcome, word) in result["details"]["results"].as_array().unwrap().iter().zip(["+one", "+two"]) {
        let patch = std::fs::read_to_string(outcome["patchPath"].as_str().unwrap()).unwrap();
        assert!(patch.contains(word), "{patch}");
    }
    assert_eq!(git(&work, &["status", "--short"]), "");
}

#[tokio::test]
async fn files_that_changed_meanwhile_are_not_overwritten() {
    let mut answers = isolated(&["a"]);
    let work_on_it = format!("echo mine > ../../../{}/base.txt; echo theirs > base.txt", "work");
    answers.push(calls("JOB-a", "bash", json!({"command": work_on_it})));
    answers.push(submits("JOB-a"));
    let (mut link, place) = in_repository(isolating(json!({})), script(answers));
    let result = result(&run(&mut link, "delegate").await);
    assert!(text(&result).contains("as it was"), "{result}");
    assert_eq!(std::fs::read_to_string(place.path().join("work/base.txt")).unwrap(), "mine\n");
}

#[tokio::test]
async fn patches_are_kept_if_one_subagent_fails() {
    let mut answers = isolated(&["a", "b"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    answers.push(json!({"when": {"user": "JOB-b"}, "error": {"status": 400, "message": "no"}}));
    let (mut link, place) = in_repository(isolating(json!({})), script(answers));
    let result = result(&run(&mut link, "delegate").await);
    assert!(text(&result).contains("not all subagents completed their work"), "{result}");
    assert!(result["details"]["results"][0]["patchPath"].is_string());
    assert!(!place.path().join("work/a.txt").exists());
}

#[tokio::test]
async fn branches_are_merged_as_commits_and_deleted() {
    let mut answers = isolated(&["a", "b", "c"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    answers.extend(writer("b", "base.txt", "b\n"));
    answers.extend(writer("c", "base.txt", "c\n"));
    let members = isolating(json!({"isolation": {"mode": "worktree", "merge": "branch"}}));
    let (mut link, place) = in_repository(members, script(answers));
    let result = result(&run(&mut link, "delegate").await);
    let work = place.path().join("work");
    assert_eq!(git(&work, &["log", "--format=%s"]), "work on b (1-b)\nwork on a (0-a)\nbase\n");
    assert_eq!(std::fs::read_to_string(work.join("base.txt")).unwrap(), "b\n");
    assert_eq!(git(&work, &["status", "--short"]), "");
    let outcomes = &result["details"]["results"];
    assert_eq!(outcomes[0]["branchName"], "omp/task/0-a");
    let patch = std::fs::read_to_string(outcomes[2]["patchPath"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+c") && text(&result).contains("Not merged: omp/task/2-c"), "{result}");
    assert_eq!(git(&work, &["branch", "--format", "%(refname:short)"]), "main\n");
}

#[tokio::test]
async fn a_branch_is_not_merged_over_files_of_the_user() {
    let mut answers = isolated(&["a"]);
    answers.extend([
        writes("JOB-a", "a.txt", "theirs\n"),
        calls("JOB-a", "bash", json!({"command": format!("echo mine > ../../../{}/a.txt", "work")})),
        submits("JOB-a"),
    ]);
    let members = isolating(json!({"isolation": {"mode": "worktree", "merge": "branch"}}));
    let (mut link, place) = in_repository(members, script(answers));
    let result = result(&run(&mut link, "delegate").await);
    let work = place.path().join("work");
    assert!(text(&result).contains("as it was"), "{result}");
    assert_eq!(std::fs::read_to_string(work.join("a.txt")).unwrap(), "mine\n");
    assert_eq!(git(&work, &["log", "--format=%s"]), "base\n");
    assert_eq!(git(&work, &["branch", "--format", "%(refname:short)"]), "main\n");
    assert!(result["details"]["results"][0]["patchPath"].is_string());
}

#[tokio::test]
async fn branches_of_the_user_with_such_names_are_left_alone() {
    let mut answers = isolated(&["a", "b"]);
    answers.extend(writer("a", "base.txt", "a\n"));
    answers.extend(writer("b", "base.txt", "b\n"));
    let members = isolating(json!({"isolation": {"mode": "worktree", "merge": "branch"}}));
    let (mut link, place) = in_repository(members, script(answers));
    let work = place.path().join("work");
    let branches = ["omp/task/0-a", "omp/task/0-a-2", "omp/task/1-b"];
    branches.iter().for_each(|branch| drop(git(&work, &["branch", branch])));
    let theirs = git(&work, &["rev-parse", "HEAD"]);
    let result = result(&run(&mut link, "delegate").await);
    let outcomes = &result["details"]["results"];
    assert_eq!(outcomes[0]["branchName"], "omp/task/0-a-3");
    assert!(text(&result).contains("Merged: omp/task/0-a-3."), "{result}");
    // The second patch does not apply.
    assert!(text(&result).contains("Not merged: omp/task/1-b"), "{result}");
    assert_eq!(std::fs::read_to_string(work.join("base.txt")).unwrap(), "a\n");
    let listed = git(&work, &["branch", "--format", "%(refname:short)"]);
    assert_eq!(listed, "main\nomp/task/0-a\nomp/task/0-a-2\nomp/task/1-b\n");
    for branch in branches {
        assert_eq!(git(&work, &["rev-parse", branch]), theirs, "{branch}");
    }
}

#[tokio::test]
async fn a_task_may_be_called_like_a_repair() {
    let mut answers = isolated(&["x-repair"]);
    answers.extend(writer("x-repair", "a.txt", "a\n"));
    let members = isolating(json!({"isolation": {"mode": "worktree", "merge": "branch"}}));
    let (mut link, _place) = in_repository(members, script(answers));
    let result = result(&run(&mut link, "delegate").await);
    assert_eq!(result["details"]["results"][0]["branchName"], "omp/task/0-x-repair");
}

#[tokio::test]
async fn changes_of_failed_work_are_not_merged() {
    for merge in ["patch", "branch"] {
        let mut answers = isolated(&["a"]);
        answers.extend([writes("JOB-a", "half.txt", "half\n"), reports_failure("JOB-a")]);
        let members = isolating(json!({"isolation": {"mode": "worktree", "merge": merge}}));
        let (mut link, place) = in_repository(members, script(answers));
        let result = result(&run(&mut link, "delegate").await);
        assert!(text(&result).starts_with("0 of 1 subagents completed their work."), "{result}");
        let outcome = &result["details"]["results"][0];
        assert_eq!((&outcome["exitCode"], &outcome["aborted"]), (&json!(0), &json!(true)));
        let patch = std::fs::read_to_string(outcome["patchPath"].as_str().unwrap()).unwrap();
        assert!(patch.contains("+half"), "{patch}");
        let work = place.path().join("work");
        assert_eq!(git(&work, &["status", "--short"]), "", "{merge}");
        assert_eq!(git(&work, &["log", "--format=%s"]), "base\n", "{merge}");
    }
}

#[tokio::test]
async fn git_warnings_are_not_output() {
    let mut answers = isolated(&["a"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    let members = isolating(json!({"isolation": {"mode": "worktree", "merge": "branch"}}));
    let (mut link, place) = in_repository(members, script(answers));
    let work = place.path().join("work");
    // Every command prints a warning.
    git(&work, &["config", "core.fsyncMethod", "of-tomorrow"]);
    let result = result(&run(&mut link, "delegate").await);
    assert_eq!(result["details"]["results"][0]["branchName"], "omp/task/0-a", "{result}");
    assert_eq!(std::fs::read_to_string(work.join("a.txt")).unwrap(), "a\n");
    assert_clean(place.path()).await;
}

#[tokio::test]
async fn copies_need_a_repository_with_a_commit() {
    let (mut link, place) = scripted(isolating(json!({})), script(isolated(&["a"])));
    let refused = result(&run(&mut link, "delegate").await);
    let expected = "Isolated task execution requires a git repository.";
    assert!(text(&refused).starts_with(expected), "{refused}");
    assert_eq!(crate::left_behind(place.path()), Vec::<std::path::PathBuf>::new());

    let (builder, place) = prepared(isolating(json!({})), script(isolated(&["a"])));
    git(&place.path().join("work"), &["init", "--quiet"]);
    let refused = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
    assert!(text(&refused).contains("requires a commit"), "{refused}");
}

#[tokio::test]
async fn hooks_of_the_repository_do_not_run() {
    let mut answers = isolated(&["a"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    let members = isolating(json!({"isolation": {"mode": "worktree", "merge": "branch"}}));
    let (builder, place) = prepared(members, script(answers));
    let work = place.path().join("work");
    repository(&work);
    for hook in ["post-checkout", "post-merge", "pre-commit", "reference-transaction"] {
        let path = work.join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\ntouch {}/ran-{hook}\n", place.path().display())).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await;
    assert!(work.join("a.txt").exists());
    let ran: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(ran.iter().all(|name| !name.to_string_lossy().starts_with("ran-")), "{ran:?}");
}

/// A spawner that fails during the export of one subagent's changes.
struct FailingSpawner(LocalSpawner);

impl Spawner for FailingSpawner {
    fn spawn<'a>(
        &'a self,
        command: &'a CommandLine,
    ) -> BoxFuture<'a, std::io::Result<Box<dyn ProcessHandle>>> {
        self.0.spawn(command)
    }

    fn spawn_piped<'a>(&'a self, command: &'a CommandLine) -> BoxFuture<'a, std::io::Result<PipedProcess>> {
        let fails =
            command.arguments.iter().any(|argument| argument.to_string_lossy().ends_with("1-b.patch"));
        assert!(!fails, "as it does");
        self.0.spawn_piped(command)
    }
}

#[tokio::test]
async fn a_subagent_that_panics_fails_alone() {
    let mut answers = isolated(&["a", "b"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    answers.extend(writer("b", "b.txt", "b\n"));
    let (builder, place) = prepared(isolating(json!({})), script(answers));
    repository(&place.path().join("work"));
    let spawner = Arc::new(FailingSpawner(LocalSpawner::new(None)));
    let mut link = Link::for_dialect::<Pisces>(builder.spawner(spawner));
    let frames = run(&mut link, "delegate").await;
    let result = result(&frames);
    let [a, b] = [0, 1].map(|index| &result["details"]["results"][index]);
    assert_eq!((&a["exitCode"], &a["output"]), (&json!(0), &json!("\"JOB-a is done\"")), "{result}");
    assert_eq!((&b["exitCode"], &b["error"]), (&json!(1), &json!("The subagent failed inside the agent.")));
    let events = crate::subagent_events(&frames);
    assert!(
        events.contains(&"end 0-a 0".to_owned()) && events.contains(&"end 1-b 1".to_owned()),
        "{events:?}"
    );
    let work = place.path().join("work");
    assert!(std::fs::read_to_string(a["patchPath"].as_str().unwrap()).unwrap().contains("a.txt"));
    assert_eq!(git(&work, &["status", "--short"]), "", "not all subagents completed their work");
    // The patch is kept.
    std::fs::remove_dir_all(std::path::Path::new(a["patchPath"].as_str().unwrap()).parent().unwrap())
        .unwrap();
    assert_clean(place.path()).await;
}
