use serde_json::json;

use super::super::Completions;
use super::*;
use crate::apis::testing::{check_cuts, outline};

fn chunk(delta: Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

fn end(reason: &str) -> String {
    let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 130, "completion_tokens": 20, "total_tokens": 150,
                       "prompt_tokens_details": {"cached_tokens": 30}}});
    format!("data: {finish}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
}

fn everything() -> String {
    [
        chunk(json!({"role": "assistant", "content": ""})),
        chunk(json!({"reasoning_content": "hm ö"})),
        chunk(json!({"reasoning_content": "."})),
        chunk(json!({"content": "Hello"})),
        chunk(json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": ""}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"command\":"}}]})),
        chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"ls\"}"}}],
                     "reasoning_details": [{"type": "reasoning.encrypted", "id": "c1", "data": "x"}]})),
        chunk(json!({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "read", "arguments": {"path": "x"}}}]})),
    ]
    .concat()
}

#[test]
fn a_completion_is_emitted_block_by_block() {
    assert_eq!(
        outline(&Completions, &(everything() + &end("tool_calls"))),
        [
            "thinking(",
            "signed reasoning_content",
            "hm ö",
            ".",
            ")",
            "text(",
            "Hello",
            ")",
            "call c1 bash(",
            "",
            "{\"command\":",
            "\"ls\"}",
            r#"thinking signed [{"type":"reasoning.encrypted","id":"c1","data":"x"}]"#,
            ")",
            "call c2 read(",
            "{\"path\":\"x\"}",
            "usage 100 20 30 0",
            ")",
            "done ToolUse",
        ]
    );
}

#[test]
fn details_of_the_reasoning_belong_to_its_first_block() {
    let detail = json!({"type": "reasoning.encrypted", "data": "x"});
    let list = json!([detail]).to_string();
    let details = |members: Value| {
        let mut delta = json!({"reasoning_details": [detail]});
        delta.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        chunk(delta)
    };
    for (body, expected) in [
        (
            details(json!({"reasoning": "hm"})),
            vec!["thinking(", "signed reasoning", "hm", &format!("signed {list}"), ")"],
        ),
        // Details without any text form a block as well.
        (details(json!({"content": "x"})), vec!["thinking(", &format!("signed {list}"), ")", "text(", "x"]),
    ] {
        let lines = outline(&Completions, &(body + &chunk(json!({"content": "x"})) + &end("stop")));
        assert_eq!(lines[..expected.len()], expected);
        assert_eq!(lines.last().unwrap(), "done Stop");
    }
    // The block has ended before the details arrive.
    let late = chunk(json!({"reasoning": "hm"}))
        + &chunk(json!({"content": "x"}))
        + &details(json!({}))
        + &end("stop");
    assert!(outline(&Completions, &late).contains(&format!("thinking signed {list}")));
}

#[test]
fn fm_f63_a_completion_that_is_cut_anywhere_is_an_error() {
    // Chunks after the stop reason add figures only; the answer is complete before them.
    let whole = everything() + "data: [DONE]\n\n";
    check_cuts(&Completions, &whole);
}

#[test]
fn the_finish_reason_decides_the_end_of_a_completion() {
    for (reason, last) in [
        ("stop", "done Stop"),
        ("end", "done Stop"),
        ("length", "done Length"),
        ("function_call", "done ToolUse"),
        ("content_filter", "Refused The answer was held back by the provider's content filter."),
        ("network_error", "Network The provider lost its connection to the model."),
        ("error", "Server The model stopped without an answer (stop reason error)."),
        (
            "MALFORMED_FUNCTION_CALL",
            "Server The model stopped without an answer (stop reason MALFORMED_FUNCTION_CALL).",
        ),
        ("novel", "BadRequest Unhandled stop reason: novel"),
    ] {
        let body = chunk(json!({"content": "x"})) + &end(reason);
        assert_eq!(outline(&Completions, &body).last().unwrap(), last);
    }
    for empty in [
        end("stop"),
        end("tool_calls"),
        chunk(json!({"content": ""})) + &end("stop"),
        "data: [DONE]\n\n".to_owned(),
    ] {
        assert_eq!(
            outline(&Completions, &empty).last().unwrap(),
            "Protocol The provider's answer has no content."
        );
    }
    assert_eq!(outline(&Completions, &(everything() + &end("stop"))).last().unwrap(), "done ToolUse");
    assert_eq!(
        outline(&Completions, &(chunk(json!({"content": "x"})) + "data: [DONE]\n\n")).last().unwrap(),
        "done Stop"
    );
}

#[test]
fn the_block_of_a_withheld_answer_is_closed_before_the_failure() {
    let body = chunk(json!({"content": "x"})) + &end("content_filter");
    let outline = outline(&Completions, &body);
    assert_eq!(outline[..3], ["text(", "x", "usage 100 20 30 0"]);
    assert_eq!(outline[3], ")");
    assert!(outline[4].starts_with("Refused "), "{outline:?}");
}

