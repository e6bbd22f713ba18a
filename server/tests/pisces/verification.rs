//! Tests of verification: commands, optional commands, time limits, large outputs, repairs, and the handling of
//! changes.

use agentese::pisces::Pisces;
use agentese_server::subagents::{SharedPolicy, SubagentPolicy, select_tools};
use serde_json::{Value, json};

use crate::support::link::Link;
use crate::{
    assert_clean, delegate, in_repository, isolating, prepared, repository, result, run, script,
    subagent_events, submits, tasks, text, writer, writes,
};

fn verified(verify: Value) -> Vec<Value> {
    let mut answers =
        delegate(json!({"agent": "task", "tasks": tasks(&["a"]), "isolated": true, "verify": verify}));
    answers.extend(writer("a", "a.txt", "made\n"));
    answers
}

fn command(name: &str, command: &str) -> Value {
    json!({"name": name, "command": command})
}

#[tokio::test]
async fn verified_changes_are_applied() {
    let verify = json!({"commands": [command("is there", "ls; test -f a.txt")]});
    let (mut link, place) = in_repository(isolating(json!({})), script(verified(verify)));
    let frames = run(&mut link, "delegate").await;
    let expected = [
        "start 0-a",
        "verification_start 0-a",
        "verification_command_start 0-a is there",
        "verification_command_end 0-a is there 0",
        "verification_end 0-a passed",
        "end 0-a 0",
    ];
    assert_eq!(subagent_events(&frames), expected);
    let verification = result(&frames)["details"]["results"][0]["verification"].clone();
    assert_eq!((&verification["status"], &verification["mode"]), (&json!("passed"), &json!("command")));
    assert_eq!(verification["attempts"][0]["commandResults"][0]["outputPreview"], "a.txt\nbase.txt");
    assert_eq!(std::fs::read_to_string(place.path().join("work/a.txt")).unwrap(), "made\n");
    assert_clean(place.path()).await;
}

