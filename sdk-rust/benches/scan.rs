//! Speed of finding routing fields. Run with `cargo bench -p agentese --bench scan`.

use std::hint::black_box;

use agentese::scan::{MemberSet, inner, member, scan};
use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

const WANTED: MemberSet<4> = MemberSet::new([
    member("type"),
    inner("assistantMessageEvent", "type"),
    inner("assistantMessageEvent", "contentIndex"),
    inner("assistantMessageEvent", "delta"),
]);

/// Text with a JSON escape about every 20 characters: mostly line ends, some quotes.
fn text(length: usize) -> String {
    let words = [
        "let frames = read;",
        "if line.is_empty() {",
        "the quick brown fox",
        "return \\\"done\\\";",
        "path\\\\to the",
    ];
    let mut text = String::new();
    let mut at = 0;
    while text.len() < length {
        text.push_str(words[(at * 7 + at / 3) % words.len()]);
        text.push_str(if at % 9 == 4 { "\\t" } else { "\\n" });
        at += 1;
    }
    text
}

fn message(text: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}],"api":"anthropic-messages","provider":"anthropic","model":"m","usage":{{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{{"input":0.1,"output":0.2,"total":0.3}}}},"stopReason":"stop","timestamp":1700000000000}}"#,
        text
    )
}

/// A message update of 50 KB, which contains the snapshot twice.
fn update(order: &str) -> String {
    let text = if order == "all_quotes" {
        "she said to \\\"everyone\\\" around here ".repeat(700)
    } else {
        text(25 * 1024)
    };
    let message = message(&text);
    let event = format!(
        r#""assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"word ","partial":{message}}}"#
    );
    match order {
        "event_first" | "all_quotes" => format!(r#"{{"type":"message_update",{event},"message":{message}}}"#),
        "message_first" => format!(r#"{{"message":{message},"type":"message_update",{event}}}"#),
        "small" => concat!(
            r#"{"type":"tool_execution_start","toolCallId":"toolu_01","toolName":"bash","#,
            r#""args":{"command":"ls -la","timeout":20}}"#
        )
        .to_owned(),
        other => unreachable!("no frame called {other}"),
    }
}

/// The measured frames. `all_quotes` is the worst case: every escape is a quote, and each quote stops the
/// search.
const FRAMES: [&str; 4] = ["event_first", "message_first", "all_quotes", "small"];

#[divan::bench(args = FRAMES)]
fn skipping_scan(bencher: Bencher, frame: &str) {
    let text = update(frame);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| scan(black_box(&text), &WANTED).unwrap()[0].map(str::len));
}

/// The lower bound: a pass that searches for quotes only.
#[divan::bench(args = FRAMES)]
fn memchr_alone(bencher: Bencher, frame: &str) {
    let text = update(frame);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| memchr::memchr_iter(b'"', black_box(text.as_bytes())).map(black_box).sum::<usize>());
}

#[divan::bench(args = FRAMES)]
fn serde_json_value(bencher: Bencher, frame: &str) {
    let text = update(frame);
    bencher
        .counter(BytesCount::new(text.len()))
        .bench(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap());
}

#[derive(serde::Deserialize)]
struct TwoFields<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
}

#[divan::bench(args = FRAMES)]
fn serde_two_fields(bencher: Bencher, frame: &str) {
    let text = update(frame);
    bencher.counter(BytesCount::new(text.len())).bench(|| {
        let fields: TwoFields<'_> = serde_json::from_str(black_box(&text)).unwrap();
        fields.kind.len() + fields.id.map_or(0, |id| id.len())
    });
}
