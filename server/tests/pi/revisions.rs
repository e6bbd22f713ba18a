//! Revisions are served exactly: pi 1.5 has what it brought, 0.55 has none of it.

use agentese::omp::Omp;
use agentese::pi::Pi;
use agentese::serve::ServeEnd;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

fn link(dialect: &str, script: Value) -> (Link, tempfile::TempDir) {
    let (builder, place) = builder(script);
    (Link::speaking_in::<Pi>(dialect, builder), place)
}

fn one_answer() -> Value {
    json!({"responses": [{"blocks": [{"text": ["Hel", "lo"]}]}], "default": {"text": "ok"}})
}

#[tokio::test]
async fn the_newest_pi_sends_pieces_and_says_when_it_has_settled() {
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
async fn the_newest_pi_gives_entries_behind_a_cursor_and_the_tree() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    link.send(json!({"id": "p", "type": "prompt", "message": "go"})).await;
    link.until_event("agent_settled").await;
    let all = link.data(json!({"type": "get_entries"})).await;
    let entries = all["entries"].as_array().unwrap();
    assert_eq!(all["leafId"], entries.last().unwrap()["id"]);
    let cursor = &entries[entries.len() - 2]["id"];
    let rest = link.data(json!({"type": "get_entries", "since": cursor})).await;
    assert_eq!(rest["entries"], json!([entries.last().unwrap()]));
    let unknown = link.ask(json!({"type": "get_entries", "since": "nope"})).await;
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
async fn the_newest_pi_tells_of_queues_names_and_the_output_of_commands() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    assert_eq!(link.data(json!({"type": "steer", "message": "now"})).await, json!({"disposition": "queued"}));
    let queues = link.data(json!({"type": "clear_queue"})).await;
    assert_eq!(queues, json!({"steering": ["now"], "followUp": []}));
    link.data(json!({"type": "set_session_name", "name": " work "})).await;
    link.send(json!({"id": "b", "type": "bash", "command": "printf one", "excludeFromContext": true})).await;
    link.answer("b").await;
    let told = |kind: &str| -> Vec<Value> {
        link.seen.iter().filter(|frame| frame["type"] == kind).cloned().collect()
    };
    let update = |steering: Value| json!({"type": "queue_update", "steering": steering, "followUp": []});
    assert_eq!(told("queue_update"), [update(json!(["now"])), update(json!([]))]);
    assert_eq!(told("session_info_changed"), [json!({"type": "session_info_changed", "name": "work"})]);
    let shown = json!({"type": "bash_execution_update", "id": "b", "delta": "one"});
    assert_eq!(told("bash_execution_update"), [shown]);
    let messages = link.messages().await;
    assert_eq!(messages[0]["excludeFromContext"], true, "{messages:?}");
}

#[tokio::test]
async fn a_session_without_words_has_no_copy_and_one_with_words_has() {
    let (mut link, _place) = link("pi@1.5", one_answer());
    let empty = link.ask(json!({"type": "clone"})).await;
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
async fn the_newest_pi_is_silent_about_work_that_the_end_of_input_stops() {
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

#[tokio::test]
async fn the_first_pi_has_nothing_of_the_newest() {
    let (mut link, _place) = link("pi", one_answer());
    for command in ["clear_queue", "clone", "get_entries", "get_tree", "get_available_thinking_levels"] {
        let answer = link.ask(json!({"type": command})).await;
        assert_eq!(answer["error"], format!("Unknown command: {command}"));
    }
    let refused = link.ask(json!({"type": "set_thinking_level", "level": "max"})).await;
    assert_eq!(refused["success"], false, "{refused}");
    link.run("go").await;
    link.data(json!({"type": "set_session_name", "name": "work"})).await;
    for frame in &link.seen {
        for young in ["agent_settled", "queue_update", "session_info_changed", "thinking_level_changed"] {
            assert_ne!(frame["type"], young);
        }
        assert!(frame.get("willRetry").is_none() && frame.get("usage").is_none(), "{frame}");
    }
}

#[tokio::test]
async fn omp_says_that_it_is_ready_since_it_has_the_word() {
    for (revision, first) in [("omp@12.7", "response"), ("omp@13.19", "ready")] {
        let (builder, _place) = builder(one_answer());
        let mut link = Link::speaking_in::<Omp>(revision, builder);
        link.send(json!({"type": "get_state"})).await;
        assert_eq!(link.next().await.unwrap()["type"], first, "{revision}");
    }
}
