//! Tests with various repositories. Programs in an untrusted configuration do not run, and git operations of a subagent
//! affect only its copy. Nested repositories are excluded.

use std::collections::BTreeMap;
use std::path::Path;

use agentese::pisces::Pisces;
use agentese_server::subagents::{SharedPolicy, SubagentPolicy};
use serde_json::{Value, json};

use crate::support::link::Link;
use crate::{
    assert_clean, calls, delegate, git, in_repository, isolating, prepared, reports_failure, repository,
    result, run, script, submits, tasks, text, writer,
};

fn isolated(ids: &[&str]) -> Vec<Value> {
    delegate(json!({"agent": "task", "tasks": tasks(ids), "isolated": true}))
}

fn merging(merge: &str) -> Value {
    isolating(json!({"isolation": {"mode": "worktree", "merge": merge}}))
}

/// Returns answers for a subagent that runs a command and then gives the answer `end`.
fn runs(command: &str, end: Value) -> Value {
    let mut answers = isolated(&["a"]);
    answers.extend([calls("JOB-a", "bash", json!({"command": command})), end]);
    script(answers)
}

/// Returns the path and the content of every file in a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let name = entry.path().strip_prefix(folder).unwrap().display().to_string();
                    all.insert(name, std::fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    all
}

/// Creates a nested repository of the kind `kind` in the folder `sub`.
fn put_within(work: &Path, kind: &str) {
    let sub = work.join("sub");
    let commit =
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"];
    match kind {
        "worktree" => drop(git(work, &["worktree", "add", "--quiet", "--detach", "sub"])),
        _ => {
            std::fs::create_dir(&sub).unwrap();
            git(&sub, &["init", "--quiet", "--initial-branch", "main"]);
            std::fs::write(sub.join("theirs.txt"), "theirs\n").unwrap();
        }
    }
    if kind == "a commit" || kind == "submodule" {
        git(&sub, &["add", "--all"]);
        git(&sub, &commit);
    }
    if kind == "submodule" {
        let url = sub.display().to_string();
        std::fs::write(
            work.join(".gitmodules"),
            format!("[submodule \"sub\"]\n\tpath = sub\n\turl = {url}\n"),
        )
        .unwrap();
        git(work, &["-c", "advice.addEmbeddedRepo=false", "add", "sub", ".gitmodules"]);
        git(work, &commit);
        // The checked-out commit differs from the one in the outer repository.
        git(&sub, &commit);
    }
}

#[tokio::test]
async fn git_commands_of_a_subagent_change_its_copy_alone() {
    let command = "git branch theirs && git tag tagged && git config user.name theirs && git config core.worktree / && \
                   git config --unset core.worktree; hooks=$(git rev-parse --git-path hooks); mkdir -p \"$hooks\"; \
                   echo exit 1 > \"$hooks/pre-commit\"; git stash --include-untracked; git commit --allow-empty -m theirs; \
                   git update-ref refs/notes/theirs HEAD; git gc --quiet; echo half > half.txt; git log --oneline main > seen.txt";
    for (end, works) in [(reports_failure("JOB-a"), false), (submits("JOB-a"), true)] {
        let (mut link, place) = in_repository(merging("patch"), runs(command, end));
        let work = place.path().join("work");
        let before = files(&work.join(".git"));
        run(&mut link, "delegate").await;
        assert_eq!(files(&work.join(".git")), before);
        if works {
            let seen = std::fs::read_to_string(work.join("seen.txt")).unwrap();
            assert!(seen.ends_with(" base\n"), "{seen}");
            // The patch of failed work is kept.
            assert_clean(place.path()).await;
        }
    }
}

#[tokio::test]
async fn commits_of_a_subagent_are_merged_as_changes() {
    let command = "echo one > one.txt && git add --all && git -c user.name=a -c user.email=a@b commit -qm one && \
                   echo two > base.txt";
    for merge in ["patch", "branch"] {
        let (mut link, place) = in_repository(merging(merge), runs(command, submits("JOB-a")));
        let call_result = result(&run(&mut link, "delegate").await);
        let work = place.path().join("work");
        let read = |name: &str| std::fs::read_to_string(work.join(name)).unwrap_or_default();
        assert_eq!(
            (read("one.txt"), read("base.txt")),
            ("one\n".into(), "two\n".into()),
            "{merge}: {call_result}"
        );
        assert_eq!(git(&work, &["log", "--format=%s"]).lines().last(), Some("base"));
        assert_clean(place.path()).await;
    }
}

