//! What may be other behind a command, and what may not.

use agentese::types::{Direction, TranscriptHeader};
use agentese_conformance::verdict::Shown;
use serde_json::json;

use super::*;

/// A session in which those frames were sent and received.
fn session(lines: &[(bool, Value)]) -> Transcript {
    let record = |(sent, line): &(bool, Value)| match sent {
        true => Record::Sent(line.to_string().into()),
        false => Record::Received(line.to_string().into()),
    };
    Transcript { header: TranscriptHeader::new(1, "pi"), records: lines.iter().map(record).collect() }
}

fn shown(record: usize, frame: &Value) -> Shown {
    Shown { record, dir: Direction::S2c, line: frame.to_string() }
}

/// A frame that was expected at that record, and has that instead; none is missing.
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

#[test]
fn words_of_the_user_may_stand_elsewhere_and_answers_and_results_may_not_differ() {
    let report = Report::of("pi@0.55", "opal@0.1");
    let golden = session(&[
        (true, json!({"id": "1", "type": "prompt", "message": "go"})),
        (false, json!({"type": "agent_start"})),
        (true, json!({"id": "2", "type": "steer", "message": "now"})),
        (true, json!({"id": "3", "type": "get_messages"})),
    ]);
    let is_other = |expected: &Value, path: &str, found: Option<&Value>| {
        report.is_other_behind("events", &mismatch(4, expected, path, found), &golden)
    };
    let ended =
        json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "shell", "isError": false});
    assert!(is_other(&end("user", "now"), "", None), "it is read later");
    assert!(is_other(&end("user", "now"), "message.content[0].text", Some(&end("user", "go"))));
    assert!(is_other(&json!({"type": "turn_start"}), "", None), "how many turns there are");
    assert!(!is_other(&end("assistant", "a"), "message.content[0].text", Some(&end("assistant", "b"))));
    assert!(!is_other(&end("assistant", "a"), "", None), "an answer is missing");
    assert!(!is_other(&ended, "", None) && !is_other(&ended, "isError", Some(&ended)), "a result is");
    assert!(!is_other(&json!({"type": "agent_end", "messages": []}), "", None), "runs end");
    let asked = |told: &[Value]| {
        let told = history(told);
        let known = history(&[message("user", "go"), message("user", "now"), message("assistant", "a")]);
        report.is_other_behind("answers", &mismatch(4, &known, "data.messages[1].role", Some(&told)), &golden)
    };
    assert!(asked(&[message("user", "go"), message("assistant", "a"), message("user", "now")]));
    assert!(!asked(&[message("user", "go"), message("assistant", "b"), message("user", "now")]), "an answer");
    assert!(!asked(&[message("user", "go"), message("assistant", "a")]), "words are lost");
    let words = Mismatch { says: "the model is sent the words".to_owned(), ..Mismatch::default() };
    assert!(!report.is_other_behind(REQUESTS, &words, &golden), "they reach the model");
}

#[test]
fn a_shell_of_its_own_excuses_its_message_alone() {
    let report = Report::of("omp@12.7", "pi@0.55");
    let golden = session(&[
        (true, json!({"id": "1", "type": "bash", "command": "cd /"})),
        (true, json!({"id": "3", "type": "get_messages"})),
    ]);
    let shell = json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0, "cancelled": false, "truncated": false});
    let told = history(&[message("user", "go"), message("assistant", "a"), shell]);
    let is_other =
        |path: &str| report.is_other_behind("answers", &mismatch(2, &told, path, Some(&told)), &golden);
    assert!(is_other("data.messages[2].output"));
    for path in ["data.messages[1].content[0].text", "data.messages[0].content", "data.messages"] {
        assert!(!is_other(path), "{path}");
    }
}

#[test]
fn what_a_fork_changes_of_the_run_that_goes_on_ends_with_it() {
    let report = Report::of("omp@12.7", "pi@0.55");
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
        report.is_other_behind("events", &mismatch(record, &end("assistant", "a"), "", None), &golden)
    };
    assert!(is_other(3) && !is_other(6), "that is another run");
}

#[test]
fn a_prompt_that_is_refused_leaves_nothing_at_work() {
    let report = Report::of("omp@12.7", "pi@0.55");
    let golden = |success: bool| {
        session(&[
            (true, json!({"id": "1", "type": "prompt", "message": "go"})),
            (false, json!({"id": "1", "type": "response", "command": "prompt", "success": success})),
            (true, json!({"id": "2", "type": "branch", "entryId": "e"})),
        ])
    };
    for (success, busy) in [(true, true), (false, false)] {
        assert_eq!(report.other_from(3, &golden(success)).contains(EVENTS), busy, "{success}");
    }
}
