//! The cases of `conformance/vectors/client.json`, which the clients of all languages share. They run with the
//! dynamic client. The typed clients use the same connection.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentese::dialog::AnswerMembers;
use agentese::dynamic::{Client, Dialogs, Event, EventStream, Limit, Options, client};
use agentese::framing::FrameText;
use agentese::queue::Overflow;
use agentese::spec::Spec;
use agentese::tap::{Diagnostic, Direction, Tap};
use agentese::transport::{ChildOptions, Exit, memory_pair};
use agentese::wire::decode;
use agentese::{EndedBy, Error, ErrorKind, RunFailure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::group;
use crate::peer::{Peer, within};

const CASES: [&str; 4] = [
    include_str!("../../../conformance/vectors/client.json"),
    include_str!("../../../conformance/vectors/client_ends.json"),
    include_str!("../../../conformance/vectors/client_failures.json"),
    include_str!("../../../conformance/vectors/client_live.json"),
];

type CallAnswer = Result<Option<FrameText>, Error>;

/// Kinds of the diagnostics that the client reported, as named in the cases.
#[derive(Clone, Default)]
struct DiagnosticTap {
    kinds: Arc<Mutex<Vec<&'static str>>>,
    fails: bool,
}

impl Tap for DiagnosticTap {
    fn wants_frames(&self) -> bool {
        self.fails
    }

    fn frame(&self, _: Direction, _: &str) {
        panic!("a tap that fails");
    }

    fn diagnostic(&self, diagnostic: &Diagnostic) {
        self.kinds.lock().unwrap().push(match diagnostic {
            Diagnostic::Noise { .. } => "noise",
            Diagnostic::Framing(_) => "framing",
            Diagnostic::UnmatchedAnswer { .. } => "unmatched_answer",
            Diagnostic::UnknownFrame { .. } => "unknown_frame",
            Diagnostic::DialogByPolicy { .. } => "dialog_by_policy",
            Diagnostic::OtherDialect { .. } => "other_dialect",
            Diagnostic::InexactNumber { .. } => "inexact_number",
            Diagnostic::Chunks { .. } => "chunks",
            other => panic!("no case names {other:?}"),
        });
    }
}

/// Handler with the behavior in `options.dialogs`. It can hold questions until a step of the case answers them.
#[derive(Clone)]
struct ScriptedHandler {
    spec: &'static Spec,
    behavior: Value,
    open: watch::Sender<Vec<Option<oneshot::Sender<AnswerMembers>>>>,
}

impl Dialogs for ScriptedHandler {
    fn answer(&self, method: &str, _: &str) -> BoxFuture<'static, Option<AnswerMembers>> {
        if let Some(answer) = self.behavior.get("answers") {
            let (member, ..) = self.spec.dialog(method).unwrap().answer[0];
            let members = AnswerMembers::from_iter([(member.to_owned(), answer.clone())]);
            return async { Some(members) }.boxed();
        }
        match self.behavior.as_str().unwrap_or_default() {
            "fails" => async { panic!("a handler that fails") }.boxed(),
            "never" => std::future::pending().boxed(),
            "held" => {
                let (answer, answered) = oneshot::channel();
                self.open.send_modify(|held| held.push(Some(answer)));
                async move { answered.await.ok() }.boxed()
            }
            other => panic!("no such handler: {other}"),
        }
    }
}

impl ScriptedHandler {
    fn new(spec: &'static Spec, how: &Value) -> Self {
        Self { spec, behavior: how.clone(), open: watch::Sender::new(Vec::new()) }
    }

    /// Waits until the handler holds `count` questions.
    async fn wait_for_questions(&self, count: usize) {
        let mut held = self.open.subscribe();
        within("a question", held.wait_for(|held| held.len() >= count)).await.unwrap();
    }

    /// Returns the sender for the answer to a held question.
    fn take(&self, number: usize) -> oneshot::Sender<AnswerMembers> {
        let mut taken = None;
        self.open.send_modify(|held| taken = held[number].take());
        taken.expect("it is held")
    }

    /// Waits until a question is withdrawn. The handler still holds it.
    async fn withdrawn(&self, number: usize) {
        let mut answer = self.take(number);
        within("the end of the question", answer.closed()).await;
        self.open.send_modify(|held| held[number] = Some(answer));
    }
}