#[tokio::test]
async fn failed_verification_is_returned_without_changes() {
    let verify = json!({"commands": [command("first", "false"), command("second", "echo still run"),
                                     {"name": "may", "command": "exit 9", "optional": true}]});
    let (mut link, place) = in_repository(isolating(json!({})), script(verified(verify)));
    let result = result(&run(&mut link, "delegate").await);
    let outcome = &result["details"]["results"][0];
    assert_eq!((&outcome["exitCode"], &outcome["error"]), (&json!(1), &json!("Verification failed: first")));
    let commands = outcome["verification"]["attempts"][0]["commandResults"].as_array().unwrap();
    let codes: Vec<_> = commands.iter().map(|command| command["exitCode"].as_i64().unwrap()).collect();
    assert_eq!(codes, [1, 0, 9]);
    let patch = std::fs::read_to_string(outcome["patchPath"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+made"), "{patch}");
    assert!(text(&result).contains("No changes were applied"), "{result}");
    assert!(!place.path().join("work/a.txt").exists());
    assert_eq!(crate::git(&place.path().join("work"), &["status", "--short"]), "");
}

#[tokio::test]
async fn optional_commands_cannot_fail_and_discarded_changes_are_removed() {
    let verify = json!({"commands": [{"name": "may", "command": "exit 9", "optional": true}]});
    let (mut link, place) = in_repository(isolating(json!({})), script(verified(verify)));
    assert_eq!(
        result(&run(&mut link, "delegate").await)["details"]["results"][0]["verification"]["status"],
        "passed"
    );
    assert!(place.path().join("work/a.txt").exists());

    let verify = json!({"commands": [command("no", "false")], "onFailure": "discard_patch"});
    let (mut link, place) = in_repository(isolating(json!({})), script(verified(verify)));
    let outcome = result(&run(&mut link, "delegate").await)["details"]["results"][0].clone();
    assert_eq!((&outcome["exitCode"], &outcome["patchPath"]), (&json!(1), &Value::Null));
    assert!(!place.path().join("work/a.txt").exists());
    assert_clean(place.path()).await;
}

#[tokio::test]
async fn one_repair_may_pass_the_verification() {
    for (mended, path, status) in [(true, "fixed.txt", "passed"), (false, "other.txt", "failed")] {
        let verify =
            json!({"commands": [command("needs fix", "test -f fixed.txt")], "onFailure": "retry_once"});
        let mut answers = verified(verify);
        answers.extend([writes("previous attempt", path, "x"), submits("previous attempt")]);
        let (mut link, place) = in_repository(isolating(json!({})), script(answers));
        let frames = run(&mut link, "delegate").await;
        let events = subagent_events(&frames);
        assert_eq!(events.iter().filter(|line| line.starts_with("start")).count(), 1, "{events:?}");
        assert_eq!(events.iter().filter(|line| line.starts_with("verification_start")).count(), 2);
        let outcome = result(&frames)["details"]["results"][0].clone();
        assert_eq!(
            (&outcome["id"], &outcome["verification"]["status"]),
            (&json!("0-a-repair"), &json!(status))
        );
        assert_eq!(outcome["verification"]["retriesUsed"], 1);
        assert_eq!(place.path().join("work/a.txt").exists(), mended);
    }
    // The profile permits no retry.
    let verify = json!({"commands": [command("no", "false")], "onFailure": "retry_once", "maxRetries": 0});
    let (mut link, _place) = in_repository(isolating(json!({})), script(verified(verify)));
    let verification =
        result(&run(&mut link, "delegate").await)["details"]["results"][0]["verification"].clone();
    assert_eq!(
        (&verification["retriesUsed"], verification["attempts"].as_array().unwrap().len()),
        (&json!(0), 1)
    );
}

#[tokio::test]
async fn a_repair_beyond_the_budget_is_skipped() {
    let verify = json!({"commands": [command("no", "false")], "onFailure": "retry_once"});
    let members = isolating(json!({"budget": {"maxSubagents": 1}}));
    let (mut link, _place) = in_repository(members, script(verified(verify)));
    let frames = run(&mut link, "delegate").await;
    let outcome = result(&frames)["details"]["results"][0].clone();
    assert_eq!(outcome["error"], "Budget exceeded (subagents); repair skipped");
    assert_eq!((&outcome["verification"]["status"], &outcome["patchPath"]), (&json!("failed"), &Value::Null));
    let scopes: Vec<_> = frames
        .iter()
        .filter(|frame| frame["type"] == "budget_exceeded")
        .map(|frame| &frame["scope"])
        .collect();
    assert_eq!(scopes, ["session", "task"]);
}

#[tokio::test]
async fn a_subagent_that_failed_is_not_verified() {
    let verify = json!({"commands": [command("yes", "true")]});
    let mut answers =
        delegate(json!({"agent": "task", "tasks": tasks(&["a"]), "isolated": true, "verify": verify}));
    answers.push(json!({"when": {"user": "JOB-a"}, "error": {"status": 400, "message": "no"}}));
    let (mut link, place) = in_repository(isolating(json!({})), script(answers));
    let frames = run(&mut link, "delegate").await;
    let verification = result(&frames)["details"]["results"][0]["verification"].clone();
    assert_eq!((&verification["status"], &verification["attempts"]), (&json!("skipped"), &json!([])));
    assert_eq!(subagent_events(&frames), ["start 0-a", "end 0-a 1"]);
    assert_clean(place.path()).await;
}

/// Returns settings in which calls of `bash` need approval, with further settings.
fn guarded(more: Value) -> Value {
    let mut members = isolating(more);
    members["approval"] = json!({"tools": ["bash"]});
    members
}

#[tokio::test]
async fn commands_of_a_call_need_approval_like_bash() {
    for (confirmed, made) in [(true, true), (false, false)] {
        let verify = json!({"commands": [command("is there", "touch ../../../ran; test -f a.txt")]});
        let (mut link, place) = in_repository(guarded(json!({})), script(verified(verify)));
        link.data(json!({"type": "prompt", "message": "delegate"})).await;
        let question = link.until_event("extension_ui_request").await.pop().unwrap();
        assert_eq!(question["title"], "Allow bash?");
        assert!(question["message"].as_str().unwrap().contains("command: touch ../../../ran"), "{question}");
        assert!(!link.seen.iter().any(|frame| frame["type"] == "subagent_start"), "no subagent has started");
        link.send(json!({"type": "extension_ui_response", "id": question["id"], "confirmed": confirmed}))
            .await;
        let result = result(&link.until_event("agent_end").await);
        assert_eq!(place.path().join("work/a.txt").exists(), made, "{result}");
        assert_eq!(place.path().join("ran").exists(), made);
        assert_eq!(text(&result).contains("The call was not approved: the user rejected it."), !made);
        assert_clean(place.path()).await;
    }
}

#[tokio::test]
async fn commands_of_a_profile_are_the_users_own() {
    let profiles = json!({"ci": {"commands": [command("is there", "test -f a.txt")]}});
    let members = guarded(json!({"verification": {"profiles": profiles}}));
    let (mut link, place) = in_repository(members, script(verified(json!("ci"))));
    run(&mut link, "delegate").await;
    assert!(place.path().join("work/a.txt").exists(), "the client received no question");
}

#[tokio::test]
async fn without_bash_there_are_no_commands_of_a_call() {
    let verify = json!({"commands": [command("runs", "touch ../../ran")]});
    let (builder, place) = prepared(isolating(json!({})), script(verified(verify)));
    repository(&place.path().join("work"));
    let settings = crate::settings(&isolating(json!({}))).task;
    let policies = SharedPolicy::new(SubagentPolicy::new(settings, place.path().join("agentese-worktrees")));
    let tools = select_tools(["read", "write", "task"], &policies).tools;
    let mut link = Link::for_dialect::<Pisces>(builder.tools(tools));
    let result = result(&run(&mut link, "delegate").await);
    assert!(text(&result).contains("has no tool bash"), "{result}");
    assert_eq!(result["details"]["results"], json!([]));
    assert!(!place.path().join("agentese-worktrees/ran").exists());
}

#[tokio::test]
async fn fm_f94_a_command_past_its_time_loses_its_whole_group_at_once() {
    let flees = "sleep 600 & echo $! > ../../child.pid; sleep 600";
    let verify = json!({"commands": [{"name": "hangs", "command": flees, "timeoutMs": 3000}]});
    let (mut link, place) = in_repository(isolating(json!({})), script(verified(verify)));
    // The run ends during the wait of the test, which is a tenth of the command's duration.
    let frames = run(&mut link, "delegate").await;
    let command =
        result(&frames)["details"]["results"][0]["verification"]["attempts"][0]["commandResults"][0].clone();
    assert_eq!((&command["exitCode"], &command["timedOut"]), (&json!(143), &json!(true)));
    assert!((3000..600_000).contains(&command["durationMs"].as_u64().unwrap()), "{command}");
    let pid = crate::support::process::pid_in(&place.path().join("agentese-worktrees/child.pid"));
    assert!(rustix::process::test_kill_process(pid).is_err(), "its child has ended");
}

#[tokio::test]
async fn fm_f94_a_flood_is_capped_and_its_end_is_shown() {
    let flood = "yes a flood of words | head -c 30000000; echo the end";
    let verify = json!({"commands": [command("floods", flood), command("no", "false")]});
    let (mut link, _place) = in_repository(isolating(json!({})), script(verified(verify)));
    let frames = run(&mut link, "delegate").await;
    let command =
        result(&frames)["details"]["results"][0]["verification"]["attempts"][0]["commandResults"][0].clone();
    assert!(command["outputPreview"].as_str().unwrap().ends_with("the end"), "{command}");
    assert!(command["outputPreview"].as_str().unwrap().len() <= 4000);
    let kept = std::fs::metadata(command["artifactPath"].as_str().unwrap()).unwrap().len();
    assert!((16 << 20..17 << 20).contains(&kept), "{kept}");
}

#[tokio::test]
async fn an_abort_ends_the_command_that_runs() {
    let verify = json!({"commands": [command("slow", "sleep 60"), command("never", "true")]});
    let (mut link, place) = in_repository(isolating(json!({})), script(verified(verify)));
    link.send(json!({"type": "prompt", "message": "delegate"})).await;
    link.until_event("subagent_verification_command_start").await;
    link.data(json!({"type": "abort"})).await;
    let events = subagent_events(&link.seen);
    assert_eq!(
        events[events.len() - 3..],
        ["verification_command_end 0-a slow 143", "verification_end 0-a failed", "end 0-a 1"]
    );
    let outcome = result(&link.seen)["details"]["results"][0].clone();
    assert_eq!(outcome["verification"]["attempts"][0]["commandResults"].as_array().unwrap().len(), 1);
    assert!(outcome["patchPath"].is_string(), "{outcome}");
    assert!(!place.path().join("work/a.txt").exists());
}
