//! Tests of rules that are matched against the model's output.

use std::path::Path;

use agentese::omp::Omp;
use agentese_server::config::{ResourceFolders, RuleContext, RuleInterrupt, RuleRepeat, Settings};
use agentese_server::resources::{Resources, Sources};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::link::{Link, builder};

const FOLDERS: ResourceFolders = ResourceFolders {
    project: &[".omp"],
    templates: &["commands"],
    rules: &["rules"],
    ..ResourceFolders::PI
};

fn write_rule(place: &Path, name: &str, head: &str) {
    let folder = place.join(".omp/rules");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.md")), format!("---\n{head}\n---\nSay something else.\n"))
        .unwrap();
}

/// Starts an agent in a directory with one rule.
fn link_with_rule(script: Value, head: &str, change: impl FnOnce(&mut Settings)) -> (Link, TempDir) {
    let (builder, place) = builder(script);
    write_rule(place.path(), "no-word", head);
    let sources =
        Sources { folders: FOLDERS, cwd: place.path().to_owned(), trusted: true, ..Sources::default() };
    let (resources, warnings) = Resources::load(&sources).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let mut settings = Settings::default();
    settings.retry.enabled = false;
    change(&mut settings);
    (Link::for_dialect::<Omp>(builder.resources(resources).settings(settings)), place)
}

/// Returns an answer that is streamed in small pieces.
fn streamed_answer(text: &str) -> Value {
    json!({"blocks": [{"text": text.split_inclusive(' ').collect::<Vec<_>>()}]})
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    let kinds = frames.iter().map(|frame| frame["type"].as_str().unwrap());
    kinds.filter(|kind| *kind != "message_update").collect()
}

fn roles(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["role"].as_str().unwrap()).collect()
}

const ONCE: &str = "condition: \"forbidden[a-z]*\"\nscope: text";

#[tokio::test]
async fn rule_stops_the_answer_and_the_model_continues_with_the_rule() {
    let script = json!({"responses": [streamed_answer("I say forbiddenword and more"), streamed_answer("A polite sentence.")]});
    let (mut link, place) = link_with_rule(script, ONCE, |_| {});
    link.send(json!({"type": "prompt", "message": "p"})).await;
    let stopped = link.until_event("agent_end").await;
    let end = ["message_start", "ttsr_triggered", "message_end", "turn_end", "agent_end"];
    assert!(kinds(&stopped).ends_with(&end), "{:?}", kinds(&stopped));
    let rule = &stopped.iter().find(|frame| frame["type"] == "ttsr_triggered").unwrap()["rules"][0];
    let path = place.path().join(".omp/rules/no-word.md");
    assert_eq!((&rule["name"], &rule["path"]), (&json!("no-word"), &json!(path)));
    assert_eq!(rule["condition"], json!(["forbidden[a-z]*"]));
    assert_eq!(rule["_source"]["level"], "project");
    let cut = &stopped[stopped.len() - 1]["messages"][1];
    assert_eq!(cut["stopReason"], "aborted");
    assert_eq!(cut["content"][0]["text"], "I say forbiddenword ");
    let again = link.until_event("agent_end").await;
    assert_eq!(
        kinds(&again),
        ["agent_start", "turn_start", "message_start", "message_end", "turn_end", "agent_end"]
    );
    let messages = link.messages().await;
    assert_eq!(roles(&messages), ["user", "custom", "assistant"]);
    assert_eq!(
        (&messages[1]["customType"], &messages[1]["display"]),
        (&json!("ttsr-injection"), &json!(false))
    );
    assert_eq!(messages[1]["details"], json!({"rules": ["no-word"]}));
    assert!(messages[1]["content"].as_str().unwrap().contains("Say something else."));
}

#[tokio::test]
async fn rule_triggers_once_per_session_or_after_a_number_of_turns() {
    let answers = || {
        vec![
            streamed_answer("forbidden one"),
            streamed_answer("ok"),
            streamed_answer("forbidden two"),
            streamed_answer("forbidden three"),
        ]
    };
    let script = || json!({"responses": answers()});
    let (mut link, _place) = link_with_rule(script(), ONCE, |_| {});
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("ttsr_triggered").await;
    link.until_event("agent_start").await;
    link.until_event("agent_end").await;
    let second = link.run("again").await;
    assert!(!kinds(&second).contains(&"ttsr_triggered"));
    // The rule starts afresh in another session.
    link.data(json!({"type": "new_session"})).await;
    link.send(json!({"type": "prompt", "message": "once more"})).await;
    link.until_event("ttsr_triggered").await;

    let (mut link, _place) = link_with_rule(script(), ONCE, |settings| {
        settings.rules.repeat = RuleRepeat::AfterGap;
        settings.rules.repeat_gap = 2;
    });
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("ttsr_triggered").await;
    link.until_event("agent_start").await;
    link.until_event("agent_end").await;
    link.send(json!({"type": "prompt", "message": "again"})).await;
    link.until_event("ttsr_triggered").await;
}

