//! Tests of differences in behaviour between an omp agent and a pi agent.

use agentese::omp::Omp;
use agentese_server::config::{CompactionSettings, RetrySettings};
use serde_json::{Value, json};

use crate::scripted;
use crate::support::link::{Link, builder};

fn texts(messages: &[Value]) -> Vec<&str> {
    messages.iter().filter_map(|message| message["content"][0]["text"].as_str()).collect()
}

#[tokio::test]
async fn commands_of_the_client_keep_directory_and_variables() {
    let (mut link, place) = scripted(json!({"responses": []}));
    std::fs::create_dir(place.path().join("below")).unwrap();
    link.data(json!({"type": "bash", "command": "cd below; export FOO=bar"})).await;
    let result = link.data(json!({"type": "bash", "command": "basename $PWD; echo FOO=$FOO"})).await;
    assert_eq!(result["output"], "below\nFOO=bar\n");
}

#[tokio::test]
async fn files_that_a_prompt_mentions_go_with_it() {
    let (mut link, place) = scripted(json!({"responses": [], "default": {"text": "ok"}}));
    std::fs::write(place.path().join("a.txt"), "alpha\nbeta\n").unwrap();
    std::fs::create_dir(place.path().join("src")).unwrap();
    std::fs::write(place.path().join("src/b.rs"), "").unwrap();
    link.send(json!({"type": "prompt", "message": "see @a.txt, @src and @nothing"})).await;
    let frames = link.until_event("agent_end").await;
    let mentions: Vec<_> = frames.iter().filter(|frame| frame["message"]["role"] == "fileMention").collect();
    assert_eq!(mentions.len(), 2);
    let files = &mentions[0]["message"]["files"];
    assert_eq!((&files[0]["path"], &files[0]["lineCount"]), (&json!("a.txt"), &json!(3)));
    assert!(files[0]["content"].as_str().unwrap().starts_with("alpha\nbeta"));
    assert_eq!((&files[1]["path"], files.as_array().unwrap().len()), (&json!("src"), 2));
    assert!(files[1]["content"].as_str().unwrap().contains("b.rs"));
    // A prompt without mentions adds no files.
    assert!(link.run("mail me@home").await.iter().all(|frame| frame["message"]["role"] != "fileMention"));
}

#[tokio::test]
async fn since_13_19_each_line_of_a_mentioned_file_has_a_mark() {
    let mentioned_files = async |revision: &str| {
        let (builder, place) = builder(json!({"responses": [], "default": {"text": "ok"}}));
        std::fs::write(place.path().join("a.txt"), "alpha\n").unwrap();
        std::fs::create_dir(place.path().join("src")).unwrap();
        std::fs::write(place.path().join("src/b.rs"), "").unwrap();
        std::fs::write(place.path().join("long.txt"), "line\n".repeat(2500)).unwrap();
        std::fs::write(place.path().join("wide.txt"), "x".repeat(60_000)).unwrap();
        let mut link = Link::for_revision::<Omp>(revision, builder);
        link.send(json!({"type": "prompt", "message": "see @a.txt, @src, @long.txt and @wide.txt"})).await;
        let frames = link.until_event("agent_end").await;
        let mention = frames.iter().find(|frame| frame["message"]["role"] == "fileMention").unwrap();
        mention["message"]["files"].clone()
    };
    let marked = mentioned_files("omp@13.19").await;
    let long = marked[2]["content"].as_str().unwrap();
    let (last, behind) = long.split_once("\n\n").unwrap();
    assert!(last.rsplit('\n').next().unwrap().starts_with("2000#"), "{last}");
    assert!(behind.starts_with("[Showing lines 1-2000 of 2501."), "{behind}");
    assert_eq!(marked[2]["lineCount"], 2501);
    assert!(marked[3]["content"].as_str().unwrap().starts_with("[Line 1 alone has "), "{}", marked[3]);
    assert_eq!((&marked[0]["content"], &marked[0]["lineCount"]), (&json!("1#JN:alpha\n2#KM:"), &json!(2)));
    assert!(marked[1]["content"].as_str().unwrap().starts_with("b.rs"), "{marked}");
    assert_eq!(mentioned_files("omp@12.7").await[0]["content"], "alpha\n");
}

