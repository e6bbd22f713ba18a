//! Tests of revisions: pi 1.5 is served with its additions, and pi 0.55 without them.

use std::sync::Arc;

use agentese::omp::Omp;
use agentese::pi::Pi;
use agentese::serve::ServeEnd;
use agentese_server::Server;
use agentese_server::config::{CompactionSettings, RetrySettings};
use agentese_server::prompt::PromptParts;
use agentese_server::providers::{Sources, load};
use serde_json::{Value, json};

use crate::support::clock::ImpatientClock;
use crate::support::link::{Link, builder};

fn link(dialect: &str, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    (Link::for_revision::<Pi>(dialect, builder), place)
}

fn one_answer() -> Value {
    json!({"responses": [{"blocks": [{"text": ["Hel", "lo"]}]}], "default": {"text": "ok"}})
}

#[tokio::test]
async fn pi_1_5_sends_deltas_and_agent_settled() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    link.send(json!({"id": "p", "type": "prompt", "message": "go"})).await;
    let frames = link.until_event("agent_settled").await;
    assert_eq!(frames[0]["data"], json!({"disposition": "started"}));
    let updates: Vec<_> = frames.iter().filter(|frame| frame["type"] == "message_update").collect();
    assert!(!updates.is_empty());
    for update in updates {
        assert!(update.get("message").is_none() && update["usage"].is_object(), "{update}");
        assert!(update["assistantMessageEvent"].get("partial").is_none(), "{update}");
    }
    let end = frames.iter().find(|frame| frame["type"] == "agent_end").unwrap();
    assert_eq!(end["willRetry"], false);
    assert_eq!(frames.last().unwrap(), &json!({"type": "agent_settled", "aborted": false}));
}

#[tokio::test]
async fn pi_1_5_returns_entries_after_a_cursor_and_the_tree() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    link.send(json!({"id": "p", "type": "prompt", "message": "go"})).await;
    link.until_event("agent_settled").await;
    let all = link.data(json!({"type": "get_entries"})).await;
    let entries = all["entries"].as_array().unwrap();
    assert_eq!(all["leafId"], entries.last().unwrap()["id"]);
    let cursor = &entries[entries.len() - 2]["id"];
    let rest = link.data(json!({"type": "get_entries", "since": cursor})).await;
    assert_eq!(rest["entries"], json!([entries.last().unwrap()]));
    let unknown = link.request(json!({"type": "get_entries", "since": "nope"})).await;
    assert_eq!(unknown["error"], "Entry not found: nope");
    let tree = link.data(json!({"type": "get_tree"})).await;
    let mut node = &tree["tree"][0];
    let mut depth = 1;
    while let Some(child) = node["children"].get(0) {
        (node, depth) = (child, depth + 1);
    }
    assert_eq!(depth, entries.len());
    assert_eq!(node["entry"]["id"], tree["leafId"]);
}

#[tokio::test]
async fn pi_1_5_reports_queues_names_and_command_output() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    assert_eq!(link.data(json!({"type": "steer", "message": "now"})).await, json!({"disposition": "queued"}));
    let queues = link.data(json!({"type": "clear_queue"})).await;
    assert_eq!(queues, json!({"steering": ["now"], "followUp": []}));
    link.data(json!({"type": "set_session_name", "name": " work "})).await;
    link.send(json!({"id": "b", "type": "bash", "command": "printf one", "excludeFromContext": true})).await;
    link.answer("b").await;
    let events_of = |kind: &str| -> Vec<Value> {
        link.seen.iter().filter(|frame| frame["type"] == kind).cloned().collect()
    };
    let update = |steering: Value| json!({"type": "queue_update", "steering": steering, "followUp": []});
    assert_eq!(events_of("queue_update"), [update(json!(["now"])), update(json!([]))]);
    assert_eq!(events_of("session_info_changed"), [json!({"type": "session_info_changed", "name": "work"})]);
    let shown = json!({"type": "bash_execution_update", "id": "b", "delta": "one"});
    assert_eq!(events_of("bash_execution_update"), [shown]);
    let messages = link.messages().await;
    assert_eq!(messages[0]["excludeFromContext"], true, "{messages:?}");
}