#[tokio::test]
async fn stopped_answer_stays_if_the_settings_keep_it() {
    let script = json!({"responses": [streamed_answer("a forbidden word"), streamed_answer("ok")]});
    let (mut link, _place) =
        link_with_rule(script, ONCE, |settings| settings.rules.context = RuleContext::Keep);
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("agent_end").await;
    link.until_event("agent_end").await;
    assert_eq!(roles(&link.messages().await), ["user", "assistant", "custom", "assistant"]);
}

#[tokio::test]
async fn rule_without_interruption_is_sent_after_the_answer() {
    let script =
        json!({"responses": [streamed_answer("a forbidden word and its end"), streamed_answer("ok")]});
    let (mut link, _place) =
        link_with_rule(script, ONCE, |settings| settings.rules.interrupt = RuleInterrupt::Never);
    link.send(json!({"type": "prompt", "message": "p"})).await;
    let first = link.until_event("agent_end").await;
    assert!(!kinds(&first).contains(&"ttsr_triggered"));
    assert_eq!(first[first.len() - 1]["messages"][1]["stopReason"], "stop");
    let second = link.until_event("agent_end").await;
    assert_eq!(second[2]["message"]["customType"], "ttsr-injection");
    assert_eq!(roles(&link.messages().await), ["user", "assistant", "custom", "assistant"]);
}

#[tokio::test]
async fn calls_of_an_answer_that_was_stopped_get_a_result() {
    let arguments = ["{\"command\": \"echo forbiddenword ", "and more to come\"}"];
    let call = json!({"tool": {"id": "c", "name": "bash", "args": arguments}});
    let script = json!({"responses": [{"blocks": [call]}, streamed_answer("ok")]});
    let (mut link, _place) = link_with_rule(script, "condition: forbiddenword\nscope: tool:bash", |_| {});
    link.send(json!({"type": "prompt", "message": "p"})).await;
    let frames = link.until_event("agent_end").await;
    let kinds = kinds(&frames);
    let at = kinds.iter().position(|kind| *kind == "ttsr_triggered").unwrap();
    assert_eq!(kinds[at + 1..at + 4], ["message_end", "tool_execution_start", "tool_execution_end"]);
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!(end["isError"], true);
    let start = frames.iter().find(|frame| frame["type"] == "tool_execution_start").unwrap();
    assert_eq!(start["args"], json!({"command": "echo forbiddenword"}));
    link.until_event("agent_end").await;
    assert_eq!(roles(&link.messages().await), ["user", "custom", "assistant"]);
}

#[tokio::test]
async fn rules_ignore_text_out_of_scope_and_can_be_disabled() {
    let script = || json!({"responses": [streamed_answer("forbidden")]});
    for (head, off) in [("condition: forbidden\nscope: thinking, tool:bash", false), (ONCE, true)] {
        let (mut link, _place) = link_with_rule(script(), head, |settings| settings.rules.enabled = !off);
        assert!(!kinds(&link.run("p").await).contains(&"ttsr_triggered"));
    }
}

#[tokio::test]
async fn abort_discards_triggered_rules() {
    let script = json!({"responses": [{"blocks": [{"text": ["forbidden", "x"]}], "hang_after": 1}, streamed_answer("ok")]});
    let (mut link, _place) =
        link_with_rule(script, ONCE, |settings| settings.rules.interrupt = RuleInterrupt::Never);
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until("the word", |frame| frame["assistantMessageEvent"]["type"] == "text_delta").await;
    link.data(json!({"type": "abort"})).await;
    link.run("again").await;
    assert_eq!(roles(&link.messages().await), ["user", "assistant", "user", "assistant"]);
}

#[tokio::test]
async fn reopened_session_remembers_triggered_rules() {
    let store = tempfile::tempdir().unwrap();
    let (builder, place) = builder(
        json!({"responses": [streamed_answer("forbidden"), streamed_answer("ok"), streamed_answer("forbidden")]}),
    );
    write_rule(place.path(), "no-word", ONCE);
    let sources =
        Sources { folders: FOLDERS, cwd: place.path().to_owned(), trusted: true, ..Sources::default() };
    let (resources, _) = Resources::load(&sources).unwrap();
    let kept = agentese_server::session::Store::at(store.path(), place.path());
    let mut link = Link::for_dialect::<Omp>(builder.resources(resources).store(kept));
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("ttsr_triggered").await;
    link.until_event("agent_start").await;
    link.until_event("agent_end").await;
    let file = link.state().await["sessionFile"].clone();
    link.data(json!({"type": "new_session"})).await;
    link.data(json!({"type": "switch_session", "sessionPath": file})).await;
    assert!(!kinds(&link.run("again").await).contains(&"ttsr_triggered"));
}
