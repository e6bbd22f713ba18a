//! Tests of `agentese bridge --to ag-ui` with an AG-UI client over plain HTTP and the reference agent.

mod program;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use program::{agentese, script, soon};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader as Lines};
use tokio::net::TcpStream;

/// Image of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Validator for events, with the declared schema.
static EVENT_SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let text = agentese::schema::protocol("agui", agentese::schema::Side::Server).unwrap();
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
});

/// A running bridge with agents of one dialect; killed on drop.
struct Bridge {
    child: Child,
    place: tempfile::TempDir,
    port: u16,
    path: String,
}

impl Bridge {
    /// Starts a bridge whose agent has `settings`. The dialect may also be `acp`.
    fn start(dialect: &str, settings: &Value, more: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let agent = place.path().join("home/.pi/agent");
        for folder in [place.path().join("work"), agent.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(agent.join("settings.json"), settings.to_string()).unwrap();
        let shell = if dialect == "opal" { "shell" } else { "bash" };
        std::fs::write(place.path().join("script.json"), script(shell).to_string()).unwrap();
        let mut child = Command::new(agentese())
            .args(["bridge", "--to", "ag-ui", "--from", dialect])
            .args(more)
            .arg("--report")
            .arg(place.path().join("report.json"))
            .arg("--")
            .arg(agentese())
            .args(match dialect {
                "acp" => vec!["--mode", "acp", "--script"],
                dialect => vec!["--mode", "rpc", "--no-session", "--dialect", dialect, "--script"],
            })
            .arg(place.path().join("script.json"))
            .current_dir(place.path().join("work"))
            .env("HOME", place.path().join("home"))
            .env("TMPDIR", place.path())
            .env_remove("PI_CODING_AGENT_DIR")
            .env_remove("AGENTESE_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let (port, path) = address.trim().strip_prefix("http://127.0.0.1:").unwrap().split_once('/').unwrap();
        Self { child, place, port: port.parse().unwrap(), path: format!("/{path}") }
    }

    /// Sends a request with these headers. Returns the status, the response head and the stream of the body.
    async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String, Lines<TcpStream>) {
        let mut stream = soon("a connection", TcpStream::connect(("127.0.0.1", self.port))).await.unwrap();
        let mut text = format!("{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "host") {
            text.push_str(&format!("host: 127.0.0.1:{}\r\n", self.port));
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        soon("the request", stream.write_all(format!("{text}\r\n{body}").as_bytes())).await.unwrap();
        let mut lines = Lines::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(soon("the head", lines.read_line(&mut head)).await.unwrap() > 0, "{head}");
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, lines)
    }

    /// Starts a run of a thread.
    async fn start_run(&self, thread: &str, members: Value) -> Run {
        self.connect("POST", None, &run_input(thread, members)).await
    }

    /// Sends a request that is answered with events, and with the id of the last received event if there is one.
    async fn connect(&self, method: &str, last: Option<&str>, body: &str) -> Run {
        let headers: Vec<_> = last.map(|id| ("last-event-id", id)).into_iter().collect();
        let (status, head, lines) = self.request(method, &self.path, &headers, body).await;
        assert_eq!(status, 200, "{head}");
        assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        Run { lines, seen: Vec::new(), last: String::new() }
    }

    /// Sends a request that is rejected. Returns the status and the reason.
    async fn rejected(&self, method: &str, last: Option<&str>, body: &str) -> (u16, String) {
        let headers: Vec<_> = last.map(|id| ("last-event-id", id)).into_iter().collect();
        let (status, _, mut lines) = self.request(method, &self.path, &headers, body).await;
        let mut text = String::new();
        soon("the body", lines.read_to_string(&mut text)).await.unwrap();
        let body: Value = serde_json::from_str(&text).unwrap();
        (status, body["error"].as_str().unwrap().to_owned())
    }

    /// Sends user input, and returns the events of the run.
    async fn prompt(&self, thread: &str, text: &str) -> Vec<Value> {
        self.start_run(thread, user_message(text)).await.finish().await
    }

    fn children(&self) -> Vec<String> {
        let bridge = self.child.id();
        let listed = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
        listed.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the body of a request for a run of a thread.
fn run_input(thread: &str, members: Value) -> String {
    let mut input = json!({"threadId": thread, "runId": "r1", "messages": [], "tools": [], "context": []});
    input.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    input.to_string()
}

fn user_message(text: &str) -> Value {
    json!({"messages": [{"id": format!("my-{text}"), "role": "user", "content": text}]})
}

/// Events of a run as they arrive.
struct Run {
    lines: Lines<TcpStream>,
    seen: Vec<Value>,
    /// The id of the last event.
    last: String,
}

impl Run {
    async fn next(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if soon("an event", self.lines.read_line(&mut line)).await.unwrap() == 0 {
                return None;
            }
            if let Some(id) = line.trim_end().strip_prefix("id: ") {
                self.last = id.to_owned();
                continue;
            }
            let Some(data) = line.trim_end().strip_prefix("data: ") else {
                assert!(line.trim_end().is_empty() || line.starts_with(':'), "{line}");
                continue;
            };
            let event: Value = serde_json::from_str(data).unwrap();
            assert!(EVENT_SCHEMA.is_valid(&event), "not as declared: {event}");
            self.seen.push(event.clone());
            return Some(event);
        }
    }

    async fn until(&mut self, kind: &str) {
        while let Some(event) = self.next().await {
            if event["type"] == kind {
                return;
            }
        }
        panic!("no {kind}: {:#?}", self.seen);
    }

    async fn finish(mut self) -> Vec<Value> {
        while self.next().await.is_some() {}
        check(&self.seen);
        self.seen
    }
}

/// Checks that every started part ends, and that the events of the run begin with its start and finish with its end.
fn check(events: &[Value]) {
    let (mut open, last) = (Vec::new(), events.len() - 1);
    for (place, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        assert_eq!(kind == "RUN_STARTED", place == 0, "{events:#?}");
        assert_eq!(matches!(kind, "RUN_FINISHED" | "RUN_ERROR"), place == last, "{events:#?}");
        let name = if kind.starts_with("TOOL") { &event["toolCallId"] } else { &event["messageId"] };
        for (suffix, opens) in [("_START", true), ("_END", false)] {
            let Some(what) = kind.strip_suffix(suffix) else { continue };
            let known = open.iter().position(|one| *one == (what, name));
            assert_eq!(known.is_none(), opens, "{kind}: {events:#?}");
            match known {
                Some(known) => drop(open.remove(known)),
                None => open.push((what, name)),
            }
        }
        for (piece, of) in [
            ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE"),
            ("REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE"),
            ("TOOL_CALL_ARGS", "TOOL_CALL"),
        ] {
            assert!(kind != piece || open.contains(&(of, name)), "{kind}: {events:#?}");
        }
    }
    assert!(open.is_empty(), "{open:?} is left open: {events:#?}");
}

/// Returns the joined deltas of events of a kind.
fn text(events: &[Value], kind: &str) -> String {
    let of_kind = events.iter().filter(|event| event["type"] == kind);
    of_kind.map(|event| event["delta"].as_str().unwrap()).collect()
}

fn find<'a>(events: &'a [Value], kind: &str) -> &'a Value {
    events.iter().find(|event| event["type"] == kind).unwrap_or_else(|| panic!("no {kind}: {events:#?}"))
}

