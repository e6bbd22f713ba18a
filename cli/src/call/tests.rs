use std::ffi::OsString;

use serde_json::{Value, json};

use super::command_line::{ParseError, ParsedCall, all_dialects, parse};
use super::print;

fn parse_call(words: &[&str]) -> Result<ParsedCall, ParseError> {
    parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
}

fn members(words: &[&str]) -> Value {
    match parse_call(words) {
        Ok(said) => Value::Object(said.members),
        Err(refusal) => panic!("{words:?}: {refusal:?}"),
    }
}

fn invalid_reason(words: &[&str]) -> String {
    match parse_call(words) {
        Err(ParseError::Invalid(reason)) => reason,
        Err(ParseError::Help(text)) => panic!("{words:?} shows {text}"),
        Ok(said) => panic!("{words:?} calls {}", said.command),
    }
}

#[test]
fn parameters_are_options_of_their_own_types() {
    let prompt = ["prompt", "--message", "-1 is a number", "--streaming-behavior", "steer"];
    assert_eq!(members(&prompt), json!({"message": "-1 is a number", "streamingBehavior": "steer"}));
    assert_eq!(members(&["set_auto_retry", "--enabled"]), json!({"enabled": true}));
    assert_eq!(members(&["set-auto-retry", "--enabled", "false"]), json!({"enabled": false}));
    let opal = [
        "--dialect",
        "opal",
        "session/start",
        "--tools",
        "a",
        "--tools",
        "b",
        "--model",
        r#"{"provider":"p","id":"m"}"#,
    ];
    assert_eq!(members(&opal), json!({"tools": ["a", "b"], "model": {"provider": "p", "id": "m"}}));
}

#[test]
fn every_command_of_every_dialect_can_be_called() {
    for client in agentese::dynamic::CLIENTS {
        let grammar = super::grammar::grammar(client.name).unwrap();
        let names: std::collections::BTreeSet<_> =
            grammar.commands.iter().map(|command| command.name).collect();
        assert_eq!(names, client.commands.iter().map(|command| command.wire).collect(), "{}", client.name);
        assert!(grammar.commands.iter().all(|command| !command.doc.is_empty()));
        for spec in client.commands {
            let command = grammar.commands.iter().find(|command| command.name == spec.wire).unwrap();
            let known =
                |name: &&str| command.params.iter().any(|param| param.name == *name && param.required);
            assert!(spec.required.iter().all(known), "{}", spec.wire);
        }
    }
    all_dialects().debug_assert();
}

#[test]
fn commands_missing_in_a_revision_are_unknown() {
    assert!(parse_call(&["--dialect=pi@1.5", "get_tree"]).is_ok() && parse_call(&["get_tree"]).is_ok());
    assert!(invalid_reason(&["--dialect", "pi@0.55", "get_tree"]).contains("get_tree"));
}

#[test]
fn a_session_parameter_is_optional_if_one_can_be_opened() {
    assert_eq!(members(&["--dialect", "opal", "agent/prompt", "--text", "Hi"]), json!({"text": "Hi"}));
}

#[test]
fn errors_name_their_cause() {
    assert!(invalid_reason(&["prompt"]).contains("--message"));
    assert!(invalid_reason(&["get_stat"]).contains("get_state"), "the command that was meant");
    assert!(invalid_reason(&["set_auto_retry", "--enabled", "maybe"]).contains("true or false"));
    assert!(invalid_reason(&["set_thinking_level", "--level", "deep"]).contains("minimal"));
    assert!(invalid_reason(&["--dialect", "klingon", "get_state"]).contains("pi, omp"));
    assert!(invalid_reason(&["--answer", "riddle={}", "get_state"]).contains("confirm"));
    let late = ["prompt", "--message", "Hello", "--timeout", "5"];
    assert_eq!(invalid_reason(&late), "--timeout must precede the command");
    assert!(invalid_reason(&["--answer", "confirm=yes", "get_state"]).contains("JSON object"));
}

#[test]
fn help_names_the_commands_and_their_parameters() {
    let shown = |words: &[&str]| match parse_call(words) {
        Err(ParseError::Help(text)) => text,
        _ => panic!("{words:?} shows nothing"),
    };
    assert!(shown(&["--help"]).contains("get_state"));
    assert!(shown(&["prompt", "--help"]).contains("--message <TEXT>"));
    assert!(shown(&["--dialect", "opal", "--help"]).contains("agent/prompt"));
}

#[test]
fn arguments_after_two_hyphens_are_the_agent() {
    let said = parse_call(&["get_state", "--", "pi", "--mode", "rpc", "--", "x"]).ok().unwrap();
    assert_eq!(said.agent, ["pi", "--mode", "rpc", "--", "x"]);
}

#[test]
fn a_value_for_people_has_a_line_for_each_member() {
    assert_eq!(print::text(&json!({"a": "x", "b": [1]})), "a: x\nb: [1]\n");
    assert_eq!(print::text(&json!("x")), "x\n");
    assert_eq!(print::text(&Value::Null), "");
}