#[tokio::test]
async fn a_repository_within_is_left_out_of_copies_and_changes() {
    for kind in ["a commit", "no commit", "worktree", "submodule"] {
        for merge in ["patch", "branch"] {
            let mut answers = isolated(&["a"]);
            answers.push(calls(
                "JOB-a",
                "bash",
                json!({"command": "git status --short > ../seen; mv ../seen status.txt"}),
            ));
            answers.extend(writer("a", "n.txt", "new\n"));
            let (builder, place) = prepared(merging(merge), script(answers));
            let work = place.path().join("work");
            repository(&work);
            put_within(&work, kind);
            let (head, within) = (git(&work, &["log", "--format=%s"]), files(&work.join("sub")));
            let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
            let read = std::fs::read_to_string(work.join("n.txt")).unwrap_or_default();
            assert_eq!(read, "new\n", "{kind}, {merge}: {call_result}");
            assert_eq!(files(&work.join("sub")), within, "{kind}, {merge}");
            let status = std::fs::read_to_string(work.join("status.txt")).unwrap();
            assert_eq!(status, "", "{kind}, {merge}: the copy begins without differences");
            let last = git(&work, &["log", "--format=%s"]);
            match merge {
                "branch" => {
                    assert_eq!(last, format!("work on a (0-a)\n{head}"), "{kind}: {call_result}");
                    let changed = git(&work, &["show", "--format=", "--name-only"]);
                    assert_eq!(changed, "n.txt\nstatus.txt\n", "{kind}");
                }
                _ => assert_eq!(last, head, "{kind}"),
            }
        }
    }
}

#[tokio::test]
async fn files_in_place_of_a_nested_repository_are_reported() {
    for kind in ["a commit", "submodule"] {
        let mut answers = isolated(&["a"]);
        answers.extend(writer("a", "sub/n.txt", "new\n"));
        let (builder, place) = prepared(merging("patch"), script(answers));
        let work = place.path().join("work");
        repository(&work);
        put_within(&work, kind);
        let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
        assert!(text(&call_result).contains("sub is a nested repository"), "{kind}: {call_result}");
        assert!(!work.join("sub/n.txt").exists(), "{kind}: {call_result}");
    }
}

/// Configuration keys whose value is a program (`PROGRAM`), each with the file attributes that make git use it.
const PROGRAMS: &[(&str, &str)] = &[
    ("filter.x.clean", "*.txt filter=x"),
    ("filter.x.smudge", "*.txt filter=x"),
    ("filter.x.process", "*.txt filter=x"),
    ("diff.x.textconv", "*.txt diff=x"),
    ("diff.x.command", "*.txt diff=x"),
    ("diff.external", ""),
    ("merge.x.driver", "*.txt merge=x"),
    ("core.sshCommand", ""),
    ("core.fsmonitor", ""),
    ("core.gitProxy", ""),
    ("credential.helper", ""),
    ("credential.https://example.com.helper", ""),
    ("gpg.program", ""),
    ("gpg.ssh.program", ""),
];