#[tokio::test]
async fn a_model_that_is_not_named_is_not_found() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    for (command, text) in [
        (json!({"type": "set_model"}), "Model not found: undefined/undefined"),
        (json!({"type": "set_model", "provider": "fake"}), "Model not found: fake/undefined"),
        (json!({"type": "set_model", "provider": 7, "modelId": "{x}"}), "Model not found: 7/{x}"),
    ] {
        let refused = link.request(command).await;
        assert_eq!((&refused["command"], &refused["error"]), (&json!("set_model"), &json!(text)));
    }
}

#[tokio::test]
async fn branch_during_a_run_receives_its_answer() {
    let (builder, place) = builder(json!({"responses": [
        {"text": "one"}, {"blocks": [{"tool": {"id": "c", "name": "bash", "args":
            {"command": "echo here; until [ -e go ]; do sleep 0.01; done"}}}]},
    ], "default": {"text": "two"}}));
    let mut link = Link::for_dialect::<Omp>(builder);
    link.run("first").await;
    link.send(json!({"type": "prompt", "message": "second"})).await;
    link.until_event("tool_execution_update").await;
    let points = link.data(json!({"type": "get_branch_messages"})).await["messages"].clone();
    let branched = link.data(json!({"type": "branch", "entryId": points[1]["entryId"]})).await;
    assert_eq!(branched, json!({"text": "second", "cancelled": false}));
    assert_eq!(link.state().await["isStreaming"], true);
    std::fs::write(place.path().join("go"), "").unwrap();
    let frames = link.until_event("agent_end").await;
    assert!(frames.iter().all(|frame| frame["message"]["stopReason"] != "aborted"));
    let messages = link.messages().await;
    assert_eq!(texts(&messages)[..2], ["first", "one"]);
    assert_eq!(messages[messages.len() - 1]["content"][0]["text"], "two");
}

#[tokio::test]
async fn stopped_answer_has_no_end_event() {
    let (mut link, _place) =
        scripted(json!({"responses": [{"blocks": [{"text": ["one ", "two"]}], "hang_after": 1}]}));
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until("some text", |frame| frame["assistantMessageEvent"]["type"] == "text_delta").await;
    link.data(json!({"type": "abort"})).await;
    let ends = |frame: &Value| frame["assistantMessageEvent"]["type"] == "text_end";
    assert!(!link.seen.iter().any(ends));
}

#[tokio::test]
async fn a_run_that_waits_to_try_again_counts_as_streaming() {
    let (builder, _place) =
        builder(json!({"responses": [{"error": {"message": "overloaded", "status": 529}}]}));
    let retry = RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() };
    let mut link = Link::for_dialect::<Omp>(builder.retry(retry));
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("auto_retry_start").await;
    assert_eq!(link.state().await["isStreaming"], true);
    link.data(json!({"type": "abort_retry"})).await;
    assert_eq!(link.state().await["isStreaming"], false);
}

