//! The wire formats: how a request is written, and how an answer is read.
//!
//! Each is a pair of pure parts, tested without a network: a function from a request to JSON, and a
//! [`Reader`], a state machine from events to [`StreamEvent`](super::StreamEvent)s.

mod anthropic;
mod completions;
mod said;

use agentese::types::{Model, ThinkingLevel};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};

use super::key::Key;
use super::{Failure, Request, Settings};

pub(super) use said::{Said, excerpt};

/// All that a request is written from.
pub(super) struct Asked<'a> {
    pub request: &'a Request,
    pub settings: &'a Settings,
    /// What is special about this host, as `models.json` says it.
    pub compat: &'a Map<String, Value>,
    pub key: Option<&'a Key>,
    /// Now, in milliseconds since the epoch.
    pub now: i64,
}

impl Asked<'_> {
    fn model(&self) -> &Model {
        &self.request.model
    }

    /// The address of an endpoint below the provider's.
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.model().base_url.trim_end_matches('/'))
    }

    /// Whether the request goes to that host itself, not to one that speaks like it.
    fn is_host(&self, host: &str) -> bool {
        host_of(&self.model().base_url).is_some_and(|found| found == host)
    }

    /// The level, where the model thinks at all.
    fn thinking(&self) -> Option<ThinkingLevel> {
        let level = self.request.thinking;
        (self.model().reasoning && level != ThinkingLevel::Off).then_some(level)
    }

    /// The most tokens of the answer.
    fn max_tokens(&self) -> u64 {
        self.request.max_tokens.unwrap_or(MOST_TOKENS).min(self.model().max_tokens)
    }
}

/// The most tokens that an answer is given room for, without those for thinking.
const MOST_TOKENS: u64 = 32_000;

/// The host of an address, in lower case.
pub(super) fn host_of(address: &str) -> Option<String> {
    reqwest::Url::parse(address).ok()?.host_str().map(str::to_lowercase)
}

/// A request as it goes out.
#[derive(Debug)]
pub(super) struct Wire {
    pub url: String,
    /// Secret values are marked as such.
    pub headers: HeaderMap,
    pub body: Value,
}

/// A wire format.
pub(super) trait Api: Send + Sync {
    /// Its name, as models carry it.
    fn name(&self) -> &'static str;

    /// Whether an answer counts as begun when the request is sent, not when the provider answers.
    /// Clients see the difference: pi's own libraries differ in it.
    fn begins_when_sent(&self) -> bool {
        false
    }

    /// Writes a request. Fails where the conversation cannot be said in this format.
    fn request(&self, asked: &Asked<'_>) -> Result<Wire, Failure>;

    /// Reads the answer to that request.
    fn reader(&self, asked: &Asked<'_>) -> Box<dyn Reader>;

    /// Reads an answer that is an HTTP error.
    fn refusal(&self, status: u16, body: &str) -> Failure;
}

/// Reads an answer, event by event. It is not asked again once what it said is over.
pub(super) trait Reader: Send + Sync {
    /// Takes the data of one event.
    fn event(&mut self, data: &str, said: &mut Said);

    /// The body ended, in an orderly way.
    fn end(&mut self, said: &mut Said);
}

const APIS: &[&dyn Api] = &[&anthropic::Anthropic, &completions::Completions];

/// The wire format of that name.
pub(super) fn named(name: &str) -> Option<&'static dyn Api> {
    APIS.iter().copied().find(|api| api.name() == name)
}

/// The names of all wire formats.
pub(super) fn names() -> Vec<&'static str> {
    APIS.iter().map(|api| api.name()).collect()
}

/// What an HTTP error says, as the client library of OpenAI words it: the status and the error's
/// message, else the error, else the body.
fn message_refusal(status: u16, body: &str) -> Failure {
    let value = agentese::wire::decode::<Value>(body).ok();
    let error = value.as_ref().map(|value| match &value["error"] {
        Value::Null => value,
        error => error,
    });
    let said = match error {
        Some(Value::String(message)) => message.clone(),
        Some(error) => match error["message"].as_str() {
            Some(message) => message.to_owned(),
            None => error.to_string(),
        },
        None if body.trim().is_empty() => return Failure::of_status(status, no_body(status)),
        None => excerpt(body),
    };
    let mut failure = Failure::of_status(status, format!("{status} {said}"));
    // The kind may stand in a member that people are not shown.
    if let Some(error) = error {
        failure.kind = Failure::of_status(status, error.to_string()).kind;
    }
    failure
}

/// What an HTTP error says: the status and the body as JSON.
fn body_refusal(status: u16, body: &str) -> Failure {
    let said = match agentese::wire::decode::<Value>(body) {
        Ok(value) => value.to_string(),
        Err(_) if body.trim().is_empty() => return Failure::of_status(status, no_body(status)),
        Err(_) => excerpt(body),
    };
    Failure::of_status(status, format!("{status} {said}"))
}

