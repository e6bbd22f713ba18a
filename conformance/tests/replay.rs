//! Tests of `RpcClient` against recordings of the five real agents. Every session is played to its end, the
//! events arrive byte for byte, and every run that ends in the recording ends in the test.

#![allow(clippy::print_stdout, reason = "the counts are shown with --nocapture")]

use std::sync::Arc;

use agentese::frame::ClientFrame;
use agentese::spec::{Dialect, RunRole};
use agentese::tap::{Diagnostic, Tap};
use agentese::transport::memory_pair;
use agentese::wire::EventUnion;
use agentese::{Error, RpcClient, Run, omp, opal, operator, pi, pisces};
use agentese_conformance::transcript::{Record, Transcript, recorded};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

#[path = "../../sdk-rust/tests/support/long.rs"]
mod long;
use long::LONG;

type PromptStarter<D> =
    fn(RpcClient<D>, String, Map<String, Value>) -> BoxFuture<'static, Result<Run<D>, Error>>;

/// Tap that collects diagnostics about lines that the client could not read as frames.
#[derive(Default)]
struct DiagnosticLog(std::sync::Mutex<Vec<String>>);

struct DiagnosticTap(Arc<DiagnosticLog>);

impl Tap for DiagnosticTap {
    fn diagnostic(&self, diagnostic: &Diagnostic) {
        if matches!(diagnostic, Diagnostic::Noise { .. } | Diagnostic::Framing(_)) {
            self.0.0.lock().unwrap().push(format!("{diagnostic:?}"));
        }
    }
}

/// Returns `true` if the client delivers the line of the transcript as an event.
fn is_event<D: Dialect>(line: &Value) -> bool {
    let spec = D::SPEC;
    if !spec.framing_is_flat() {
        return line["method"] == "agent/event";
    }
    let kind = line["type"].as_str();
    kind.is_some_and(|kind| kind != "response" && !spec.is_request(kind))
}

/// Numbers of runs in a recording. A run has ended if its last possible end arrived and no further events
/// follow.
struct SessionCounts {
    /// Last event of each run that ended.
    last: Vec<String>,
    runs: usize,
    ended: usize,
    events: usize,
}

