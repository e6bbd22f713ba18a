//! Tests of subagents: results, reminders, files, definitions of agents, and limits.

use serde_json::{Value, json};

use crate::{
    calls, delegate, prepared, result, run, script, scripted, subagent_events, submits, tasks, text,
};
use agentese::pisces::Pisces;
use agentese_server::session::Store;

use crate::support::link::Link;

#[tokio::test]
async fn results_are_in_the_order_of_the_tasks() {
    let mut answers = delegate(json!({"agent": "task", "context": "ctx", "tasks": tasks(&["a", "b"])}));
    answers.extend([submits("JOB-a"), submits("JOB-b")]);
    let (mut link, place) = scripted(json!({}), script(answers));
    let frames = run(&mut link, "delegate").await;
    let result = result(&frames);
    let results = result["details"]["results"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|result| result["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["0-a", "1-b"]);
    assert_eq!(results[0]["output"], "\"JOB-a is done\"");
    assert_eq!(
        results[0]["extractedToolData"]["submit_result"][0],
        json!({"data": "JOB-a is done", "status": "success"})
    );
    assert!(results[0]["task"].as_str().unwrap().contains("<context>\nctx\n</context>"));
    let mut events = subagent_events(&frames);
    events.sort();
    assert_eq!(events, ["end 0-a 0", "end 1-b 0", "start 0-a", "start 1-b"]);
    let shown: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_update").collect();
    assert!(
        shown.iter().any(|frame| frame["partialResult"]["details"]["progress"][1]["status"] == "completed")
    );
    assert_eq!(crate::left_behind(place.path()), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn conversations_and_outputs_are_kept_beside_the_session() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"])}));
    answers.push(submits("JOB-a"));
    answers.extend(delegate(json!({"agent": "task", "tasks": tasks(&["a"])})));
    answers.push(submits("JOB-a"));
    let (builder, place) = prepared(json!({}), script(answers));
    let store = Store::at(&place.path().join("sessions"), place.path());
    let mut link = Link::for_dialect::<Pisces>(builder.store(store));
    run(&mut link, "delegate").await;
    let frames = run(&mut link, "delegate").await;
    assert_eq!(result(&frames)["details"]["results"][0]["id"], "1-a", "numbers count over the session");
    let file = link.state().await["sessionFile"].as_str().unwrap().to_owned();
    let folder = std::path::Path::new(&file).with_extension("");
    let kept = |name: &str| {
        std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    assert!(kept("0-a.jsonl").contains("JOB-a") && kept("1-a.jsonl").contains("JOB-a"));
    assert_eq!(kept("0-a.md"), "\"JOB-a is done\"");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("Call `submit_result`"));
}

#[tokio::test]
async fn usage_of_subagents_is_in_the_session_statistics() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b"])}));
    answers.extend([submits("JOB-a"), submits("JOB-b")]);
    for answer in &mut answers {
        answer["usage"] = json!({"input": 100, "output": 10});
    }
    let (mut link, _place) = scripted(json!({}), script(answers));
    let frames = run(&mut link, "delegate").await;
    assert_eq!(result(&frames)["details"]["usage"]["totalTokens"], 220);
    let stats = link.data(json!({"type": "get_session_stats"})).await;
    let tokens = json!({"input": 400, "output": 40, "cacheRead": 0, "cacheWrite": 0, "total": 440});
    assert_eq!((&stats["tokens"], &stats["assistantMessages"]), (&tokens, &json!(2)));
}

#[tokio::test]
async fn fm_f93_subagent_without_a_result_ends_after_three_reminders() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b"])}));
    answers.push(json!({"when": {"user": "JOB-a"}, "text": "I am done."}));
    answers.push(json!({"when": {"user": "reminder"}, "keep": true, "text": "Really."}));
    answers.push(submits("JOB-b"));
    let (mut link, _place) = scripted(json!({}), script(answers));
    let frames = run(&mut link, "delegate").await;
    let results = result(&frames)["details"]["results"].clone();
    assert_eq!(results[0]["output"], "I am done.Really.Really.Really.");
    assert_eq!((&results[0]["exitCode"], &results[0]["aborted"]), (&json!(1), &json!(true)));
    assert_eq!(results[1]["exitCode"], 0, "the other one does its work");
    assert!(subagent_events(&frames).contains(&"end 0-a 1".to_owned()));
}

#[tokio::test]
async fn reminded_subagent_may_submit_a_result() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"])}));
    answers.push(json!({"when": {"user": "JOB-a"}, "text": "Hm."}));
    answers.push(calls(
        "reminder 1",
        "submit_result",
        json!({"result": {"error": "there is nothing to do"}}),
    ));
    let (mut link, _place) = scripted(json!({}), script(answers));
    let result = result(&run(&mut link, "delegate").await)["details"]["results"][0].clone();
    assert_eq!((&result["exitCode"], &result["aborted"]), (&json!(0), &json!(true)));
    assert_eq!(result["abortReason"], "there is nothing to do");
}