fn custom<'a>(events: &'a [Value], name: &str) -> Option<&'a Value> {
    events.iter().find(|event| event["name"] == name).map(|event| &event["value"])
}

fn roles(events: &[Value]) -> Vec<&str> {
    let messages = find(events, "MESSAGES_SNAPSHOT")["messages"].as_array().unwrap();
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn agents_of_each_dialect_stream_text_thoughts_and_tools() {
    for dialect in ["pi", "omp", "pisces", "opal", "operator", "acp"] {
        let bridge = Bridge::start(dialect, &json!({}), &[]);
        let first = bridge.prompt("t", "hello").await;
        assert_eq!(text(&first, "TEXT_MESSAGE_CONTENT"), "Hello there", "{dialect}: {first:#?}");
        assert_eq!(text(&first, "REASONING_MESSAGE_CONTENT"), "hm", "{dialect}: {first:#?}");
        assert_eq!(roles(&first), ["user", "reasoning", "assistant"], "{dialect}: {first:#?}");
        let finished = first.last().unwrap();
        assert_eq!((&finished["threadId"], &finished["runId"]), (&json!("t"), &json!("r1")));
        assert_eq!(finished["outcome"], json!({"type": "success"}), "{dialect}");
        let messages = &find(&first, "MESSAGES_SNAPSHOT")["messages"];
        assert_eq!(messages[0], json!({"id": "my-hello", "role": "user", "content": "hello"}), "{dialect}");
        assert_eq!(messages[2]["id"], find(&first, "TEXT_MESSAGE_START")["messageId"], "{dialect}");

        // The client sends its whole history, which the agent already has.
        let mut conversation = messages.as_array().unwrap().clone();
        conversation.extend(user_message("tool")["messages"].as_array().unwrap().clone());
        let second = bridge.start_run("t", json!({"messages": conversation})).await.finish().await;
        assert_eq!(text(&second, "TEXT_MESSAGE_CONTENT"), "I look.I see.", "{dialect}: {second:#?}");
        let arguments: Value = serde_json::from_str(&text(&second, "TOOL_CALL_ARGS")).unwrap();
        assert_eq!(arguments["command"], "echo out-of-it; touch made", "{dialect}");
        let result = find(&second, "TOOL_CALL_RESULT");
        assert!(result["content"].as_str().unwrap().contains("out-of-it"), "{dialect}: {result}");
        assert_eq!(find(&second, "TOOL_CALL_START")["toolCallId"], result["toolCallId"], "{dialect}");
        assert!(custom(&second, "agentese.unheard").is_none(), "{dialect}: {second:#?}");
        let expected = ["user", "reasoning", "assistant", "user", "assistant", "tool", "assistant"];
        assert_eq!(roles(&second), expected, "{dialect}: {second:#?}");

        // Another thread is another conversation.
        assert_eq!(
            roles(&bridge.prompt("u", "hello").await),
            ["user", "reasoning", "assistant"],
            "{dialect}"
        );
        assert_eq!(bridge.children().len(), 2, "{dialect}");
    }
}

/// A client that closes its connection need not wait for the time limit before its next run.
#[tokio::test]
async fn the_next_run_stops_a_run_without_a_connection() {
    for (dialect, limit) in [("pi", "86400"), ("acp", "86400"), ("pi", "0")] {
        let bridge = Bridge::start(dialect, &json!({}), &["--reconnect-seconds", limit]);
        let mut run = bridge.start_run("t", user_message("hang")).await;
        run.until("TEXT_MESSAGE_CONTENT").await;
        drop(run);
        let events = bridge.prompt("t", "hello").await;
        assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "Hello there", "{dialect}: {events:#?}");
        let expected = ["user", "assistant", "user", "reasoning", "assistant"];
        assert_eq!(roles(&events), expected, "{dialect}: {events:#?}");
        assert_eq!(bridge.children().len(), 1, "{dialect}");
    }
}

