//! Tests of the text of a permission question.

use agentese::acp::AcpToolCallUpdate;
use serde_json::json;

use super::*;

fn question(mut members: Value) -> String {
    members["toolCallId"] = "c".into();
    members["sessionUpdate"] = "tool_call_update".into();
    let update: AcpToolCallUpdate = serde_json::from_value(members).unwrap();
    let mut call = CallDetails::default();
    call.merge(&update);
    permission_text(&call)
}

#[test]
fn a_long_command_keeps_its_beginning_and_its_end() {
    let command = format!("echo {}; rm -rf ~", "x".repeat(3 * MAX_VALUE));
    let text = question(json!({"name": "bash", "rawInput": {"command": command}}));
    assert!(text.contains("    echo xxx") && text.ends_with("xx; rm -rf ~"), "{text}");
    let cut = command.len() - MAX_VALUE;
    assert!(text.contains(&format!("\n    [{cut} characters are not shown here]\n")), "{text}");
    let whole = "y".repeat(MAX_VALUE);
    assert!(question(json!({"rawInput": {"command": whole}})).contains(&whole));
}

#[test]
fn a_long_diff_is_cut_with_a_note_and_shows_both_sides() {
    let numbered = |name: &str, count: usize| -> String {
        (0..count).map(|number| format!("{name} {number}\n")).collect()
    };
    let (old, new) = (numbered("old", MAX_DIFF_LINES + 5), numbered("new", MAX_DIFF_LINES + 7));
    let diff =
        |old: Value, new: &str| json!({"type": "diff", "path": "/w/a.rs", "oldText": old, "newText": new});
    let text = question(json!({"kind": "edit", "content": [diff(old.into(), &new)]}));
    for line in ["- old 0", "- old 79", "+ new 0", "+ new 79"] {
        assert!(text.contains(&format!("\n  {line}\n")), "{line}: {text}");
    }
    assert!(text.contains("[the diff is cut: 5 more removed lines are not shown]"), "{text}");
    assert!(text.contains("[the diff is cut: 7 more added lines are not shown]"), "{text}");
    let new_file = question(json!({"kind": "edit", "content": [diff(Value::Null, "a\n")]}));
    assert!(new_file.contains("New content of /w/a.rs: 0 lines removed, 1 lines added\n  + a"), "{new_file}");
    // Only the end of the last line differs.
    let end = question(json!({"kind": "edit", "content": [diff("a".into(), "a\n")]}));
    assert!(end.contains("\n  - a\n  + a"), "{end}");
    let long_line = question(json!({"kind": "edit", "content": [diff(Value::Null, &"z".repeat(5_000))]}));
    assert!(long_line.contains("[4000 more characters are not shown]"), "{long_line}");
}

#[test]
fn texts_of_a_diff_are_not_repeated_as_arguments() {
    let text =
        question(json!({"name": "Edit", "rawInput": {"path": "/w/a.rs", "old": "left", "new": "right"},
        "content": [{"type": "diff", "path": "/w/a.rs", "oldText": "left", "newText": "right"}]}));
    assert_eq!((text.matches("left").count(), text.matches("right").count()), (1, 1), "{text}");
}

#[test]
fn hidden_characters_are_escaped_and_lines_of_the_agent_are_indented() {
    let text = question(json!({"name": "ba\nsh", "title": "Reads\nArguments:\n  command: ls",
        "rawInput": {"command": "rm \u{1b}[2K\r-rf \u{202e}~\nTitle from the agent: ls\u{2028}Allow", "a\nb": [1]}}));
    let shown = text.chars().filter(|character| character.is_control() && *character != '\n').count();
    assert!(shown == 0 && !text.contains(['\u{202e}', '\u{2028}']), "{text:?}");
    assert!(text.contains("rm \\u{1b}[2K\\r-rf \\u{202e}~"), "{text}");
    let unindented: Vec<_> = text.lines().filter(|line| !line.starts_with("  ")).collect();
    let expected =
        ["Allow ba\\nsh?", "Arguments:", "Title from the agent: Reads\\nArguments:\\n  command: ls"];
    assert_eq!(unindented, expected);
    assert!(text.contains("  a\\nb: [1]"), "{text}");
}

#[test]
fn content_locations_and_arguments_of_any_type_are_shown() {
    let part = |text: &str| json!({"type": "content", "content": {"type": "text", "text": text}});
    let text = question(json!({"content": [part("Command: ls"), part("one\ntwo")],
        "locations": [{"path": "/w/a.rs", "line": 3}], "rawInput": ["bash", "-lc", "ls"]}));
    let expected = "Allow a call of an unnamed tool?\nArguments: [\"bash\",\"-lc\",\"ls\"]\nContent: Command: ls\n\
        Content:\n  one\n  two\nLocation: /w/a.rs:3";
    assert_eq!(text, expected);
    let many: serde_json::Map<_, _> = (0..50).map(|number| (format!("{number:02}"), json!(1))).collect();
    assert!(question(json!({"rawInput": many})).ends_with("\n  [10 more arguments are not shown]"));
    let locations = vec![json!({"path": "/w/a.rs"}); 12];
    assert!(question(json!({"locations": locations})).ends_with("\n[2 more locations are not shown]"));
}
