//! Tests of lanes and of the end of input. An abort never waits for the work that it aborts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentese::omp::{self, Omp};
use agentese::opal;
use agentese::pi::{
    AgentEnd, AgentStart, BashParams, BashResult, Event, InputReceipt, Pi, PromptParams, Service,
};
use agentese::serve::{Call, CommandError, Gate, Options, ServeEnd};
use agentese::wire::NoParams;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::service::{SmallOmpService, SmallService, start, within};

#[tokio::test]
async fn the_answer_to_a_prompt_precedes_its_events() {
    let mut wire = start::<Pi, SmallService>(Arc::default(), Options::default());
    assert_eq!(wire.request(r#"{"id":1,"type":"prompt","message":"go"}"#).await["command"], "prompt");
    assert_eq!(wire.receive().await, json!({"type": "agent_start"}));
    assert_eq!(wire.receive().await, json!({"type": "agent_end", "messages": []}));
}

/// F47: `abort_bash` and queries are answered while commands run; commands run side by side.
#[tokio::test]
async fn fm_f47_immediate_commands_overtake_running_ones() {
    let mut wire = start::<Pi, SmallService>(Arc::default(), Options::default());
    wire.send(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    wire.send(r#"{"id":"c1","type":"compact"}"#).await;
    wire.send(r#"{"id":"c2","type":"prompt","message":"after the compaction"}"#).await;
    assert_eq!(wire.request(r#"{"id":"s","type":"get_state"}"#).await["id"], "s");
    assert_eq!(wire.request(r#"{"id":"b2","type":"bash","command":"quick"}"#).await["id"], "b2");
    wire.send(r#"{"id":"a","type":"abort_bash"}"#).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        let frame = wire.receive().await;
        ids.push(frame.get("id").or(frame.get("type")).unwrap().as_str().unwrap().to_owned());
    }
    // The session lane preserves the order: the prompt follows the compaction.
    let at = |id: &str| ids.iter().position(|other| other == id).unwrap_or_else(|| panic!("{id} in {ids:?}"));
    assert!(at("c1") < at("c2") && at("c2") < at("agent_start"), "{ids:?}");
    assert!(ids.contains(&"a".to_owned()) && ids.contains(&"b1".to_owned()), "{ids:?}");
}

#[tokio::test]
async fn pipelined_commands_are_answered_in_order() {
    let mut wire = start::<Pi, SmallService>(Arc::default(), Options::default());
    let lines: String = (0..500).map(|n| format!("{{\"id\":{n},\"type\":\"get_state\"}}\n")).collect();
    wire.write(lines.as_bytes()).await;
    for n in 0..500 {
        assert_eq!(wire.receive().await["id"], n);
    }
}

/// pi lets running work finish when stdin ends; omp stops it.
#[tokio::test]
async fn the_end_of_input_is_the_dialects() {
    let small = Arc::new(SmallService::default());
    let mut wire = start::<Pi, SmallService>(small.clone(), Options::default());
    wire.send(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    wire.send(r#"{"id":"s","type":"get_state"}"#).await;
    assert_eq!(wire.receive().await["id"], "s");
    wire.writer.shutdown().await.unwrap();
    tokio::task::yield_now().await;
    assert!(!wire.served.is_finished(), "the running command was not waited for");
    small.release.notify_waiters();
    assert_eq!(wire.receive().await["id"], "b1");
    assert_eq!(within("the end", wire.served).await.unwrap(), ServeEnd::EndOfInput);
    assert!(small.settled.load(Ordering::SeqCst) && !small.stopped.load(Ordering::SeqCst));

    // omp is stopped at once, and only once.
    let small = Arc::new(SmallOmpService::default());
    let wire = start::<Omp, SmallOmpService>(small.clone(), Options::default());
    assert_eq!(wire.end().await, ServeEnd::EndOfInput);
    assert_eq!(small.stopped.load(Ordering::SeqCst), 1);
}

/// F31: if a client no longer reads, serving and running work end, although stdin stays open.
#[tokio::test]
async fn fm_f31_a_broken_stdout_stops_everything() {
    let small = Arc::new(SmallService::default());
    let mut wire = start::<Pi, SmallService>(small.clone(), Options::default());
    wire.send(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    wire.send(r#"{"id":"s","type":"get_state"}"#).await;
    assert_eq!(wire.receive().await["id"], "s");
    let (mut writer, served) = wire.without_reader();
    // The server detects it with the next frame.
    writer.write_all(b"{\"id\":\"t\",\"type\":\"get_state\"}\n").await.unwrap();
    assert_eq!(within("the end", served).await.unwrap(), ServeEnd::BrokenOutput);
    assert!(small.stopped.load(Ordering::SeqCst), "running work was not stopped");
}

/// omp service with two kinds of commands: one returns at the end of input, the other never.
#[derive(Default)]
struct WaitingService {
    stopped: Notify,
    started: Notify,
    shutdown_seen: AtomicBool,
}

impl omp::Service for WaitingService {
    async fn bash(&self, params: BashParams, _: Call<Omp, BashResult>) -> Result<BashResult, CommandError> {
        self.started.notify_one();
        match params.command.as_str() {
            "heeds" => self.stopped.notified().await,
            _ => std::future::pending().await,
        }
        self.shutdown_seen.store(true, Ordering::SeqCst);
        Ok(BashResult::new("", true, false))
    }

    async fn shut_down(&self) {
        self.stopped.notify_one();
    }
}

/// Running handlers are notified of the end of stdin. A command whose handler waits for it is answered.
#[tokio::test]
async fn fm_f30_the_end_of_input_reaches_handlers_that_wait_for_it() {
    let waits = Arc::new(WaitingService::default());
    let mut wire = start::<Omp, WaitingService>(waits.clone(), Options::default());
    wire.send(r#"{"id":"b1","type":"bash","command":"heeds"}"#).await;
    within("the handler", waits.started.notified()).await;
    wire.writer.shutdown().await.unwrap();
    assert_eq!(wire.receive().await["id"], "b1");
    assert_eq!(within("the end", wire.served).await.unwrap(), ServeEnd::EndOfInput);
    assert!(waits.shutdown_seen.load(Ordering::SeqCst));
}

/// A handler that never returns does not keep the process alive. It is dropped after all work was stopped.
#[tokio::test(start_paused = true)]
async fn fm_f30_a_handler_that_hangs_does_not_keep_the_process() {
    let waits = Arc::new(WaitingService::default());
    let mut wire = start::<Omp, WaitingService>(waits.clone(), Options::default());
    wire.send(r#"{"id":"b1","type":"bash","command":"hangs"}"#).await;
    within("the handler", waits.started.notified()).await;
    wire.writer.shutdown().await.unwrap();
    assert_eq!(within("the end", wire.served).await.unwrap(), ServeEnd::EndOfInput);
    assert!(!waits.shutdown_seen.load(Ordering::SeqCst));
}

/// Service whose handlers only emit events and return, without an explicit answer.
struct EmittingService;

impl Service for EmittingService {
    async fn prompt(
        &self,
        params: PromptParams,
        call: Call<Pi, Option<InputReceipt>>,
    ) -> Result<Option<InputReceipt>, CommandError> {
        call.emitter().emit(&Event::AgentStart(AgentStart::new())).await;
        if params.message == "refuse" {
            return Err(CommandError::new("no key"));
        }
        let emitter = call.emitter().clone();
        tokio::spawn(async move { emitter.emit(&Event::AgentEnd(AgentEnd::new(vec![]))).await });
        tokio::task::yield_now().await;
        Ok(None)
    }

    async fn bash(&self, _: BashParams, call: Call<Pi, BashResult>) -> Result<BashResult, CommandError> {
        call.emitter().emit(&Event::AgentStart(AgentStart::new())).await;
        Ok(BashResult::new("", false, false))
    }
}

/// The events of a prompt follow its response, without any action of the service's author. If a command is
/// answered after its work, its events are sent before the response.
#[tokio::test]
async fn events_of_a_call_wait_for_its_answer() {
    let mut wire = start::<Pi, EmittingService>(Arc::new(EmittingService), Options::default());
    assert_eq!(wire.request(r#"{"id":1,"type":"prompt","message":"go"}"#).await["id"], 1);
    assert_eq!(wire.receive().await["type"], "agent_start");
    assert_eq!(wire.receive().await["type"], "agent_end");
    assert_eq!(wire.request(r#"{"id":2,"type":"prompt","message":"refuse"}"#).await["error"], "no key");
    assert_eq!(wire.receive().await["type"], "agent_start");
    assert_eq!(wire.request(r#"{"id":3,"type":"bash","command":"x"}"#).await["type"], "agent_start");
    assert_eq!(wire.receive().await["id"], 3);
}

#[tokio::test]
async fn a_token_ends_serving() {
    let small = Arc::new(SmallService::default());
    let options = Options::default();
    let stop = options.stop.clone();
    let mut wire = start::<Pi, SmallService>(small.clone(), options);
    wire.send(r#"{"id":"b1","type":"bash","command":"wait"}"#).await;
    stop.cancel();
    assert_eq!(within("the end", wire.served).await.unwrap(), ServeEnd::Stopped);
    assert!(small.stopped.load(Ordering::SeqCst));
}

/// Service in which the compaction of each session waits for a notification.
#[derive(Default)]
struct SessionService(Notify);

impl opal::Service for SessionService {
    async fn session_compact(
        &self,
        params: opal::SessionCompactParams,
        _: Call<opal::Opal>,
    ) -> Result<(), CommandError> {
        if params.session_id == "slow" {
            self.0.notified().await;
        }
        Ok(())
    }

    async fn opal_ping(&self, _: NoParams, _: Call<opal::Opal>) -> Result<(), CommandError> {
        self.0.notify_one();
        Ok(())
    }
}

/// Commands of one session wait for each other, but not for other sessions.
#[tokio::test]
async fn each_session_has_a_lane_of_its_own() {
    let mut wire = start::<opal::Opal, SessionService>(Arc::default(), Options::default());
    let compact = |id: u64, session: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "session/compact", "params": {"session_id": session}})
            .to_string()
    };
    wire.send(&compact(1, "slow")).await;
    wire.send(&compact(2, "slow")).await;
    assert_eq!(wire.request(&compact(3, "quick")).await["id"], 3);
    let mut answered = Vec::new();
    for id in [4, 5] {
        wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": "opal/ping"}).to_string()).await;
        for _ in 0..2 {
            answered.push(wire.receive().await["id"].as_u64().unwrap());
        }
    }
    let at = |id: u64| answered.iter().position(|other| *other == id).unwrap();
    assert!(at(1) < at(2), "{answered:?}");
}

/// F58: responses are built one by one as the client reads them. An abort is processed in between.
#[tokio::test]
async fn fm_f58_pipelined_commands_with_large_answers_wait_for_the_client() {
    let small = Arc::new(SmallService::default());
    let mut options = Options::default();
    options.outbox_bytes = 1 << 18;
    let mut wire = start::<Pi, SmallService>(small.clone(), options);
    const COUNT: usize = 200;
    let lines: String =
        (0..COUNT).map(|n| format!("{{\"id\":{n},\"type\":\"get_last_assistant_text\"}}\n")).collect();
    assert!(lines.len() < 32 * 1024);
    wire.write(lines.as_bytes()).await;
    // The client has read no line, and its commands are processed.
    wire.send(r#"{"id":"a","type":"abort"}"#).await;
    wire.send(r#"{"id":"s","type":"get_state"}"#).await;
    wire.send(r#"{"id":"p","type":"prompt","message":"go"}"#).await;
    within("the abort", async {
        while !small.stopped.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let made = small.large.load(Ordering::SeqCst);
    assert!(made <= 8, "{made} answers of 128 KiB were created without a reader");
    // All responses arrive in order, except for those that may overtake.
    let (mut next, mut others) = (0, Vec::new());
    while others.len() < 5 {
        let frame = wire.receive().await;
        match frame["id"].as_u64() {
            Some(id) => {
                assert_eq!(id as usize, next);
                next += 1;
            }
            None => others.push(frame.get("id").or(frame.get("type")).unwrap().as_str().unwrap().to_owned()),
        }
        let ahead = small.large.load(Ordering::SeqCst) - next;
        assert!(ahead <= 8, "{ahead} answers wait");
    }
    assert_eq!(next, COUNT);
    assert_eq!(others, ["a", "s", "p", "agent_start", "agent_end"]);
    assert_eq!(wire.end().await, ServeEnd::EndOfInput);
}

#[tokio::test]
async fn held_commands_are_answered_after_the_end_of_input() {
    let mut options = Options::default();
    options.outbox_bytes = 1 << 17;
    let mut wire = start::<Pi, SmallService>(Arc::default(), options);
    for n in 0..20 {
        wire.send(&format!("{{\"id\":{n},\"type\":\"get_last_assistant_text\"}}")).await;
    }
    AsyncWriteExt::shutdown(&mut wire.writer).await.unwrap();
    for n in 0..20 {
        assert_eq!(wire.receive().await["id"], n);
    }
    assert_eq!(within("the end", wire.served).await.unwrap(), ServeEnd::EndOfInput);
}

/// F58: the number of commands that wait for a lane is limited. A command that aborts a run is never rejected.
#[tokio::test]
async fn fm_f58_too_many_commands_in_progress_are_rejected() {
    let small = Arc::new(SmallService::default());
    let mut options = Options::default();
    options.command_bytes = 1 << 20;
    let mut wire = start::<Pi, SmallService>(small.clone(), options);
    wire.send(r#"{"id":"c","type":"compact"}"#).await;
    let text = "x".repeat(600_000);
    for id in ["p1", "p2"] {
        wire.send(&format!("{{\"id\":\"{id}\",\"type\":\"prompt\",\"message\":\"{text}\"}}")).await;
    }
    let refused = wire.receive().await;
    assert_eq!((&refused["id"], &refused["success"]), (&json!("p2"), &json!(false)));
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains("`prompt` was rejected: commands of 1048576 bytes are in progress"), "{error}");
    assert_eq!(wire.request(r#"{"id":"a","type":"abort"}"#).await["success"], true);
    small.release.notify_waiters();
    assert_eq!(wire.receive().await["id"], "c");
    assert_eq!(wire.receive().await["id"], "p1");
}

#[tokio::test]
async fn too_many_commands_are_rejected_until_some_are_done() {
    let small = Arc::new(SmallService::default());
    let mut options = Options::default();
    options.commands = 2;
    let mut wire = start::<Pi, SmallService>(small.clone(), options);
    for id in ["c", "p1", "p2"] {
        let kind = if id == "c" { "compact" } else { "prompt" };
        wire.send(&json!({"id": id, "type": kind, "message": "go"}).to_string()).await;
    }
    let refused = wire.receive().await;
    assert_eq!((&refused["id"], &refused["success"]), (&json!("p2"), &json!(false)));
    let error = refused["error"].as_str().unwrap();
    assert!(error.contains("`prompt` was rejected: 2 commands are in progress"), "{error}");
    assert_eq!(wire.request(r#"{"id":"a","type":"abort"}"#).await["success"], true);
    small.release.notify_waiters();
    for id in ["c", "p1"] {
        assert_eq!(wire.receive().await["id"], id);
    }
    while wire.receive().await["type"] != "agent_end" {}
    assert_eq!(wire.request(r#"{"id":"s","type":"get_state"}"#).await["id"], "s");
}

/// A server with a gate rejects ambiguous frames, which readers may interpret differently. A server without a
/// gate uses the last of two members with one name.
#[tokio::test]
async fn a_server_with_a_gate_rejects_frames_that_name_two_commands() {
    let gated = || {
        let mut options = Options::default();
        options.gate = Some(Gate::new(|_| Ok(())));
        options
    };
    let mut wire = start::<Pi, SmallService>(Arc::default(), gated());
    for (text, id) in [
        (r#"{"id":"1","type":"bash","type":"get_state"}"#, json!("1")),
        (r#"{"id":"1","type":"bash","ty\u0070e":"get_state"}"#, json!("1")),
        (r#"{"id":"1","Type":"bash","type":"get_state"}"#, json!("1")),
        (r#"{"id":"1","type":"get_state","id":"2"}"#, json!(null)),
    ] {
        let answer = wire.request(text).await;
        assert_eq!(
            (&answer["success"], answer.get("id").unwrap_or(&json!(null))),
            (&json!(false), &id),
            "{text}"
        );
        assert!(answer["error"].as_str().unwrap().contains("`"), "{answer}");
    }
    assert_eq!(wire.request(r#"{"id":"s","type":"get_state"}"#).await["success"], true);
    // The gate rejects the same frames as the page of `agentese web`, in the form of the dialect.
    for text in [
        r#"{"id":"1"}"#,
        r#"{"id":"1","type":["get_state"]}"#,
        r#"{"id":"1","type":"get_state\u0000"}"#,
        r#"{"id":"1","type":"get_\ud800state"}"#,
        r#"[{"id":"1","type":"get_state"}]"#,
        r#"{"id":"1","type":"get_state"}{"type":"bash"}"#,
        r#"{"id":"1","type":"get_state","x":1/**/}"#,
    ] {
        assert!(
            agentese::strict::client_frame(agentese::dynamic::spec("pi").unwrap(), text).is_err(),
            "{text}"
        );
        assert_eq!(wire.request(text).await["success"], false, "{text}");
    }
    // A notification name in a request is rejected too; a notification of another kind is still ignored.
    let mut rpc = start::<opal::Opal, SessionService>(Arc::default(), gated());
    rpc.send(r#"{"jsonrpc":"2.0","method":"nobody/knows"}"#).await;
    assert_eq!(rpc.request(r#"{"jsonrpc":"2.0","method":"nobody\u0000"}"#).await["error"]["code"], -32600);
    let mut open = start::<Pi, SmallService>(Arc::default(), Options::default());
    assert_eq!(open.request(r#"{"id":"1","type":"bash","type":"get_state"}"#).await["command"], "get_state");
}

/// The end reason for a write error differs from that for a disconnected client.
#[tokio::test]
async fn an_output_that_is_full_is_a_failure() {
    let (ours, mut theirs) = agentese::transport::memory_pair(1 << 16);
    let full = tokio::fs::File::options().write(true).open("/dev/full").await.unwrap();
    theirs.writer = Box::new(full);
    let served = tokio::spawn(async move {
        agentese::serve::serve_with::<Pi, SmallService>(theirs, Arc::default(), Options::default(), |_| {})
            .await
    });
    let mut writer = ours.writer;
    AsyncWriteExt::write_all(&mut writer, b"{\"type\":\"get_state\"}\n").await.unwrap();
    assert_eq!(within("the end", served).await.unwrap(), ServeEnd::FailedOutput);
}
