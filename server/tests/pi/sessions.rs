//! Tests of stored sessions, and of switches between them by a client.

use std::path::{Path, PathBuf};

use agentese_server::session::Store;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::link::{Link, builder};
use crate::support::trace::{delivered, outline};

fn link_with_store(responses: Value) -> (Link, TempDir) {
    let (builder, place) = builder(json!({"responses": responses, "default": {"text": "ok"}}));
    let store = Store::at(&place.path().join("sessions"), place.path());
    (Link::serving(builder.store(store).build()), place)
}

async fn file(link: &mut Link) -> PathBuf {
    PathBuf::from(link.state().await["sessionFile"].as_str().expect("a session file"))
}

fn entries(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(path: &Path) -> Vec<String> {
    let kind = |entry: &Value| match entry["type"].as_str().unwrap() {
        "message" => entry["message"]["role"].as_str().unwrap().to_owned(),
        other => other.to_owned(),
    };
    entries(path).iter().map(kind).collect()
}

#[tokio::test]
async fn a_session_file_comes_with_the_first_message() {
    let (mut link, _place) = link_with_store(json!([{"text": "one"}]));
    let path = file(&mut link).await;
    link.data(json!({"type": "set_session_name", "name": "kept"})).await;
    link.data(json!({"type": "set_thinking_level", "level": "low"})).await;
    assert!(!path.exists());
    link.run("first").await;
    assert_eq!(file(&mut link).await, path);
    assert_eq!(
        kinds(&path),
        [
            "session",
            "model_change",
            "thinking_level_change",
            "session_info",
            "thinking_level_change",
            "user",
            "assistant"
        ]
    );
    let entries = entries(&path);
    for pair in entries[1..].windows(2) {
        assert_eq!(pair[1]["parentId"], pair[0]["id"]);
    }
    assert_eq!((&entries[0]["version"], &entries[1]["parentId"]), (&json!(3), &Value::Null));
    assert_eq!(link.data(json!({"type": "get_session_stats"})).await["sessionFile"], json!(path));
}

#[tokio::test]
async fn a_client_moves_between_sessions() {
    let (mut link, place) = link_with_store(json!([{"text": "one"}, {"text": "two"}]));
    link.run("first").await;
    link.data(json!({"type": "set_thinking_level", "level": "high"})).await;
    let first = file(&mut link).await;
    link.send(json!({"type": "follow_up", "message": "stays behind"})).await;
    let answer = link.data(json!({"type": "new_session", "parentSession": "whatever"})).await;
    assert_eq!(answer, json!({"cancelled": false}));
    let state = link.state().await;
    assert_eq!((&state["messageCount"], &state["pendingMessageCount"]), (&json!(0), &json!(0)));
    link.run("second").await;
    let second = file(&mut link).await;
    assert_eq!(entries(&second)[0]["parentSession"], "whatever");
    assert_eq!(kinds(&second), ["session", "thinking_level_change", "user", "assistant"]);
    link.data(json!({"type": "set_thinking_level", "level": "off"})).await;

    let relative = first.strip_prefix(place.path()).unwrap();
    let answer = link.data(json!({"type": "switch_session", "sessionPath": relative})).await;
    assert_eq!(answer, json!({"cancelled": false}));
    let state = link.state().await;
    assert_eq!((&state["messageCount"], &state["thinkingLevel"]), (&json!(2), &json!("high")));
    link.run("third").await;
    assert_eq!(kinds(&first)[3..], ["user", "assistant", "thinking_level_change", "user", "assistant"]);
    // The other session is closed, and can be opened again.
    link.data(json!({"type": "switch_session", "sessionPath": second})).await;
    assert_eq!(link.messages().await.len(), 2);
}

#[tokio::test]
async fn fm_f99_fm_f112_non_session_file_is_rejected_and_unchanged() {
    let (mut link, place) = link_with_store(json!([{"text": "one"}]));
    link.run("first").await;
    let before = file(&mut link).await;
    for (name, content) in [("garbage", &b"not a session\n"[..]), ("other.json", b"{\"a\":1}\n")] {
        let path = place.path().join(name);
        std::fs::write(&path, content).unwrap();
        let answer = link.request(json!({"type": "switch_session", "sessionPath": path})).await;
        assert_eq!(answer["success"], false, "{name}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains(name), "{answer}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
    let missing = link.request(json!({"type": "switch_session", "sessionPath": "nowhere.jsonl"})).await;
    assert_eq!(missing["success"], false);
    assert!(!place.path().join("nowhere.jsonl").exists());
    assert_eq!(file(&mut link).await, before);
    link.run("second").await;
    assert_eq!(link.messages().await.len(), 4);
}

#[tokio::test]
async fn a_fork_ends_before_a_message_of_the_user() {
    let (mut link, _place) = link_with_store(json!([{"text": "one"}, {"text": "two"}, {"text": "three"}]));
    for text in ["first", "second", "third"] {
        link.run(text).await;
    }
    let original = file(&mut link).await;
    let points = link.data(json!({"type": "get_fork_messages"})).await["messages"].clone();
    let texts: Vec<_> = points.as_array().unwrap().iter().map(|point| point["text"].clone()).collect();
    assert_eq!(texts, ["first", "second", "third"]);
    let answer = link.data(json!({"type": "fork", "entryId": points[1]["entryId"]})).await;
    assert_eq!(answer, json!({"text": "second", "cancelled": false}));
    let fork = file(&mut link).await;
    assert_ne!(fork, original);
    assert_eq!(link.messages().await.len(), 2);
    link.run("another").await;
    assert_eq!(entries(&fork)[0]["parentSession"], json!(original));
    assert_eq!(entries(&fork)[3], entries(&original)[3], "copied entries keep their ids");
    assert_eq!(kinds(&original).len(), 9);

    let answer = link.data(json!({"type": "fork", "entryId": points[0]["entryId"]})).await;
    assert_eq!(answer, json!({"text": "first", "cancelled": false}));
    assert_eq!(link.messages().await.len(), 0);
    let unknown = link.request(json!({"type": "fork", "entryId": "no such entry"})).await;
    assert_eq!(
        (&unknown["success"], &unknown["error"]),
        (&json!(false), &json!("Invalid entry ID for forking"))
    );
}

#[tokio::test]
async fn fork_keeps_settings_and_records_those_that_differ_from_its_path() {
    let (mut link, _place) = link_with_store(json!([{"text": "one"}, {"text": "two"}]));
    link.run("first").await;
    link.run("second").await;
    let last = |path: &Path| entries(path).pop().unwrap();
    let points = link.data(json!({"type": "get_fork_messages"})).await["messages"].clone();
    link.data(json!({"type": "fork", "entryId": points[1]["entryId"]})).await;
    assert_eq!(last(&file(&mut link).await)["type"], "message", "there is nothing to record");
    link.data(json!({"type": "set_thinking_level", "level": "low"})).await;
    link.data(json!({"type": "fork", "entryId": points[0]["entryId"]})).await;
    assert_eq!(link.state().await["thinkingLevel"], "low");
    link.run("another").await;
    let fork = file(&mut link).await;
    assert_eq!(
        kinds(&fork),
        ["session", "model_change", "thinking_level_change", "thinking_level_change", "user", "assistant"]
    );
    assert_eq!(entries(&fork)[3]["thinkingLevel"], "low");
}

#[tokio::test]
async fn fm_f52_a_run_ends_before_its_session_is_left() {
    let slow = json!({"blocks": [{"text": ["a", "never"]}], "hang_after": 1});
    for command in ["new_session", "switch_session", "fork"] {
        let (mut link, place) = link_with_store(json!([{"text": "one"}, slow]));
        link.run("first").await;
        let other = place.path().join("other.jsonl");
        std::fs::copy(file(&mut link).await, &other).unwrap();
        let entry = link.data(json!({"type": "get_fork_messages"})).await["messages"][0]["entryId"].clone();
        link.send(json!({"type": "prompt", "message": "second"})).await;
        link.until("text", |frame| frame["assistantMessageEvent"]["delta"] == "a").await;
        link.send(json!({"id": "c", "type": command, "sessionPath": other, "entryId": entry})).await;
        let frames = link.until("the answer", |frame| frame["id"] == "c").await;
        let response = format!("response {command}");
        assert_eq!(
            outline(&frames),
            ["end assistant", "turn_end", "agent_end", response.as_str()],
            "{command}"
        );
        assert_eq!(frames.last().unwrap()["success"], true, "{frames:#?}");
    }
}

#[tokio::test]
async fn file_content_matches_the_sent_events() {
    let (mut link, _place) = link_with_store(json!([
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "echo hi"}}}]}, {"text": "one"},
        {"error": {"status": 400, "message": "no"}},
    ]));
    link.run("first").await;
    link.data(json!({"type": "bash", "command": "echo ran"})).await;
    let frames = link.run("second").await;
    assert_eq!(delivered(&frames), ["second"]);
    let path = file(&mut link).await;
    let messages: Vec<Value> = entries(&path)
        .into_iter()
        .filter(|entry| entry["type"] == "message")
        .map(|entry| entry["message"].clone())
        .collect();
    assert_eq!(json!(messages), json!(link.messages().await));
}

