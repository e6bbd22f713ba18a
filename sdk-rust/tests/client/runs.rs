//! Tests of runs: their events, their ends, and failures after the prompt was accepted.

use std::time::Duration;

use agentese::pi::{Event, Pi};
use agentese::run_tracker::EndedBy;
use agentese::{Builder, ErrorKind, omp, operator};

use crate::peer::{failure, pair, state, success, within};

/// F56: the end of a run is noticed even if it arrives in the same write as the response to the prompt.
#[tokio::test]
async fn fm_f56_a_run_listens_before_its_prompt_is_sent() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("hello").await });
    let id = peer.receive_command("prompt").await;
    let all = [
        success(&id, "prompt", ""),
        r#"{"type":"agent_start"}"#.to_owned(),
        r#"{"type":"turn_start"}"#.to_owned(),
        r#"{"type":"agent_end","messages":[]}"#.to_owned(),
    ];
    peer.send(&all.join("\n")).await;
    peer.answer("get_state", &state(false)).await;
    let mut run = within("the acceptance", prompt).await.unwrap().unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = within("an event", run.next_raw()).await {
        kinds.push(event.kind().to_owned());
    }
    assert_eq!(kinds, ["agent_start", "turn_start", "agent_end"]);
    let result = within("the result", run.result()).await.unwrap();
    assert_eq!(result.ended_by, EndedBy::Event);
    assert_eq!(result.last.unwrap().kind(), "agent_end");
}

/// The result of a run resolves even if its events are not read. A retry is part of the run.
#[tokio::test]
async fn a_retry_is_part_of_the_run() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("hello").await });
    let id = peer.receive_command("prompt").await;
    peer.send(&success(&id, "prompt", "")).await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
    peer.send(r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":1,"errorMessage":"529"}"#)
        .await;
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    let result = tokio::spawn(run.result());
    peer.answer("get_state", &state(false)).await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    peer.send(r#"{"type":"auto_retry_end","success":true,"attempt":1}"#).await;
    assert!(!result.is_finished());
    peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
    peer.answer("get_state", &state(false)).await;
    assert_eq!(within("the end", result).await.unwrap().unwrap().ended_by, EndedBy::Event);
}

/// A prompt that an extension handles starts no run.
#[tokio::test]
async fn a_prompt_that_starts_nothing_ends() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("/status").await });
    peer.answer("prompt", "").await;
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    let result = tokio::spawn(run.result());
    // The state is queried twice, because work may still begin.
    peer.answer("get_state", &state(false)).await;
    peer.answer("get_state", &state(false)).await;
    assert_eq!(within("the end", result).await.unwrap().unwrap().ended_by, EndedBy::Handled);
}

#[tokio::test]
async fn a_rejected_prompt_is_an_error() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("hello").await });
    let id = peer.receive_command("prompt").await;
    peer.send(&failure(&id, "prompt", "No API key")).await;
    let error = within("the refusal", prompt).await.unwrap().unwrap_err();
    assert_eq!(error.refused().unwrap().message, "No API key");
}

/// omp acknowledges a prompt and may reject it afterwards with the same id. The real agent also sends the
/// rejection before the acknowledgement. Both are failures of the run.
#[tokio::test]
async fn a_late_or_early_failure_with_the_same_id_ends_the_run() {
    for early in [false, true] {
        let (client, mut peer, _) = pair(Builder::<omp::Omp>::default());
        let prompt = tokio::spawn(async move { client.prompt("hello").await });
        let id = peer.receive_command("prompt").await;
        let lines = [success(&id, "prompt", ""), failure(&id, "prompt", "No API key found")];
        let order = if early { [&lines[1], &lines[0]] } else { [&lines[0], &lines[1]] };
        for line in order {
            peer.send(line).await;
        }
        let error = match within("the acknowledgement", prompt).await.unwrap() {
            Ok(run) => within("the failure", run.result()).await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.refused().unwrap().message, "No API key found", "early: {early}");
    }
}

