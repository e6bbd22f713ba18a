//! Tests of rules that are matched against a subagent's output, independently of its parent.

use agentese::pisces::Pisces;
use agentese_server::config::ResourceFolders;
use agentese_server::resources::{Resources, Sources};
use serde_json::{Value, json};

use crate::support::link::Link;
use crate::{calls, delegate, prepared, result, run, script, submits, tasks};

const RULE: &str = "---\ncondition: forbidden\nscope: text\n---\nSay something else.\n";

/// Starts an agent with one rule.
fn link_with_rule(answers: Vec<Value>) -> (Link, tempfile::TempDir) {
    let (builder, place) = prepared(json!({}), script(answers));
    std::fs::create_dir(place.path().join("rules")).unwrap();
    std::fs::write(place.path().join("rules/no-word.md"), RULE).unwrap();
    let folders = ResourceFolders { rules: &["rules"], ..ResourceFolders::PI };
    let agent_dir = Some(place.path().to_owned());
    let sources = Sources { folders, agent_dir, cwd: place.path().join("work"), ..Sources::default() };
    let (resources, warnings) = Resources::load(&sources).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    (Link::for_dialect::<Pisces>(builder.resources(resources)), place)
}

#[tokio::test]
async fn subagent_receives_a_triggered_rule_and_continues() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a", "b"])}));
    answers
        .push(json!({"when": {"user": "JOB-a"}, "blocks": [{"text": ["I say ", "forbidden ", "and more"]}]}));
    answers.push(calls("Say something else", "submit_result", json!({"result": {"data": "said"}})));
    // The output of one subagent is separate from that of another, and from the parent's.
    answers.push(json!({"when": {"user": "JOB-b"}, "blocks": [
        {"text": ["for"]},
        {"tool": {"id": "c", "name": "submit_result", "args": {"result": {"data": "said"}}}},
    ]}));
    answers[1] = json!({"when": {"user": "delegate", "tool_results": true}, "blocks": [{"text": ["bidden", " is no word"]}]});
    let (mut link, _place) = link_with_rule(answers);
    let frames = run(&mut link, "delegate").await;
    let results = result(&frames)["details"]["results"].clone();
    for result in results.as_array().unwrap() {
        assert_eq!((&result["exitCode"], &result["output"]), (&json!(0), &json!("\"said\"")), "{result}");
    }
    let ended = frames.last().unwrap()["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&ended["stopReason"], &ended["content"][0]["text"]),
        (&json!("stop"), &json!("bidden is no word"))
    );
}

#[tokio::test]
async fn triggered_rules_of_the_parent_survive_a_subagent() {
    let mut answers = delegate(json!({"agent": "task", "tasks": tasks(&["a"])}));
    // A rule that the parent triggered once is counted once, independent of its subagents in between.
    answers
        .insert(0, json!({"when": {"user": "first"}, "blocks": [{"text": ["the ", "forbidden ", "word"]}]}));
    answers.insert(1, json!({"when": {"user": "Say something else"}, "text": "ok"}));
    answers.push(submits("JOB-a"));
    answers.push(json!({"when": {"user": "last"}, "blocks": [{"text": ["forbidden ", "again"]}]}));
    let (mut link, _place) = link_with_rule(answers);
    link.data(json!({"type": "prompt", "message": "first"})).await;
    link.until_event("ttsr_triggered").await;
    link.until_event("agent_start").await;
    link.until_event("agent_end").await;
    run(&mut link, "delegate").await;
    let frames = run(&mut link, "last").await;
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "ttsr_triggered").count(), 0);
}
