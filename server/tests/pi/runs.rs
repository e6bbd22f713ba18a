//! Tests with random answers of the model: the events of a run always follow the grammar.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::link::{Link, builder};
use crate::support::trace::{check_history, outline, results};
use crate::support::{on_one_thread, soon};

#[tokio::test]
async fn a_plain_run() {
    let (mut link, _place) = Link::scripted(
        json!({"responses": [{"blocks": [{"thinking": "hm", "signature": "s"}, {"text": ["He", "llo"]}]}]}),
    );
    let frames = link.run("hi").await;
    assert_eq!(
        outline(&frames),
        [
            "agent_start",
            "turn_start",
            "start user",
            "end user",
            "start assistant",
            "end assistant",
            "turn_end",
            "agent_end"
        ]
    );
    let user = &frames[2]["message"];
    assert_eq!(user["content"], json!([{"type": "text", "text": "hi"}]));
    let answer = &frames.last().unwrap()["messages"][1];
    assert_eq!(
        answer["content"],
        json!([{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}, {"type": "text", "text": "Hello"}])
    );
    assert_eq!(answer["usage"]["totalTokens"], 120);
    let state = link.state().await;
    assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(2)));
    let text = link.data(json!({"type": "get_last_assistant_text"})).await;
    assert_eq!(text, json!({"text": "Hello"}));
}

#[tokio::test]
async fn key_order_is_the_recorded_one() {
    let (mut link, _place) = Link::scripted(json!({"responses": [{"text": "x"}]}));
    let frames = link.run("hi").await;
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(",");
    let update = frames.iter().find(|frame| frame["type"] == "message_update").unwrap();
    assert_eq!(keys(update), "type,assistantMessageEvent,message");
    assert_eq!(keys(&update["assistantMessageEvent"]), "type,contentIndex,partial");
    let answer = &frames.last().unwrap()["messages"][1];
    assert_eq!(keys(answer), "role,content,api,provider,model,usage,stopReason,timestamp");
    assert_eq!(keys(&answer["usage"]), "input,output,cacheRead,cacheWrite,totalTokens,cost");
}

#[tokio::test]
async fn tools_run_one_after_the_other_and_failures_are_results() {
    let (mut link, place) = Link::scripted(json!({"responses": [
        {"blocks": [
            {"text": "Several."},
            {"tool": {"id": "a", "name": "bash", "args": ["{\"command\": \"echo ", "A > a.txt\"}"]}},
            {"tool": {"id": "b", "name": "read", "args": {"path": "a.txt"}}},
            {"tool": {"id": "c", "name": "bash", "args": {"command": "echo bad; exit 3"}}},
            {"tool": {"id": "d", "name": "teleport", "args": {"to": "mars"}}},
            {"tool": {"id": "e", "name": "bash", "args": {"cmd": "ls"}}},
            {"tool": {"id": "f", "name": "write", "args": {"path": "b.txt", "content": "B"}}},
        ]},
        {"text": "Done."},
    ]}));
    let frames = link.run("go").await;
    let texts = results(&frames);
    assert_eq!(texts[0], "(no output)");
    assert_eq!(texts[1], "A\n");
    assert_eq!(texts[2], "bad\n\n\nCommand exited with code 3");
    assert_eq!(texts[3], "Tool teleport not found");
    assert!(texts[4].starts_with("Validation failed for tool \"bash\":\n  - command:"), "{}", texts[4]);
    assert_eq!(std::fs::read(place.path().join("b.txt")).unwrap(), b"B");
    let ends: Vec<_> = frames.iter().filter(|frame| frame["type"] == "tool_execution_end").collect();
    let errors: Vec<_> = ends.iter().map(|frame| frame["isError"].as_bool().unwrap()).collect();
    assert_eq!(errors, [false, false, true, true, true, false]);
    // As recorded: no details for a tool without them, and empty ones for every failure.
    assert_eq!(ends[0]["result"].get("details"), None);
    assert_eq!(ends[3]["result"]["details"], json!({}));
    check_history(&link.messages().await);
    let stats = link.data(json!({"type": "get_session_stats"})).await;
    assert_eq!(
        (&stats["toolCalls"], &stats["toolResults"], &stats["totalMessages"], &stats["tokens"]["total"]),
        (&json!(6), &json!(6), &json!(9), &json!(240))
    );
}

#[tokio::test]
async fn output_of_a_tool_is_shown_while_it_runs() {
    let (mut link, place) = Link::scripted(json!({"responses": [
        {"blocks": [{"tool": {"name": "bash", "args": {"command": "echo first; until [ -e go ]; do sleep 0.01; done; echo last"}}}]},
    ], "default": {"text": "ok"}}));
    link.send(json!({"type": "prompt", "message": "go"})).await;
    let shown = link.until_event("tool_execution_update").await;
    let update = shown.last().unwrap();
    assert_eq!(
        update["partialResult"],
        json!({"content": [{"type": "text", "text": "first\n"}], "details": {}})
    );
    std::fs::write(place.path().join("go"), "").unwrap();
    let frames = link.until_event("agent_end").await;
    assert_eq!(results(&frames), ["first\nlast\n"]);
}