/// Creates a program that records that it was run. Returns its path.
fn put_program(place: &Path) -> String {
    let program = place.join("program");
    std::fs::write(&program, format!("#!/bin/sh\ntouch {}/ran\ncat\n", place.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    program.display().to_string()
}

#[tokio::test]
async fn programs_that_a_repository_names_need_trust() {
    let mut includes = vec![("include.path", ""), ("includeIf.gitdir:/.path", "")];
    includes.extend(PROGRAMS);
    for (key, attributes) in includes {
        let mut answers = isolated(&["a"]);
        answers.extend(writer("a", "a.txt", "a\n"));
        let (builder, place) = prepared(merging("branch"), script(answers));
        let work = place.path().join("work");
        repository(&work);
        let program = put_program(place.path());
        std::fs::write(work.join(".gitattributes"), attributes).unwrap();
        let included = place.path().join("included");
        std::fs::write(&included, format!("[core]\n\tfsmonitor = {program}\n")).unwrap();
        let value = if key.starts_with("include") { included.to_str().unwrap() } else { &program };
        git(&work, &["config", key, value]);
        // Git reads the content of a file that is as old as the index.
        std::fs::write(work.join("base.txt"), "other\n").unwrap();
        let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
        assert!(!place.path().join("ran").exists(), "{key} ran");
        assert!(text(&call_result).contains("not trusted"), "{key}: {call_result}");
        let named = if key.starts_with("filter.") { "\"x\"" } else { key };
        assert!(text(&call_result).to_lowercase().contains(&named.to_lowercase()), "{key}: {call_result}");
        assert!(
            !work.join("a.txt").exists() && call_result["details"]["results"] == json!([]),
            "{key}: {call_result}"
        );
        assert_eq!(crate::left_behind(place.path()), Vec::<std::path::PathBuf>::new(), "{key}");
    }
}

#[tokio::test]
async fn filters_of_a_trusted_repository_do_their_work() {
    for merge in ["patch", "branch"] {
        let mut answers = isolated(&["a"]);
        answers.push(calls(
            "JOB-a",
            "bash",
            json!({"command": "cat secret.rot > seen.txt; git status --short secret.rot >> seen.txt"}),
        ));
        answers.extend(writer("a", "secret.rot", "changed\n"));
        let members = merging(merge);
        let (builder, place) = prepared(members.clone(), script(answers));
        let work = place.path().join("work");
        repository(&work);
        let turn = "tr a-z n-za-m";
        let included = place.path().join("included");
        std::fs::write(
            &included,
            format!("[filter \"rot\"]\n\tclean = {turn}\n\tsmudge = {turn}\n\trequired\n"),
        )
        .unwrap();
        git(&work, &["config", "include.path", included.to_str().unwrap()]);
        std::fs::write(work.join(".gitattributes"), "*.rot filter=rot\n").unwrap();
        std::fs::write(work.join("secret.rot"), "secret\n").unwrap();
        git(&work, &["add", "--all"]);
        git(&work, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "turned"]);
        let settings = crate::settings(&members).task;
        let mut policy = SubagentPolicy::new(settings, place.path().join("agentese-worktrees"));
        policy.trusted = true;
        let builder = builder.subagents(SharedPolicy::new(policy));
        let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
        let read = |name: &str| std::fs::read_to_string(work.join(name)).unwrap_or_default();
        assert_eq!(
            (read("secret.rot"), read("seen.txt")),
            ("changed\n".into(), "secret\n".into()),
            "{call_result}"
        );
        if merge == "branch" {
            assert_eq!(git(&work, &["cat-file", "blob", "HEAD:secret.rot"]), "punatrq\n");
            assert_eq!(git(&work, &["status", "--short"]), "");
        }
    }
}

/// In a trusted repository, filters run. Commits that a subagent makes in its copy still run no hooks, aliases or
/// editors of the repository.
#[tokio::test]
async fn hooks_and_aliases_of_a_trusted_repository_do_not_run_in_copies() {
    let members = merging("patch");
    let mut answers = isolated(&["a"]);
    let command = "echo x > x.txt; git add x.txt; git -c user.name=a -c user.email=a@b commit --quiet -m x; \
                   EDITOR=true git -c user.name=a -c user.email=a@b commit --quiet --amend; git runs; \
                   git log --oneline | wc -l | tr -d ' ' > count.txt";
    answers.push(calls("JOB-a", "bash", json!({"command": command})));
    answers.push(submits("a"));
    let (builder, place) = prepared(members.clone(), script(answers));
    let work = place.path().join("work");
    repository(&work);
    let ran = place.path().join("ran");
    let hooks = place.path().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    let touch = format!("touch {}", ran.display());
    for hook in ["pre-commit", "post-commit"] {
        std::fs::write(hooks.join(hook), format!("#!/bin/sh\n{touch}\n")).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(hooks.join(hook), mode).unwrap();
    }
    for (name, value) in [
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.editor", &touch),
        ("core.pager", &touch),
        ("sequence.editor", &touch),
        ("alias.runs", &format!("!{touch}")),
    ] {
        git(&work, &["config", name, value]);
    }
    let mut policy =
        SubagentPolicy::new(crate::settings(&members).task, place.path().join("agentese-worktrees"));
    policy.trusted = true;
    let builder = builder.subagents(SharedPolicy::new(policy));
    let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
    assert_eq!(std::fs::read_to_string(work.join("x.txt")).unwrap_or_default(), "x\n", "{call_result}");
    assert_eq!(std::fs::read_to_string(work.join("count.txt")).unwrap_or_default(), "2\n", "{call_result}");
    assert!(!ran.exists(), "{call_result}");
}

#[tokio::test]
async fn configuration_that_runs_nothing_needs_no_trust() {
    let (builder, place) = prepared(merging("branch"), {
        let mut answers = isolated(&["a"]);
        answers.extend(writer("a", "a.txt", "a\n"));
        script(answers)
    });
    let work = place.path().join("work");
    repository(&work);
    let program = put_program(place.path());
    std::fs::write(work.join(".gitattributes"), "*.txt -filter diff\n*.md !filter\n").unwrap();
    for (key, value) in [
        ("core.fsmonitor", "true"),
        ("alias.status", &format!("!{program}")),
        ("alias.add", &format!("!{program}")),
        ("core.hooksPath", &program),
        ("core.editor", &program),
        ("core.pager", &program),
        ("filter.unused.clean", &program),
        ("user.name", "Somebody"),
        ("user.email", "somebody@example.com"),
    ] {
        git(&work, &["config", key, value]);
    }
    let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
    assert!(text(&call_result).contains("Merged: omp/task/0-a."), "{call_result}");
    assert!(!place.path().join("ran").exists());
    assert_eq!(git(&work, &["log", "-1", "--format=%an %ae"]), "Somebody somebody@example.com\n");
}

#[tokio::test]
async fn attributes_that_a_subagent_brings_run_nothing() {
    for merge in ["patch", "branch"] {
        let mut answers = isolated(&["a"]);
        answers.push(crate::writes("JOB-a", ".gitattributes", "* filter=x diff=x merge=x\n"));
        answers.push(crate::writes("JOB-a", "base.txt", "changed\n"));
        answers.push(submits("JOB-a"));
        let (builder, place) = prepared(merging(merge), script(answers));
        let work = place.path().join("work");
        repository(&work);
        let program = put_program(place.path());
        for key in ["filter.x.clean", "filter.x.smudge", "filter.x.process"] {
            git(&work, &["config", key, &program]);
        }
        let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
        assert!(!place.path().join("ran").exists(), "{merge}: {call_result}");
        assert_eq!(
            std::fs::read_to_string(work.join("base.txt")).unwrap(),
            "changed\n",
            "{merge}: {call_result}"
        );
    }
}

#[tokio::test]
async fn configuration_that_a_subagent_writes_into_its_copy_does_not_run() {
    for merge in ["patch", "branch"] {
        let command = "for key in filter.x.clean filter.x.smudge core.fsmonitor diff.external core.sshCommand; do git config $key \
                       ../../../program; done; echo '* filter=x' > .gitattributes; echo changed > base.txt";
        let (builder, place) = prepared(merging(merge), runs(command, submits("JOB-a")));
        repository(&place.path().join("work"));
        put_program(place.path());
        let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
        assert!(!place.path().join("ran").exists(), "{merge}: {call_result}");
        let changed = std::fs::read_to_string(place.path().join("work/base.txt")).unwrap();
        assert_eq!(changed, "changed\n", "{merge}: {call_result}");
    }
}

#[tokio::test]
async fn a_work_tree_elsewhere_is_refused() {
    let mut answers = isolated(&["a"]);
    answers.extend(writer("a", "a.txt", "a\n"));
    let (builder, place) = prepared(merging("patch"), script(answers));
    let work = place.path().join("work");
    repository(&work);
    git(&work, &["config", "core.worktree", place.path().to_str().unwrap()]);
    let call_result = result(&run(&mut Link::for_dialect::<Pisces>(builder), "delegate").await);
    assert!(text(&call_result).contains("core.worktree"), "{call_result}");
    assert!(!place.path().join("a.txt").exists() && !work.join("a.txt").exists());
}
