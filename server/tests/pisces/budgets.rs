//! Tests of budgets: there is exactly one warning, prompts and subagents are rejected at a limit, and sums are exact.

use serde_json::{Value, json};

use crate::{calls, delegate, run, script, scripted, submits, tasks};

fn budget_events(frames: &[Value]) -> Vec<String> {
    let budget =
        frames.iter().filter(|frame| frame["type"].as_str().is_some_and(|kind| kind.starts_with("budget_")));
    let line = |frame: &Value| {
        let kind = frame["type"].as_str().unwrap().trim_start_matches("budget_");
        format!(
            "{kind} {} {}",
            frame["scope"].as_str().unwrap(),
            frame["snapshot"]["reason"].as_str().unwrap()
        )
    };
    budget.map(line).collect()
}

/// Returns a script whose answers each use 100 input tokens and 50 output tokens.
fn hundred() -> Value {
    json!({"responses": [{"keep": true, "when": {"user": "hello"}, "text": "hi", "usage": {"input": 100, "output": 50}}]})
}

#[tokio::test]
async fn a_warning_then_the_end_and_prompts_are_refused_for_good() {
    for members in
        [json!({"task": {"budget": {"maxInputTokens": 250}}}), json!({"task.budget.maxInputTokens": 250})]
    {
        let (mut link, _place) = scripted(members, hundred());
        assert_eq!(budget_events(&run(&mut link, "hello").await), [""; 0]);
        let second = run(&mut link, "hello").await;
        assert_eq!(budget_events(&second), ["warning session input_tokens"]);
        let kinds: Vec<_> = second.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
        assert_eq!(kinds[kinds.len() - 3..], ["turn_end", "budget_warning", "agent_end"]);
        assert_eq!(budget_events(&run(&mut link, "hello").await), ["exceeded session input_tokens"]);
        for kind in ["prompt", "abort_and_prompt"] {
            link.send(json!({"id": kind, "type": kind, "message": "hello"})).await;
            let refused = link.until("the refusal", |frame| frame["success"] == false).await;
            let last = refused.last().unwrap();
            assert_eq!(
                (&last["id"], &last["error"]),
                (&json!(kind), &json!("Session budget exceeded (input_tokens)"))
            );
        }
        assert_eq!(link.state().await["isStreaming"], false);
        link.data(json!({"type": "new_session"})).await;
        link.send(json!({"type": "prompt", "message": "hello"})).await;
        link.until("the refusal", |frame| frame["success"] == false).await;
    }
}

#[tokio::test]
async fn each_dimension_warns_once_and_a_jump_does_not_warn() {
    let limits =
        json!({"task": {"budget": {"maxInputTokens": 125, "maxOutputTokens": 62, "maxTotalTokens": 150}}});
    let (mut link, _place) = scripted(limits, hundred());
    let expected =
        ["warning session input_tokens", "warning session output_tokens", "exceeded session total_tokens"];
    assert_eq!(budget_events(&run(&mut link, "hello").await), expected);
}

#[tokio::test]
async fn running_work_is_not_stopped() {
    let call =
        |id: &str| json!({"tool": {"id": id, "name": "bash", "args": {"command": format!("echo {id}")}}});
    let answers = [
        json!({"blocks": [call("a"), call("b"), call("c")]}),
        json!({"text": "done"}),
        json!({"text": "again"}),
    ];
    let (mut link, _place) = scripted(json!({"task": {"budget": {"maxToolCalls": 2}}}), script(answers));
    let frames = run(&mut link, "go").await;
    assert_eq!(budget_events(&frames), ["exceeded session tool_calls"]);
    let at = frames.iter().position(|frame| frame["type"] == "budget_exceeded").unwrap();
    assert_eq!(frames[at - 1]["toolCallId"], "b", "it stands behind the call that reached the limit");
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "tool_execution_end").count(), 3);
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "turn_end").count(), 2);
    // Steering is not a prompt.
    link.data(json!({"type": "steer", "message": "more"})).await;
}

#[tokio::test]
async fn time_limit_is_reported_during_a_run() {
    let script = json!({"responses": [{"hang_after": -1}]});
    let (mut link, _place) = scripted(json!({"task": {"budget": {"maxWallTimeMs": 100}}}), script);
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    let frames = link.until_event("budget_exceeded").await;
    assert_eq!(budget_events(&frames), ["warning session wall_time", "exceeded session wall_time"]);
    assert_eq!(link.state().await["isStreaming"], true, "the run continues");
    link.data(json!({"type": "abort"})).await;
}

#[tokio::test]
async fn time_limit_between_runs_rejects_the_next_prompt_without_an_event() {
    let (mut link, _place) = scripted(json!({"task": {"budget": {"maxWallTimeMs": 1}}}), hundred());
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until_event("agent_end").await;
    while link.request(json!({"type": "prompt", "message": "hello"})).await["success"] == true {
        let frames =
            link.until("the end", |frame| frame["success"] == false || frame["type"] == "agent_end").await;
        if frames.last().unwrap()["success"] == false {
            break;
        }
    }
    assert_eq!(link.state().await["isStreaming"], false);
}

#[tokio::test]
async fn no_limit_causes_no_event() {
    let (mut link, _place) = scripted(json!({"task": {"budget": {"warnAtRatio": 0.1}}}), hundred());
    assert_eq!(budget_events(&run(&mut link, "hello").await), [""; 0]);
}

#[tokio::test]
async fn excess_subagent_is_rejected_and_reported_once() {
    let budget = json!({"task": {"budget": {"maxSubagents": 2}, "maxConcurrency": 1}});
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b", "c", "d"])}));
    answers.extend([submits("JOB-a"), submits("JOB-b")]);
    let (mut link, _place) = scripted(budget, script(answers));
    let frames = run(&mut link, "delegate").await;
    assert_eq!(budget_events(&frames), ["exceeded session subagents", "exceeded task subagents"]);
    assert_eq!(crate::subagent_events(&frames), ["start 0-a", "end 0-a 0", "start 1-b", "end 1-b 0"]);
    let results = crate::result(&frames)["details"]["results"].clone();
    for refused in [&results[2], &results[3]] {
        assert_eq!(refused["error"], "Budget exceeded (subagents)");
        assert_eq!((&refused["abortReason"], &refused["exitCode"]), (&json!("budget_exceeded"), &json!(1)));
    }
}

#[tokio::test]
async fn fm_f95_limit_crossed_by_two_children_is_reported_once_with_exact_sums() {
    let budget = json!({"task": {"budget": {"maxTotalTokens": 1000}}});
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b"])}));
    for answer in &mut answers {
        answer["usage"] = json!({"input": 10, "output": 1});
    }
    for user in ["JOB-a", "JOB-b"] {
        let mut bash = calls(user, "bash", json!({"command": "true"}));
        bash["usage"] = json!({"input": 900, "output": 100});
        let mut submit = submits(user);
        submit["usage"] = json!({"input": 30, "output": 3});
        answers.extend([bash, submit]);
    }
    let (mut link, _place) = scripted(budget, script(answers));
    let frames = run(&mut link, "delegate").await;
    let events = budget_events(&frames);
    assert_eq!(
        events.iter().filter(|line| line.starts_with("exceeded")).collect::<Vec<_>>(),
        ["exceeded subagent total_tokens"]
    );
    // Both continue to their end, in any order, and all their usage counts.
    assert_eq!(crate::result(&frames)["details"]["usage"]["totalTokens"], json!(2 * (1000 + 33)));
    link.send(json!({"type": "prompt", "message": "hello"})).await;
    link.until("the refusal", |frame| frame["error"] == "Session budget exceeded (total_tokens)").await;
}