#[tokio::test]
async fn a_client_that_reconnects_reads_the_rest_of_its_run() {
    let bridge = Bridge::start("pi", &json!({}), &["--reconnect-seconds", "86400"]);
    let input = run_input("t", user_message("slow"));
    let mut run = bridge.connect("POST", None, &input).await;
    run.until("TEXT_MESSAGE_CONTENT").await;
    let (mut events, last) = (run.seen.clone(), run.last.clone());
    drop(run);
    // A browser repeats the id in a GET request, and a library with `fetch` repeats the whole request.
    let mut run = bridge.connect("GET", Some(&last), "").await;
    run.until("TEXT_MESSAGE_CONTENT").await;
    events.append(&mut run.seen.clone());
    let mut other = bridge.connect("POST", Some(&run.last), &input).await;
    while other.next().await.is_some() {}
    assert_eq!(run.next().await, None, "another connection has taken its place");
    events.extend(other.seen);
    check(&events);
    assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "abcdef", "{events:#?}");
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED", "{events:#?}");
    assert_eq!(roles(&events), ["user", "assistant"], "the input was sent once: {events:#?}");

    // The events are kept after the end of the run, until the next one begins.
    let mut again = bridge.connect("GET", Some(&last), "").await;
    while again.next().await.is_some() {}
    assert_eq!(again.seen.last(), events.last());
    bridge.prompt("t", "hello").await;
    for (method, body) in [("GET", ""), ("POST", input.as_str())] {
        let (status, reason) = bridge.rejected(method, Some(&last), body).await;
        assert_eq!(status, 410, "{reason}");
        assert!(reason.contains("no longer kept") && reason.contains(&last), "{reason}");
    }
}

