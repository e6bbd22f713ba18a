//! Neutral events: each recorded session must produce the events in the vectors, which all languages share.

#[path = "support/long.rs"]
mod long;
mod recorded;

use std::collections::BTreeMap;

use agentese::any::{Agent, Event, Intent, Options, differences};
use agentese::transport::Transport;
use agentese::view::{RunState, View};
use agentese::{Error, RunLimits};
use long::LONG;
use recorded::{conformance, digest, frames};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SessionSummary {
    transcript: String,
    /// Number of events of each type.
    events: BTreeMap<String, u64>,
    /// Digest of all events in order.
    digest: String,
}

#[derive(Deserialize)]
struct Vectors {
    sessions: Vec<SessionSummary>,
}

fn events(transcript: &str) -> Vec<Event> {
    let (dialect, _) = transcript.split_once('/').unwrap();
    let mut view = View::open(dialect).unwrap();
    let mut events = Vec::new();
    for (direction, line, at) in frames(transcript) {
        let before = view.conversation();
        view.line(direction, &line, at);
        events.extend(differences(&before, &view.conversation()));
    }
    events
}

fn summarize(transcript: &str) -> SessionSummary {
    let all: Vec<Value> = events(transcript).iter().map(|event| json!(event)).collect();
    let mut events = BTreeMap::new();
    for event in &all {
        *events.entry(event["type"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    SessionSummary { transcript: transcript.to_owned(), events, digest: digest(&Value::Array(all)) }
}

#[test]
fn every_recorded_session_matches_the_vectors() {
    let text = std::fs::read_to_string(conformance().join("vectors/any.json")).unwrap();
    let vectors: Vectors = serde_json::from_str(&text).unwrap();
    assert!(vectors.sessions.len() > 200);
    let wrong: Vec<String> = vectors
        .sessions
        .iter()
        .filter_map(|wanted| {
            let told = summarize(&wanted.transcript);
            (told != *wanted).then(|| format!("{}\n{}", json!(wanted), json!(told)))
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The concatenated additions to a message equal the complete message.
#[test]
fn growth_events_add_up_to_the_final_message() {
    let text = std::fs::read_to_string(conformance().join("vectors/any.json")).unwrap();
    let vectors: Vectors = serde_json::from_str(&text).unwrap();
    let mut whole = 0;
    for session in &vectors.sessions {
        let mut grown: BTreeMap<String, String> = BTreeMap::new();
        let mut is_plain = true;
        for event in events(&session.transcript) {
            match event {
                Event::TextGrew { message, text, .. } => grown.entry(message).or_default().push_str(&text),
                Event::BlockChanged { .. } | Event::ConversationReplaced { .. } => is_plain = false,
                Event::MessageEnded { message } if is_plain && grown.contains_key(&message.key) => {
                    assert_eq!(grown[&message.key], message.text(), "{}", session.transcript);
                    whole += 1;
                }
                _ => {}
            }
        }
    }
    assert!(whole > 200, "{whole}");
}

/// Agents that cut a text inside a surrogate pair write only half of the pair. The client reads it as the
/// replacement character.
#[tokio::test]
async fn half_a_surrogate_pair_loses_neither_an_event_nor_an_answer() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(ours);
    let peer = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(theirs);
        let half = r#"{"role":"user","content":"cut \ud83d","timestamp":5}"#;
        let run = format!(
            "{}\n{}\n",
            r#"{"type":"agent_start"}"#,
            r#"{"type":"agent_end","messages":[HALF]}"#.replace("HALF", half)
        );
        writer.write_all(run.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(reader).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let asked: Value = serde_json::from_str(&line).unwrap();
            let answer = if asked["type"] == "get_messages" {
                r#""success":true,"data":{"messages":[HALF]}"#.replace("HALF", half)
            } else {
                r#""success":false,"error":"no""#.to_owned()
            };
            let line = format!(
                "{{\"id\":{},\"type\":\"response\",\"command\":{},{answer}}}\n",
                asked["id"], asked["type"]
            );
            writer.write_all(line.as_bytes()).await.unwrap();
        }
    });
    let agent = Agent::from_transport(Transport::from_io(reader, writer), Options::new().dialect("pi"))
        .await
        .unwrap();
    let results =
        tokio::time::timeout(LONG, agent.call(Intent::Messages, Map::new())).await.unwrap().unwrap();
    assert!(json!(results).to_string().contains("cut \u{fffd}"), "{results:?}");
    assert_eq!(agent.conversation().run.state, RunState::Idle);
    agent.close().await;
    tokio::time::timeout(LONG, peer).await.unwrap().unwrap();
}

/// The agent's end of an in-memory connection, which sends and receives single lines.
struct Peer {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>>,
    writer: tokio::io::WriteHalf<tokio::io::DuplexStream>,
}

impl Peer {
    async fn receive(&mut self) -> Value {
        let line = tokio::time::timeout(LONG, self.lines.next_line()).await.unwrap().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn send(&mut self, frame: Value) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }
}

async fn in_memory(dialect: &str) -> (Agent, Peer) {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(ours);
    let options = Options::new().dialect(dialect);
    let agent = Agent::from_transport(Transport::from_io(reader, writer), options).await.unwrap();
    let (reader, writer) = tokio::io::split(theirs);
    (agent, Peer { lines: BufReader::new(reader).lines(), writer })
}

#[tokio::test]
async fn a_run_has_limits() {
    let (agent, mut peer) = in_memory("pi").await;
    let limited = agent.with_limits(RunLimits { max_turns: Some(2), ..RunLimits::default() });
    let prompt = tokio::spawn(async move { limited.prompt("go").await });
    let asked = peer.receive().await;
    let accepted = json!({"id": asked["id"], "type": "response", "command": "prompt", "success": true});
    peer.send(accepted.clone()).await;
    let run = tokio::time::timeout(LONG, prompt).await.unwrap().unwrap().unwrap();
    peer.send(json!({"type": "agent_start"})).await;
    for _ in 0..3 {
        peer.send(json!({"type": "turn_start"})).await;
    }
    let result = tokio::spawn(run.result());
    let abort = peer.receive().await;
    assert_eq!(abort["type"], "abort");
    peer.send(json!({"type": "agent_end", "messages": []})).await;
    peer.send(json!({"id": abort["id"], "type": "response", "command": "abort", "success": true})).await;
    let state = peer.receive().await;
    peer.send(json!({"id": state["id"], "type": "response", "command": state["type"], "success": false, "error": "no"}))
        .await;
    let failed = tokio::time::timeout(LONG, result).await.unwrap().unwrap().unwrap_err();
    let Error::RunFailed(failure) = failed else { panic!("{failed:?}") };
    assert_eq!(failure.code.as_deref(), Some("max_turns"));
    // A limit of something that the dialect does not report is refused before anything is sent.
    let (agent, mut peer) = in_memory("opal").await;
    let limited = agent.with_limits(RunLimits { max_cost: Some(1.0), ..RunLimits::default() });
    let prompt = tokio::spawn(async move { limited.prompt("go").await.err() });
    let opens = peer.receive().await;
    peer.send(json!({"jsonrpc": "2.0", "id": opens["id"], "result": {"session_id": "s"}})).await;
    let refused = tokio::time::timeout(LONG, prompt).await.unwrap().unwrap();
    assert!(matches!(refused, Some(Error::Encode { .. })), "{refused:?}");
    agent.close().await;
}

/// An unsupported parameter is rejected and not dropped, because dropping it would change the command. For
/// example, hidden output would become visible to the model.
#[tokio::test]
async fn an_unsupported_parameter_is_rejected_before_sending() {
    for (dialect, intent, param) in [
        ("omp", Intent::Bash, "hidden"),
        // The agent's revision, which might have the parameter, is unknown.
        ("pi", Intent::Bash, "hidden"),
        ("pi@0.55", Intent::Bash, "hidden"),
        ("opal", Intent::Compact, "instructions"),
        ("operator", Intent::FollowUp, "images"),
        ("pi", Intent::Abort, "madeUp"),
    ] {
        let (agent, mut peer) = in_memory(dialect).await;
        let mut params = Map::new();
        for (name, value) in [("command", "ls"), ("text", "hi")] {
            let takes = agent.accepts_param(intent, name);
            params.extend(takes.then(|| (name.to_owned(), value.into())));
        }
        // A null parameter is omitted.
        params.insert("since".to_owned(), Value::Null);
        params.insert(param.to_owned(), true.into());
        let refused = agent.call(intent, params).await.unwrap_err();
        let told = refused.to_string();
        assert!(
            matches!(&refused, Error::NotInDialect { param: Some(known), .. } if known == param),
            "{told}"
        );
        assert!(told.starts_with(dialect) && told.contains(&format!("`{param}`")), "{told}");
        drop(agent);
        assert!(peer.lines.next_line().await.unwrap().is_none(), "{dialect}: something was sent");
    }
    let (agent, mut peer) = in_memory("pi@1.5").await;
    let call = tokio::spawn(async move { agent.bash_hidden("ls").await });
    let asked = peer.receive().await;
    assert_eq!(asked["excludeFromContext"], true);
    let data = json!({"output": "", "exitCode": 0, "cancelled": false, "truncated": false});
    peer.send(
        json!({"id": asked["id"], "type": "response", "command": "bash", "success": true, "data": data}),
    )
    .await;
    tokio::time::timeout(LONG, call).await.unwrap().unwrap().unwrap();
}

/// In dialects that cannot choose the delivery of input during a run, the parameter for it is omitted without
/// an error.
#[tokio::test]
async fn an_unsupported_hint_is_left_out() {
    let (agent, mut peer) = in_memory("operator").await;
    let params = Map::from_iter([("text".to_owned(), "hi".into()), ("whenBusy".to_owned(), "steer".into())]);
    let call = tokio::spawn(async move { agent.call(Intent::Prompt, params).await });
    assert_eq!(peer.receive().await["text"], "hi");
    call.abort();
}

#[tokio::test]
async fn of_two_concurrent_openings_the_last_answered_session_is_used() {
    let (agent, mut peer) = in_memory("opal").await;
    let open = |session: &str| {
        let (agent, session) = (agent.clone(), session.to_owned());
        tokio::spawn(async move { agent.open_session(&session).await })
    };
    let opening = [open("one"), open("two")];
    let asked = [peer.receive().await, peer.receive().await];
    let answer = |session: &str| {
        let of = asked.iter().find(|frame| frame["params"]["session_id"] == session).unwrap();
        json!({"jsonrpc": "2.0", "id": of["id"], "result": {"session_id": session, "context_files": []}})
    };
    for session in ["two", "one"] {
        peer.send(answer(session)).await;
    }
    for opened in opening {
        tokio::time::timeout(LONG, opened).await.unwrap().unwrap().unwrap();
    }
    assert_eq!(agent.conversation().session.id.as_deref(), Some("one"));
    let abort = tokio::spawn(async move { agent.abort().await });
    assert_eq!(peer.receive().await["params"]["session_id"], "one");
    abort.abort();
}

#[tokio::test]
async fn of_an_implicit_and_an_explicit_opening_the_last_answered_session_is_used() {
    for last in ["first", "other"] {
        let (agent, mut peer) = in_memory("opal").await;
        let (calls, opens) = (agent.clone(), agent.clone());
        let call = tokio::spawn(async move { calls.abort().await });
        let first = peer.receive().await;
        let open = tokio::spawn(async move { opens.open_session("other").await });
        let other = peer.receive().await;
        let answer = |asked: &Value, session: &str| json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"session_id": session}});
        let mut answers = [answer(&first, "first"), answer(&other, "other")];
        if last == "first" {
            answers.reverse();
        }
        // Both responses arrive at once.
        let text: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        peer.writer.write_all(text.as_bytes()).await.unwrap();
        tokio::time::timeout(LONG, open).await.unwrap().unwrap().unwrap();
        let aborts = peer.receive().await;
        peer.send(json!({"jsonrpc": "2.0", "id": aborts["id"], "result": {}})).await;
        tokio::time::timeout(LONG, call).await.unwrap().unwrap().unwrap();
        assert_eq!(agent.conversation().session.id.as_deref(), Some(last));
        let again = tokio::spawn(async move { agent.abort().await });
        assert_eq!(
            (&peer.receive().await["params"]["session_id"], &aborts["params"]["session_id"]),
            (&json!(last), &json!(last))
        );
        again.abort();
    }
}

#[tokio::test]
async fn a_call_waits_for_no_first_session_where_another_is_followed() {
    let (agent, mut peer) = in_memory("opal").await;
    let (calls, opens, follows) = (agent.clone(), agent.clone(), agent);
    let call = tokio::spawn(async move { calls.abort().await });
    let first = peer.receive().await;
    let open = tokio::spawn(async move { opens.open_session("other").await });
    let other = peer.receive().await;
    peer.send(json!({"jsonrpc": "2.0", "id": other["id"], "result": {"session_id": "other"}})).await;
    tokio::time::timeout(LONG, open).await.unwrap().unwrap().unwrap();
    let again = tokio::spawn(async move { follows.abort().await });
    let aborts = tokio::time::timeout(LONG, peer.receive()).await.expect("the first one is not waited for");
    assert_eq!(aborts["params"]["session_id"], "other");
    peer.send(json!({"jsonrpc": "2.0", "id": aborts["id"], "result": {}})).await;
    tokio::time::timeout(LONG, again).await.unwrap().unwrap().unwrap();
    peer.send(json!({"jsonrpc": "2.0", "id": first["id"], "result": {"session_id": "first"}})).await;
    assert_eq!(peer.receive().await["params"]["session_id"], "first");
    call.abort();
}