#[test]
fn calls_are_distinguished_by_id_or_index() {
    let call = |part: Value| chunk(json!({"tool_calls": [part]}));
    let function = json!({"name": "bash", "arguments": "{}"});
    let with_ids = call(json!({"index": 0, "id": "a", "function": function}))
        + &call(json!({"index": 0, "id": "b", "function": function}));
    let without_ids =
        call(json!({"index": 0, "function": function})) + &call(json!({"index": 1, "function": function}));
    for body in [with_ids, without_ids] {
        let calls = outline(&Completions, &body).iter().filter(|line| line.starts_with("call ")).count();
        assert_eq!(calls, 2, "{body}");
    }
    let back = call(json!({"index": 0, "id": "a", "function": function}))
        + &call(json!({"index": 1, "id": "b", "function": function}))
        + &call(json!({"index": 0, "function": {"arguments": "more"}}));
    assert_eq!(
        outline(&Completions, &back).last().unwrap(),
        "Protocol The provider sent a part of a tool call after the call's complete arguments."
    );
}

fn calls(parts: &[Value]) -> String {
    parts.iter().map(|part| chunk(json!({"tool_calls": [part]}))).collect()
}

/// Returns each call of an answer with its arguments, as one line.
fn called(body: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in outline(&Completions, body) {
        if let Some(call) = line.strip_prefix("call ") {
            found.push(call.to_owned());
            open = true;
        } else if line == ")" {
            open = false;
        } else if open && !line.starts_with("usage ") {
            found.last_mut().unwrap().push_str(&line);
        }
    }
    found
}

#[test]
fn calls_are_assembled_by_slot_despite_events_between() {
    let begin = |index: u64, id: &str, text: &str| json!({"index": index, "id": id, "function": {"name": "bash", "arguments": text}});
    let more = |index: u64, text: &str| json!({"index": index, "function": {"arguments": text}});
    let alternate = calls(&[
        begin(0, "a", "{\"command\":"),
        begin(1, "b", "{\"command\":"),
        more(0, "\"one\"}"),
        more(1, "\"two\"}"),
    ]);
    let three = calls(&[
        begin(0, "a", ""),
        begin(1, "b", ""),
        begin(2, "c", "{}"),
        more(1, "{\"command\":"),
        more(0, "{\"command\":\"one\"}"),
        more(1, "\"two\"}"),
    ]);
    let text_between = |delta: Value| {
        calls(&[begin(0, "a", "{\"command\":")]) + &chunk(delta) + &calls(&[more(0, "\"one\"}")])
    };
    let (one, two) = ("a bash({\"command\":\"one\"}", "b bash({\"command\":\"two\"}");
    for (body, expected) in [
        (alternate, vec![one, two]),
        (three, vec![one, two, "c bash({}"]),
        (text_between(json!({"content": " "})), vec![one]),
        (text_between(json!({"reasoning_content": "hm"})), vec![one]),
        (text_between(json!({"content": null, "role": "assistant"})), vec![one]),
    ] {
        assert_eq!(called(&(body.clone() + &end("tool_calls"))), expected, "{body}");
        assert_eq!(outline(&Completions, &(body + &end("tool_calls"))).last().unwrap(), "done ToolUse");
    }
}

#[test]
fn a_call_that_is_repeated_as_a_whole_is_one_call() {
    let part = |arguments: &str| json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": arguments}});
    let body = calls(&[part("{\"command\":"), part("\"one\"}"), part("{\"command\":\"one\"}")]);
    assert_eq!(called(&(body + &end("tool_calls"))), ["a bash({\"command\":\"one\"}"]);
}

#[test]
fn calls_with_one_id_at_two_indexes_are_two_calls() {
    let begin = |index: u64, text: &str| json!({"index": index, "id": "a", "function": {"name": "bash", "arguments": text}});
    let more = |index: u64, text: &str| json!({"index": index, "id": "a", "function": {"arguments": text}});
    let whole = calls(&[begin(0, "{\"x\":1}"), begin(1, "{\"x\":2}")]);
    let alternate = calls(&[begin(0, "{\"x\""), begin(1, "{\"x\""), more(0, ":1}"), more(1, ":2}")]);
    for body in [whole, alternate] {
        assert_eq!(called(&(body + &end("tool_calls"))), ["a bash({\"x\":1}", "a bash({\"x\":2}"]);
    }
    // An index that counts the chunks begins no other call: only a name does.
    let counted = calls(&[begin(0, "{\"x\""), more(1, ":"), more(2, "1}")]);
    assert_eq!(called(&(counted + &end("tool_calls"))), ["a bash({\"x\":1}"]);
}