/// State of a case that is being run.
struct CaseRunner {
    client: Option<Client>,
    /// Earlier clients with their agents.
    earlier: Vec<(Option<Client>, Option<Peer>)>,
    handler: ScriptedHandler,
    process: Option<u32>,
    peer: Option<Peer>,
    tap: DiagnosticTap,
    received: Vec<Value>,
    ids: HashMap<String, String>,
    calls: HashMap<String, JoinHandle<CallAnswer>>,
    runs: HashMap<String, (EventStream, JoinHandle<CallAnswer>)>,
    events: Option<EventStream>,
    json_rpc: bool,
}

impl CaseRunner {
    fn open(case: &Value) -> Result<Self, Error> {
        let given = &case["options"];
        let told = DiagnosticTap { fails: given["tap"] == "fails", ..DiagnosticTap::default() };
        let handler = ScriptedHandler::new(client(text(&case["dialect"])).unwrap().0, &given["dialogs"]);
        let (client, peer) = Self::connect(case, &told, &handler)?;
        Ok(CaseRunner {
            json_rpc: case["dialect"] == "opal",
            process: client.process_id(),
            client: Some(client),
            earlier: Vec::new(),
            handler,
            peer,
            tap: told,
            received: Vec::new(),
            ids: HashMap::new(),
            calls: HashMap::new(),
            runs: HashMap::new(),
            events: None,
        })
    }

    /// Connects a client to the case's agent. Returns the agent if it is not a process.
    fn connect(
        case: &Value,
        told: &DiagnosticTap,
        handler: &ScriptedHandler,
    ) -> Result<(Client, Option<Peer>), Error> {
        let given = &case["options"];
        let mut options = Options { tap: Some(Arc::new(told.clone())), ..Options::default() };
        if let Some(bytes) = given["max_line"].as_u64() {
            options.max_line = bytes as usize;
        }
        options.timeout = given["timeout_ms"].as_u64().map(Duration::from_millis);
        if let Some(bytes) = given["queue_bytes"].as_u64() {
            options.queue_bytes = bytes as usize;
        }
        options.overflow = match given["overflow"].as_str() {
            None | Some("block") => Overflow::Block,
            Some("coalesce") => Overflow::Coalesce,
            Some("detach") => Overflow::Detach,
            Some(other) => panic!("no such policy: {other}"),
        };
        if !given["dialogs"].is_null() {
            options.dialogs = Some(Arc::new(handler.clone()));
        }
        let (spec, _) = client(text(&case["dialect"])).unwrap();
        Ok(match case["spawn"].as_array() {
            Some(words) => {
                let grace =
                    |name: &str| given[name].as_u64().map_or(crate::long::LONG, Duration::from_millis);
                let child = ChildOptions::new(text(&words[0]))
                    .args(words[1..].iter().map(text))
                    .graces(grace("eof_grace_ms"), grace("term_grace_ms"));
                (Client::spawn(spec, options, child)?, None)
            }
            None => {
                let (ours, theirs) = memory_pair(1 << 22);
                (Client::connect(spec, options, ours), Some(Peer::new(theirs)))
            }
        })
    }

    /// Restarts the case's agent with a new client; the handler stays the same.
    fn again(&mut self, case: &Value) {
        let (client, peer) = Self::connect(case, &self.tap, &self.handler).unwrap();
        self.process = client.process_id();
        let before = (self.client.replace(client), std::mem::replace(&mut self.peer, peer));
        self.earlier.push(before);
        self.received.clear();
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("the client is there")
    }

    fn peer(&mut self) -> &mut Peer {
        self.peer.as_mut().expect("the agent is in memory")
    }