#[tokio::test]
async fn a_run_in_progress_is_joined_by_its_own_request_and_not_by_another() {
    let bridge = Bridge::start("pi", &json!({}), &["--reconnect-seconds", "86400"]);
    let input = run_input("t", user_message("hang"));
    let mut run = bridge.connect("POST", None, &input).await;
    run.until("TEXT_MESSAGE_CONTENT").await;
    let mut joined = bridge.connect("POST", None, &input).await;
    joined.until("TEXT_MESSAGE_CONTENT").await;
    assert_eq!(joined.seen, run.seen);
    let (status, reason) = bridge.rejected("POST", None, &run_input("t", user_message("hello"))).await;
    assert_eq!(status, 409, "{reason}");
    assert!(reason.contains("in progress") && reason.contains("Last-Event-ID"), "{reason}");
    // An id of this run does not continue a run of another thread.
    let other = run_input("u", user_message("hang"));
    assert_eq!(bridge.rejected("POST", Some(&joined.last), &other).await.0, 410);
}

#[tokio::test]
async fn a_run_without_a_connection_ends_after_the_limit_as_cancelled() {
    for dialect in ["pi", "acp"] {
        let bridge = Bridge::start(dialect, &json!({}), &["--reconnect-seconds", "0"]);
        let mut run = bridge.start_run("t", user_message("hang")).await;
        run.until("TEXT_MESSAGE_CONTENT").await;
        soon("the disconnect", run.lines.get_mut().shutdown()).await.unwrap();
        while run.next().await.is_some() {}
        let mut rest = bridge.connect("GET", Some(&run.last), "").await;
        while rest.next().await.is_some() {}
        let events = [run.seen, rest.seen].concat();
        check(&events);
        assert_eq!(events.last().unwrap()["outcome"], json!({"type": "cancelled"}), "{dialect}: {events:#?}");
    }
}