#[tokio::test]
async fn only_a_session_with_messages_is_copied() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    let empty = link.request(json!({"type": "clone"})).await;
    assert_eq!(empty["success"], false, "{empty}");
    link.send(json!({"id": "p", "type": "prompt", "message": "go"})).await;
    link.until_event("agent_settled").await;
    let before = link.state().await;
    assert_eq!(link.data(json!({"type": "clone"})).await, json!({"cancelled": false}));
    let after = link.state().await;
    assert_ne!(before["sessionId"], after["sessionId"]);
    assert_eq!(before["messageCount"], after["messageCount"]);
}

#[tokio::test]
async fn pi_1_5_sends_no_event_for_work_stopped_by_the_end_of_input() {
    let answer = json!({"blocks": [{"text": ["a", "never"]}], "hang_after": 1});
    let (mut link, _place) = link("pi@1.5", json!({"responses": [answer]}));
    link.send(json!({"id": "p", "type": "prompt", "message": "go"})).await;
    link.until("the first piece", |frame| frame["assistantMessageEvent"]["delta"] == "a").await;
    link.send(json!({"id": "s", "type": "get_state"})).await;
    let (rest, ended) = link.finish().await;
    assert_eq!(ended, ServeEnd::EndOfInput);
    let ids: Vec<_> = rest.iter().map(|frame| &frame["id"]).collect();
    assert_eq!(ids, ["s"], "commands are answered, and nothing else comes: {rest:?}");
}

fn roles(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect()
}