#[tokio::test]
async fn a_session_is_exported() {
    let (mut link, place) = link_with_store(json!([{"text": "<b>bold</b>"}]));
    let early = link.request(json!({"type": "export_html"})).await;
    assert_eq!(early["error"], "Nothing to export yet - start a conversation first");
    link.run("first").await;
    let session = file(&mut link).await;
    let name = format!("pi-session-{}.html", session.file_stem().unwrap().to_str().unwrap());
    let written = link.data(json!({"type": "export_html"})).await;
    assert_eq!(written, json!({"path": name}));
    let page = std::fs::read_to_string(place.path().join(&name)).unwrap();
    assert!(page.contains("first") && page.contains("&lt;b&gt;bold") && !page.contains("<b>bold"));

    let target = place.path().join("page.html");
    let written = link.data(json!({"type": "export_html", "outputPath": target})).await;
    assert_eq!(written, json!({"path": target}));
    let nowhere = link.request(json!({"type": "export_html", "outputPath": "/nonexistent-dir/x.html"})).await;
    assert_eq!(nowhere["error"], "ENOENT: no such file or directory, open '/nonexistent-dir/x.html'");
    let precious = place.path().join("precious.txt");
    std::fs::write(&precious, "mine").unwrap();
    let refused = link.request(json!({"type": "export_html", "outputPath": precious})).await;
    assert_eq!(refused["success"], false);
    assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
}