    /// Starts a call. When this function returns, the command has been sent.
    fn call(&self, command: &str, params: &Value, limit: Limit) -> BoxFuture<'static, CallAnswer> {
        let (client, command, params) = (self.client().clone(), command.to_owned(), params.to_string());
        let mut call = async move { client.call(&command, &params, limit).await }.boxed();
        match (&mut call).now_or_never() {
            Some(answered) => std::future::ready(answered).boxed(),
            None => call,
        }
    }

    /// Skips lines of the client up to a matching one, and returns that line.
    async fn receive(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.received.iter().position(&fits) {
                return self.received.remove(at);
            }
            let line = self.peer().receive().await;
            self.received.push(line);
        }
    }

    async fn receive_command(&mut self, command: &str) -> String {
        let name = if self.json_rpc { "method" } else { "type" };
        self.receive(|line| line[name] == command).await["id"].to_string()
    }

    async fn send(&mut self, bytes: &[u8]) {
        let peer = self.peer();
        within("the client to read", peer.writer.write_all(bytes)).await.unwrap();
        peer.writer.flush().await.unwrap();
    }

    fn with_ids(&self, line: &str) -> String {
        let replace = |line: String, (name, id): (&String, &String)| line.replace(&format!("${name}"), id);
        self.ids.iter().fold(line.to_owned(), replace)
    }

    /// Makes a call and waits for its response. All earlier frames are processed by then.
    async fn round_trip(&mut self) {
        let call = tokio::spawn(self.call("are_you_there", &json!({}), Limit::Never));
        let id = self.receive_command("are_you_there").await;
        let answer = match self.json_rpc {
            true => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n"),
            false => format!("{}\n", crate::peer::success(&id, "are_you_there", "")),
        };
        self.send(answer.as_bytes()).await;
        within("the round trip", call).await.unwrap().unwrap();
    }

    async fn event(&mut self) -> Event {
        let events = self.events.as_mut().expect("the case subscribes to events");
        within("an event", next(events)).await.expect("an event and not the end")
    }

    async fn play(&mut self, case: &Value, step: &Value) {
        let (what, given) = step.as_object().unwrap().iter().next().unwrap();
        let name = || text(&step["as"]).to_owned();
        match what.as_str() {
            "call" => {
                let limit = match (step["unlimited"] == true, step["timeout_ms"].as_u64()) {
                    (true, _) => Limit::Never,
                    (false, Some(ms)) => Limit::After(Duration::from_millis(ms)),
                    (false, None) => Limit::Default,
                };
                let call = self.call(text(given), &step["params"], limit);
                self.calls.insert(name(), tokio::spawn(call));
            }
            "call_many" => {
                let mut calls = JoinSet::new();
                let count = number(&step["n"]);
                for _ in 0..count {
                    calls.spawn(self.call(text(given), &step["params"], Limit::Default));
                }
                let mut ids = Vec::new();
                for _ in 0..count {
                    let line = self.receive(|line| line["type"] == *given).await;
                    for (member, value) in step["params"].as_object().unwrap() {
                        assert_eq!(line[member], *value, "a line was torn");
                    }
                    ids.push(line["id"].to_string());
                }
                let mut distinct = ids.clone();
                distinct.sort();
                distinct.dedup();
                assert_eq!(distinct.len(), count, "every call has an id of its own");
                for id in ids.iter().rev() {
                    let answer = crate::peer::success(id, text(given), "");
                    self.send(format!("{answer}\n").as_bytes()).await;
                }
                while let Some(answered) = within("an answer", calls.join_next()).await {
                    answered.unwrap().unwrap();
                }
            }
            "run" => {
                let members = step["params"].to_string();
                let command = step["wire"].as_str().unwrap_or_else(|| text(given));
                let (events, answer) = self.client().start(command, &members, Limit::Default).unwrap();
                self.runs.insert(name(), (events, tokio::spawn(answer)));
            }
            "listen" => self.events = Some(self.client().events().unwrap()),
            "hear" => {
                let id = self.receive_command(text(given)).await;
                self.ids.insert(name(), id);
            }
            "say" => {
                for line in given.as_array().unwrap() {
                    let line = self.with_ids(text(line));
                    self.send(format!("{line}\n").as_bytes()).await;
                }
            }
            "say_many" => {
                let lines = format!("{}\n", self.with_ids(text(given))).repeat(number(&step["n"]));
                self.send(lines.as_bytes()).await;
            }
            "say_split" => {
                let line = format!("{}\n", self.with_ids(text(given)));
                for part in line.as_bytes().chunks(number(&step["size"])) {
                    self.send(part).await;
                    // The reader processes each part before the next one arrives.
                    tokio::task::yield_now().await;
                }
            }
            "say_parts" => {
                let mut line = String::new();
                for part in given.as_array().unwrap() {
                    match part.as_str() {
                        Some(text) => line.push_str(&self.with_ids(text)),
                        None => line.push_str(&text(&part["repeat"]).repeat(number(&part["n"]))),
                    }
                }
                if step["open"] != true {
                    line.push('\n');
                }
                self.send(line.as_bytes()).await;
            }
            "say_base64" => {
                let bytes = BASE64.decode(text(given)).unwrap();
                self.send(&bytes).await;
            }
            "say_unterminated" => {
                let line = self.with_ids(text(given));
                self.send(line.as_bytes()).await;
            }
            "close" => within("the end", self.peer().writer.shutdown()).await.unwrap(),
            "answered" => {
                let call = self.calls.remove(text(given)).expect("that call was made");
                let data = within("the answer", call).await.unwrap().unwrap();
                if let Some(expected) = step.get("data") {
                    let data = data.expect("the answer has data");
                    assert_eq!(decode::<Value>(data.as_str()).unwrap(), *expected);
                }
            }
            "failed" => {
                let call = self.calls.remove(text(given)).expect("that call was made");
                let error = within("the failure", call).await.unwrap().expect_err("the call fails");
                failed_as(&error, step);
            }
            "event" | "unknown" => {
                let event = self.event().await;
                assert_eq!(event.kind(), text(given));
                assert_eq!(event.spec().is_none(), what == "unknown");
                assert_eq!(event.body().as_str(), text(&step["raw"]));
            }
            "events_of" => {
                for _ in 0..number(&step["n"]) {
                    assert_eq!(self.event().await.kind(), text(given));
                }
            }
            "run_failed" => {
                let (mut events, answer) = self.runs.remove(text(given)).expect("that run was started");
                let error = match within("the acceptance", answer).await.unwrap() {
                    Err(error) => error,
                    Ok(_) => {
                        while within("an event", next(&mut events)).await.is_some() {}
                        events.outcome().unwrap().clone().expect_err("the run fails")
                    }
                };
                failed_as(&error, step);
            }
            "ended" => {
                let (mut events, answer) = self.runs.remove(text(given)).expect("that run was started");
                within("the acceptance", answer).await.unwrap().unwrap();
                let mut kinds = Vec::new();
                while let Some(event) = within("an event", next(&mut events)).await {
                    kinds.push(event.kind().to_owned());
                }
                assert_eq!(json!(kinds), step["events"]);
                let ended = events.ended().expect("it is over").expect("it ended by itself");
                let by = match ended.ended_by {
                    EndedBy::Event => "event",
                    EndedBy::Answer => "answer",
                    EndedBy::Handled => "handled",
                    EndedBy::Idle => "idle",
                    EndedBy::Stopped => "stopped",
                    other => panic!("no case names {other:?}"),
                };
                assert_eq!(by, text(&step["by"]));
                for (name, told) in [("confirmed", ended.confirmed), ("aborted", ended.aborted)] {
                    assert_eq!(json!(told), *step.get(name).unwrap_or(&json!(told)), "{name}");
                }
                let failure = ended.failure.as_ref().map(|RunFailure { message, code, retryable, .. }| {
                    json!({"message": message, "code": code, "retryable": retryable})
                });
                assert_eq!(failure.as_ref(), step.get("run_failure"));
                let over = events.outcome().unwrap().as_ref().err();
                assert_eq!(over.and_then(Error::run_failure), ended.failure.as_ref());
            }
            "heard" => {
                self.receive(|line| line == given).await;
            }
            "unheard" => {
                self.round_trip().await;
                assert!(self.received.is_empty(), "the client sent {:?}", self.received);
            }
            "asked" => self.handler.wait_for_questions(number(given)).await,
            "withdrawn" => self.handler.withdrawn(number(given)).await,
            "answer_held" => {
                // A late answer has no effect.
                let _ = self.handler.take(number(given)).send(step["members"].as_object().unwrap().clone());
            }
            "again" => self.again(case),
            "over" => {
                let end = within("the end", self.client().terminated()).await;
                assert_eq!(json!(end.exit().unwrap().code), *given);
            }
            "diagnostics" => {
                self.round_trip().await;
                assert_eq!(json!(*self.tap.kinds.lock().unwrap()), *given);
            }
            "revision" => {
                let known = self.client().revision().map(|spec| spec.id());
                assert_eq!(json!(known), *given);
            }
            "dropped" => assert_eq!(json!(self.client().dropped_events()), *given),
            // Pending operations must fail by themselves, so no call may keep the client alive.
            "let_go" => {
                let client = self.client.take().expect("the client is there");
                within("the end", client.close()).await;
            }
            "kill_left" => group::kill_left(self.process.expect("the agent is a process")),
            "gone" => group::gone(self.process.expect("the agent is a process")).await,
            other => panic!("no such step: {other}"),
        }
    }
}

