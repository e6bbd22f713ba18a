//! Tests of sessions in memory.

use agentese::types::ThinkingLevel;
use serde_json::{Value, json};

use super::super::body::Compaction;
use super::super::error::EmptyNameError;
use super::*;
use crate::runtime::{NumberedIds, SystemClock};

fn session() -> Session {
    Session::in_memory(SessionOptions::new("/w", Arc::new(SystemClock), Arc::new(NumberedIds::default())))
}

fn answer(content: Value, stop: &str) -> Arc<AgentMessage> {
    let message = json!({
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
        "stopReason": stop, "timestamp": 1,
    });
    Arc::new(serde_json::from_value(message).unwrap())
}

fn user(text: &str) -> Arc<AgentMessage> {
    let content = json!([{"type": "text", "text": text}]);
    Arc::new(serde_json::from_value(json!({"role": "user", "content": content, "timestamp": 1})).unwrap())
}

#[test]
fn a_name_is_trimmed_and_an_empty_one_changes_nothing() {
    let mut session = session();
    assert_eq!(session.rename(" \n\t "), Err(EmptyNameError));
    assert_eq!(session.name(), None);
    session.rename("  a name\n of two lines ").unwrap();
    assert_eq!(session.name(), Some("a name\n of two lines"));
    assert_eq!(session.rename(""), Err(EmptyNameError));
    assert_eq!(session.name(), Some("a name\n of two lines"));
    assert_eq!(session.entries().len(), 1);
}

#[test]
fn the_last_text_skips_an_empty_aborted_answer_only() {
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let mut session = session();
    assert_eq!(session.last_assistant_text(false), None);
    session
        .append(answer(json!([{"type": "text", "text": " one"}, {"type": "text", "text": "two "}]), "stop"));
    assert_eq!(session.last_assistant_text(false).as_deref(), Some("onetwo"));
    session.append(answer(json!([]), "aborted"));
    assert_eq!(session.last_assistant_text(false).as_deref(), Some("onetwo"));
    session.append(answer(text("part"), "aborted"));
    assert_eq!(session.last_assistant_text(false).as_deref(), Some("part"));
    session.append(answer(json!([]), "error"));
    assert_eq!(session.last_assistant_text(false), None);
}

#[test]
fn the_last_text_skips_textless_answers_that_did_not_end_normally() {
    let mut session = session();
    assert_eq!(session.last_assistant_text(true), None);
    session.append(answer(json!([{"type": "text", "text": "one"}]), "stop"));
    let thought = json!([{"type": "thinking", "thinking": "hm"}]);
    let call = json!([
        {"type": "text", "text": " \n"},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {}},
    ]);
    for (content, stop) in
        [(json!([]), "aborted"), (json!([]), "error"), (thought.clone(), "length"), (call, "toolUse")]
    {
        session.append(answer(content, stop));
        assert_eq!(session.last_assistant_text(true).as_deref(), Some("one"), "{stop}");
    }
    session.append(answer(json!([{"type": "text", "text": " part"}]), "aborted"));
    assert_eq!(session.last_assistant_text(true).as_deref(), Some("part"));
    session.append(answer(thought, "stop"));
    assert_eq!(session.last_assistant_text(true), None);
}

#[test]
fn a_hidden_answer_stays_an_entry_and_leaves_the_context() {
    let mut session = session();
    session.hide_last_answer();
    let first = session.append(user("one"));
    session.hide_last_answer();
    assert_eq!(session.messages().len(), 1, "messages of the user are not hidden");
    session.append(answer(json!([]), "error"));
    session.hide_last_answer();
    assert_eq!(session.messages(), [user("one")]);
    assert_eq!(session.entries().len(), 2);
    session.append(answer(json!([{"type": "text", "text": "ok"}]), "stop"));
    session.add_compaction(Compaction {
        summary: "s".to_owned(),
        first_kept_entry_id: first,
        tokens_before: 7,
        details: None,
        usage: None,
        from_hook: None,
        system_message: None,
    });
    let messages = session.messages();
    let roles: Vec<&str> = messages.iter().map(|message| message.tag()).collect();
    assert_eq!(roles, ["compactionSummary", "user", "assistant"]);
    session.reload();
    assert_eq!(session.messages().len(), 4, "the entries know nothing of it");
}