#[tokio::test]
async fn pi_1_5_conversation_starts_with_the_system_message() {
    let compaction = CompactionSettings { keep_recent_tokens: 4, ..CompactionSettings::default() };
    let texts = ["one", "two", "the summary", "three"];
    let responses: Vec<_> = texts.iter().map(|text| json!({"text": text})).collect();
    let (builder, _place) = builder(json!({"responses": responses}));
    let mut link = Link::for_revision::<Pi>(
        "pi@1.5",
        builder.compaction(compaction).system_prompt(PromptParts::default()),
    );
    link.send(json!({"type": "prompt", "message": "the first question"})).await;
    let frames = link.until_event("agent_settled").await;
    let system_messages: Vec<_> =
        frames.iter().filter(|frame| frame["message"]["role"] == "system").collect();
    assert_eq!(system_messages.len(), 2, "it begins and ends: {system_messages:?}");
    let message = &system_messages[1]["message"];
    let sections = message["sections"].as_object().unwrap();
    assert!(sections["cwd"].as_str().unwrap().contains("Working directory: "), "{sections:?}");
    assert!(sections["tools"].as_str().unwrap().contains("- bash: "), "{sections:?}");
    let tools: Vec<_> = message["toolsAdded"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(tools, ["read", "bash", "edit", "write"]);
    let end = frames.iter().find(|frame| frame["type"] == "agent_end").unwrap();
    assert_eq!(roles(&end["messages"]), ["system", "user", "assistant"]);
    link.send(json!({"type": "prompt", "message": "the second question"})).await;
    link.until_event("agent_settled").await;
    let kept = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(roles(&kept["messages"]), ["system", "user", "assistant", "user", "assistant"]);
    // The message stays first when a summary replaces the rest, and the entry of the summary contains it.
    let result = link.data(json!({"type": "compact"})).await;
    assert!(result["estimatedTokensAfter"].as_u64().unwrap() > 100, "{result}");
    assert!(result["usage"]["totalTokens"].as_u64().unwrap() > 0, "{result}");
    let kept = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(&roles(&kept["messages"])[..2], ["system", "compactionSummary"]);
    // The message is sent again together with the summary.
    let first = &kept["messages"][0];
    assert_eq!(first["timestamp"], kept["messages"][1]["timestamp"], "{first}");
    assert_eq!((&first["sections"], &first["toolsAdded"]), (&message["sections"], &message["toolsAdded"]));
    let entries = link.data(json!({"type": "get_entries"})).await;
    let summary = entries["entries"].as_array().unwrap().last().unwrap();
    assert_eq!(&summary["systemMessage"], first, "{summary}");
    assert_eq!(summary["usage"], result["usage"], "{summary}");
    // The figures cover the whole file, including the cost of the summary.
    let stats = link.data(json!({"type": "get_session_stats"})).await;
    let counts =
        ["userMessages", "assistantMessages", "totalMessages"].map(|name| stats[name].as_u64().unwrap());
    assert_eq!(counts, [2, 2, 5], "{stats}");
    let spent = |name: &str| {
        let answers = entries["entries"].as_array().unwrap().iter();
        answers.filter_map(|entry| entry.pointer(&format!("/message/usage/{name}"))?.as_u64()).sum::<u64>()
            + summary["usage"][name].as_u64().unwrap()
    };
    assert_eq!([&stats["tokens"]["input"], &stats["tokens"]["output"]], [spent("input"), spent("output")]);
    link.send(json!({"type": "prompt", "message": "the third"})).await;
    link.until_event("agent_settled").await;
    let again = link.seen.iter().filter(|frame| frame["message"]["role"] == "system").count();
    assert_eq!(again, 2, "it is sent once");
}

#[tokio::test]
async fn every_revision_has_null_without_a_model() {
    for revision in ["pi@0.55", "pi@1.5"] {
        let builder = Server::builder().model("nosuch/model");
        let mut link = Link::for_revision::<Pi>(revision, builder);
        assert_eq!(link.state().await.get("model"), Some(&Value::Null), "{revision}");
    }
}

#[tokio::test]
async fn pi_1_5_adds_model_metadata() {
    for revision in ["pi@0.55", "pi@1.5"] {
        let (known, _) = load(Sources::new(None, Arc::new(|_: &str| None)));
        let builder = Server::builder().catalog(known).model("anthropic/claude-sonnet-4-5");
        let mut link = Link::for_revision::<Pi>(revision, builder);
        let model = &link.state().await["model"];
        let newer = revision == "pi@1.5";
        assert_eq!(model["id"], "claude-sonnet-4-5");
        for name in ["type", "compat", "promptCache", "inputLimits"] {
            assert_eq!(model.get(name).is_some(), newer, "{revision}: {model}");
        }
        if newer {
            assert_eq!(model["promptCache"], json!({"short": 300, "long": 3600}));
            assert_eq!(model["inputLimits"]["images"]["maxPerRequest"], 100);
        }
    }
}

#[tokio::test]
async fn pi_1_5_has_structured_results_and_rejects_partial_arguments() {
    let tool = |id: &str, name: &str, args: Value| json!({"tool": {"id": id, "name": name, "args": args}});
    let said = tool("said", "bash", json!({"command": "echo out; exit 3"}));
    let lost = tool("lost", "teleport", json!({}));
    let broken = json!({"tool": {"id": "half", "name": "bash", "args": ["{\"command\": \"echo br"]}});
    let script =
        json!({"responses": [{"blocks": [said, lost]}, {"blocks": [broken]}], "default": {"text": "ok"}});
    let (mut link, _place) = link("pi@1.5", script);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let frames = link.until_event("agent_settled").await;
    let end = |id: &str| {
        let ended = |frame: &&Value| frame["type"] == "tool_execution_end" && frame["toolCallId"] == id;
        frames.iter().find(ended).unwrap()
    };
    let data = &end("said")["result"]["structuredContent"];
    assert_eq!(
        (&data["output"], &data["exit_code"], &data["truncated"]),
        (&json!("out\n"), &json!(3), &json!(false))
    );
    assert!(data["wall_time_seconds"].is_number() && end("said")["durationMs"].is_number());
    assert_eq!((&end("said")["result"]["isError"], &end("said")["isError"]), (&json!(true), &json!(true)));
    // A started command is reported before its first output.
    let shown = |frame: &&Value| frame["type"] == "tool_execution_update" && frame["toolCallId"] == "said";
    assert_eq!(frames.iter().find(shown).unwrap()["partialResult"], json!({"content": []}));
    // Calls that did not run have no duration.
    for id in ["lost", "half"] {
        let ended = end(id);
        assert!(ended["isError"] == true && ended.get("durationMs").is_none(), "{ended}");
        assert!(ended["result"].get("structuredContent").is_none(), "{ended}");
        assert!(ended["result"].get("isError").is_none(), "{ended}");
    }
    let text = end("half")["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Invalid arguments for tool \"bash\": "), "{text}");
    assert!(text.ends_with("Received arguments:\n{\"command\": \"echo br"), "{text}");
    let started = |frame: &&Value| frame["type"] == "tool_execution_start" && frame["toolCallId"] == "half";
    assert_eq!(frames.iter().find(started).unwrap()["args"], json!({}));
}

