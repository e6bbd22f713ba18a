//! Tests of the differences that are allowed after a command.

use agentese::types::{Direction, TranscriptHeader};
use agentese_conformance::verdict::LineExcerpt;
use serde_json::json;

use super::*;

/// Creates a session with these frames; `true` marks frames of the client.
fn session(lines: &[(bool, Value)]) -> Transcript {
    let record = |(sent, line): &(bool, Value)| match sent {
        true => Record::Sent(line.to_string().into()),
        false => Record::Received(line.to_string().into()),
    };
    Transcript { header: TranscriptHeader::new(1, "pi"), records: lines.iter().map(record).collect() }
}

fn shown(record: usize, frame: &Value) -> LineExcerpt {
    LineExcerpt { record, dir: Direction::S2c, line: frame.to_string() }
}

/// Creates a mismatch for a frame of the recording. `found` is the observed frame; `None` if it is missing.
fn mismatch(record: usize, expected: &Value, path: &str, found: Option<&Value>) -> Mismatch {
    let found = found.map(|frame| shown(0, frame));
    Mismatch { path: path.to_owned(), expected: Some(shown(record, expected)), found, ..Mismatch::default() }
}

fn message(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}], "timestamp": 1})
}

fn end(role: &str, text: &str) -> Value {
    json!({"type": "message_end", "message": message(role, text)})
}

fn history(messages: &[Value]) -> Value {
    json!({"id": "3", "type": "response", "command": "get_messages", "success": true, "data": {"messages": messages}})
}

/// Creates a session in which the user's input follows an answer, while the run is active.
fn with_queued_input() -> Transcript {
    session(&[
        (true, json!({"id": "1", "type": "prompt", "message": "go"})),
        (false, json!({"type": "agent_start"})),
        (false, end("assistant", "a")),
        (true, json!({"id": "2", "type": "steer", "message": "now"})),
        (false, end("assistant", "b")),
        (true, json!({"id": "3", "type": "get_messages"})),
        (false, history(&[message("user", "go"), message("user", "now"), message("assistant", "a")])),
        (true, json!({"id": "4", "type": "get_state"})),
    ])
}

#[test]
fn queued_input_may_move_and_have_other_answers() {
    for (agent, covered) in [("opal@0.1", true), ("operator@seed", true), ("omp@12.7", false)] {
        let report = LossReport::of("pi@0.55", agent);
        let golden = with_queued_input();
        let is_other = |record: usize, expected: &Value, path: &str, found: Option<&Value>| {
            report.is_allowed_after_command("events", &mismatch(record, expected, path, found), &golden)
        };
        let text = "message.content[0].text";
        for (record, expected) in [(4, end("assistant", "b")), (4, end("user", "now"))] {
            assert_eq!(is_other(record, &expected, "", None), covered, "{agent}: one that is missing");
            assert_eq!(is_other(record, &expected, text, Some(&end("assistant", "c"))), covered, "{agent}");
            assert!(!is_other(2, &expected, "", None), "{agent}: no earlier input");
        }
        assert_eq!(is_other(4, &json!({"type": "turn_start"}), "", None), covered, "{agent}: turns");
        let ended =
            json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "shell", "isError": false});
        assert!(!is_other(4, &ended, "", None) && !is_other(4, &ended, "isError", Some(&ended)), "{agent}");
        assert!(!is_other(4, &json!({"type": "agent_end", "messages": []}), "", None), "{agent}: runs end");
        let words = Mismatch { message: "the model is sent the words".to_owned(), ..Mismatch::default() };
        assert!(!report.is_allowed_after_command(REQUESTS, &words, &golden), "{agent}: they reach the model");
    }
}

#[test]
fn answers_after_queued_input_contain_all_input() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let golden = with_queued_input();
    let known = history(&[message("user", "go"), message("user", "now"), message("assistant", "a")]);
    let asked = |told: &[Value]| {
        let told = history(told);
        report.is_allowed_after_command(
            "answers",
            &mismatch(6, &known, "data.messages[1].role", Some(&told)),
            &golden,
        )
    };
    assert!(asked(&[message("user", "go"), message("assistant", "a"), message("user", "now")]));
    assert!(asked(&[message("user", "go"), message("user", "now"), message("assistant", "b")]));
    assert!(!asked(&[message("user", "go"), message("assistant", "a")]), "input is lost");
    let state = |count: u64| {
        let data = json!({"messageCount": count, "isStreaming": false});
        json!({"id": "4", "type": "response", "command": "get_state", "success": true, "data": data})
    };
    let counts = |record: usize, path: &str| {
        report.is_allowed_after_command(
            "answers",
            &mismatch(record, &state(3), path, Some(&state(4))),
            &golden,
        )
    };
    assert!(counts(7, "data.messageCount"));
    assert!(!counts(7, "data.isStreaming") && !counts(2, "data.messageCount"));
}

