//! Tests of the example extensions in the documentation: they work as described, in the same way in each language.

use serde_json::{Value, json};

use super::host::{check_runs, plain, runs};
use super::languages::Language;
use crate::support::process::{Agent, Place};

/// Runs `check` on an example in each language. Fails if an extension reports a failure.
fn in_each_language(example: &str, script: &Value, check: impl Fn(&Place, &mut Agent)) {
    for language in Language::all() {
        eprintln!("{example} in {language:?}");
        let place = Place::new();
        let mut agent = language.agent(&place, example, script.clone());
        check(&place, &mut agent);
        assert_eq!(agent.failures(), Vec::<&Value>::new());
        let (status, _, stderr) = agent.finish();
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn first_examples_greet_the_user() {
    for (member, answer, notice) in
        [("value", json!("Ada"), "Hello, Ada!"), ("cancelled", json!(true), "Hello, whoever you are!")]
    {
        in_each_language("hello", &plain(), |_, agent| {
            agent.prompt("/hello");
            let dialog = agent.next_dialog();
            assert_eq!(dialog["title"], "Your name");
            agent.answer(&dialog, member, answer.clone());
            assert_eq!(agent.next_notice(), notice);
        });
    }
}

#[test]
fn dialog_example_shows_every_dialog() {
    in_each_language("dialogs", &plain(), |_, agent| {
        agent.prompt("/dialogs");
        for (method, member, answer) in [
            ("select", "value", json!("green")),
            ("confirm", "confirmed", json!(true)),
            ("input", "value", json!("leaf")),
            ("editor", "value", json!("edited")),
        ] {
            let dialog = agent.next_dialog();
            assert_eq!(dialog["method"], method);
            agent.answer(&dialog, member, answer);
        }
        let shown: Vec<Value> = (0..7).map(|_| agent.next_dialog()).collect();
        let methods: Vec<_> = shown.iter().map(|frame| frame["method"].as_str().unwrap()).collect();
        assert_eq!(
            methods,
            ["setStatus", "setWidget", "setTitle", "set_editor_text", "notify", "setStatus", "setWidget"]
        );
        assert_eq!(shown[1]["widgetLines"], json!(["colour: green", "sure: yes", "name: leaf"]));
        assert_eq!(shown[3]["text"], "edited");
        let bare: Vec<_> = shown[5..].iter().map(|frame| frame.as_object().unwrap().len()).collect();
        assert_eq!(bare, [4, 4], "cleared without a text: {shown:#?}");
    });
}

#[test]
fn guard_example_permits_harmless_commands_and_confirms_others() {
    for (command, choice, runs_it) in [
        ("touch ran", None, true),
        ("rm -rf nothing; touch ran", Some("Run"), true),
        ("rm -rf nothing; touch ran", Some("Block"), false),
    ] {
        in_each_language("guard", &runs(command), |place, agent| {
            agent.prompt("go");
            if let Some(choice) = choice {
                let dialog = agent.next_dialog();
                assert_eq!(
                    (&dialog["options"], &dialog["timeout"]),
                    (&json!(["Run", "Block"]), &json!(60_000))
                );
                agent.answer(&dialog, "value", choice);
            }
            let frames = agent.until_event("agent_end");
            let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
            assert_eq!(end["isError"], !runs_it, "{command}: {choice:?}");
            assert_eq!(place.work().join("ran").exists(), runs_it, "{command}: {choice:?}");
        });
    }
}

#[test]
fn the_dice_are_a_tool_that_the_model_can_call() {
    let script = json!({"responses": [
        {"blocks": [{"tool": {"id": "roll", "name": "dice", "args": {"sides": 6, "count": 3}}}]},
    ], "default": {"text": "done"}});
    in_each_language("dice", &script, |_, agent| {
        agent.prompt("roll");
        let frames = agent.until_event("agent_end");
        let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
        let rolls = end["result"]["details"]["rolls"].as_array().unwrap();
        assert_eq!((end["isError"].as_bool(), rolls.len()), (Some(false), 3));
        assert!(rolls.iter().all(|roll| (1..=6).contains(&roll.as_u64().unwrap())), "{rolls:?}");
        assert!(frames.iter().any(|frame| frame["partialResult"]["content"][0]["text"] == "3 rolled"));
        assert_eq!(check_runs(&frames), 1);
    });
}

#[test]
fn the_status_line_counts_turns() {
    in_each_language("status_line", &runs("true"), |_, agent| {
        let status =
            |frame: &Value, text: &str| frame["method"] == "setStatus" && frame["statusText"] == text;
        agent.until("ready", |frame| status(frame, "ready"));
        agent.prompt("go");
        agent.until("the first turn", |frame| status(frame, "turn 1"));
        agent.until("the tool", |frame| status(frame, "turn 1: bash"));
        agent.until("the end", |frame| status(frame, "2 turns, done"));
    });
}
