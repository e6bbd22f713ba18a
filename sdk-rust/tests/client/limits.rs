//! Tests of the limits of a run. At a limit, the client requests the agent to stop, and the run fails with
//! the limit's name as its code.

use std::time::Duration;

use agentese::pi::Pi;
use agentese::{Builder, ErrorKind, RunLimits, operator};

use crate::peer::{failure, pair, state, success, within};

fn turns(most: u64) -> RunLimits {
    RunLimits { max_turns: Some(most), ..RunLimits::default() }
}

#[tokio::test]
async fn a_run_that_reaches_a_limit_is_stopped_and_fails_with_the_limits_name() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let limited = client.with_limits(turns(2));
    let prompt = tokio::spawn(async move { limited.prompt("go").await });
    let id = peer.receive_command("prompt").await;
    peer.send(&success(&id, "prompt", "")).await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    for _ in 0..3 {
        peer.send(r#"{"type":"turn_start"}"#).await;
    }
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    let result = tokio::spawn(run.wait());
    let abort = peer.receive_command("abort").await;
    peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
    peer.send(&success(&abort, "abort", "")).await;
    peer.answer("get_state", &state(false)).await;
    let result = within("the end", result).await.unwrap().unwrap();
    let failure = result.failure.unwrap();
    assert_eq!(failure.code.as_deref(), Some("max_turns"));
    assert_eq!(failure.message, "the run was stopped: it has had 2 turns, which is its limit");
    assert!(!failure.retryable && !result.aborted);
    // The client itself has no limits.
    let prompt = tokio::spawn(async move { client.prompt("again").await });
    let id = peer.receive_command("prompt").await;
    peer.send(&success(&id, "prompt", "")).await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    for _ in 0..9 {
        peer.send(r#"{"type":"turn_start"}"#).await;
    }
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    let result = tokio::spawn(run.result());
    peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
    peer.answer("get_state", &state(false)).await;
    assert!(within("the end", result).await.unwrap().is_ok());
}

#[tokio::test]
async fn max_time_stops_a_run_of_an_agent_that_ignores_the_abort() {
    for obeys in [true, false] {
        let (client, mut peer, _) = pair(Builder::<Pi>::default());
        let time = RunLimits { max_time: Some(Duration::from_millis(20)), ..RunLimits::default() };
        let limited = client.with_limits(time);
        let prompt = tokio::spawn(async move { limited.prompt("go").await });
        let id = peer.receive_command("prompt").await;
        peer.send(&success(&id, "prompt", "")).await;
        peer.send(r#"{"type":"agent_start"}"#).await;
        let run = within("the acceptance", prompt).await.unwrap().unwrap();
        let result = tokio::spawn(run.result());
        let abort = peer.receive_command("abort").await;
        if obeys {
            peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
            peer.send(&success(&abort, "abort", "")).await;
            peer.answer("get_state", &state(false)).await;
        } else {
            peer.send(&failure(&abort, "abort", "no")).await;
        }
        let error = within("the end", result).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RunFailed);
        assert_eq!(
            error.to_string(),
            "the run failed: the run was stopped: it has lasted 0.02 s, which is its limit"
        );
    }
}

#[tokio::test]
async fn a_limit_stops_a_run_whose_answer_is_its_end() {
    let (client, mut peer, _) = pair(Builder::<operator::Operator>::default());
    let run = within("the run", client.with_limits(turns(0)).prompt("go")).await.unwrap();
    let result = tokio::spawn(run.wait());
    let id = peer.receive_command("prompt").await;
    peer.send(r#"{"type":"event","event":{"type":"turn_start","turn_index":0,"timestamp":0}}"#).await;
    let abort = peer.receive_command("abort").await;
    peer.send(&success(&abort, "abort", "")).await;
    peer.send(&failure(&id, "prompt", "aborted")).await;
    let result = within("the end", result).await.unwrap().unwrap();
    assert_eq!(result.failure.unwrap().code.as_deref(), Some("max_turns"));
}

#[tokio::test]
async fn a_limit_that_the_dialect_cannot_measure_is_rejected() {
    let (client, _peer, _) = pair(Builder::<agentese::opal::Opal>::default());
    let cost = RunLimits { max_cost: Some(1.0), ..RunLimits::default() };
    let error = within("the refusal", client.with_limits(cost).agent_prompt("s", "go")).await.unwrap_err();
    assert!(error.to_string().contains("do not report a run's cost: leave max_cost out"), "{error}");
}
