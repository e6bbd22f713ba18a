//! Tests of the streams of each API, byte for byte.

use serde_json::{Value, json};

use crate::http::{End, post, start};

fn script() -> Value {
    json!({"responses": [{
        "blocks": [
            {"thinking": ["Hm", "m."], "signature": "sig"},
            {"text": ["Hel", "lo"]},
            {"tool": {"id": "call_1", "name": "bash", "args": ["{\"comm", "and\":\"ls\"}"]}},
        ],
        "usage": {"input": 7, "output": 9, "cacheRead": 3, "cacheWrite": 2},
    }]})
}

/// Plays the script for a request, and compares the complete stream.
async fn stream(script: Value, path: &str, expected: &str) {
    let model = start(script).await;
    let response = post(model.address(), path, &json!({"model": "m"})).await;
    assert_eq!((response.status, response.end), (200, End::Complete), "{}", response.head);
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    let wanted: String = expected.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    assert_eq!(response.body, wanted);
    model.stop().await;
}

#[tokio::test]
async fn anthropic_messages() {
    let expected = r#"event: message_start
        data: {"type":"message_start","message":{"id":"msg_0000","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}}

        event: content_block_start
        data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"m."}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

        event: content_block_stop
        data: {"type":"content_block_stop","index":0}

        event: content_block_start
        data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hel"}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"lo"}}

        event: content_block_stop
        data: {"type":"content_block_stop","index":1}

        event: content_block_start
        data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"bash","input":{}}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}}

        event: content_block_delta
        data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"and\":\"ls\"}"}}

        event: content_block_stop
        data: {"type":"content_block_stop","index":2}

        event: message_delta
        data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

        event: message_stop
        data: {"type":"message_stop"}

"#;
    stream(script(), "/v1/messages?beta=true", expected).await;
}

#[tokio::test]
async fn openai_completions() {
    let expected = r#"data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"Hm"},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"m."},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"bash","arguments":""}}]},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"comm"}}]},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"and\":\"ls\"}"}}]},"finish_reason":null}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

        data: {"id":"chatcmpl-0000","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19,"prompt_tokens_details":{"cached_tokens":3}}}

        data: [DONE]

"#;
    stream(script(), "/v1/chat/completions", expected).await;
}

#[tokio::test]
async fn google_generative_ai() {
    let expected = r#"data: {"candidates":[{"content":{"parts":[{"text":"Hm","thought":true}],"role":"model"},"index":0}],"modelVersion":"gemini-x","responseId":"resp_0000"}

        data: {"candidates":[{"content":{"parts":[{"text":"m.","thought":true}],"role":"model"},"index":0}],"modelVersion":"gemini-x","responseId":"resp_0000"}

        data: {"candidates":[{"content":{"parts":[{"text":"","thought":true,"thoughtSignature":"sig"}],"role":"model"},"index":0}],"modelVersion":"gemini-x","responseId":"resp_0000"}

        data: {"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}],"modelVersion":"gemini-x","responseId":"resp_0000"}

        data: {"candidates":[{"content":{"parts":[{"text":"lo"}],"role":"model"},"index":0}],"modelVersion":"gemini-x","responseId":"resp_0000"}

        data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"bash","args":{"command":"ls"},"id":"call_1"}}],"role":"model"},"index":0}],"modelVersion":"gemini-x","responseId":"resp_0000"}

        data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"index":0,"finishReason":"STOP"}],"modelVersion":"gemini-x","responseId":"resp_0000","usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":3,"candidatesTokenCount":9,"totalTokenCount":19}}

"#;
    stream(script(), "/v1beta/models/gemini-x:streamGenerateContent?alt=sse", expected).await;
}

/// This API sends many events. Checks their order, and the events from which clients build
/// messages.
#[tokio::test]
async fn openai_responses() {
    let model = start(script()).await;
    let response = post(model.address(), "/v1/responses", &json!({"model": "m"})).await;
    assert_eq!((response.status, response.end), (200, End::Complete));
    let mut events: Vec<Value> = Vec::new();
    for event in response.body.trim_end().split("\n\n") {
        let (name, data) = event.split_once("\ndata: ").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        assert_eq!(data["sequence_number"], events.len());
        events.push(data);
    }
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    assert_eq!(
        events[11],
        json!({
            "type": "response.output_text.delta", "item_id": "msg_0_1", "output_index": 1, "content_index": 0,
            "delta": "Hel", "sequence_number": 11,
        })
    );
    assert_eq!(
        events[20]["item"],
        json!({
            "id": "fc_0_2", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "bash",
            "arguments": "{\"command\":\"ls\"}",
        })
    );
    let last = &events[21]["response"];
    assert_eq!(last["output"].as_array().unwrap().len(), 3);
    assert_eq!(
        last["usage"],
        json!({
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 19,
        })
    );
    model.stop().await;
}

#[tokio::test]
async fn each_api_has_its_own_stop_reasons() {
    let table = [
        ("/v1/messages", "length", r#""stop_reason":"max_tokens""#),
        ("/v1/messages", "stop", r#""stop_reason":"end_turn""#),
        ("/v1/messages", "refusal", r#""stop_reason":"refusal""#),
        ("/v1/chat/completions", "length", r#""finish_reason":"length""#),
        ("/v1/responses", "length", r#""incomplete_details":{"reason":"max_output_tokens"}"#),
        ("/m:streamGenerateContent", "length", r#""finishReason":"MAX_TOKENS""#),
    ];
    for (path, stop, wanted) in table {
        let model = start(json!({"responses": [{"text": "x", "stop": stop}]})).await;
        let response = post(model.address(), path, &json!({})).await;
        assert!(response.body.contains(wanted), "{path}: {}", response.body);
        model.stop().await;
    }
}
