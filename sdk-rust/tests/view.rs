//! View: each recorded session must fold to the conversation in the vectors, which all languages share.

mod recorded;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentese::view::{Block, Conversation, Direction, Message, MessageState, RunState, ToolState, View};
use recorded::{canonical, conformance, frames};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Differences between the conversation before and after the response to the history command. They show how
/// much the view knew before.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HistoryComparison {
    complete: bool,
    told: usize,
    untold: Vec<String>,
    gone: usize,
    changed: BTreeSet<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct FoldSummary {
    transcript: String,
    asked: Vec<HistoryComparison>,
    end: String,
}

#[derive(Deserialize)]
struct Vectors {
    unannounced: BTreeMap<String, BTreeMap<String, String>>,
    sessions: Vec<FoldSummary>,
}

fn vectors() -> Vectors {
    let text = std::fs::read_to_string(conformance().join("vectors/view.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn fold(transcript: &str) -> FoldSummary {
    let (dialect, _) = transcript.split_once('/').unwrap();
    let mut view = View::open(dialect).unwrap();
    let mut asked = Vec::new();
    for (direction, line, at) in frames(transcript) {
        let before = view.conversation();
        view.line(direction, &line, at);
        if direction == Direction::Received && is_history(&view, &before, &line) {
            asked.push(compare(&before, &view.conversation()));
        }
    }
    FoldSummary { transcript: transcript.to_owned(), asked, end: digest(&view.conversation()) }
}

/// Returns `true` if a line is the successful response to the history command, which a late view sends first.
fn is_history(view: &View, before: &Conversation, line: &str) -> bool {
    let history = &view.catch_up_commands()[0];
    let Ok(frame) = serde_json::from_str::<Value>(line) else { return false };
    let is_answer = frame["success"] == true || frame.get("result").is_some();
    let place = frame.get("id").map_or_else(|| format!("without {history}"), Value::to_string);
    is_answer && before.internal.sent.get(&place).is_some_and(|sent| sent.command == *history)
}

fn in_context(conversation: &Conversation) -> Vec<&Arc<Message>> {
    conversation.messages.iter().filter(|message| !message.is_gone() && !message.is_growing()).collect()
}

fn compare(before: &Conversation, after: &Conversation) -> HistoryComparison {
    let mut old: BTreeMap<&str, &Arc<Message>> =
        in_context(before).into_iter().map(|message| (message.key.as_str(), message)).collect();
    let mut asked = HistoryComparison {
        complete: before.complete,
        told: 0,
        untold: Vec::new(),
        gone: 0,
        changed: BTreeSet::new(),
    };
    for message in in_context(after) {
        let told = json!(**message);
        let Some(known) = old.remove(message.key.as_str()) else {
            let words = [told["role"].as_str(), told["kind"].as_str()];
            asked.untold.push(words.into_iter().flatten().collect::<Vec<_>>().join(" "));
            continue;
        };
        asked.told += 1;
        let known = json!(**known);
        let names: BTreeSet<&String> =
            told.as_object().unwrap().keys().chain(known.as_object().unwrap().keys()).collect();
        let differs = |name: &&&String| canonical(&told[name.as_str()]) != canonical(&known[name.as_str()]);
        let role = told["role"].as_str().unwrap();
        asked.changed.extend(names.iter().filter(differs).map(|name| format!("{role}.{name}")));
    }
    asked.gone = old.len();
    let after: Vec<&str> = in_context(after).into_iter().map(|message| message.key.as_str()).collect();
    let places =
        in_context(before).into_iter().filter_map(|old| after.iter().position(|key| *key == old.key));
    if !places.is_sorted() {
        asked.changed.insert("order".into());
    }
    asked
}

/// Returns the digest of a conversation, without the private state of the fold.
fn digest(conversation: &Conversation) -> String {
    let mut value = json!(conversation);
    value.as_object_mut().unwrap().remove("internal");
    recorded::digest(&value)
}

#[test]
fn every_recorded_session_matches_the_vectors() {
    let vectors = vectors();
    assert!(vectors.sessions.len() > 200);
    let wrong: Vec<String> = vectors
        .sessions
        .iter()
        .filter_map(|wanted| {
            let folded = fold(&wanted.transcript);
            (folded != *wanted).then(|| format!("{}\n{}", json!(wanted), json!(folded)))
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_view_agrees_with_the_agent_but_for_what_no_frame_announces() {
    let vectors = vectors();
    for session in &vectors.sessions {
        let (dialect, _) = session.transcript.split_once('/').unwrap();
        let allowed = &vectors.unannounced[dialect];
        for asked in &session.asked {
            let told = |name: &&String| allowed.contains_key(name.as_str());
            assert!(asked.changed.iter().all(|name| told(&name)), "{}", session.transcript);
            let whole = asked.gone == 0 && asked.untold.iter().all(|name| told(&name));
            assert!(!asked.complete || whole, "{}", session.transcript);
        }
    }
}

fn assistant(content: &Value) -> Value {
    json!({"role": "assistant", "content": content, "model": "m", "stopReason": "stop", "timestamp": 5,
           "usage": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}}})
}

fn delta(event: Value) -> Value {
    let mut event = event;
    event["contentIndex"] = json!(0);
    json!({"type": "message_update", "assistantMessageEvent": event})
}

fn shown(view: &mut View, frames: impl IntoIterator<Item = Value>) {
    for frame in frames {
        view.frame(Direction::Received, &frame, None);
    }
}

#[test]
fn a_message_grows_from_pieces_and_ends_with_the_final_message() {
    let mut view = View::open("pi").unwrap();
    let start = json!({"type": "message_start", "message": assistant(&json!([]))});
    let pieces = ["Hel", "lo"].map(|piece| delta(json!({"type": "text_delta", "delta": piece})));
    shown(&mut view, [json!({"type": "agent_start"}), start].into_iter().chain(pieces));
    let grown = view.conversation();
    assert_eq!(
        (grown.messages[0].text().as_str(), grown.messages[0].state),
        ("Hello", MessageState::Growing)
    );
    assert_eq!(grown.run.state, RunState::Working);
    let end =
        json!({"type": "message_end", "message": assistant(&json!([{"type": "text", "text": "Hello!"}]))});
    shown(&mut view, [end, json!({"type": "agent_end", "messages": []})]);
    let ended = view.conversation();
    assert_eq!((ended.messages[0].text().as_str(), ended.messages[0].state), ("Hello!", MessageState::Done));
    assert_eq!((ended.usage.output, ended.usage.cost, ended.run.state), (Some(2), Some(0.5), RunState::Idle));
    assert_eq!(grown.messages[0].text(), "Hello", "an earlier conversation does not change");
}

#[test]
fn a_place_behind_the_blocks_is_the_next_one() {
    let mut view = View::open("pi").unwrap();
    let mut far = delta(json!({"type": "text_start"}));
    far["assistantMessageEvent"]["contentIndex"] = json!(1_000_000);
    let start = json!({"type": "message_start", "message": assistant(&json!([]))});
    shown(&mut view, [start, far, delta(json!({"type": "text_delta", "delta": "Hello"}))]);
    let grown = view.conversation();
    assert_eq!((grown.messages[0].blocks.len(), grown.messages[0].text().as_str()), (1, "Hello"));
}

#[test]
fn a_call_shows_its_arguments_as_they_come_its_output_and_its_result() {
    let mut view = View::open("pi").unwrap();
    let call = json!({"type": "toolCall", "id": "c", "name": "w", "arguments": {"path": "a"}});
    let tool = |view: &View| match &view.conversation().messages[0].blocks[0] {
        Block::Tool(tool) => tool.clone(),
        block => panic!("{block:?}"),
    };
    shown(
        &mut view,
        [
            json!({"type": "message_start", "message": assistant(&json!([]))}),
            delta(json!({"type": "toolcall_start", "id": "c", "toolName": "w"})),
            delta(json!({"type": "toolcall_delta", "delta": "{\"path\""})),
        ],
    );
    assert_eq!(tool(&view).arguments_text.as_deref(), Some("{\"path\""));
    shown(&mut view, [delta(json!({"type": "toolcall_end", "toolCall": call}))]);
    assert_eq!((tool(&view).arguments_text, tool(&view).arguments), (None, Some(json!({"path": "a"}))));
    let output = json!({"content": [{"type": "text", "text": "half"}]});
    let update = json!({"type": "tool_execution_update", "toolCallId": "c", "toolName": "w", "args": {}, "partialResult": output});
    shown(&mut view, [update]);
    assert_eq!(tool(&view).state, ToolState::Running);
    assert_eq!(tool(&view).output, Some(vec![Block::Text { text: "half".into() }]));
    let end = json!({"type": "tool_execution_end", "toolCallId": "c", "toolName": "w", "result": {"content": []}, "isError": true});
    shown(&mut view, [end]);
    assert_eq!((tool(&view).state, tool(&view).result), (ToolState::Failed, Some(Vec::new())));
}

#[test]
fn messages_that_do_not_change_are_shared() {
    let mut view = View::open("pi").unwrap();
    let user = json!({"role": "user", "content": "one", "timestamp": 4});
    shown(
        &mut view,
        [json!({"type": "message_start", "message": user}), json!({"type": "message_end", "message": user})],
    );
    let before = view.conversation();
    shown(&mut view, [json!({"type": "message_start", "message": assistant(&json!([]))})]);
    assert!(Arc::ptr_eq(&before.messages[0], &view.conversation().messages[0]));
    assert_eq!(before.messages.len(), 1);
}

#[test]
fn a_view_can_be_kept_at_any_frame_and_gone_on_with() {
    let frames = frames("pi/steer-tools-all");
    let mut whole = View::open("pi").unwrap();
    let mut kept = View::open("pi").unwrap();
    for (direction, line, at) in &frames {
        whole.line(*direction, line, *at);
        kept.line(*direction, line, *at);
        let text = serde_json::to_string(&*kept.conversation()).unwrap();
        kept = View::resume(serde_json::from_str(&text).unwrap()).unwrap();
    }
    assert_eq!(digest(&whole.conversation()), digest(&kept.conversation()));
    assert!(View::open("nothing").is_err());
}

#[test]
fn questions_leave_when_they_are_answered_and_when_their_time_is_up() {
    let mut view = View::open("pi").unwrap();
    let ask = |id: &str| json!({"type": "extension_ui_request", "id": id, "method": "confirm", "title": "Sure?", "message": "m", "timeout": 500});
    view.frame(Direction::Received, &ask("d1"), Some(1000.0));
    view.frame(Direction::Received, &ask("d2"), Some(1100.0));
    assert_eq!(view.conversation().dialogs[0].title.as_deref(), Some("Sure?"));
    let answer = json!({"type": "extension_ui_response", "id": "d1", "confirmed": true});
    view.frame(Direction::Sent, &answer, Some(1200.0));
    assert_eq!(view.conversation().dialogs.len(), 1);
    view.frame(Direction::Received, &json!({"type": "turn_start"}), Some(1600.0));
    assert!(view.conversation().dialogs.is_empty());
}

#[test]
fn a_line_with_half_a_surrogate_pair_is_folded() {
    let mut view = View::open("pi").unwrap();
    shown(&mut view, [json!({"type": "agent_start"})]);
    view.received(
        r#"{"type":"agent_end","messages":[{"role":"user","content":"cut \ud83d","timestamp":5}]}"#,
    );
    assert_eq!(view.conversation().run.state, RunState::Idle);
}