#[test]
fn additional_frames_follow_the_sent_input() {
    let mut report = LossReport::of("pi@0.55", "opal@0.1");
    report.observe(Some(with_queued_input()));
    let came = |record: usize| {
        let found = Some(shown(record, &end("assistant", "c")));
        report.is_allowed_after_command(
            "events",
            &Mismatch { found, ..Mismatch::default() },
            &with_queued_input(),
        )
    };
    assert!(came(4) && !came(2));
}

/// Creates the end event of an answer with these calls.
fn calls(ids: &[&str], text: &str) -> Value {
    let call = |id: &&str| json!({"type": "toolCall", "id": id, "name": "shell", "arguments": {}});
    let mut message = message("assistant", text);
    message["content"].as_array_mut().unwrap().extend(ids.iter().map(call));
    json!({"type": "message_end", "message": message})
}

#[test]
fn calls_may_have_separate_answers_but_no_call_may_be_lost() {
    let prompted = |told: &[Value]| {
        let mut lines = vec![(true, json!({"id": "1", "type": "prompt", "message": "go"}))];
        lines.extend(told.iter().map(|event| (false, event.clone())));
        session(&lines)
    };
    let whole = calls(&["c1", "c2"], "a");
    let is_other = |agent: &str, told: &[Value], path: &str| {
        let mut report = LossReport::of("pi@0.55", agent);
        report.observe(Some(prompted(told)));
        let golden = prompted(std::slice::from_ref(&whole));
        report.is_allowed_after_command("events", &mismatch(1, &whole, path, Some(&told[0])), &golden)
    };
    let (first, second) = (calls(&["c1"], "a"), calls(&["c2"], ""));
    assert!(is_other("opal@0.1", &[first.clone(), second.clone()], "message.content"));
    assert!(
        !is_other("omp@12.7", &[first.clone(), second.clone()], "message.content"),
        "it reports them together"
    );
    assert!(!is_other("opal@0.1", std::slice::from_ref(&first), "message.content"), "a call is lost");
    assert!(!is_other("opal@0.1", &[calls(&["c1"], "b"), second.clone()], "message.content"), "another text");
    assert!(!is_other("opal@0.1", &[second, first.clone()], "message.content"), "another order");
    assert!(!is_other("opal@0.1", &[first, calls(&["c2"], "")], "message.stopReason"));
}

#[test]
fn an_expected_frame_has_its_observed_position() {
    let mut report = LossReport::of("pi@0.55", "operator@seed");
    let state = json!({"id": "2", "type": "response", "command": "get_state", "success": true, "data": {"messageCount": 0}});
    let opens = |first: bool| {
        let mut lines = vec![
            (true, json!({"id": "1", "type": "switch_session", "sessionPath": "a"})),
            (true, json!({"id": "2", "type": "get_state"})),
            (false, state.clone()),
        ];
        lines.swap(0, usize::from(!first) * 2);
        session(&lines)
    };
    let wanted = shown(0, &json!({"success": true, "data": {"messageCount": 2}}));
    for (first, record) in [(true, 2), (false, 0)] {
        report.observe(Some(opens(first)));
        let mismatch = Mismatch {
            path: "data.messageCount".to_owned(),
            expected: Some(wanted.clone()),
            found: Some(shown(record, &state)),
            ..Mismatch::default()
        };
        assert_eq!(report.is_allowed_after_command("expect switched", &mismatch, &opens(true)), first);
    }
}