#[test]
fn a_whole_message_behind_its_deltas_adds_what_is_missing_alone() {
    let message = |message: Value| {
        let choice = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
        format!("data: {choice}\n\ndata: [DONE]\n\n")
    };
    let text = chunk(json!({"content": "Hel"})) + &chunk(json!({"content": "lo"}));
    let thought = chunk(json!({"reasoning_content": "hm"}));
    for (body, expected) in [
        (text.clone() + &message(json!({"content": "Hello"})), vec!["text(", "Hel", "lo", ")"]),
        (text.clone() + &message(json!({"content": "Hello!"})), vec!["text(", "Hel", "lo", "!", ")"]),
        (text.clone() + &message(json!({"content": " Hello"})), vec!["text(", "Hel", "lo", ")"]),
        (text + &message(json!({"content": null})), vec!["text(", "Hel", "lo", ")"]),
        (
            thought + &message(json!({"reasoning_content": "hm", "content": "Hi"})),
            vec!["thinking(", "signed reasoning_content", "hm", ")", "text(", "Hi", ")"],
        ),
    ] {
        let lines = outline(&Completions, &body);
        assert_eq!(lines[..lines.len() - 1], expected, "{body}");
    }
    let call = |id: &str, text: &str| json!({"id": id, "function": {"name": "bash", "arguments": text}});
    let streamed = calls(&[
        json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{\"x\""}}),
        json!({"index": 1, "id": "b", "function": {"name": "bash", "arguments": "{}"}}),
    ]);
    for ids in [["a", "b"], ["c", "d"], ["", ""]] {
        let calls = json!([call(ids[0], "{\"x\":1}"), call(ids[1], "{}"), call("e", "{}")]);
        let body = streamed.clone() + &message(json!({"tool_calls": calls}));
        assert_eq!(called(&body), ["a bash({\"x\":1}", "b bash({}", "e bash({}"], "{ids:?}");
    }
}

#[test]
fn content_comes_in_any_form() {
    let body = chunk(json!({"content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "hi"},
    ]})) + &chunk(json!({"content": {"type": "text", "text": "!"}}));
    let whole = format!(
        "data: {}\n\n",
        json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]})
    );
    assert_eq!(
        outline(&Completions, &(body + &end("stop")))[..6],
        ["thinking(", "hm", ")", "text(", "hi", "!"]
    );
    assert_eq!(outline(&Completions, &(whole + "data: [DONE]\n\n")), ["text(", "whole", ")", "done Stop"]);
}

#[test]
fn an_error_in_the_stream_has_its_text_in_any_shape() {
    for (body, last) in [
        (
            "event: error\ndata: {\"message\":\"The model is overloaded\"}\n\n",
            "Overloaded The model is overloaded",
        ),
        (
            "data: {\"object\":\"error\",\"message\":\"no such model\",\"code\":404}\n\n",
            "BadRequest no such model",
        ),
        (
            "error: {\"code\":400,\"message\":\"the request exceeds the available context size\"}\n\n",
            "Overflow the request exceeds the available context size",
        ),
        ("event: error\ndata: boom\n\n", "Network boom"),
        ("upstream connect error", "Network upstream connect error"),
        ("{\"error\":{\"message\":\"slow\",\"code\":\"429\"}}", "RateLimited slow"),
        ("data: {\"error\":{\"message\":\"slow\",\"code\":429}}", "RateLimited slow"),
    ] {
        assert_eq!(outline(&Completions, body).last().unwrap(), last, "{body}");
        let later = chunk(json!({"content": "x"})) + body;
        if !body.starts_with(['u', '{']) {
            assert_eq!(outline(&Completions, &later).last().unwrap(), last, "{later}");
        }
    }
}

#[test]
fn fm_f65_an_error_in_the_stream_is_the_answer_s_error() {
    for (error, line) in [
        (json!({"message": "server error", "type": "server_error", "code": null}), "Server server error"),
        (json!({"message": "slow down", "code": 429}), "RateLimited slow down"),
        (json!("plain"), "BadRequest plain"),
        (json!({"type": "overloaded_error"}), r#"Overloaded {"type":"overloaded_error"}"#),
    ] {
        let body = format!("data: {}\n\n", json!({"error": error}));
        assert_eq!(outline(&Completions, &body), [line]);
    }
}

#[test]
fn fm_f68_odd_figures_are_no_negative_ones() {
    let counted = |usage: Value| {
        let counts = counts(&usage);
        [counts.input, counts.output, counts.cache_read, counts.cache_write]
    };
    assert_eq!(counted(json!({})), [0, 0, 0, 0]);
    assert_eq!(counted(json!({"prompt_tokens": -5, "completion_tokens": null})), [0, 0, 0, 0]);
    let cached = json!({"cached_tokens": 30});
    assert_eq!(counted(json!({"prompt_tokens": 10, "prompt_tokens_details": cached})), [0, 0, 30, 0]);
    let reasoning = json!({"reasoning_tokens": 7});
    let usage = |total: u64| {
        json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": total,
               "completion_tokens_details": reasoning})
    };
    assert_eq!(counted(usage(30)), [10, 20, 0, 0]);
    assert_eq!(counted(usage(37)), [10, 27, 0, 0]);
}