async fn drive<D: Dialect>(name: &str, transcript: Transcript, start: PromptStarter<D>) -> SessionCounts {
    let spec = D::SPEC;
    let (ours, theirs) = memory_pair(1 << 20);
    let odd = Arc::new(DiagnosticLog::default());
    let client = RpcClient::<D>::builder().tap(DiagnosticTap(odd.clone())).connect(ours);
    let mut events = client.events().unwrap();
    let played = transcript.clone();
    let player = tokio::spawn(async move { agentese_conformance::replay(spec, &played, theirs).await });
    let mut runs = Vec::new();
    let mut calls = tokio::task::JoinSet::new();
    let mut seen = 0;
    for record in &transcript.records {
        match record {
            Record::Control(control) if control.event == "exit" => break,
            Record::Control(_) => {}
            Record::Received(line) => {
                let Ok(value) = serde_json::from_str::<Value>(line.as_str()) else { continue };
                if is_event::<D>(&value) {
                    let event = events.next_raw().await.unwrap_or_else(|| panic!("{name}: the events ended"));
                    let event = event.unwrap_or_else(|error| panic!("{name}: {error}"));
                    assert_eq!(event.frame().as_str(), line.as_str(), "{name}: another event came");
                    let typed = event.decode();
                    if event.is_known() && !listed(spec.name, name) {
                        let typed = typed.unwrap_or_else(|error| panic!("{name}: {error}"));
                        assert_eq!(typed.event_type(), event.kind());
                    }
                    seen += 1;
                }
            }
            Record::Sent(line) => {
                let value: Value = serde_json::from_str(line.as_str()).unwrap_or(Value::Null);
                let member = if spec.framing_is_flat() { "type" } else { "method" };
                let command = value[member].as_str().unwrap_or_default().to_owned();
                let mut members = if spec.framing_is_flat() {
                    value.as_object().cloned().unwrap_or_default()
                } else {
                    value["params"].as_object().cloned().unwrap_or_default()
                };
                if spec.framing_is_flat() {
                    members.remove("type");
                    members.remove("id");
                }
                // A typed client cannot send a line that is invalid on purpose.
                let right = ClientFrame::<D>::decode(line).is_ok();
                match spec.command(&command).map(|spec| spec.run).filter(|_| right) {
                    None => client.send_raw(line.as_str().trim_end_matches('\r')).unwrap(),
                    Some(RunRole::Starts) => runs.push(tokio::spawn(start(client.clone(), command, members))),
                    Some(_) => {
                        let client = client.clone();
                        calls.spawn(async move { client.request(&command, &members).await });
                    }
                }
                // The tasks run in order, so each line is sent before the next one.
                tokio::task::yield_now().await;
            }
        }
    }
    let mut played = SessionCounts { last: Vec::new(), runs: runs.len(), ended: 0, events: seen };
    let cut = agentese_conformance::replay::ends_during_run(spec, &transcript);
    for run in runs {
        match run.await.unwrap() {
            Ok(run) => match run.wait().await {
                Ok(result) => {
                    // If the recording is cut off, the end of the last run depends on timing.
                    played.ended += usize::from(!cut);
                    played.last.extend(result.last.map(|event| event.frame().as_str().to_owned()));
                }
                Err(error) => assert!(
                    error.refused().is_some() || (cut && error.termination().is_some()),
                    "{name}: {error}"
                ),
            },
            Err(error) => assert!(error.refused().is_some(), "{name}: {error}"),
        }
    }
    calls.abort_all();
    assert!(
        odd.0.lock().unwrap().is_empty() || listed(spec.name, name),
        "{name}: {:?}",
        odd.0.lock().unwrap()
    );
    drop(events);
    client.close().await;
    player.abort();
    played
}

/// Returns `true` for recordings with frames that the dialect's document does not allow.
fn listed(dialect: &str, name: &str) -> bool {
    let case = format!("{dialect}/{name} server ");
    include_str!("../schema-exceptions.txt").lines().any(|line| line.starts_with(&case))
}

/// Returns `true` for recordings about framing, which have their own tests. In these recordings, the client
/// wrote incomplete lines, or the agent mixed an answer with the output of an extension.
fn is_about_writing(name: &str) -> bool {
    [
        "ext-stdout-noise",
        "split-writes",
        "trailing-newline",
        "partial_line",
        "long-line",
        "proto-malformed",
        "proto-empty-lines",
    ]
    .iter()
    .any(|part| name.contains(part))
}

/// Plays all recordings of a dialect. `expected` contains the numbers of sessions, prompts and completed
/// runs. A run is not completed if its session was cut or its prompt was rejected.
async fn all<D: Dialect>(dialect: &str, expected: (usize, usize, usize), start: PromptStarter<D>) {
    let mut total = SessionCounts { last: Vec::new(), runs: 0, ended: 0, events: 0 };
    let mut sessions = 0;
    for (name, transcript) in recorded(dialect).unwrap() {
        if is_about_writing(&name) {
            continue;
        }
        let played = tokio::time::timeout(LONG, drive::<D>(&name, transcript, start))
            .await
            .unwrap_or_else(|_| panic!("{dialect}/{name} did not end"));
        sessions += 1;
        total.runs += played.runs;
        total.ended += played.ended;
        total.events += played.events;
    }
    println!(
        "{dialect}: {sessions} sessions, {} events, {} prompts, {} runs ended",
        total.events, total.runs, total.ended
    );
    assert_eq!((sessions, total.runs, total.ended), expected, "{dialect}: sessions, prompts, ended runs");
}

fn params<P: serde::de::DeserializeOwned>(members: Map<String, Value>) -> Result<P, Error> {
    // A typed client cannot send a prompt that is invalid on purpose.
    serde_json::from_value(Value::Object(members))
        .map_err(|error| Error::Encode { command: "prompt".to_owned(), reason: error.to_string() })
}