#[test]
fn a_shell_command_without_a_message_excuses_no_other_message() {
    let mut report = LossReport::of("pi@0.55", "omp@12.7");
    let ended = |success: bool| {
        let told = json!({"id": "1", "type": "response", "command": "bash", "success": success});
        Some(session(&[(false, told)]))
    };
    report.observe(ended(false));
    let golden = session(&[
        (true, json!({"id": "1", "type": "bash", "command": "kill -9 $$"})),
        (true, json!({"id": "3", "type": "get_messages"})),
        (true, json!({"id": "4", "type": "get_state"})),
    ]);
    let ran = json!({"role": "bashExecution", "command": "kill -9 $$", "output": "", "cancelled": true, "truncated": false});
    let known = [message("user", "go"), message("assistant", "a"), ran];
    let lacks = |report: &LossReport, told: &[Value]| {
        let (known, told) = (history(&known), history(told));
        report.is_allowed_after_command(
            "answers",
            &mismatch(3, &known, "data.messages", Some(&told)),
            &golden,
        )
    };
    assert!(lacks(&report, &known[..2]));
    assert!(!lacks(&report, &known[..1]) && !lacks(&report, &known[1..2]), "others are missing, too");
    let state = |count: u64| json!({"id": "4", "type": "response", "command": "get_state", "success": true, "data": {"messageCount": count}});
    let counts = |record: usize, count: u64| {
        let found = state(count);
        report.is_allowed_after_command(
            "answers",
            &mismatch(record, &state(3), "data.messageCount", Some(&found)),
            &golden,
        )
    };
    assert!(counts(3, 2));
    assert!(!counts(3, 1) && !counts(3, 4) && !counts(0, 2), "one command was sent");
    report.observe(ended(true));
    assert!(!lacks(&report, &known[..2]), "no signal has ended it");
    report.observe(ended(false));
    let failed = json!({"id": "1", "type": "response", "command": "bash", "success": false});
    let mut lines = vec![(true, json!({"id": "1", "type": "bash", "command": "ls"})), (false, failed)];
    lines.push((true, json!({"id": "3", "type": "get_messages"})));
    let lacking = mismatch(3, &history(&known), "data.messages", Some(&history(&known[..2])));
    assert!(
        !report.is_allowed_after_command("answers", &lacking, &session(&lines)),
        "it failed in the recording, too"
    );
}

#[test]
fn a_shell_of_its_own_excuses_its_message_alone() {
    let report = LossReport::of("omp@12.7", "pi@0.55");
    let golden = session(&[
        (true, json!({"id": "1", "type": "bash", "command": "cd /"})),
        (true, json!({"id": "3", "type": "get_messages"})),
    ]);
    let shell = json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": false, "truncated": false});
    let told = history(&[message("user", "go"), message("assistant", "a"), shell]);
    let is_other = |path: &str| {
        report.is_allowed_after_command("answers", &mismatch(2, &told, path, Some(&told)), &golden)
    };
    assert!(is_other("data.messages[2].output"));
    for path in ["data.messages[1].content[0].text", "data.messages[0].content", "data.messages"] {
        assert!(!is_other(path), "{path}");
    }
    let lacks = history(&[message("user", "go"), message("assistant", "a")]);
    let lacks = mismatch(2, &told, "data.messages", Some(&lacks));
    assert!(!report.is_allowed_after_command("answers", &lacks, &golden), "it leaves a message");
}

#[test]
fn changes_by_a_fork_end_with_its_run() {
    let report = LossReport::of("omp@12.7", "pi@0.55");
    let golden = session(&[
        (true, json!({"id": "1", "type": "prompt", "message": "go"})),
        (false, json!({"type": "agent_start"})),
        (true, json!({"id": "2", "type": "branch", "entryId": "e"})),
        (false, end("assistant", "a")),
        (false, json!({"type": "agent_end", "messages": []})),
        (true, json!({"id": "4", "type": "prompt", "message": "on"})),
        (false, end("assistant", "b")),
    ]);
    let is_other = |record: usize| {
        report.is_allowed_after_command(
            "events",
            &mismatch(record, &end("assistant", "a"), "", None),
            &golden,
        )
    };
    assert!(is_other(3) && !is_other(6), "that is another run");
}

#[test]
fn a_rejected_prompt_starts_no_run() {
    let report = LossReport::of("omp@12.7", "pi@0.55");
    let golden = |success: bool| {
        session(&[
            (true, json!({"id": "1", "type": "prompt", "message": "go"})),
            (false, json!({"id": "1", "type": "response", "command": "prompt", "success": success})),
            (true, json!({"id": "2", "type": "branch", "entryId": "e"})),
        ])
    };
    for (success, busy) in [(true, true), (false, false)] {
        assert_eq!(report.allowed_from(3, &golden(success)).contains(EVENTS), busy, "{success}");
    }
}