fn no_body(status: u16) -> String {
    format!("{status} status code (no body)")
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use agentese::types::{AgentMessage, InputKind, ModelCost};
    use serde_json::json;

    use super::*;
    use crate::providers::http::Events;
    use crate::providers::{StreamEvent, ToolDescription, number};

    fn free() -> ModelCost {
        ModelCost::new(number(0.0), number(0.0), number(0.0), number(0.0))
    }

    fn request(api: &str, provider: &str, id: &str, url: &str) -> Request {
        let input = vec![InputKind::Text, InputKind::Image];
        let user = json!({"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 1});
        Request {
            max_tokens: None,
            model: Model::new(id, id, api, provider, url, true, input, 200_000, 16_384, free()),
            system_prompt: "Be brief.".to_owned(),
            messages: vec![Arc::new(serde_json::from_value(user).unwrap())],
            tools: vec![ToolDescription {
                name: "bash".to_owned(),
                description: "Runs a command.".to_owned(),
                parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
            }],
            thinking: ThinkingLevel::Medium,
            session_id: "session".to_owned(),
        }
    }

    /// A question, an answer with reasoning, text and two calls, and their results.
    pub(in crate::providers) fn conversation(api: &str, model: &str) -> Vec<Arc<AgentMessage>> {
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

    fn with_asked<T>(request: &Request, compat: Value, look: impl FnOnce(&Asked<'_>) -> T) -> T {
        let compat = compat.as_object().cloned().unwrap_or_default();
        let settings = Settings::default();
        let key = Key::new("fake-key".into());
        look(&Asked { request, settings: &settings, compat: &compat, key: Some(&key), now: 0 })
    }

    pub(in crate::providers) fn asked_of<T>(
        provider: &str,
        url: &str,
        compat: Value,
        look: impl FnOnce(&Asked<'_>) -> T,
    ) -> T {
        with_asked(&request("", provider, "m", url), compat, look)
    }

    /// What goes out for a request that was changed like that.
    pub(in crate::providers) fn write_compat(
        api: &dyn Api,
        model: &str,
        compat: Value,
        change: impl FnOnce(&mut Request),
    ) -> Wire {
        let mut request = request(api.name(), "fake", model, "http://127.0.0.1:1/");
        change(&mut request);
        with_asked(&request, compat, |asked| api.request(asked).unwrap())
    }

    pub(in crate::providers) fn write_with(
        api: &dyn Api,
        model: &str,
        change: impl FnOnce(&mut Request),
    ) -> Wire {
        write_compat(api, model, json!({}), change)
    }

    fn read(api: &dyn Api, body: &[u8]) -> Vec<StreamEvent> {
        let request = request(api.name(), "fake", "m", "");
        let mut reader = with_asked(&request, json!({}), |asked| api.reader(asked));
        let mut said = Said::default();
        let mut events = Events::default();
        let result = events.push(body, |data| {
            if !said.is_over() {
                reader.event(data, &mut said);
            }
        });
        assert_eq!(result, Ok(()), "a cut character ends no line");
        if !said.is_over() {
            reader.end(&mut said);
        }
        std::iter::from_fn(|| said.take()).collect()
    }

    /// What is said of a body, a line per event.
    pub(in crate::providers) fn outline(api: &dyn Api, body: &str) -> Vec<String> {
        let line = |event: StreamEvent| match event {
            StreamEvent::Start => "start".to_owned(),
            StreamEvent::Usage(counts) => {
                format!(
                    "usage {} {} {} {}",
                    counts.input, counts.output, counts.cache_read, counts.cache_write
                )
            }
            StreamEvent::Signature(signature) => format!("signed {signature}"),
            StreamEvent::Redacted => "redacted".to_owned(),
            StreamEvent::TextStart => "text(".to_owned(),
            StreamEvent::ThinkingStart => "thinking(".to_owned(),
            StreamEvent::ToolCallStart { id, name } => format!("call {id} {name}("),
            StreamEvent::TextDelta(delta)
            | StreamEvent::ThinkingDelta(delta)
            | StreamEvent::ToolCallDelta(delta) => delta,
            StreamEvent::TextEnd | StreamEvent::ThinkingEnd { .. } | StreamEvent::ToolCallEnd => {
                ")".to_owned()
            }
            StreamEvent::Done(reason) => format!("done {reason:?}"),
            StreamEvent::Error(failure) => format!("{:?} {}", failure.kind, failure.text),
        };
        read(api, body.as_bytes()).into_iter().map(line).collect()
    }

    /// A body is an answer, and each of its beginnings is an error that tells what came before it.
    pub(in crate::providers) fn check_cuts(api: &dyn Api, body: &str) {
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

    #[test]
    fn refusals_are_worded_as_pi_words_them() {
        let overloaded =
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
        let limited = r#"{"error": {"type": "rate_limit_error", "message": "Rate limited", "code": null}}"#;
        for (failure, text) in [
            (
                body_refusal(529, overloaded),
                r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            (body_refusal(413, ""), "413 status code (no body)"),
            (body_refusal(502, "<html>\n<h1>Bad gateway"), "502 <html> <h1>Bad gateway"),
            (message_refusal(429, limited), "429 Rate limited"),
            (message_refusal(500, r#"{"error": "plain"}"#), "500 plain"),
            (message_refusal(400, r#"{"error": {"code": 7}}"#), r#"400 {"code":7}"#),
            (message_refusal(400, r#"{"detail": "no"}"#), r#"400 {"detail":"no"}"#),
            (message_refusal(400, ""), "400 status code (no body)"),
            (message_refusal(502, "<html>"), "502 <html>"),
        ] {
            assert_eq!(failure.text, text);
        }
    }
}
