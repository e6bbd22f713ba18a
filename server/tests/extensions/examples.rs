//! The example extensions of the documentation do what they say.

use serde_json::{Value, json};

use super::host::{agent, check_runs, plain, runs};
use crate::support::process::Place;

#[test]
fn the_command_with_every_dialog_asks_and_shows() {
    let place = Place::new();
    let mut agent = agent(&place, &["examples/dialogs"], plain());
    agent.prompt("/dialogs");
    for (method, member, answer) in [
        ("select", "value", json!("green")),
        ("confirm", "confirmed", json!(true)),
        ("input", "value", json!("leaf")),
        ("editor", "value", json!("edited")),
    ] {
        let asked = agent.shown();
        assert_eq!(asked["method"], method);
        agent.answer(&asked, member, answer);
    }
    let shown: Vec<Value> = (0..7).map(|_| agent.shown()).collect();
    let methods: Vec<_> = shown.iter().map(|frame| frame["method"].as_str().unwrap()).collect();
    assert_eq!(
        methods,
        ["setStatus", "setWidget", "setTitle", "set_editor_text", "notify", "setStatus", "setWidget"]
    );
    assert_eq!(shown[1]["widgetLines"], json!(["colour: green", "sure: True", "name: leaf"]));
    assert_eq!(shown[3]["text"], "edited");
    assert_eq!(agent.failures(), Vec::<&Value>::new());
}

#[test]
fn the_guard_lets_harmless_commands_through_and_asks_before_others() {
    for (command, choice, runs_it) in [
        ("touch ran", None, true),
        ("rm -rf nothing; touch ran", Some("Run"), true),
        ("rm -rf nothing; touch ran", Some("Block"), false),
    ] {
        let place = Place::new();
        let mut agent = agent(&place, &["examples/guard"], runs(command));
        agent.prompt("go");
        if let Some(choice) = choice {
            let asked = agent.shown();
            assert_eq!(asked["options"], json!(["Run", "Block"]));
            agent.answer(&asked, "value", choice);
        }
        let frames = agent.until_event("agent_end");
        let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
        assert_eq!(end["isError"], !runs_it, "{command}: {choice:?}");
        assert_eq!(place.work().join("ran").exists(), runs_it, "{command}: {choice:?}");
        assert_eq!(agent.failures(), Vec::<&Value>::new());
    }
}

#[test]
fn the_dice_are_a_tool_that_the_model_can_call() {
    let place = Place::new();
    let script = json!({"responses": [
        {"blocks": [{"tool": {"id": "roll", "name": "dice", "args": {"sides": 6, "count": 3}}}]},
    ], "default": {"text": "done"}});
    let mut agent = agent(&place, &["examples/dice"], script);
    agent.prompt("roll");
    let frames = agent.until_event("agent_end");
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    let rolls = end["result"]["details"]["rolls"].as_array().unwrap();
    assert_eq!((end["isError"].as_bool(), rolls.len()), (Some(false), 3));
    assert!(rolls.iter().all(|roll| (1..=6).contains(&roll.as_u64().unwrap())), "{rolls:?}");
    assert_eq!(check_runs(&frames), 1);
}

#[test]
fn the_status_line_counts_turns() {
    let place = Place::new();
    let mut agent = agent(&place, &["examples/status_line"], runs("true"));
    let status = |frame: &Value, text: &str| frame["method"] == "setStatus" && frame["statusText"] == text;
    agent.until("ready", |frame| status(frame, "ready"));
    agent.prompt("go");
    agent.until("the first turn", |frame| status(frame, "turn 1"));
    agent.until("the tool", |frame| status(frame, "turn 1: bash"));
    agent.until("the end", |frame| status(frame, "2 turns, done"));
}