#[tokio::test]
async fn prompt_before_a_retry_is_rejected_without_a_delivery() {
    let (builder, _place) =
        builder(json!({"responses": [{"error": {"message": "overloaded", "status": 529}}]}));
    let retry = RetrySettings { base_delay_ms: 60_000, ..RetrySettings::default() };
    let mut link = Link::for_dialect::<Omp>(builder.retry(retry));
    link.send(json!({"type": "prompt", "message": "p"})).await;
    link.until_event("auto_retry_start").await;
    link.send(json!({"type": "prompt", "id": "again", "message": "again"})).await;
    let refused =
        link.until("the refusal", |frame| frame["id"] == "again" && frame["success"] == false).await;
    let text = refused.last().unwrap()["error"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Agent is already processing."), "{text}");
    assert_eq!(link.state().await["queuedMessageCount"], 0);
    link.data(json!({"type": "prompt", "message": "s", "streamingBehavior": "steer"})).await;
    link.data(json!({"type": "steer", "message": "t"})).await;
    assert_eq!(link.state().await["queuedMessageCount"], 2);
    link.data(json!({"type": "abort_retry"})).await;
}

#[tokio::test]
async fn model_continues_after_an_automatic_compaction() {
    let goes_on = async |wanted: bool| {
        let usage = json!({"input": 190_000, "output": 5});
        let script = json!({"responses": [{"text": "one"}, {"text": "two", "usage": usage}], "default": {"text": "more"}});
        let (builder, _place) = builder(script);
        let settings = CompactionSettings {
            keep_recent_tokens: 1,
            auto_continue: wanted,
            ..CompactionSettings::default()
        };
        let mut link = Link::for_dialect::<Omp>(builder.compaction(settings));
        link.run("first").await;
        link.run("second").await;
        let compacted = link.until_event("auto_compaction_end").await;
        assert_eq!(compacted[0]["reason"], "threshold");
        if wanted {
            let again = link.until_event("agent_end").await;
            let started = again.iter().find(|frame| frame["message"]["role"] == "developer").unwrap();
            assert_eq!(started["message"]["content"][0]["text"], "Continue if you have next steps.");
        }
        link.state().await["isStreaming"].clone()
    };
    assert_eq!(goes_on(true).await, false);
    assert_eq!(goes_on(false).await, false);
}

#[tokio::test]
async fn a_name_that_is_missing_fails_as_parse_and_an_empty_one_with_its_id() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    link.send(json!({"type": "set_session_name", "id": "a"})).await;
    let missing = link.next().await.unwrap();
    assert_eq!((&missing["command"], missing.get("id")), (&json!("parse"), None));
    let empty = link.request(json!({"type": "set_session_name", "name": " "})).await;
    assert_eq!(empty["error"], "Session name cannot be empty");
    link.send(json!({"type": "prompt", "id": "p"})).await;
    let refused = link.until("the refusal", |frame| frame["success"] == false).await;
    assert_eq!(refused[refused.len() - 1]["id"], "p");
}

#[tokio::test]
async fn reasoning_model_starts_with_high_thinking() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    assert_eq!(link.state().await["thinkingLevel"], "high");
}

#[tokio::test]
async fn state_without_thinking_is_off() {
    let (mut link, _place) = scripted(json!({"responses": []}));
    link.data(json!({"type": "set_thinking_level", "level": "off"})).await;
    assert_eq!(link.state().await["thinkingLevel"], "off");
}

#[tokio::test]
async fn call_intent_stays_in_the_answer() {
    let call = json!({"id": "c", "name": "bash", "args": {"_i": "Looking", "command": "echo hi"}});
    let (mut link, _place) =
        scripted(json!({"responses": [{"blocks": [{"tool": call}]}], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "p"})).await;
    let frames = link.until_event("agent_end").await;
    let args = |event: &str| -> Vec<&Value> {
        frames.iter().filter(|frame| frame["type"] == event).map(|frame| &frame["args"]).collect()
    };
    let seen = [args("tool_execution_start"), args("tool_execution_update")].concat();
    assert!(seen.len() >= 2 && seen.iter().all(|args| **args == json!({"command": "echo hi"})), "{seen:?}");
    let answer = &link.messages().await[1]["content"][0]["arguments"];
    assert_eq!(*answer, json!({"_i": "Looking", "command": "echo hi"}));
}

#[tokio::test]
async fn a_file_that_is_no_session_is_refused_with_the_id_of_the_command() {
    let (mut link, place) = scripted(json!({"responses": []}));
    let file = place.path().join("notes.txt");
    std::fs::write(&file, "not a session\n").unwrap();
    for path in [file.clone(), place.path().join("missing.jsonl")] {
        let refused = link.request(json!({"type": "switch_session", "sessionPath": path})).await;
        assert_eq!((&refused["command"], &refused["success"]), (&json!("switch_session"), &json!(false)));
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "not a session\n");
}