#[test]
fn a_call_in_a_snapshot_of_the_same_answer_has_no_separate_answer() {
    let whole = calls(&["c1", "c2"], "a");
    let prompt = (true, json!({"id": "1", "type": "prompt", "message": "go"}));
    let mut report = LossReport::of("pi@0.55", "opal@0.1");
    let grows = json!({"type": "message_update", "message": calls(&["c1", "c2"], "a")["message"], "assistantMessageEvent": {}});
    let first = calls(&["c1"], "a");
    report.observe(Some(session(&[prompt.clone(), (false, grows), (false, first.clone())])));
    let golden = session(&[prompt, (false, whole.clone())]);
    let found = Some(shown(2, &first));
    let lacks = Mismatch { found, ..mismatch(1, &whole, "message.content", None) };
    assert!(!report.is_allowed_after_command("events", &lacks, &golden));
}

/// Creates a run that is stopped during the first of its tool calls.
fn stopped() -> Vec<(bool, Value)> {
    let tool = |what: &str, id: &str| json!({"type": format!("tool_execution_{what}"), "toolCallId": id, "toolName": "shell"});
    let result = |id: &str, text: &str| {
        let mut message = message("toolResult", text);
        message["toolCallId"] = id.into();
        json!({"type": "message_end", "message": message})
    };
    let (end, empty) = (json!({"type": "agent_end", "messages": []}), calls(&[], ""));
    let mut empty = empty;
    empty["message"]["content"] = json!([]);
    vec![
        (true, json!({"id": "1", "type": "prompt", "message": "go"})),
        (false, json!({"type": "agent_start"})),
        (false, calls(&["c1", "c2"], "a")),
        (false, tool("start", "c1")),
        (true, json!({"id": "2", "type": "abort"})),
        (false, tool("end", "c1")),
        (false, result("c1", "stopped")),
        (false, tool("start", "c2")),
        (false, tool("end", "c2")),
        (false, result("c2", "skipped")),
        (false, json!({"type": "turn_start"})),
        (false, empty),
        (false, end),
        (false, tool("start", "c3")),
    ]
}

#[test]
fn only_unstarted_calls_of_a_stopped_run_may_be_missing() {
    let (golden, lines) = (session(&stopped()), stopped());
    for (agent, covered) in [("opal@0.1", true), ("omp@12.7", false)] {
        let report = LossReport::of("pi@0.55", agent);
        let lacks = |record: usize| {
            report.is_allowed_after_command("events", &mismatch(record, &lines[record].1, "", None), &golden)
        };
        for record in [7, 8, 9, 10, 11] {
            assert_eq!(lacks(record), covered, "{agent} {record}");
        }
        // These records are: the call that ran, the end of the run, and the records after it.
        for record in [3, 5, 6, 12, 13] {
            assert!(!lacks(record), "{agent} {record}");
        }
        let came = |record: usize, came: &Value| {
            let is_there = mismatch(record, &lines[record].1, "message.content", Some(came));
            report.is_allowed_after_command("events", &is_there, &golden)
        };
        assert_eq!(came(2, &calls(&["c1"], "a")), covered, "{agent}");
        assert!(!came(2, &calls(&["c2"], "a")) && !came(2, &calls(&["c1"], "b")), "{agent}");
    }
}

#[test]
fn after_a_stop_answers_lack_only_unstarted_calls() {
    let report = LossReport::of("pi@0.55", "opal@0.1");
    let mut lines = stopped();
    let ran = |id: &str, text: &str| {
        let mut message = message("toolResult", text);
        message["toolCallId"] = id.into();
        message
    };
    let before = [message("user", "go"), calls(&["c0"], "")["message"].clone(), ran("c0", "done")];
    let said = [&before[..], &[calls(&["c1", "c2"], "a")["message"].clone()]].concat();
    let all = [&said[..], &[ran("c1", "stopped"), ran("c2", "skipped")]].concat();
    lines.extend([(true, json!({"id": "3", "type": "get_messages"})), (false, history(&all))]);
    let record = lines.len() - 1;
    let golden = session(&lines);
    let lacks = |came: &[Value]| {
        let lacks = mismatch(record, &history(&all), "data.messages", Some(&history(came)));
        report.is_allowed_after_command("answers", &lacks, &golden)
    };
    let told = [&before[..], &[calls(&["c1"], "a")["message"].clone(), ran("c1", "")]].concat();
    assert!(lacks(&told));
    let without = |place: usize| {
        let mut told = told.clone();
        told.remove(place);
        told
    };
    assert!((0..told.len()).all(|place| !lacks(&without(place))), "something else is missing");
    let mut other = told.clone();
    other[2] = ran("c0", "other");
    assert!(!lacks(&other), "the result of a call before the abort differs");
}