#[tokio::test]
async fn a_call_cut_by_the_limit_is_answered_and_not_executed() {
    let (mut link, place) = Link::scripted(json!({"responses": [
        {"blocks": [
            {"tool": {"id": "whole", "name": "bash", "args": ["{\"command\": \"touch whole\"}"]}},
            {"tool": {"id": "cut", "name": "bash", "args": ["{\"command\": \"touch cut"]}},
        ], "stop": "length"},
        {"text": "end"},
    ]}));
    let frames = link.run("go").await;
    assert!(results(&frames)[1].contains("cut off"), "{:?}", results(&frames));
    assert!(place.path().join("whole").exists() && !place.path().join("cut").exists());
    let end = frames.iter().rfind(|frame| frame["type"] == "tool_execution_end").unwrap();
    assert_eq!((&end["isError"], &end["result"]["details"]), (&json!(true), &json!({})));
}

#[tokio::test]
async fn provider_failure_ends_with_an_error_message() {
    let overloaded = json!({"status": 529, "type": "overloaded_error", "message": "Overloaded"});
    let (mut link, _place) = Link::scripted(json!({"responses": [
        {"error": overloaded},
        {"empty_error": {"status": 413}},
        {"blocks": [{"text": ["a", "b", "c"]}], "drop_after": 1},
        {"blocks": [{"text": ["a", "b", "c"]}], "fin_after": 2},
        {"blocks": [{"text": ["a", "b"]}], "stream_error_after": 1, "error": overloaded},
        {"blocks": [{"tool": {"name": "bash", "args": ["{\"command\": \"echo", " x\"}"]}}], "drop_after": 1},
        {"text": "fine"},
    ]}));
    link.data(json!({"type": "set_auto_compaction", "enabled": false})).await;
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for (text, reason) in [
        ("", format!("529 {body}").as_str()),
        ("", "413 status code (no body)"),
        ("a", "terminated"),
        ("ab", "terminated"),
        ("a", body),
        ("", "terminated"),
    ] {
        let frames = link.run("go").await;
        let answer = frames.last().unwrap()["messages"][1].clone();
        assert_eq!((&answer["stopReason"], &answer["errorMessage"]), (&json!("error"), &json!(reason)));
        assert_eq!(answer["content"][0]["text"].as_str().unwrap_or_default(), text);
    }
    let frames = link.run("go").await;
    assert_eq!(frames.last().unwrap()["messages"][1]["stopReason"], "stop");
    check_history(&link.messages().await);
}

#[tokio::test]
async fn exhausted_script_is_an_error_without_a_default() {
    let (mut link, _place) = Link::scripted(json!({"responses": []}));
    link.run("go").await;
    let text = link.data(json!({"type": "get_last_assistant_text"})).await;
    assert_eq!(text["text"], "(script exhausted)");
    let (mut link, _place) = Link::scripted(json!({"responses": [], "default": {"text": "always"}}));
    for _ in 0..2 {
        link.run("go").await;
        let text = link.data(json!({"type": "get_last_assistant_text"})).await;
        assert_eq!(text["text"], "always");
    }
}

/// Returns a strategy that generates blocks of an answer. Calls in it use tools without effects.
fn block() -> impl Strategy<Value = Value> {
    let pieces = || prop::collection::vec(".{0,8}", 0..4);
    prop_oneof![
        pieces().prop_map(|pieces| json!({"text": pieces})),
        (pieces(), any::<bool>()).prop_map(|(pieces, signed)| match signed {
            true => json!({"thinking": pieces, "signature": "s"}),
            false => json!({"thinking": pieces}),
        }),
        ("[a-z]{1,4}", pieces()).prop_map(|(tool, pieces)| json!({"tool": {"name": tool, "args": pieces}})),
        "[a-z/]{1,9}"
            .prop_map(|path| json!({"tool": {"name": "read", "args": {"path": format!("no/{path}")}}})),
        (1u64..9).prop_map(|n| json!({"text_repeat": {"chunk": "w{i} ", "n": n}})),
    ]
}

fn answer() -> impl Strategy<Value = Value> {
    let stop = prop_oneof![Just("stop"), Just("length"), Just("toolUse"), Just("refusal")];
    let failure = prop_oneof![
        4 => Just(None),
        1 => (0i64..5).prop_map(|at| Some(("drop_after", json!(at)))),
        1 => (0i64..5).prop_map(|at| Some(("stream_error_after", json!(at)))),
        1 => Just(Some(("error", json!({"status": 500})))),
    ];
    (prop::collection::vec(block(), 0..4), prop::option::of(stop), failure).prop_map(
        |(blocks, stop, failure)| {
            let mut answer = json!({"blocks": blocks});
            if let Some(stop) = stop {
                answer["stop"] = json!(stop);
            }
            if let Some((name, value)) = failure {
                answer[name] = value;
            }
            answer
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_script_makes_runs_of_the_grammar(answers in prop::collection::vec(answer(), 1..6)) {
        on_one_thread(async {
            let (builder, _place) = builder(json!({"responses": answers}));
            let mut link = Link::serving(builder.build());
            for _ in 0..2 {
                // `run` checks the grammar, and each frame against the declaration.
                soon("a run", link.run("go")).await;
            }
            check_history(&link.messages().await);
            let (rest, _) = link.finish().await;
            assert!(rest.is_empty());
        });
    }
}