macro_rules! prompt {
    ($client:expr, $members:expr, $method:ident) => {
        match params($members) {
            Ok(params) => $client.$method(params).await,
            Err(error) => Err(error),
        }
    };
}

#[tokio::test]
async fn pi_sessions() {
    all::<pi::Pi>("pi", (96, 139, 136), |client, _, members| {
        Box::pin(async move { prompt!(client, members, prompt_with) })
    })
    .await;
}

#[tokio::test]
async fn omp_sessions() {
    all::<omp::Omp>("omp", (78, 73, 66), |client, command, members| {
        Box::pin(async move {
            match command.as_str() {
                "abort_and_prompt" => prompt!(client, members, abort_and_prompt_with),
                _ => prompt!(client, members, prompt_with),
            }
        })
    })
    .await;
}

#[tokio::test]
async fn pisces_sessions() {
    all::<pisces::Pisces>("pisces", (36, 60, 45), |client, command, members| {
        Box::pin(async move {
            match command.as_str() {
                "abort_and_prompt" => prompt!(client, members, abort_and_prompt_with),
                _ => prompt!(client, members, prompt_with),
            }
        })
    })
    .await;
}

#[tokio::test]
async fn operator_sessions() {
    all::<operator::Operator>("operator", (4, 4, 3), |client, _, members| {
        Box::pin(async move { prompt!(client, members, prompt_with) })
    })
    .await;
}

#[tokio::test]
async fn opal_sessions() {
    all::<opal::Opal>("opal", (31, 32, 31), |client, _, members| {
        Box::pin(async move {
            let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            client.agent_prompt(text("session_id"), text("text")).await
        })
    })
    .await;
}

/// A read-only command that is not in the recording gets an answer. Any other such command is rejected,
/// because the agent's reaction is unknown.
#[tokio::test]
async fn unrecorded_commands_are_rejected() {
    async fn of<D: Dialect>(dialect: &str, name: &str, reads: &str, changes: &str) {
        let path = agentese_conformance::transcript::folder(dialect).join(format!("{name}.jsonl"));
        let transcript = Transcript::load(&path).unwrap();
        let (ours, theirs) = memory_pair(1 << 20);
        let client = RpcClient::<D>::builder().connect(ours);
        let player =
            tokio::spawn(async move { agentese_conformance::replay(D::SPEC, &transcript, theirs).await });
        client.request(reads, &Map::new()).await.unwrap();
        let error = client.request(changes, &Map::new()).await.unwrap_err();
        let refused = error.refused().unwrap_or_else(|| panic!("{error}")).to_string();
        assert!(refused.contains(&format!("the recording has no `{changes}` here")), "{refused}");
        client.close().await;
        player.abort();
    }
    of::<pi::Pi>("pi", "prompt-text-anthropic", "get_commands", "set_session_name").await;
    of::<opal::Opal>("opal", "03_prompt_text", "session/list", "session/delete").await;
}

/// Three sessions must end as recorded: a text, several tools, and repeated retries.
#[tokio::test]
async fn three_pi_sessions_end_as_recorded() {
    for name in ["prompt-text-anthropic", "tool-multi", "retry-final-failure"] {
        let path = agentese_conformance::transcript::folder("pi").join(format!("{name}.jsonl"));
        let transcript = Transcript::load(&path).unwrap();
        let last = transcript
            .received()
            .filter(|line| line.as_str().starts_with("{\"type\":\"agent_end\""))
            .last()
            .cloned();
        let prompts = transcript.sent().filter(|line| line.as_str().contains("\"type\":\"prompt\"")).count();
        let played = tokio::time::timeout(
            LONG,
            drive::<pi::Pi>(name, transcript, |client, _, members| {
                Box::pin(async move { prompt!(client, members, prompt_with) })
            }),
        )
        .await
        .unwrap();
        assert_eq!(played.last.last().map(String::as_str), last.as_ref().map(|line| line.as_str()), "{name}");
        assert_eq!((played.runs, played.ended), (prompts, prompts), "{name}");
    }
}