/// Creates a session in which the client forks while an answer is streamed. `pieces` are the pieces of the
/// answer.
fn forked(pieces: &[&str]) -> Transcript {
    let piece = |text: &&str| {
        let told = json!({"type": "text_delta", "contentIndex": 0, "delta": text});
        (false, json!({"type": "message_update", "assistantMessageEvent": told}))
    };
    let mut lines = vec![
        (true, json!({"id": "1", "type": "prompt", "message": "go"})),
        (false, json!({"type": "agent_start"})),
    ];
    lines.extend(pieces[..1].iter().map(piece));
    lines.push((true, json!({"id": "2", "type": "branch", "entryId": "e"})));
    lines.extend(pieces[1..].iter().map(piece));
    session(&lines)
}

#[test]
fn an_answer_that_a_fork_stops_is_the_beginning_of_the_recorded_one() {
    let golden = forked(&["one ", "two ", "three"]);
    let piece = json!({"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "one "}});
    let other = |pieces: &[&str], fork: bool| {
        let mut report = LossReport::of("omp@12.7", "pi@0.55");
        report.observe(Some(forked(pieces)));
        let mut golden = golden.records.clone();
        if !fork {
            golden.retain(|record| !matches!(record, Record::Sent(line) if line.as_str().contains("branch")));
        }
        let golden = Transcript { header: TranscriptHeader::new(1, "omp"), records: golden };
        let cut = Mismatch {
            found: Some(shown(2, &piece)),
            ..mismatch(2, &piece, "assistantMessageEvent.delta", None)
        };
        report.is_allowed_after_command("events", &cut, &golden)
    };
    assert!(other(&["one ", "two "], true));
    assert!(!other(&["one ", "three"], true), "it is another text");
    assert!(!other(&["one ", "two "], false), "nothing was sent meanwhile");
}

#[test]
fn a_run_that_follows_a_summary_is_the_agents_own() {
    let prompt = |id: &str| (true, json!({"id": id, "type": "prompt", "message": "go"}));
    let (start, end) = (json!({"type": "agent_start"}), json!({"type": "agent_end", "messages": []}));
    let compacted = json!({"type": "auto_compaction_end", "result": {"summary": "s", "firstKeptEntryId": "e", "tokensBefore": 1}, "aborted": false, "willRetry": false});
    let answer = json!({"id": "2", "type": "response", "command": "prompt", "success": true});
    let golden = session(&[
        prompt("1"),
        (false, start.clone()),
        (false, end.clone()),
        (false, compacted.clone()),
        prompt("2"),
        (false, answer.clone()),
        (false, start.clone()),
    ]);
    let is_other = |agent: &str, between: &[(bool, Value)], behind: &[(bool, Value)]| {
        let mut lines = vec![prompt("1"), (false, start.clone()), (false, end.clone())];
        lines.extend(between.iter().cloned());
        lines.push(prompt("2"));
        lines.extend(behind.iter().cloned());
        lines.extend([(false, start.clone()), (false, answer.clone())]);
        let mut report = LossReport::of("pi@0.55", agent);
        report.observe(Some(session(&lines)));
        report.is_allowed_after_command("order-between-streams", &mismatch(5, &answer, "", None), &golden)
    };
    let told = |event: &Value| (false, event.clone());
    let goes_on = [told(&compacted), told(&start), told(&end)];
    assert!(is_other("omp@12.7", &goes_on, &[]));
    let mut again = goes_on.to_vec();
    again.insert(
        1,
        (false, json!({"type": "auto_compaction_end", "result": null, "aborted": false, "willRetry": false})),
    );
    assert!(is_other("omp@12.7", &again, &[]), "it had nothing more to compact");
    assert!(!is_other("opal@0.1", &goes_on, &[]), "no divergence covers it");
    assert!(!is_other("omp@12.7", &goes_on[..1], &[]), "the client began that run");
    assert!(!is_other("omp@12.7", &[], &goes_on[..1]), "and this one");
    let mut without = goes_on.clone();
    without[0].1["result"] = Value::Null;
    assert!(!is_other("omp@12.7", &without, &[]), "there was no summary");
    assert!(!is_other("omp@12.7", &[], &goes_on), "it follows the command");
}