/// Operator responds to a prompt at the end of the turn.
#[tokio::test]
async fn an_answer_on_completion_ends_the_run() {
    let (client, mut peer, _) = pair(Builder::<operator::Operator>::default());
    let mut run = client.prompt("hello").await.unwrap();
    let id = peer.receive_command("prompt").await;
    peer.send(r#"{"type":"event","event":{"type":"agent_start"}}"#).await;
    peer.send(r#"{"type":"event","event":{"type":"agent_end","messages":[]}}"#).await;
    assert!(matches!(within("an event", run.next()).await, Some(Ok(operator::Event::AgentStart(_)))));
    peer.send(&format!(r#"{{"type":"response","command":"prompt","id":{id},"success":true,"data":{{}}}}"#))
        .await;
    assert_eq!(within("the end", run.result()).await.unwrap().ended_by, EndedBy::Answer);
}

/// A replaced run ends, although the agent does not send its last events.
#[tokio::test]
async fn a_run_that_is_replaced_is_over() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hello").await }
    });
    peer.answer("prompt", "").await;
    peer.send(r#"{"type":"agent_start"}"#).await;
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    let replace = tokio::spawn(async move { client.new_session().await });
    peer.answer("new_session", r#"{"cancelled":false}"#).await;
    peer.answer("get_state", &state(false)).await;
    within("the new session", replace).await.unwrap().unwrap();
    within("the end", run.result()).await.unwrap();
}

#[tokio::test]
async fn dropping_a_run_stops_listening_and_nothing_else() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn({
        let client = client.clone();
        async move { client.prompt("hello").await }
    });
    peer.answer("prompt", "").await;
    drop(within("the acceptance", prompt).await.unwrap().unwrap());
    peer.send(r#"{"type":"agent_start"}"#).await;
    peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
    // The next line of the client is this one: no abort, and no query of the state.
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.get_messages().await }
    });
    peer.answer("get_messages", r#"{"messages":[]}"#).await;
    within("the call", call).await.unwrap().unwrap();
    assert_eq!(client.dropped_events(), 2);
}

#[tokio::test]
async fn a_run_can_be_steered_and_stopped() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("hello").await });
    peer.answer("prompt", "").await;
    let run = std::sync::Arc::new(within("the acceptance", prompt).await.unwrap().unwrap());
    let acts = tokio::spawn({
        let run = run.clone();
        async move {
            run.steer("left").await?;
            run.follow_up("then right").await?;
            run.abort().await
        }
    });
    for command in ["steer", "follow_up", "abort"] {
        peer.answer(command, "").await;
    }
    within("the acts", acts).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_declared_event_that_does_not_fit_is_an_error_and_an_unknown_one_is_kept() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let mut events = client.events().unwrap();
    peer.send(r#"{"type":"agent_end","messages":"none"}"#).await;
    peer.send(r#"{"type":"agent_rested","aborted":false}"#).await;
    let error = within("an event", events.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.to_string().contains("messages"), "{error}");
    match within("an event", events.next()).await.unwrap().unwrap() {
        Event::Unknown(unknown) => {
            assert_eq!((unknown.tag.as_str(), unknown.members.len()), ("agent_rested", 2))
        }
        other => panic!("{other:?}"),
    }
}

/// The wait for the barrier's answer has its own declared limit, independent of the limit of calls. After this
/// limit the run ends by its last event, and is not confirmed.
#[tokio::test(start_paused = true)]
async fn a_barrier_that_is_not_answered_ends_the_run_after_its_limit() {
    let (client, mut peer, _) = pair(Builder::<Pi>::default());
    let prompt = tokio::spawn(async move { client.prompt("go").await });
    peer.answer("prompt", "").await;
    let run = within("the acceptance", prompt).await.unwrap().unwrap();
    peer.send(r#"{"type":"agent_start"}"#).await;
    peer.send(r#"{"type":"agent_end","messages":[]}"#).await;
    peer.receive_command("get_state").await;
    let asked = tokio::time::Instant::now();
    let result = within("the end", run.result()).await.unwrap();
    assert!(!result.confirmed && result.ended_by == EndedBy::Event);
    let limit = agentese::pi::SPEC.run_end.barrier.unwrap().limit;
    assert_eq!(limit, Duration::from_secs(5));
    assert!(asked.elapsed() >= limit && asked.elapsed() < limit * 2, "{:?}", asked.elapsed());
}
