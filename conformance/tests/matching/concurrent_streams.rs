//! Tests of events of concurrent streams, whose relative order does not matter, and of list
//! elements.

use serde_json::{Value, json};

use crate::rows::{Lines, event};
use crate::support::{compared, failure_lines};

fn session(events: &[Value]) -> Lines {
    events.iter().flat_map(|it| event(it.clone())).collect()
}

#[test]
fn extension_events_may_be_anywhere_in_a_run() {
    let error = |text: &str| json!({"type": "extension_error", "extensionPath": "/e.ts", "event": "e", "error": text});
    let (start, turn) = (json!({"type": "agent_start"}), json!({"type": "turn_start"}));
    let golden = session(&[error("boom"), start.clone(), turn.clone()]);
    let later = session(&[start.clone(), turn.clone(), error("boom")]);
    assert_eq!(failure_lines(&compared("omp", &golden, &later)), Vec::<String>::new());
    let swapped = session(&[turn, start, error("boom")]);
    assert!(!failure_lines(&compared("omp", &golden, &swapped)).is_empty());
    let missing = session(&[json!({"type": "agent_start"}), json!({"type": "turn_start"})]);
    assert!(!failure_lines(&compared("omp", &golden, &missing)).is_empty());
}

#[test]
fn subagents_that_work_side_by_side_end_in_any_order() {
    let start = |id: &str| json!({"type": "subagent_start", "id": id, "agent": "task", "isolated": false});
    let end = |id: &str| json!({"type": "subagent_end", "id": id, "agent": "task", "exitCode": 0});
    let golden = session(&[start("0-a"), start("1-b"), end("0-a"), end("1-b")]);
    let other = session(&[start("0-a"), start("1-b"), end("1-b"), end("0-a")]);
    assert_eq!(failure_lines(&compared("pisces", &golden, &other)), Vec::<String>::new());
    let one = session(&[start("0-a"), start("1-b"), end("1-b")]);
    assert!(!failure_lines(&compared("pisces", &golden, &one)).is_empty());
}

#[test]
fn files_in_a_list_are_bound_to_earlier_names() {
    let result = |first: &str, second: &str| {
        let details = json!({"outputPath": first, "outputPaths": [first, second]});
        session(&[
            json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "task", "isError": false,
            "result": {"content": [], "details": details}}),
        ])
    };
    let golden = result("/a/s1/0-a.md", "/a/s1/1-b.md");
    assert_eq!(
        failure_lines(&compared("omp", &golden, &result("/b/s2/0-a.md", "/b/s2/1-b.md"))),
        Vec::<String>::new()
    );
    assert!(!failure_lines(&compared("omp", &golden, &result("/b/s2/0-a.md", "/b/s2/0-a.md"))).is_empty());
}