#[test]
fn hidden_answers_stay_hidden_and_the_system_message_stays_first() {
    let system_message: Arc<AgentMessage> =
        Arc::new(serde_json::from_value(json!({"role": "system", "content": "", "timestamp": 1})).unwrap());
    let mut session = session();
    session.append(system_message.clone());
    session.append(user("one"));
    let failed = session.append(answer(json!([]), "error"));
    session.hide_last_answer();
    let notes = session.record_hidden();
    assert_eq!(notes.len(), 1);
    let note: Value = serde_json::from_str(notes[0].as_str()).unwrap();
    assert_eq!((&note["type"], &note["targetId"]), (&json!("context_edit"), &json!(failed.as_str())));
    assert!(note["replacement"].is_null() && session.record_hidden().is_empty());
    let kept = session.append(user("two"));
    // The entries are read again from their texts.
    let read = |session: &mut Session| {
        let lines: Vec<_> = session.entries().iter().map(Entry::json).collect();
        let entries =
            lines.iter().map(|line| Entry::read(line.as_str(), || line.clone().into(), 1, None).unwrap());
        session.replace_entries(entries.collect());
        session.messages().iter().map(|message| message.tag().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(read(&mut session), ["system", "user", "user"]);
    assert_eq!(session.instructions().map(AgentMessage::from).as_ref(), Some(&*system_message));
    session.add_compaction(Compaction {
        summary: "s".to_owned(),
        first_kept_entry_id: kept,
        tokens_before: 7,
        details: None,
        usage: None,
        from_hook: None,
        system_message: None,
    });
    assert_eq!(read(&mut session), ["system", "compactionSummary", "user"]);
    assert_eq!(session.compacted_messages(), 3);
}

/// Checks system messages as in pi 1.5: later ones change earlier ones, and a compaction contains the combined message.
#[test]
fn a_repeated_system_message_replaces_all_earlier_ones() {
    let system_message = |time: i64, sections: Value| -> Arc<AgentMessage> {
        let system_message =
            json!({"role": "system", "content": "", "sections": sections, "timestamp": time});
        Arc::new(serde_json::from_value(system_message).unwrap())
    };
    let mut session = session();
    session.append(system_message(1, json!({"preamble": "a", "cwd": "b"})));
    session.append(user("one"));
    let kept = session.append(user("two"));
    session.append(system_message(2, json!({"cwd": "c"})));
    session.append(user("three"));
    let all =
        json!({"role": "system", "content": "", "sections": {"preamble": "a", "cwd": "c"}, "timestamp": 0});
    let summary = session.add_compaction(Compaction {
        summary: "s".to_owned(),
        first_kept_entry_id: kept,
        tokens_before: 7,
        details: None,
        usage: None,
        from_hook: None,
        system_message: Some(all),
    });
    let time = session.entry(summary.as_str()).unwrap().time().unwrap();
    let again = system_message(time, json!({"preamble": "a", "cwd": "c"}));
    for _ in 0..2 {
        let messages = session.messages();
        let tags: Vec<&str> = messages.iter().map(|message| message.tag()).collect();
        assert_eq!(tags, ["system", "compactionSummary", "user", "user"]);
        assert_eq!(session.messages()[0], again);
        assert_eq!(session.instructions().map(AgentMessage::from).as_ref(), Some(&*again));
        assert_eq!((session.message_count(), session.compacted_messages()), (4, 4));
        let texts: Vec<AgentMessage> =
            session.message_texts().iter().map(|text| serde_json::from_str(text.as_str()).unwrap()).collect();
        let conversation: Vec<_> = session.conversation().into_iter().map(|entry| entry.message).collect();
        for (index, message) in session.messages().iter().enumerate() {
            assert_eq!((&texts[index], &conversation[index]), (&**message, message));
        }
        session.reload();
    }
}

#[test]
fn fm_f104_a_summary_without_its_kept_messages_is_alone() {
    let mut session = session();
    session.append(user("one"));
    for kept in ["gone", ""] {
        session.add_compaction(Compaction {
            summary: "s".to_owned(),
            first_kept_entry_id: kept.into(),
            tokens_before: 7,
            details: None,
            usage: None,
            from_hook: None,
            system_message: None,
        });
        assert_eq!(session.messages().len(), 1);
        assert_eq!(session.messages()[0].tag(), "compactionSummary");
    }
    session.append(user("two"));
    assert_eq!(session.messages().len(), 2);
}

#[test]
fn the_last_model_and_thinking_level_apply() {
    let mut session = session();
    assert_eq!(session.branch_settings(), BranchSettings::default());
    session.record_model("p1", "m1");
    session.record_thinking_level(ThinkingLevel::Low);
    let named = |provider: &str, model: &str| Some((provider.to_owned(), model.to_owned()));
    assert_eq!(
        session.branch_settings(),
        BranchSettings { model: named("p1", "m1"), thinking: Some(ThinkingLevel::Low) }
    );
    session.append(answer(json!([]), "stop"));
    assert_eq!(session.branch_settings().model, named("p", "m"));
    session.record_model("p2", "m2");
    assert_eq!(session.branch_settings().model, named("p2", "m2"));
}

#[test]
fn a_fork_has_the_entries_before_the_message() {
    let mut session = session();
    session.record_thinking_level(ThinkingLevel::Low);
    let first = session.append(user("one"));
    let answered = session.append(answer(json!([]), "stop"));
    session.label(first.as_str(), Some("begin")).unwrap();
    session.label(answered.as_str(), Some("gone")).unwrap();
    session.label(answered.as_str(), None).unwrap();
    assert_eq!(session.label("nobody", Some("x")), None);
    let second = session.append(user("two"));
    session.append(user(""));
    let listed = session.fork_messages();
    assert_eq!(listed, [(first.clone(), "one".to_owned()), (second.clone(), "two".to_owned())]);

    let (fork, text) = session.fork(second.as_str(), None).unwrap();
    assert_eq!(text, "two");
    assert_ne!(fork.id(), session.id());
    assert_eq!(fork.messages(), &session.messages()[..2]);
    let kinds: Vec<&str> = fork.path().iter().map(|entry| entry.body().kind()).collect();
    assert_eq!(kinds, ["thinking_level_change", "message", "message", "label"]);
    assert_eq!(fork.entries()[1].id(), &first);
    let Body::Label { target, label } = fork.entries()[3].body() else { panic!("no label") };
    assert_eq!((target, label.as_deref()), (&first, Some("begin")));

    let (empty, text) = session.fork(first.as_str(), None).unwrap();
    assert_eq!((text.as_str(), empty.messages().len(), empty.entries().len()), ("one", 0, 1));
    for wrong in ["nope", "", answered.as_str(), "../x"] {
        let error = session.fork(wrong, None).unwrap_err();
        assert_eq!(error.to_string(), "Invalid entry ID for forking");
    }
}

#[test]
fn a_fork_goes_around_a_label_that_others_follow() {
    let mut session = session();
    let first = session.append(user("one"));
    session.label(first.as_str(), Some("x")).unwrap();
    let second = session.append(user("two"));
    let third = session.append(user("three"));
    let (fork, _) = session.fork(third.as_str(), None).unwrap();
    assert_eq!(fork.messages(), [user("one"), user("two")]);
    assert_eq!(fork.entry(second.as_str()).unwrap().parent_id(), Some(&first));
}

#[test]
fn compacted_messages_exclude_later_messages() {
    let mut session = session();
    for text in ["one", "two"] {
        session.append(user(text));
        session.append(answer(json!([{"type": "text", "text": text}]), "stop"));
    }
    assert_eq!(session.compacted_messages(), 0);
    let kept = session.entries()[2].id().clone();
    session.add_compaction(Compaction {
        summary: "s".to_owned(),
        first_kept_entry_id: kept,
        tokens_before: 9,
        details: None,
        usage: None,
        from_hook: None,
        system_message: None,
    });
    assert_eq!((session.messages().len(), session.compacted_messages()), (3, 3));
    session.append(user("three"));
    session.append(answer(json!([]), "error"));
    assert_eq!((session.messages().len(), session.compacted_messages()), (5, 3));
    session.reload();
    assert_eq!((session.messages().len(), session.compacted_messages()), (5, 3));
    session.hide_last_answer();
    session.hide_last_answer();
    assert_eq!((session.messages().len(), session.compacted_messages()), (3, 2));
}

#[test]
fn message_texts_are_verbatim_if_they_have_the_declared_shape() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let whole = r#"{ "role":"user","content":"\u00e4 1.0","timestamp":1,"mine":{"b":1e2,"a":null}}"#;
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
        format!(r#"{{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{whole}}}"#),
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"half \ud800","timestamp":2}}"#.to_owned(),
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":7}}"#.to_owned(),
        r#"{"type":"custom_message","id":"d","parentId":"c","customType":"x","content":"said","display":true}"#.to_owned(),
    ];
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut session = Session::open(
        &path,
        SessionOptions::new("/w", Arc::new(SystemClock), Arc::new(NumberedIds::default())),
    )
    .unwrap();
    session.append(user("new"));
    let texts = session.message_texts();
    let read = |text: &str| serde_json::from_str::<AgentMessage>(text).unwrap();
    assert_eq!(texts[0], whole);
    assert!(texts[1].as_str().contains("half \u{fffd}"), "{}", texts[1]);
    assert_eq!(texts.len(), session.messages().len());
    for (text, message) in texts.iter().zip(session.messages()) {
        assert_eq!(read(text.as_str()), *message);
    }
    session.hide_last_answer();
    assert_eq!(session.message_texts().len(), session.messages().len());
}