/// Returns the numbers of calls that begin while another one is open, and checks that all arguments are complete.
fn overlaps(events: &[Value]) -> usize {
    let (mut open, mut overlaps) = (Vec::new(), 0);
    let mut arguments = std::collections::BTreeMap::<String, String>::new();
    for event in events {
        let id = event["toolCallId"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap() {
            "TOOL_CALL_ARGS" => {
                arguments.entry(id).or_default().push_str(event["delta"].as_str().unwrap());
                continue;
            }
            "TOOL_CALL_END" => open.retain(|known| *known != id),
            kind => {
                overlaps += usize::from(!open.is_empty());
                if kind == "TOOL_CALL_START" {
                    open.push(id);
                }
            }
        }
    }
    let complete = |text: &String| serde_json::from_str::<Value>(text).unwrap()["command"].is_string();
    assert!(arguments.len() == 3 && arguments.values().all(complete), "{arguments:?}");
    overlaps
}

#[tokio::test]
async fn parallel_calls_are_sequential_unless_they_may_overlap() {
    for dialect in ["pi", "omp", "pisces", "opal", "operator", "acp"] {
        for options in [&[][..], &["--overlapping-calls"]] {
            let bridge = Bridge::start(dialect, &json!({}), options);
            let events = bridge.prompt("t", "several").await;
            let names = |kind: &str| -> Vec<&str> {
                let calls = events.iter().filter(|event| event["type"] == kind);
                calls.map(|event| event["toolCallId"].as_str().unwrap()).collect()
            };
            let starts = names("TOOL_CALL_START");
            assert_eq!((starts.len(), names("TOOL_CALL_RESULT").len()), (3, 3), "{dialect}: {events:#?}");
            let overlaps = overlaps(&events);
            if options.is_empty() {
                assert_eq!(overlaps, 0, "{dialect}: {events:#?}");
                assert_eq!(starts, names("TOOL_CALL_END"), "{dialect}: {events:#?}");
            } else if dialect == "pi" {
                assert!(overlaps > 0, "{events:#?}");
            }
            assert!(text(&events, "TEXT_MESSAGE_CONTENT").ends_with("All done."), "{dialect}: {events:#?}");
        }
    }
}

#[tokio::test]
async fn a_failed_run_reports_its_reason_and_ignored_parts_are_listed() {
    let bridge = Bridge::start("pi", &json!({}), &[]);
    let events = bridge.prompt("t", "fail").await;
    let error = find(&events, "RUN_ERROR");
    assert!(error["message"].as_str().unwrap().contains("no such thing"), "{error}");
    let messages = json!([
        {"id": "s", "role": "system", "content": "Be short."}, {"id": "n", "role": "user", "content": "hello"}
    ]);
    let tools = json!([{"name": "show_map", "description": "Shows a map."}]);
    let events = bridge.start_run("t", json!({"messages": messages, "tools": tools})).await.finish().await;
    assert_eq!(
        custom(&events, "agentese.unheard"),
        Some(&json!({"messages": ["s"], "tools": ["show_map"]})),
        "{events:#?}"
    );
    let nothing =
        bridge.start_run("t", json!({"resume": [{"interruptId": "q", "status": "cancelled"}]})).await;
    assert_eq!(nothing.finish().await.last().unwrap()["code"], "nothing_waits");
}

#[tokio::test]
async fn images_reach_supporting_agents_and_others_report_them() {
    let hello = json!({"type": "text", "text": "hello"});
    let image = |source: Value| json!({"type": "image", "source": source});
    let data = image(json!({"type": "data", "value": PIXEL, "mimeType": "image/png"}));
    let url = image(json!({"type": "url", "value": format!("data:image/png;base64,{PIXEL}")}));
    let say = |parts: &[&Value]| json!({"messages": [{"id": "m", "role": "user", "content": parts}]});
    for dialect in ["pi", "omp", "pisces", "opal", "operator", "acp"] {
        let bridge = Bridge::start(dialect, &json!({}), &[]);
        let takes = !matches!(dialect, "opal" | "operator");
        for image in [&data, &url] {
            let events = bridge.start_run("t", say(&[&hello, image])).await.finish().await;
            assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "Hello there", "{dialect}: {events:#?}");
            let unheard = (!takes).then(|| json!({"images": true}));
            assert_eq!(custom(&events, "agentese.unheard"), unheard.as_ref(), "{dialect}: {events:#?}");
            let mut messages = find(&events, "MESSAGES_SNAPSHOT")["messages"].as_array().unwrap().iter();
            let words = messages.rfind(|message| message["role"] == "user").unwrap();
            let said = if takes { json!([hello, data]) } else { json!("hello") };
            assert_eq!(words["content"], said, "{dialect}");
        }
        let alone = bridge.start_run("u", say(&[&data])).await.finish().await;
        let end = alone.last().unwrap();
        assert_eq!(end["type"] == "RUN_FINISHED", takes, "{dialect}: {alone:#?}");
        if !takes {
            assert_eq!(end["code"], "refused", "{dialect}: {end}");
            assert!(end["message"].as_str().unwrap().contains("does not accept images"), "{dialect}: {end}");
        }
    }
}

#[tokio::test]
async fn a_question_interrupts_the_run_and_its_answer_resumes_it() {
    for dialect in ["pi", "acp"] {
        let settings = json!({"approval": {"tools": ["bash"]}});
        answer_a_question(&Bridge::start(dialect, &settings, &[])).await;
    }
}

