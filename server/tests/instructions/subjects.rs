//! Hot paths that are measured. Each has a function of its own, which repeats its work [`TIMES`] times unless its
//! comment states otherwise.

use std::hint::black_box;

use agentese::framing::{Framer, Line};
use agentese::scan::{MemberSet, inner, member, scan};
use agentese::transport::memory_pair;
use agentese::types::{AgentMessage, ModelScript};
use agentese_server::Server;
use agentese_server::runtime::{NumberedIds, SystemClock};
use agentese_server::session::{Session, SessionOptions};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

/// Number of repetitions in a function.
pub const TIMES: usize = 100;

/// Pairs of a function and its baseline, whose count is subtracted.
pub const BASE: &[(&str, &str)] = &[("answering", "answering_once"), ("streaming", "streaming_once")];

const USAGE: &str = r#""usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

fn answer(text: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"api":"a","provider":"p","model":"m",{USAGE},"stopReason":"stop","timestamp":1}}"#
    )
}

fn update() -> String {
    let message = answer(&"some words ".repeat(100));
    format!(
        r#"{{"type":"message_update","assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"words ","partial":{message}}},"message":{message}}}"#
    )
}

/// Splits bytes into lines of a hundred bytes, and checks each line.
#[inline(never)]
fn framing() {
    let line = format!("{{\"type\":\"message_update\",\"text\":\"{}\"}}\n", "w".repeat(60));
    let bytes = line.repeat(TIMES);
    let mut framer = Framer::default();
    framer.push(black_box(bytes.as_bytes()), &mut |line| {
        black_box::<Line<'_>>(line.unwrap());
    });
}

/// Finds the members that a client reads in an update of two kilobytes.
#[inline(never)]
fn scanning() {
    const WANTED: MemberSet<3> = MemberSet::new([
        member("type"),
        inner("assistantMessageEvent", "type"),
        inner("assistantMessageEvent", "delta"),
    ]);
    let update = update();
    for _ in 0..TIMES {
        drop(black_box(scan(black_box(&update), &WANTED).unwrap().string(2)));
    }
}

fn decode<T: DeserializeOwned>(text: &str) {
    for _ in 0..TIMES {
        drop(black_box(serde_json::from_str::<T>(black_box(text)).unwrap()));
    }
}

/// Decodes an answer of a session.
#[inline(never)]
fn decoding_a_message() {
    decode::<AgentMessage>(&answer(&"some words ".repeat(20)));
}

/// Decodes an update with two snapshots.
#[inline(never)]
fn decoding_an_update() {
    decode::<agentese::pi::Event>(&update());
}

#[inline(never)]
fn decoding_an_event_of_omp() {
    decode::<agentese::omp::Event>(
        r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"read","args":{"path":"a.txt"}}"#,
    );
}

#[inline(never)]
fn decoding_an_event_of_pisces() {
    decode::<agentese::pisces::Event>(
        r#"{"type":"subagent_start","id":"0-a","agent":"task","isolated":false}"#,
    );
}

/// Reads and decodes a line of a session.
#[inline(never)]
fn loading_an_entry() {
    let folder = std::env::temp_dir().join(format!("agentese-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("session.jsonl");
    let mut lines =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#
            .to_owned();
    for number in 0..TIMES {
        let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        let message = answer(&"some words ".repeat(20));
        lines += &format!(
            "\n{{\"type\":\"message\",\"id\":\"{number:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{message}}}"
        );
    }
    std::fs::write(&path, lines + "\n").unwrap();
    let start = SessionOptions::new(
        "/",
        std::sync::Arc::new(SystemClock),
        std::sync::Arc::new(NumberedIds::default()),
    );
    let session = Session::open(&path, start).unwrap();
    assert_eq!(session.messages().len(), TIMES);
    drop(session);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Sends lines to a server. Reads its output until a line contains `until`.
fn converse(script: &str, lines: &str, until: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut ours, theirs) = memory_pair(1 << 20);
        let script: ModelScript = agentese::wire::decode(script).unwrap();
        let server = Server::builder().cwd("/").script(script).build();
        let served = tokio::spawn(server.serve(theirs));
        ours.writer.write_all(lines.as_bytes()).await.unwrap();
        let mut read = BufReader::new(ours.reader).lines();
        while !read.next_line().await.unwrap().expect("the server ended").contains(until) {}
        drop(ours.writer);
        while read.next_line().await.unwrap().is_some() {}
        served.await.unwrap();
    });
}

const NOTHING: &str = r#"{"responses":[]}"#;

/// Runs a server for one response. Baseline of the next function.
#[inline(never)]
fn answering_once() {
    converse(NOTHING, "{\"id\":\"last\",\"type\":\"get_state\"}\n", "\"last\"");
}

/// Reads and answers `get_state`.
#[inline(never)]
fn answering() {
    let more = "{\"id\":\"1\",\"type\":\"get_state\"}\n".repeat(TIMES);
    converse(NOTHING, &format!("{more}{{\"id\":\"last\",\"type\":\"get_state\"}}\n"), "\"last\"");
}

fn stream(pieces: usize) {
    let script =
        format!(r#"{{"responses":[{{"blocks":[{{"text_repeat":{{"chunk":"word ","n":{pieces}}}}}]}}]}}"#);
    converse(&script, "{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"go\"}\n", "\"type\":\"agent_end\"");
}

/// Runs a prompt whose answer has one piece of text. Baseline of the next function.
#[inline(never)]
fn streaming_once() {
    stream(1);
}

/// Streams an answer in many pieces of text, with two snapshots for each.
#[inline(never)]
fn streaming() {
    stream(TIMES + 1);
}

/// Calls every measured function once. It is compiled as a separate function, so that the profile can identify it.
#[inline(never)]
pub fn all() {
    framing();
    scanning();
    decoding_a_message();
    decoding_an_update();
    decoding_an_event_of_omp();
    decoding_an_event_of_pisces();
    loading_an_entry();
    answering_once();
    answering();
    streaming_once();
    streaming();
}