#[tokio::test]
async fn pi_1_5_reports_the_removal_of_a_failed_answer() {
    let failed = json!({"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}});
    let (builder, _place) = builder(json!({"responses": [failed, {"text": "after"}]}));
    let builder = builder.retry(RetrySettings::default()).clock(Arc::new(ImpatientClock::default()));
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder);
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let frames = link.until_event("agent_settled").await;
    let at = |kind: &str| frames.iter().position(|frame| frame["type"] == kind).unwrap();
    assert!(at("auto_retry_start") < at("entry_appended"));
    let entry = &frames[at("entry_appended")]["entry"];
    assert_eq!((&entry["type"], &entry["replacement"]), (&json!("context_edit"), &Value::Null));
    let entries = link.data(json!({"type": "get_entries"})).await;
    let target = |kept: &&Value| kept["id"] == entry["targetId"];
    let target = entries["entries"].as_array().unwrap().iter().find(target).unwrap();
    assert_eq!(target["message"]["stopReason"], "error");
    // The answer has no content, so its first event already contains its end.
    let is_start =
        |frame: &&Value| frame["type"] == "message_start" && frame["message"]["role"] == "assistant";
    let start = &frames.iter().find(is_start).unwrap()["message"];
    assert!(start["stopReason"] == "error" && start["durationMs"].is_number(), "{start}");
    let kept = link.data(json!({"type": "get_messages"})).await;
    assert_eq!(roles(&kept["messages"]), ["system", "user", "assistant"]);
}

#[tokio::test]
async fn pi_1_5_aborted_answer_starts_with_its_stop_reason() {
    let call = json!({"tool": {"id": "long", "name": "bash", "args": {"command": "sleep 60"}}});
    let (mut link, _place) = link("pi@1.5", json!({"responses": [{"blocks": [call]}]}));
    link.send(json!({"type": "prompt", "message": "go"})).await;
    link.until_event("tool_execution_start").await;
    link.send(json!({"type": "abort"})).await;
    let frames = link.until_event("agent_settled").await;
    let is_start =
        |frame: &&Value| frame["type"] == "message_start" && frame["message"]["role"] == "assistant";
    let start = &frames.iter().find(is_start).unwrap()["message"];
    assert!(start["stopReason"] == "aborted" && start["durationMs"].is_number(), "{start}");
    assert!(start["errorMessage"].is_string() && start["thinkingLevel"].is_string(), "{start}");
}

#[tokio::test]
async fn pi_1_5_session_name_is_one_line() {
    for (dialect, name) in [("pi@1.5", "two lines"), ("pi", "two\nlines")] {
        let (mut link, _place) = link(dialect, one_answer());
        link.data(json!({"type": "set_session_name", "name": "two\nlines"})).await;
        assert_eq!(link.state().await["sessionName"], name);
    }
}

#[tokio::test]
async fn pi_0_55_has_no_additions_of_pi_1_5() {
    let (mut link, _place) = link("pi", one_answer());
    for command in ["clear_queue", "clone", "get_entries", "get_tree", "get_available_thinking_levels"] {
        let answer = link.request(json!({"type": command})).await;
        assert_eq!(answer["error"], format!("Unknown command: {command}"));
    }
    let refused = link.request(json!({"type": "set_thinking_level", "level": "max"})).await;
    assert_eq!(refused["success"], false, "{refused}");
    link.run("go").await;
    link.data(json!({"type": "set_session_name", "name": "work"})).await;
    for frame in &link.seen {
        for young in ["agent_settled", "queue_update", "session_info_changed", "thinking_level_changed"] {
            assert_ne!(frame["type"], young);
        }
        assert_ne!(frame["message"]["role"], "system");
        assert!(frame.get("willRetry").is_none() && frame.get("usage").is_none(), "{frame}");
    }
}

#[tokio::test]
async fn omp_sends_ready_since_13_19() {
    for (revision, first) in [("omp@12.7", "response"), ("omp@13.19", "ready")] {
        let (builder, _place) = builder(one_answer());
        let mut link = Link::for_revision::<Omp>(revision, builder);
        link.send(json!({"type": "get_state"})).await;
        assert_eq!(link.next().await.unwrap()["type"], first, "{revision}");
    }
}
