//! A session file in the format of pi 1.5, with an entry of every kind. The agent opens, shows and continues it
//! without any loss.

use std::path::{Path, PathBuf};

use agentese::pi::Pi;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/pi-1.5.jsonl")
}

/// Starts an agent with a copy of the file.
async fn link_with_session() -> (Link, tempfile::TempDir, PathBuf) {
    let (builder, place) = builder(json!({"responses": [], "default": {"text": "It is shut."}}));
    let mut link = Link::for_revision::<Pi>("pi@1.5", builder);
    let file = place.path().join("made-up.jsonl");
    std::fs::copy(fixture(), &file).unwrap();
    let switched = link.data(json!({"type": "switch_session", "sessionPath": file})).await;
    assert_eq!(switched, json!({"cancelled": false}));
    (link, place, file)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn session_of_pi_1_5_is_shown_like_in_pi() {
    let (mut link, _place, _) = link_with_session().await;
    let state = link.state().await;
    assert_eq!((&state["sessionName"], &state["thinkingLevel"]), (&json!("the garden gate"), &json!("high")));
    let messages = link.messages().await;
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(
        roles,
        [
            "system",
            "compactionSummary",
            "toolResult",
            "assistant",
            "bashExecution",
            "bashExecution",
            "custom",
            "branchSummary"
        ]
    );
    assert_eq!(state["messageCount"], roles.len());
    let written = lines(&fixture());
    let summary = written.iter().find(|line| line["type"] == "compaction").unwrap();
    assert_eq!(messages[0], summary["systemMessage"], "the summary repeats it");
    // Other text replaces the removed text; the rest is unchanged.
    let mut result = written.iter().find(|line| line["id"] == "10000007").unwrap()["message"].clone();
    result["content"] = json!([{"type": "text", "text": "(a number that is nobody's business)"}]);
    assert_eq!(messages[2], result);
    assert_eq!(messages[5]["excludeFromContext"], true);
    // All usage counts, including abandoned branches and requests without an answer.
    let stats = link.data(json!({"type": "get_session_stats"})).await;
    let tokens =
        ["input", "output", "cacheRead", "cacheWrite"].map(|name| stats["tokens"][name].as_u64().unwrap());
    assert_eq!((tokens, &stats["totalMessages"]), ([277, 38, 1010, 5], &json!(10)), "{stats}");
    assert!((stats["cost"].as_f64().unwrap() - 1.5).abs() < 1e-9, "{stats}");
}

#[tokio::test]
async fn every_entry_of_pi_1_5_is_returned_and_in_the_tree() {
    let (mut link, _place, _) = link_with_session().await;
    let written = lines(&fixture());
    let given = link.data(json!({"type": "get_entries"})).await;
    assert_eq!(given["leafId"], "10000018");
    assert_eq!(given["entries"].as_array().unwrap()[..], written[1..]);
    let tree = link.data(json!({"type": "get_tree"})).await;
    let (mut open, mut found) = (tree["tree"].as_array().unwrap().clone(), 0);
    while let Some(node) = open.pop() {
        found += 1;
        let children = node["children"].as_array().unwrap();
        let ids: Vec<_> = children.iter().map(|child| child["entry"]["id"].as_str().unwrap()).collect();
        match node["entry"]["id"].as_str().unwrap() {
            "1000000f" => assert_eq!(ids, ["10000010", "10000011"]),
            "10000005" => assert_eq!(node["label"], "the question"),
            _ => assert!(ids.len() <= 1, "{ids:?}"),
        }
        open.extend(children.iter().cloned());
    }
    assert_eq!(found, written.len() - 1);
}

#[tokio::test]
async fn continued_session_of_pi_1_5_keeps_every_byte() {
    let (mut link, _place, file) = link_with_session().await;
    let before = std::fs::read_to_string(&file).unwrap();
    link.send(json!({"type": "prompt", "message": "Is it shut now?"})).await;
    link.until_event("agent_settled").await;
    let (_, _) = link.finish().await;
    let after = std::fs::read_to_string(&file).unwrap();
    let added: Vec<Value> = after
        .strip_prefix(&before)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let roles: Vec<_> = added.iter().map(|line| line["message"]["role"].as_str().unwrap_or("none")).collect();
    assert_eq!(roles, ["user", "assistant"], "{added:?}");
    assert_eq!((&added[0]["parentId"], &added[1]["parentId"]), (&json!("10000018"), &added[0]["id"]));
}

/// pi modifies the system message with later messages. A summary repeats the whole system message, even if
/// the previous summary did not.
#[tokio::test]
async fn summary_repeats_the_last_system_message() {
    for repeats in [true, false] {
        let (builder, place) = builder(json!({"responses": [], "default": {"text": "It is shut."}}));
        let mut link = Link::for_revision::<Pi>("pi@1.5", builder);
        let file = place.path().join("made-up.jsonl");
        let mut written = lines(&fixture());
        let summary = written.iter_mut().find(|line| line["type"] == "compaction").unwrap();
        if !repeats {
            summary.as_object_mut().unwrap().remove("systemMessage");
        }
        let system_message =
            |sections: Value| json!({"role": "system", "content": "", "sections": sections, "timestamp": 1});
        let patch = system_message(json!({"rules": "Shut the gate.", "preamble": "You look after a gate."}));
        written.push(json!({"type": "message", "id": "10000019", "parentId": "10000018",
            "timestamp": "2026-11-01T09:00:00.000Z", "message": patch}));
        let text: String = written.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).unwrap();
        link.data(json!({"type": "switch_session", "sessionPath": file})).await;
        let tools = link.messages().await[0]["toolsAdded"].clone();
        assert_eq!(tools[0]["name"], "read");
        for _ in 0..2 {
            link.send(json!({"type": "prompt", "message": "Is it shut now? ".repeat(8000)})).await;
            link.until_event("agent_settled").await;
        }
        link.data(json!({"type": "compact"})).await;
        let first = link.messages().await[0].clone();
        let sections =
            json!({"preamble": "You look after a gate.", "cwd": "/garden", "rules": "Shut the gate."});
        assert_eq!((&first["sections"], &first["toolsAdded"]), (&sections, &tools), "{repeats}");
        let (_, _) = link.finish().await;
        let last = lines(&file).pop().unwrap();
        assert_eq!((&last["type"], &last["systemMessage"]), (&json!("compaction"), &first));
    }
}