fn failed_as(error: &Error, expected: &Value) {
    let kind = match error.kind() {
        ErrorKind::Refused => "refused",
        ErrorKind::Spawn => "spawn",
        ErrorKind::Terminated => "terminated",
        ErrorKind::TimedOut => "timed_out",
        ErrorKind::NotInRevision => "not_in_revision",
        ErrorKind::OtherDialect => "other_dialect",
        ErrorKind::Decode => "decode",
        other => panic!("no case names {other:?}"),
    };
    assert_eq!(kind, text(&expected["kind"]), "{error}");
    for name in expected["names"].as_array().into_iter().flatten() {
        assert!(error.to_string().contains(text(name)), "{name} is not in: {error}");
    }
    if let Some(reason) = expected.get("reason") {
        assert_eq!(*reason, error.refused().unwrap().message);
    }
    if let Some(attributed) = expected.get("attributed") {
        assert_eq!(*attributed, error.refused().unwrap().attributed);
    }
    if let Some(retryable) = expected.get("retryable") {
        assert_eq!(json!(error.is_retryable()), *retryable, "{error}");
    }
    if let Some(failure) = expected.get("failure") {
        assert_eq!(json!(error.refused().unwrap().failure), *failure, "{error}");
    }
    if let Some(closed) = expected.get("closed_by_us") {
        assert_eq!(json!(error.termination().unwrap().is_closed_by_us()), *closed, "{error}");
    }
    let exit = error.termination().and_then(|termination| termination.exit());
    if let Some(code) = expected.get("exit_code") {
        assert_eq!(json!(exit.unwrap().code), *code);
    }
    if let Some(signal) = expected.get("signal") {
        assert_eq!(json!(exit.and_then(Exit::signal_name)), *signal);
    }
    if let Some(last) = expected.get("stderr") {
        assert_eq!(json!(error.termination().unwrap().last_stderr_line()), *last);
    }
}

