//! Helpers for the tests of the wire formats.

use std::sync::Arc;

use agentese::types::{AgentMessage, InputKind, ModelBuilder, ModelCost, ModelCostBuilder, ThinkingLevel};
use reqwest::header::HeaderMap;
use serde_json::{Value, json};

use super::*;
use crate::http::{self, SseParser};
use crate::key::Key;
use crate::levels::Efforts;
use crate::{Request, Settings, StreamEvent, ToolDescription, number};

fn free() -> ModelCost {
    ModelCostBuilder {
        input: number(0.0),
        output: number(0.0),
        cache_read: number(0.0),
        cache_write: number(0.0),
    }
    .build()
}

fn request(api: &str, provider: &str, id: &str, url: &str) -> Request {
    let input = vec![InputKind::Text, InputKind::Image];
    let user = json!({"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 1});
    Request {
        model: ModelBuilder {
            id: id.into(),
            name: id.into(),
            api: api.into(),
            provider: provider.into(),
            base_url: url.into(),
            reasoning: true,
            input,
            context_window: 200_000,
            max_tokens: 16_384,
            cost: free(),
        }
        .build(),
        system_prompt: "Be brief.".to_owned(),
        messages: vec![Arc::new(serde_json::from_value(user).unwrap())].into(),
        tools: vec![ToolDescription {
            name: "bash".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        }],
        thinking: ThinkingLevel::Medium,
        max_tokens: None,
        session_id: "session".to_owned(),
        may_retry: true,
    }
}

/// Returns a conversation: a question, an answer with reasoning, text and two calls, and the results of the calls.
pub(crate) fn conversation(api: &str, model: &str) -> Vec<Arc<AgentMessage>> {
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "three things"}], "timestamp": 1},
        {"role": "assistant", "api": api, "provider": "fake", "model": model, "stopReason": "toolUse", "timestamp": 1,
         "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
                   "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
         "content": [
            {"type": "thinking", "thinking": "plan", "thinkingSignature": "c2ln"},
            {"type": "text", "text": "Three things."},
            {"type": "toolCall", "id": "m1", "name": "bash", "arguments": {"command": "echo A"}},
            {"type": "toolCall", "id": "m2", "name": "read", "arguments": {"path": "dot.png"}},
         ]},
        {"role": "toolResult", "toolCallId": "m1", "toolName": "bash", "isError": false, "timestamp": 1,
         "content": [{"type": "text", "text": "A\n"}]},
        {"role": "toolResult", "toolCallId": "m2", "toolName": "read", "isError": false, "timestamp": 1,
         "content": [{"type": "text", "text": "Read image file [image/png]"},
                     {"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
    ]);
    let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
    messages.into_iter().map(Arc::new).collect()
}

