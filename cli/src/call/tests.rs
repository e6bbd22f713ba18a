use std::ffi::OsString;

use serde_json::{Value, json};

use super::line::{Refusal, Said, all_dialects, read};
use super::show;

fn said(words: &[&str]) -> Result<Said, Refusal> {
    read(&words.iter().map(OsString::from).collect::<Vec<_>>())
}

fn members(words: &[&str]) -> Value {
    match said(words) {
        Ok(said) => Value::Object(said.members),
        Err(refusal) => panic!("{words:?}: {refusal:?}"),
    }
}

fn wrong(words: &[&str]) -> String {
    match said(words) {
        Err(Refusal::Wrong(reason)) => reason,
        Err(Refusal::Shown(text)) => panic!("{words:?} shows {text}"),
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
fn what_a_revision_lacks_is_no_command_of_it() {
    assert!(said(&["--dialect=pi@1.5", "get_tree"]).is_ok() && said(&["get_tree"]).is_ok());
    assert!(wrong(&["--dialect", "pi@0.55", "get_tree"]).contains("get_tree"));
}

#[test]
fn a_session_need_not_be_named_where_one_can_be_opened() {
    assert_eq!(members(&["--dialect", "opal", "agent/prompt", "--text", "Hi"]), json!({"text": "Hi"}));
}

#[test]
fn what_is_wrong_is_named() {
    assert!(wrong(&["prompt"]).contains("--message"));
    assert!(wrong(&["get_stat"]).contains("get_state"), "the command that was meant");
    assert!(wrong(&["set_auto_retry", "--enabled", "maybe"]).contains("true or false"));
    assert!(wrong(&["set_thinking_level", "--level", "deep"]).contains("minimal"));
    assert!(wrong(&["--dialect", "klingon", "get_state"]).contains("pi, omp"));
    assert!(wrong(&["--answer", "riddle={}", "get_state"]).contains("confirm"));
    assert!(wrong(&["--answer", "confirm=yes", "get_state"]).contains("JSON object"));
}

#[test]
fn help_names_the_commands_and_their_parameters() {
    let shown = |words: &[&str]| match said(words) {
        Err(Refusal::Shown(text)) => text,
        _ => panic!("{words:?} shows nothing"),
    };
    assert!(shown(&["--help"]).contains("get_state"));
    assert!(shown(&["prompt", "--help"]).contains("--message <TEXT>"));
    assert!(shown(&["--dialect", "opal", "--help"]).contains("agent/prompt"));
}

#[test]
fn what_stands_behind_two_hyphens_is_the_agent() {
    let said = said(&["get_state", "--", "pi", "--mode", "rpc", "--", "x"]).ok().unwrap();
    assert_eq!(said.agent, ["pi", "--mode", "rpc", "--", "x"]);
}

#[test]
fn a_value_for_people_has_a_line_for_each_member() {
    assert_eq!(show::text(&json!({"a": "x", "b": [1]})), "a: x\nb: [1]\n");
    assert_eq!(show::text(&json!("x")), "x\n");
    assert_eq!(show::text(&Value::Null), "");
}