async fn next(events: &mut EventStream) -> Option<Event> {
    let mut one = None;
    std::future::poll_fn(|context| events.poll_batch(context, |event| one = Some(event), 1, 1)).await;
    one
}

fn is_held() -> (usize, usize) {
    let entries = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    (entries("/proc/self/fd"), entries("/proc/self/task"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text"))
}

fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number")) as usize
}

async fn play(case: &Value) {
    let mut stage = match (CaseRunner::open(case), case.get("spawn_fails")) {
        (Ok(stage), None) => stage,
        (Err(error), Some(kind)) => return failed_as(&error, &json!({ "kind": kind })),
        (Ok(_), Some(_)) => panic!("it could be started"),
        (Err(error), None) => panic!("{error}"),
    };
    for step in case["steps"].as_array().unwrap() {
        stage.play(case, step).await;
    }
    if let Some(client) = stage.client.take() {
        within("the end", client.close()).await;
    }
}

/// Runs a case repeatedly and checks that no descriptor or thread is left. Other tests in this process also
/// open and close resources, so minimums are compared.
async fn play_again_and_again(case: &Value, times: usize) {
    let least = async || {
        let (mut descriptors, mut threads) = is_held();
        for _ in 0..20 {
            play(case).await;
            let now = is_held();
            (descriptors, threads) = (descriptors.min(now.0), threads.min(now.1));
        }
        (descriptors, threads)
    };
    let before = least().await;
    for _ in 0..times {
        play(case).await;
    }
    let after = least().await;
    let room = times / 4;
    assert!(after.0 <= before.0 + room && after.1 <= before.1 + room, "{before:?} before, {after:?} after");
}

/// Runs every case, prints the fault rows that they prove, and fails with the names of failed cases.
#[tokio::test]
async fn the_shared_vectors_pass() {
    let cases: Vec<Value> =
        CASES.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap()).collect();
    assert!(cases.len() > 40, "{} cases", cases.len());
    assert!(Path::new("/proc/self").exists(), "processes are looked at in /proc");
    let mut failures = String::new();
    for case in &cases {
        let name = format!("fm_{} {}", text(&case["row"]), text(&case["name"]));
        let played = async {
            match case["repeat"].as_u64() {
                Some(times) => play_again_and_again(case, cycles(times)).await,
                None => play(case).await,
            }
        };
        match std::panic::AssertUnwindSafe(played).catch_unwind().await {
            Ok(()) => println!("{name} ... ok"),
            Err(_) => writeln!(failures, "{name}").unwrap(),
        }
    }
    assert!(failures.is_empty(), "these failed, see above:\n{failures}");
}

/// Returns the number of repetitions: `AGENTESE_CYCLES`, or the number in the case.
fn cycles(times: u64) -> usize {
    std::env::var("AGENTESE_CYCLES").ok().and_then(|count| count.parse().ok()).unwrap_or(times as usize)
}