fn with_context<T>(request: &Request, compat: Value, look: impl FnOnce(&RequestContext<'_>) -> T) -> T {
    let mut compat = compat.as_object().cloned().unwrap_or_default();
    let efforts = match compat.shift_remove("thinkingLevelMap") {
        Some(map) => Efforts::read(map.as_object().unwrap()).unwrap(),
        None => Efforts::default(),
    };
    let settings = Settings::default();
    let key = Key::new("fake-key".into());
    let (settings, compat, efforts, forms) = (&settings, &compat, &efforts, &ActiveFallbacks::default());
    look(&RequestContext { request, settings, compat, efforts, fallbacks: forms, key: Some(&key), now: 0 })
}

pub(crate) fn context_of<T>(
    provider: &str,
    url: &str,
    compat: Value,
    look: impl FnOnce(&RequestContext<'_>) -> T,
) -> T {
    with_context(&request("", provider, "m", url), compat, look)
}

/// A request in its wire format, with its body as JSON.
pub(crate) struct WrittenRequest {
    pub url: String,
    pub headers: HeaderMap,
    pub body: Value,
}

/// Writes a request to a model whose `compat` has this value.
pub(crate) fn write_compat(
    api: &dyn Api,
    model: &str,
    compat: Value,
    change: impl FnOnce(&mut Request),
) -> WrittenRequest {
    let mut request = request(api.name(), "fake", model, "http://127.0.0.1:1/");
    change(&mut request);
    let WireRequest { url, headers, body } =
        with_context(&request, compat, |context| api.request(context).unwrap());
    WrittenRequest { url, headers, body: body.value() }
}

pub(crate) fn write_with(api: &dyn Api, model: &str, change: impl FnOnce(&mut Request)) -> WrittenRequest {
    write_compat(api, model, json!({}), change)
}

fn read(api: &dyn Api, body: &[u8]) -> Vec<StreamEvent> {
    let request = request(api.name(), "fake", "m", "");
    let mut reader = with_context(&request, json!({}), |context| api.reader(context));
    let mut builder = StreamEventBuilder::default();
    let mut events = SseParser::default();
    let result = http::read(&mut events, body, &mut *reader, &mut builder);
    assert_eq!(result, Ok(()), "a cut character ends no line");
    if !builder.has_ended() {
        http::finish(&mut events, &mut *reader, &mut builder);
    }
    std::iter::from_fn(|| builder.take()).collect()
}

/// Returns the provider's stop reason of the answer in a body.
pub(crate) fn raw_stop_reason(api: &dyn Api, body: &str) -> Option<String> {
    read(api, body.as_bytes()).into_iter().find_map(|event| match event {
        StreamEvent::RawStopReason(word) => Some(word),
        _ => None,
    })
}

/// Returns a line for each event that a body produces. The provider's stop reason is left out; see [`raw_stop_reason`].
pub(crate) fn outline(api: &dyn Api, body: &str) -> Vec<String> {
    let line = |event: StreamEvent| match event {
        StreamEvent::Id(id) => format!("id {id}"),
        StreamEvent::RawStopReason(word) => format!("stops as {word}"),
        StreamEvent::Start => "start".to_owned(),
        StreamEvent::Usage(counts) => {
            format!("usage {} {} {} {}", counts.input, counts.output, counts.cache_read, counts.cache_write)
        }
        StreamEvent::Signature(signature) => format!("signed {signature}"),
        StreamEvent::ThinkingSignature(signature) => format!("thinking signed {signature}"),
        StreamEvent::Redacted => "redacted".to_owned(),
        StreamEvent::TextStart => "text(".to_owned(),
        StreamEvent::ThinkingStart => "thinking(".to_owned(),
        StreamEvent::ToolCallStart { id, name } => format!("call {id} {name}("),
        StreamEvent::TextDelta(delta)
        | StreamEvent::ThinkingDelta(delta)
        | StreamEvent::ToolCallDelta(delta) => delta,
        StreamEvent::TextEnd | StreamEvent::ThinkingEnd { .. } | StreamEvent::ToolCallEnd => ")".to_owned(),
        StreamEvent::Done(reason) => format!("done {reason:?}"),
        StreamEvent::Error(failure) => format!("{:?} {}", failure.kind, failure.text),
    };
    let is_shown = |event: &StreamEvent| !matches!(event, StreamEvent::RawStopReason(_));
    read(api, body.as_bytes()).into_iter().filter(is_shown).map(line).collect()
}

/// Checks that a body is a complete answer. Also checks that each shortened body is an error after the same events.
pub(crate) fn check_cuts(api: &dyn Api, body: &str) {
    let whole = read(api, body.as_bytes());
    assert!(matches!(whole.last(), Some(StreamEvent::Done(_))));
    // The line end that ends the last event.
    for end in 0..body.len() - 1 {
        let part = read(api, &body.as_bytes()[..end]);
        let (last, before) = part.split_last().unwrap();
        assert!(matches!(last, StreamEvent::Error(_)), "cut at {end}: {last:?}");
        assert_eq!(before, &whole[..before.len()], "cut at {end}");
    }
}
