//! Tests of each rule of equality.

use serde_json::{Value, json};

use crate::long::LONG;
use crate::support::{compared, failure_lines};

type Lines = Vec<(char, Value)>;

fn state(id: &str, session: &str, file: &str) -> Lines {
    vec![
        ('>', json!({"id": id, "type": "get_session_stats"})),
        (
            '<',
            json!({"id": id, "type": "response", "command": "get_session_stats", "success": true, "data": {
                "sessionId": session, "sessionFile": file, "userMessages": 1, "assistantMessages": 0, "toolCalls": 0,
                "toolResults": 0, "totalMessages": 1, "cost": 0,
                "tokens": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
            }}),
        ),
    ]
}

fn user(kind: &str, text: &str, time: u64) -> (char, Value) {
    (
        '<',
        json!({"type": kind, "message": {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": time}}),
    )
}

fn check(golden: Lines, observed: Lines, expected: &[&str]) {
    assert_eq!(failure_lines(&compared("pi", &golden, &observed)), expected, "\n{golden:?}\n{observed:?}");
}

#[test]
fn a_generated_name_is_bound_in_both_directions() {
    let of = |ids: [&str; 2]| {
        let file = |id: &str| format!("/s/2026-01-02T03-04-05-678Z_{id}.jsonl");
        [state("a", ids[0], &file(ids[0])), state("b", ids[1], &file(ids[1]))].concat()
    };
    let (x, y) = ("11111111-2222-4333-8444-555555555555", "66666666-7777-4888-9999-aaaaaaaaaaaa");
    let (p, q) = ("bbbbbbbb-2222-4333-8444-555555555555", "cccccccc-7777-4888-9999-aaaaaaaaaaaa");
    check(of([x, x]), of([p, p]), &[]);
    check(of([x, y]), of([p, q]), &[]);
    // One recorded id must not correspond to two observed ids, nor two to one.
    check(of([x, x]), of([p, q]), &["should answers data.sessionId", "should answers data.sessionFile"]);
    check(of([x, y]), of([p, p]), &["should answers data.sessionId", "should answers data.sessionFile"]);
}

#[test]
fn a_message_has_one_moment_in_one_unit() {
    let of =
        |times: [u64; 2]| vec![user("message_start", "Hi", times[0]), user("message_end", "Hi", times[1])];
    let golden = of([1_795_293_436_469; 2]);
    check(golden.clone(), of([1_800_000_000_000; 2]), &[]);
    check(golden.clone(), of([1_800_000_000_000, 1_800_000_000_001]), &["should events message.timestamp"]);
    check(
        golden,
        of([1_800_000_000; 2]),
        &["must events message.timestamp", "must events message.timestamp"],
    );
    // Two messages may have the same time in milliseconds by chance.
    let two =
        |times: [u64; 2]| vec![user("message_start", "a", times[0]), user("message_start", "b", times[1])];
    check(two([1_795_293_436_469; 2]), two([1_800_000_000_000, 1_800_000_000_007]), &[]);
}

#[test]
fn a_moment_in_whole_seconds_may_be_the_next_one() {
    let of = |times: [&str; 2]| -> Lines {
        let answer = |(id, time): (usize, &str)| {
            let session = json!({"id": "abc", "title": null, "modified": time});
            [
                ('>', json!({"jsonrpc": "2.0", "id": id, "method": "session/list", "params": {}})),
                ('<', json!({"jsonrpc": "2.0", "id": id, "result": {"sessions": [session]}})),
            ]
        };
        times.into_iter().enumerate().flat_map(answer).collect()
    };
    let golden = of(["2026-02-19T12:00:00"; 2]);
    let found = |times| failure_lines(&compared("opal", &golden, &of(times)));
    assert_eq!(found(["2026-11-23T07:06:59", "2026-11-23T07:07:00"]), [""; 0]);
    for later in ["2026-11-23T07:07:01", "2026-11-23T07:06:58", "2026-11-24T07:07:00"] {
        let expected = ["should answers result.sessions[0].modified"];
        assert_eq!(found(["2026-11-23T07:06:59", later]), expected, "{later}");
    }
}

fn assistant(text: &str) -> Value {
    json!({
        "role": "assistant", "content": if text.is_empty() { json!([]) } else { json!([{"type": "text", "text": text}]) },
        "api": "anthropic-messages", "provider": "fake", "model": "m", "stopReason": "stop", "timestamp": 1_795_293_436_469_u64,
        "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}
    })
}

fn update(event: Value, so_far: &str) -> (char, Value) {
    let mut event = event;
    event["partial"] = assistant(so_far);
    ('<', json!({"type": "message_update", "assistantMessageEvent": event, "message": assistant(so_far)}))
}

/// Creates a message that is streamed in pieces. Each entry contains a piece and the text of its snapshot.
fn message(pieces: &[(&str, &str)], text: &str) -> Lines {
    let mut lines = vec![('<', json!({"type": "message_start", "message": assistant("")}))];
    lines.push(update(json!({"type": "text_start", "contentIndex": 0}), ""));
    for (piece, so_far) in pieces {
        lines.push(update(json!({"type": "text_delta", "contentIndex": 0, "delta": piece}), so_far));
    }
    lines.push(update(json!({"type": "text_end", "contentIndex": 0, "content": text}), text));
    lines.push(('<', json!({"type": "message_end", "message": assistant(text)})));
    lines
}

#[test]
fn pieces_are_joined() {
    let golden = message(&[("Hel", "Hel"), ("lo", "Hello")], "Hello");
    check(golden.clone(), message(&[("Hello", "Hello")], "Hello"), &[]);
    check(golden.clone(), message(&[("H", "H"), ("ell", "Hell"), ("o", "Hello")], "Hello"), &[]);
    check(
        golden.clone(),
        message(&[("Hel", "Hel"), ("l", "Hell")], "Hello"),
        &["should events assistantMessageEvent.delta"],
    );
    // A piece of another block is not part of the text around it.
    let mut mixed = message(&[("Hel", "Hel"), ("lo", "Hello")], "Hello");
    mixed[3].1["assistantMessageEvent"]["contentIndex"] = json!(1);
    let found = failure_lines(&compared("pi", &golden, &mixed));
    assert!(found.iter().any(|text| text == "should events"), "{found:?}");
}

#[test]
fn snapshots_contain_the_pieces_and_no_more_than_the_message() {
    let golden = message(&[("Hel", "Hel"), ("lo", "Hello")], "Hello");
    // The snapshot of the recorded agent is a live object, which may be ahead of its pieces.
    check(golden.clone(), message(&[("Hel", "Hello"), ("lo", "Hello")], "Hello"), &[]);
    let behind =
        failure_lines(&compared("pi", &golden, &message(&[("Hel", "He"), ("lo", "Hello")], "Hello")));
    assert!(behind.contains(&"must snapshots message.content[0]".to_owned()), "{behind:?}");
    let other =
        failure_lines(&compared("pi", &golden, &message(&[("Hel", "Help!"), ("lo", "Hello")], "Hello")));
    assert!(other.contains(&"should snapshots message.content[0].text".to_owned()), "{other:?}");
    let mut lacking = golden.clone();
    lacking[2].1["message"].as_object_mut().unwrap().remove("usage");
    check(golden.clone(), lacking, &["must snapshots message.usage", "should snapshots message.usage"]);
    let mut none = golden.clone();
    none[3].1.as_object_mut().unwrap().remove("message");
    check(golden, none, &["should snapshots message"]);
}

#[test]
fn partial_tool_output_is_an_earlier_version_of_the_result() {
    let output = |text: &str| json!({"content": [{"type": "text", "text": text}], "details": {}});
    let begin = (
        '<',
        json!({"type": "tool_execution_start", "toolCallId": "t", "toolName": "bash", "args": {"command": "ls"}}),
    );
    let show = |text: &str| {
        (
            '<',
            json!({"type": "tool_execution_update", "toolCallId": "t", "toolName": "bash", "args": {"command": "ls"}, "partialResult": output(text)}),
        )
    };
    let end = |text: &str| {
        (
            '<',
            json!({"type": "tool_execution_end", "toolCallId": "t", "toolName": "bash", "result": output(text), "isError": false}),
        )
    };
    let golden = vec![begin.clone(), show("a\n"), show("a\nb\n"), end("a\nb\n")];
    check(golden.clone(), vec![begin.clone(), show("a\nb\n"), end("a\nb\n")], &[]);
    check(golden.clone(), vec![begin.clone(), show("a"), show("a\nb"), show("a\nb\n"), end("a\nb\n")], &[]);
    check(
        golden.clone(),
        vec![begin.clone(), show("x"), end("a\nb\n")],
        &["must tool-updates partialResult"],
    );
    check(golden.clone(), vec![begin.clone(), end("a\nb\n")], &["should tool-updates"]);
    check(golden.clone(), vec![show("a\n"), begin.clone(), end("a\nb\n")], &["must tool-updates"]);
    check(golden, vec![begin, show("a\n"), end("a\n")], &["should events result.content[0].text"]);
}

#[test]
fn partial_output_of_a_cut_result_is_not_its_beginning() {
    let output = |text: &str, cut: bool| json!({"content": [{"type": "text", "text": text}], "details": {"truncation": {"truncated": cut}}});
    let call = json!({"toolCallId": "t", "toolName": "bash", "args": {"command": "seq 9"}});
    let frame = |name: &str, member: &str, value: Value| {
        let mut frame = call.clone();
        frame["type"] = json!(name);
        frame[member] = value;
        ('<', frame)
    };
    let begin = || frame("tool_execution_start", "toolCallId", json!("t"));
    let show = |text: &str, cut| frame("tool_execution_update", "partialResult", output(text, cut));
    let end = |text: &str, cut| {
        let mut end = frame("tool_execution_end", "result", output(text, cut));
        end.1.as_object_mut().unwrap().remove("args");
        end.1["isError"] = json!(false);
        end
    };
    let golden = vec![begin(), show("7\n8\n", true), end("7\n8\n9\n", true)];
    check(golden.clone(), vec![begin(), show("1\n2\n", false), end("7\n8\n9\n", true)], &[]);
    // The partial output must be the beginning of the result, if both are truncated or if the result is
    // complete.
    let both = vec![begin(), show("1\n2\n", true), end("7\n8\n9\n", true)];
    check(golden, both, &["must tool-updates partialResult"]);
    let whole = vec![begin(), show("7\n", false), end("7\n8\n", false)];
    let other = vec![begin(), show("1\n", false), end("7\n8\n", false)];
    check(whole, other, &["must tool-updates partialResult"]);
}

#[test]
fn calls_side_by_side_come_in_any_order() {
    let start = |call: &str| {
        ('<', json!({"type": "tool_execution_start", "toolCallId": call, "toolName": "read", "args": {}}))
    };
    let end = |call: &str| {
        (
            '<',
            json!({"type": "tool_execution_end", "toolCallId": call, "toolName": "read", "isError": false, "result": {"content": []}}),
        )
    };
    let golden = vec![start("a"), start("b"), end("a"), end("b")];
    check(golden, vec![start("a"), start("b"), end("b"), end("a")], &[]);
    let one_by_one = vec![start("a"), end("a"), start("b"), end("b")];
    check(one_by_one, vec![start("b"), end("b"), start("a"), end("a")], &["should order", "should order"]);
}

fn answer(id: &str, command: &str, more: Value) -> Lines {
    let mut frame = json!({"id": id, "type": "response", "command": command, "success": true});
    frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    vec![('>', json!({"id": id, "type": command})), ('<', frame)]
}

#[test]
fn answers_have_their_id_their_name_and_their_success() {
    let golden = answer("a", "get_last_assistant_text", json!({"data": {"text": "Hi"}}));
    let with = |more: Value| answer("a", "get_last_assistant_text", more);
    check(golden.clone(), golden.clone(), &[]);
    check(golden.clone(), with(json!({"data": {"text": "Ho"}})), &["should answers data.text"]);
    check(golden.clone(), with(json!({"data": {"text": 1}})), &["must answers data.text"]);
    check(golden.clone(), with(json!({})), &["must answers data"]);
    check(
        golden.clone(),
        with(json!({"command": "get_text", "data": {"text": "Hi"}})),
        &["must answers command"],
    );
    check(golden.clone(), with(json!({"success": false, "error": "no"})), &["must answers success"]);
    check(golden.clone(), vec![golden[0].clone()], &["must answers"]);
    check(golden.clone(), [golden.clone(), vec![golden[1].clone()]].concat(), &["must answers"]);
    let mut other = golden.clone();
    other[1].1["id"] = json!("b");
    check(golden.clone(), other, &["must answers id"]);
    check(golden.clone(), vec![golden[1].clone(), golden[0].clone()], &["must order-between-streams"]);
}

#[test]
fn documented_failures_have_their_text_and_others_any() {
    let failure = |text: &str| {
        vec![
            ('>', json!({"id": "a", "type": "set_model", "provider": "p", "modelId": "m"})),
            (
                '<',
                json!({"id": "a", "type": "response", "command": "set_model", "success": false, "error": text}),
            ),
        ]
    };
    check(failure("Model not found: p/m"), failure("Model not found: p/n"), &["must answers error"]);
    check(failure("Model not found: p/m"), failure("No such model"), &["must answers error"]);
    check(failure("The disk is full"), failure("No space left"), &[]);
    check(failure("The disk is full"), failure(""), &["must answers error"]);
}

#[test]
fn the_answer_to_a_prompt_precedes_its_run() {
    let prompt = ('>', json!({"id": "p", "type": "prompt", "message": "Hi"}));
    let answer = ('<', json!({"id": "p", "type": "response", "command": "prompt", "success": true}));
    let start = ('<', json!({"type": "agent_start"}));
    let end = ('<', json!({"type": "agent_end", "messages": []}));
    let golden = vec![prompt.clone(), answer.clone(), start.clone(), end.clone()];
    check(golden.clone(), golden.clone(), &[]);
    check(golden, vec![prompt, start, answer, end], &["must order-between-streams"]);
}

#[test]
fn the_answer_to_a_prompt_of_operator_follows_its_run() {
    let prompt = ('>', json!({"id": "p", "type": "prompt", "text": "Hi"}));
    let answer =
        ('<', json!({"type": "response", "command": "prompt", "id": "p", "success": true, "data": {}}));
    let event = |event: Value| ('<', json!({"type": "event", "event": event}));
    let (start, end) =
        (event(json!({"type": "agent_start"})), event(json!({"type": "agent_end", "messages": []})));
    let golden = vec![prompt.clone(), start.clone(), end.clone(), answer.clone()];
    let observed = vec![prompt, start.clone(), answer, end.clone()];
    assert_eq!(failure_lines(&compared("operator", &golden, &observed)), ["must order-between-streams"]);
    let flat = vec![golden[0].clone(), ('<', start.1["event"].clone()), end, golden[3].clone()];
    assert_eq!(failure_lines(&compared("operator", &golden, &flat)), ["must framing"]);
}

#[test]
fn prose_that_is_not_published_is_any_prose() {
    let of = |text: &str| vec![user("message_start", text, 1_795_293_436_469)];
    let golden = of("<prose of the original, 12 characters>\nfile.rs");
    check(golden.clone(), of("Other words.\nfile.rs"), &[]);
    check(golden, of("Other words.\nother.rs"), &["should events message.content[0].text"]);
}

#[test]
fn required_members_of_the_declared_type_are_a_must_and_others_weigh_as_the_case() {
    let of = |frame: Value| vec![('<', frame)];
    let golden = of(
        json!({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 200, "errorMessage": "x"}),
    );
    let with = |name: &str, value: Option<Value>| {
        let mut frame = golden[0].1.clone();
        match value {
            Some(value) => frame[name] = value,
            None => drop(frame.as_object_mut().unwrap().remove(name)),
        }
        of(frame)
    };
    check(golden.clone(), with("delayMs", Some(json!(300))), &["should events delayMs"]);
    check(golden.clone(), with("delayMs", Some(json!("200"))), &["must events delayMs"]);
    check(golden.clone(), with("delayMs", Some(Value::Null)), &["must events delayMs"]);
    check(golden.clone(), with("delayMs", None), &["must events delayMs"]);
    // Clients ignore additional members of records.
    check(golden.clone(), with("more", Some(json!(1))), &[]);
    check(golden.clone(), with("errorMessage", Some(json!("other words"))), &[]);
    check(golden.clone(), with("errorMessage", Some(json!(""))), &["must events errorMessage"]);
    check(golden.clone(), with("errorMessage", Some(json!(7))), &["must events errorMessage"]);
}

#[test]
fn lines_that_are_no_frames_are_counted() {
    let golden = vec![('<', json!({"type": "agent_start"}))];
    check(golden.clone(), [golden.clone(), vec![('<', json!("noise"))]].concat(), &["must framing"]);
}

#[test]
fn the_end_of_the_process_is_compared() {
    let exit =
        |code: i64| vec![('!', json!({"t": 1, "dir": "ctl", "event": "exit", "code": code, "stderr": ""}))];
    check(exit(0), exit(0), &[]);
    check(exit(0), exit(1), &["should exit"]);
    let stopped = [vec![('!', json!({"t": 1, "dir": "ctl", "event": "signal SIGTERM"}))], exit(0)].concat();
    check(exit(0), stopped, &["should exit"]);
    let broken = [
        vec![('!', json!({"t": 1, "dir": "ctl", "event": "player_error", "text": "nothing came"}))],
        exit(0),
    ]
    .concat();
    check(exit(0), broken, &["should exit"]);
}

#[test]
fn ten_thousand_frames_are_compared_in_little_time() {
    let many = |offset: u64| -> Lines {
        (0..10_000).map(|at| user("message_end", &format!("{}", at + offset), 1_795_293_436_469)).collect()
    };
    let golden = many(0);
    let mut observed = many(0);
    observed.remove(5_000);
    observed.swap(100, 101);
    let (sender, over) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(failure_lines(&compared("pi", &golden, &observed))));
    // A quadratic comparison of these texts would take minutes.
    assert!(!over.recv_timeout(LONG).expect("the comparison takes too long").is_empty());
}
