//! Tests of the text of a permission question.

use agentese::acp::AcpToolCallUpdate;
use serde_json::{Value, json};

use super::super::shown_diff::{MAX_ADDED, MAX_REMOVED};
use super::*;

fn question(mut members: Value) -> String {
    members["toolCallId"] = "c".into();
    members["sessionUpdate"] = "tool_call_update".into();
    let update: AcpToolCallUpdate = serde_json::from_value(members).unwrap();
    let mut call = CallDetails::default();
    call.merge(&update);
    permission_text(&call)
}

const WARNING: &str = "?\nNot everything is shown";

fn change(old: Value, new: &str) -> Value {
    json!({"type": "diff", "path": "/w/a.rs", "oldText": old, "newText": new})
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
    let (old, new) = (numbered("old", MAX_REMOVED + 5), numbered("new", MAX_ADDED + 7));
    let text = question(json!({"kind": "edit", "content": [change(old.into(), &new)]}));
    for line in ["- old 0", "- old 44", "+ new 0", "+ new 126"] {
        assert!(format!("{text}\n").contains(&format!("\n  {line}\n")), "{line}: {text}");
    }
    assert!(text.contains("[5 removed lines not shown here]"), "{text}");
    assert!(text.contains("[7 added lines not shown here]"), "{text}");
    assert!(text.contains(WARNING), "{text}");
    let new_file = question(json!({"kind": "edit", "content": [change(Value::Null, "a\n")]}));
    assert!(new_file.ends_with("New content of /w/a.rs: 0 lines removed, 1 line added\n  + a"), "{new_file}");
    // Only the end of the last line differs.
    let end = question(json!({"kind": "edit", "content": [change("a".into(), "a\n")]}));
    assert!(end.contains("\n  - a\n  + a"), "{end}");
    let long_line = question(json!({"kind": "edit", "content": [change(Value::Null, &"z".repeat(5_000))]}));
    assert!(long_line.contains("[4000 more characters are not shown]"), "{long_line}");
}

#[test]
fn changes_that_are_far_apart_are_both_shown() {
    let old: Vec<String> = (0..600).map(|number| format!("line {number}\n")).collect();
    let mut new = old.clone();
    new[4] = "first change\n".to_owned();
    new[500] = "second change\n".to_owned();
    let text = question(json!({"kind": "edit", "content": [change(old.concat().into(), &new.concat())]}));
    assert!(text.contains("2 lines removed, 2 lines added"), "{text}");
    assert!(text.contains("+ first change") && text.contains("+ second change"), "{text}");
    assert!(!text.contains("line 100") && !text.contains(WARNING), "{text}");
}

#[test]
fn texts_of_a_diff_are_not_repeated_as_arguments() {
    let text =
        question(json!({"name": "Edit", "rawInput": {"path": "/w/a.rs", "old": "left", "new": "right"},
        "content": [{"type": "diff", "path": "/w/a.rs", "oldText": "left", "newText": "right"}]}));
    assert_eq!((text.matches("left").count(), text.matches("right").count()), (1, 1), "{text}");
}

#[test]
fn an_argument_is_repeated_unless_a_diff_shows_all_of_it() {
    let command: String = (0..10).map(|number| format!("step {number}\n")).collect();
    // The diff of equal texts shows no line.
    let same = change(command.clone().into(), &command);
    let text = question(json!({"name": "bash", "rawInput": {"command": command}, "content": [same]}));
    assert!(text.contains("    step 5\n"), "{text}");
    // The diff is cut.
    let long: String = (0..2 * MAX_ADDED).map(|number| format!("step {number}\n")).collect();
    let text = question(json!({"rawInput": {"content": long}, "content": [change(Value::Null, &long)]}));
    assert!(text.contains("    step 100\n"), "{text}");
    // The change is not one of those that are shown.
    let mut content = vec![change(Value::Null, "x\n"); MAX_FULL];
    content.push(change(Value::Null, "rm -rf ~\n"));
    let text = question(json!({"rawInput": {"command": "rm -rf ~\n"}, "content": content}));
    assert!(text.contains("  command:\n    rm -rf ~\n"), "{text}");
    assert!(text.ends_with("[its lines are not shown]"), "{text}");
}

#[test]
fn many_arguments_hide_no_later_one() {
    let mut arguments: serde_json::Map<_, _> = (0..60).map(|at| (format!("a{at:02}"), json!(1))).collect();
    arguments.insert("command".to_owned(), json!(format!("rm -rf ~ {}", "x".repeat(1_000))));
    let text = question(json!({"rawInput": arguments}));
    assert!(text.contains("  command:\n    rm -rf ~ xxx") && text.contains(WARNING), "{text}");
    let long_name = question(json!({"rawInput": {"n".repeat(2_000): 1}}));
    assert!(long_name.contains("[1000 more characters are not shown]: 1"), "{long_name}");
}

#[test]
fn content_of_each_type_is_shown() {
    let resource =
        |members: Value| json!({"type": "content", "content": {"type": "resource", "resource": members}});
    let text =
        question(json!({"content": [resource(json!({"uri": "file:///w/run.sh", "text": "rm -rf ~"}))]}));
    assert_eq!(text, "Allow a call of an unnamed tool?\nContent of file:///w/run.sh: rm -rf ~");
    for (content, shown) in [
        (resource(json!({"uri": "file:///w/a", "blob": "AAAA"})), "\"blob\":\"AAAA\""),
        (json!({"type": "terminal", "terminalId": "term-1"}), "term-1"),
        (json!({"type": "content", "content": {"type": "hologram", "data": "H"}}), "hologram"),
        (json!({"type": "plan", "steps": ["S"]}), "\"steps\":[\"S\"]"),
    ] {
        let text = question(json!({"content": [content]}));
        assert!(text.contains(shown) && !text.contains("did not say"), "{text}");
    }
    assert!(question(json!({"kind": "execute"})).ends_with("\nThe agent did not say what the call does."));
}

#[test]
fn blank_parts_do_not_push_a_command_out_of_sight() {
    for (padding, note) in [
        ("\n".repeat(3_000), "[2999 blank lines]"),
        (" ".repeat(900), "[900 spaces]rm"),
        ("\u{2800}".repeat(50), "[50 spaces]rm"),
    ] {
        let text = question(json!({"rawInput": {"command": format!("ls{padding}rm -rf ~")}}));
        assert!(text.contains(note) && text.contains("rm -rf ~") && text.len() < 200, "{text}");
    }
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
    let many: serde_json::Map<_, _> =
        (0..MAX_PARTS + 10).map(|number| (format!("{number:03}"), json!(1))).collect();
    assert!(question(json!({"rawInput": many})).ends_with("\n  [10 more arguments are not shown]"));
    let locations = vec![json!({"path": "/w/a.rs"}); MAX_PARTS + 2];
    assert!(question(json!({"locations": locations})).ends_with("\n[2 more locations are not shown]"));
}