#[tokio::test]
async fn invalid_result_is_requested_again() {
    let schema = json!({"type": "object", "required": ["files"]});
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"]), "schema": schema}));
    answers.push(submits("JOB-a"));
    answers.push(calls("JOB-a", "submit_result", json!({"result": {"data": {"files": []}}})));
    let (mut link, _place) = scripted(json!({}), script(answers));
    let result = result(&run(&mut link, "delegate").await)["details"]["results"][0].clone();
    assert_eq!(result["extractedToolData"]["submit_result"][0]["data"], json!({"files": []}));
}

#[tokio::test]
async fn fm_f93_model_failure_of_a_subagent_does_not_end_its_parent() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"])}));
    answers.push(json!({"when": {"user": "JOB-a"}, "error": {"status": 400, "message": "no such thing"}}));
    let (mut link, _place) = scripted(json!({}), script(answers));
    let frames = run(&mut link, "delegate").await;
    let result = result(&frames)["details"]["results"][0].clone();
    assert_eq!((&result["exitCode"], &result["aborted"]), (&json!(1), &json!(false)), "{result}");
    assert!(result["error"].as_str().unwrap().contains("no such thing"), "{result}");
    assert_eq!(subagent_events(&frames), ["start 0-a", "end 0-a 1"]);
    assert_eq!(link.data(json!({"type": "get_last_assistant_text"})).await["text"], "over");
}

#[tokio::test]
async fn fm_f93_generations_are_bounded() {
    // Each subagent starts another one, up to the maximum depth.
    let nested = json!({"agent": "task", "tasks": [{"id": "n", "description": "d", "assignment": "DEEPER"}]});
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"])}));
    answers.push(calls("JOB-a", "task", nested.clone()));
    answers.push(submits("JOB-a"));
    answers.push(calls("DEEPER", "task", nested));
    answers.push(submits("DEEPER"));
    let (mut link, _place) = scripted(json!({}), script(answers));
    let frames = run(&mut link, "delegate").await;
    assert_eq!(result(&frames)["details"]["results"][0]["exitCode"], 0);
    // The second generation lacks the tool: its call fails, and it still submits a result.
    assert_eq!(subagent_events(&frames), ["start 0-a", "end 0-a 0"], "those of subagents are not shown");
}

#[tokio::test]
async fn fm_f131_abort_ends_all_subagents_and_starts_nothing() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b", "c"])}));
    answers.push(submits("JOB-a"));
    answers.push(
        json!({"when": {"user": "JOB-b"}, "blocks": [{"text": "wor"}, {"text": "king"}], "hang_after": 1}),
    );
    answers.push(calls("JOB-c", "bash", json!({"command": "echo $$ > pid; exec sleep 60"})));
    let (mut link, place) = scripted(json!({}), script(answers));
    link.send(json!({"type": "prompt", "message": "delegate"})).await;
    // One task is done, one hangs, and one runs a command.
    let mut idle = false;
    let mut frames = link
        .until("the first to end", |frame| {
            idle |= frame["type"] == "subagent_end";
            idle
        })
        .await;
    let pid = tokio::task::spawn_blocking({
        let file = place.path().join("work/pid");
        move || crate::support::process::pid_in(&file)
    });
    let pid = pid.await.unwrap();
    link.data(json!({"type": "abort"})).await;
    frames.extend(link.seen.iter().skip(frames.len()).cloned());
    let mut events = subagent_events(&link.seen);
    events.sort();
    assert_eq!(events, ["end 0-a 0", "end 1-b 1", "end 2-c 1", "start 0-a", "start 1-b", "start 2-c"]);
    let results = result(&link.seen)["details"]["results"].clone();
    assert_eq!((&results[1]["output"], &results[1]["aborted"]), (&json!("wor"), &json!(true)));
    assert!(rustix::process::test_kill_process(pid).is_err(), "its command has ended");
    let requests = link.seen.iter().filter(|frame| frame["type"] == "agent_start").count();
    assert_eq!((requests, link.state().await["isStreaming"].clone()), (1, json!(false)));
}

#[tokio::test]
async fn rejected_calls_are_results_and_start_nothing() {
    let cases: [(Value, &str); 5] = [
        (json!({"agent": "nobody", "tasks": tasks(&["a"])}), "Unknown agent \"nobody\""),
        (json!({"agent": "task", "tasks": []}), "tasks: at least one is required"),
        (json!({"agent": "task", "tasks": tasks(&["a", "A"])}), "tasks[1].id"),
        (json!({"agent": "task", "tasks": tasks(&["a"]), "isolated": true}), "Task isolation is disabled."),
        (json!({"agent": "task", "tasks": tasks(&["a"]), "verify": true}), "Verification requires isolated"),
    ];
    for (arguments, expected) in cases {
        let (mut link, _place) = scripted(json!({}), script(delegate(arguments)));
        let frames = run(&mut link, "delegate").await;
        let result = result(&frames);
        assert!(text(&result).starts_with(expected), "{result}");
        assert_eq!((&result["details"]["results"], subagent_events(&frames).len()), (&json!([]), 0));
        assert!(frames.iter().all(|frame| frame["isError"] != true));
    }
}