async fn answer_a_question(bridge: &Bridge) {
    let interrupted = |events: &[Value]| -> Value {
        let outcome = &events.last().unwrap()["outcome"];
        assert_eq!(outcome["type"], "interrupt", "{events:#?}");
        assert_eq!(outcome["interrupts"].as_array().unwrap().len(), 1, "{outcome}");
        outcome["interrupts"][0].clone()
    };
    let first = bridge.prompt("t", "tool").await;
    let question = interrupted(&first);
    assert!(question["message"].as_str().unwrap().contains("echo out-of-it"), "{question}");
    let answer = match question["responseSchema"]["enum"].as_array() {
        Some(choices) => choices[0].clone(),
        None => json!(true),
    };
    let resume = |payload: &Value| json!({"resume": [{"interruptId": question["id"], "status": "resolved", "payload": payload}]});
    let wrong = bridge.start_run("t", resume(&json!(7))).await.finish().await;
    assert_eq!(wrong.last().unwrap()["code"], "wrong_answer", "{wrong:#?}");
    assert!(!bridge.place.path().join("work/made").exists());
    let second = bridge.start_run("t", resume(&answer)).await.finish().await;
    assert_eq!(text(&second, "TEXT_MESSAGE_CONTENT"), "I see.", "{second:#?}");
    assert!(bridge.place.path().join("work/made").exists());
    assert_eq!(roles(&second), ["user", "assistant", "tool", "assistant"], "{second:#?}");

    // User input in place of an answer dismisses the question and aborts the run.
    interrupted(&bridge.prompt("u", "tool").await);
    let events = bridge.prompt("u", "hello").await;
    assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "Hello there", "{events:#?}");
}

#[tokio::test]
async fn requests_without_token_or_from_other_origins_are_rejected() {
    let bridge = Bridge::start("pi", &json!({}), &["--allow-origin", "http://localhost:3000"]);
    let own = format!("127.0.0.1:{}", bridge.port);
    let body = user_message("hello").to_string();
    for (method, path, headers, expected) in [
        ("POST", "/", &[][..], 403),
        ("POST", "/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/", &[], 403),
        ("POST", &bridge.path, &[("host", "evil.example")], 403),
        ("POST", &bridge.path, &[("origin", "http://evil.example")], 403),
        ("POST", &bridge.path, &[("host", &own), ("sec-fetch-site", "cross-site")], 403),
        ("PUT", &bridge.path, &[], 405),
        // The id of the last event is missing.
        ("GET", &bridge.path, &[], 400),
        ("GET", "/", &[("last-event-id", "a-1")], 403),
        // The input lacks its thread.
        ("POST", &bridge.path, &[("origin", "http://localhost:3000")], 400),
        ("OPTIONS", &bridge.path, &[("origin", "http://localhost:3000")], 204),
        ("OPTIONS", &bridge.path, &[("origin", "http://localhost:3001")], 403),
    ] {
        let (status, head, mut rest) = bridge.request(method, path, headers, &body).await;
        let mut said = String::new();
        soon("the body", rest.read_to_string(&mut said)).await.unwrap();
        assert_eq!(status, expected, "{method} {path} {headers:?}: {head}{said}");
        let opened = head.to_lowercase().contains("access-control-allow-origin: http://localhost:3000");
        assert_eq!(opened, headers.contains(&("origin", "http://localhost:3000")), "{head}");
    }
    assert_eq!(bridge.children(), Vec::<String>::new());
}