#[tokio::test]
async fn a_session_in_memory_is_not_exported() {
    let (mut link, _place) = Link::scripted(json!({"responses": [{"text": "x"}]}));
    link.run("first").await;
    let answer = link.request(json!({"type": "export_html"})).await;
    assert_eq!(answer["error"], "Cannot export in-memory session to HTML");
}

#[tokio::test]
async fn a_command_that_ends_during_a_run_is_kept_in_its_session() {
    let (mut link, _place) =
        link_with_store(json!([{"blocks": [{"text": ["a", "never"]}], "hang_after": 1}]));
    link.send(json!({"type": "prompt", "message": "first"})).await;
    link.until("text", |frame| frame["assistantMessageEvent"]["delta"] == "a").await;
    link.data(json!({"type": "bash", "command": "echo ran"})).await;
    let path = file(&mut link).await;
    link.data(json!({"type": "new_session"})).await;
    assert_eq!(kinds(&path)[3..], ["user", "assistant", "bashExecution"]);
    assert_eq!(link.messages().await, Vec::<Value>::new());
}

#[tokio::test]
async fn figures_that_no_provider_could_mean_do_no_harm() {
    let (mut link, place) = link_with_store(json!([{"text": "one"}]));
    link.run("first").await;
    let path = file(&mut link).await;
    let odd =
        std::fs::read_to_string(&path).unwrap().replace("\"input\":100", "\"input\":18446744073709551615");
    let other = place.path().join("odd.jsonl");
    std::fs::write(&other, odd).unwrap();
    link.data(json!({"type": "set_auto_compaction", "enabled": false})).await;
    link.data(json!({"type": "switch_session", "sessionPath": other})).await;
    link.run("second").await;
    let stats = link.data(json!({"type": "get_session_stats"})).await;
    assert_eq!(stats["tokens"]["total"], u64::MAX);
}
