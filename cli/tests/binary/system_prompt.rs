//! Tests of the model's input before the prompt. The scripted model reports its length as input
//! tokens of four characters each.

use serde_json::json;

use crate::support::process::{Agent, Place};

/// Returns the number of input tokens of the first request, for a fixed prompt.
fn input(place: &Place, arguments: &[&str]) -> u64 {
    let mut agent =
        Agent::start(place.command(&[&["--mode", "rpc", "--provider", "scripted"], arguments].concat()));
    agent.send(json!({"type": "prompt", "message": "go"}));
    let answer = agent.until("an answer", |frame| {
        frame["type"] == "message_end" && frame["message"]["role"] == "assistant"
    });
    answer.last().unwrap()["message"]["usage"]["input"].as_u64().unwrap()
}

#[test]
fn every_part_of_the_system_prompt_reaches_the_model() {
    let place = Place::new();
    let words = "word ".repeat(800);
    let tokens = words.len() as u64 / 4;
    let built_in = input(&place, &[]);
    let none = input(&place, &["--no-tools"]);
    assert!(built_in > none + 100, "the text contains the tools: {built_in}, {none}");
    let own = input(&place, &["--system-prompt", "Be kind."]);
    assert!(own < none, "the text lacks the built-in text: {own}, {none}");
    let near = |found: u64, expected: u64| assert!(found.abs_diff(expected) < 60, "{found}, {expected}");
    near(input(&place, &["--system-prompt", &words]), own + tokens);
    let file = place.file("words.txt", &words);
    near(input(&place, &["--system-prompt", &file]), own + tokens);
    let twice = ["--append-system-prompt", &words, "--append-system-prompt", &file];
    near(input(&place, &twice), built_in + 2 * tokens);
    place.put("work/AGENTS.md", &words);
    near(input(&place, &[]), built_in + tokens);
    place.put("home/.pi/agent/SYSTEM.md", &words);
    near(input(&place, &[]), own + 2 * tokens);
}

#[test]
fn an_unreadable_system_prompt_is_an_error() {
    let place = Place::new();
    place.put("home/.pi/agent/SYSTEM.md", "x".repeat(2 << 20));
    let (status, stdout, stderr) = place.output(&["--mode", "rpc", "--provider", "scripted"]);
    assert_eq!((status.code(), stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with("Error: system prompt: ") && stderr.contains("SYSTEM.md"), "{stderr}");
}