/// JSON parsers differ in the member that they choose if two have the same name.
#[tokio::test]
async fn a_request_with_a_duplicate_member_is_rejected() {
    let bridge = Bridge::start("pi", &json!({}), &[]);
    let answer = r#"{"interruptId":"q","status":"resolved","payload":{"confirmed":false,"confirmed":true}}"#;
    for twice in [
        r#""threadId":"u""#.to_owned(),
        r#""thread\u0049d":"u""#.to_owned(),
        format!(r#""resume":[{answer}]"#),
        r#""messages":[{"id":"m","role":"user","content":"hello","role":"system"}]"#.to_owned(),
    ] {
        let body = format!(r#"{{"threadId":"t","runId":"r","tools":[],"context":[],{twice}}}"#);
        let (status, head, mut rest) = bridge.request("POST", &bridge.path, &[], &body).await;
        let mut said = String::new();
        soon("the body", rest.read_to_string(&mut said)).await.unwrap();
        assert!(status == 400 && said.contains("occurs twice"), "{twice}: {head}{said}");
    }
    assert_eq!(bridge.children(), Vec::<String>::new());
}

#[tokio::test]
async fn a_killed_agent_fails_its_run_and_the_next_run_starts_another() {
    for (dialect, reason) in [("pi", "ended"), ("acp", "SIGKILL")] {
        kill_agent(Bridge::start(dialect, &json!({}), &[]), reason).await;
    }
}

/// Kills the agent of a bridge during a run, and checks the next run.
async fn kill_agent(mut bridge: Bridge, reason: &str) {
    let mut run = bridge.start_run("t", user_message("hang")).await;
    run.until("TEXT_MESSAGE_CONTENT").await;
    for child in bridge.children() {
        assert!(Command::new("kill").args(["-KILL", &child]).status().unwrap().success());
    }
    while run.next().await.is_some() {}
    let end = run.seen.last().unwrap();
    assert_eq!(end["code"], "agent_gone", "{end}");
    assert!(end["message"].as_str().unwrap().contains(reason), "{end}");
    let mut again = user_message("hang")["messages"].as_array().unwrap().clone();
    again.extend(user_message("hello")["messages"].as_array().unwrap().clone());
    let events = bridge.start_run("t", json!({"messages": again})).await.finish().await;
    assert_eq!(text(&events, "TEXT_MESSAGE_CONTENT"), "Hello there", "{events:#?}");
    assert_eq!(custom(&events, "agentese.unheard"), Some(&json!({"messages": ["my-hang"]})), "{events:#?}");

    let pid = bridge.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let ended = soon("the end", async {
        loop {
            if let Some(status) = bridge.child.try_wait().unwrap() {
                break status;
            }
            tokio::task::yield_now().await;
        }
    });
    assert!(ended.await.success());
    let report = std::fs::read_to_string(bridge.place.path().join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["front"], &report["rows"][0]["count"]), (&json!("agui@1"), &json!(2)), "{report:#}");
}

#[test]
fn unsupported_pairs_are_rejected_and_losses_explained() {
    for (words, said) in [
        (&["--to", "pi", "--from", "ag-ui", "--", "true"][..], "ag-ui is only supported with --to"),
        (&["--to", "pi", "--port", "4711", "--", "true"], "--port requires --to ag-ui"),
        (
            &["--to", "pi", "--reconnect-seconds", "9", "--", "true"],
            "--reconnect-seconds requires --to ag-ui",
        ),
        (&["--to", "acp", "--overlapping-calls", "--", "true"], "--overlapping-calls requires --to ag-ui"),
        (&["--to", "ag-ui", "--", "/nowhere/agent"], "/nowhere/agent"),
    ] {
        let done = Command::new(agentese()).arg("bridge").args(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && stderr.contains(said), "{words:?}: {stderr}");
    }
    let explained = |agent: &str| -> Value {
        let words = ["bridge", "--json", "--explain", "ag-ui", agent];
        let done = Command::new(agentese()).args(words).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let pi = explained("pi");
    let row = |name: &str| {
        pi["rows"].as_array().unwrap().iter().find(|row| row["row"] == name).unwrap()["fate"].clone()
    };
    assert_eq!((row("run_agent"), row("TEXT_MESSAGE_CONTENT")), (json!("carried"), json!("carried")));
    assert_eq!(row("RUN_FINISHED"), "approximated");
    let operator = explained("operator");
    assert!(operator["rows"][0]["reason"].as_str().unwrap().contains("images"), "{operator:#}");
}
