//! Wire formats of model APIs: writers of requests and readers of answers.
//!
//! Each format consists of two pure parts, which are tested without a network. A function converts a request
//! to JSON. A [`Reader`] is a state machine that converts events to [`StreamEvent`](super::StreamEvent)s.

mod anthropic;
mod api;
mod block_sequencer;
mod body;
mod completions;
mod content;
mod errors;
mod fallbacks;
mod google;
mod hosts;
mod http_errors;
mod responses;
#[cfg(test)]
mod seeded;
mod stream_event_builder;
#[cfg(test)]
mod testing;
mod verbatim;

pub(super) use api::{Api, Reader, RequestContext, WireRequest, read_error_event};
pub(super) use body::Body;
pub(super) use errors::{error_in_json, error_in_text};
pub(super) use fallbacks::{ActiveFallbacks, FallbackCache};
pub(super) use stream_event_builder::StreamEventBuilder;

const APIS: &[&dyn Api] =
    &[&anthropic::Anthropic, &completions::Completions, &responses::Responses, &google::Google];

/// Returns the wire format of the given name.
pub(super) fn named(name: &str) -> Option<&'static dyn Api> {
    APIS.iter().copied().find(|api| api.name() == name)
}

/// Returns the names of all wire formats.
pub(super) fn names() -> Vec<&'static str> {
    APIS.iter().map(|api| api.name()).collect()
}

#[cfg(test)]
mod tests {
    use agentese::types::ThinkingLevel;
    use serde_json::Value;

    use super::http_errors::{body_error, message_error};
    use super::*;

    #[test]
    fn an_answer_with_a_limit_has_that_room_beside_the_thinking() {
        for (api, path) in [
            (APIS[1], "/max_tokens"),
            (APIS[2], "/max_output_tokens"),
            (APIS[3], "/generationConfig/maxOutputTokens"),
        ] {
            let sent = |wanted: Option<u64>, level: ThinkingLevel| {
                let wire = testing::write_with(api, "m", |request| {
                    request.max_tokens = wanted;
                    request.thinking = level;
                    request.model.max_tokens = 20_000;
                });
                wire.body.pointer(path).and_then(Value::as_u64)
            };
            assert_eq!(sent(Some(3000), ThinkingLevel::High), Some(19_384), "{}", api.name());
            assert_eq!(sent(Some(13_107), ThinkingLevel::High), Some(20_000), "{}", api.name());
            assert_eq!(sent(Some(3000), ThinkingLevel::Off), Some(3000), "{}", api.name());
            assert_eq!(sent(None, ThinkingLevel::High), Some(20_000), "{}", api.name());
        }
    }

    #[test]
    fn refusals_have_the_texts_of_pi() {
        let overloaded =
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}"#;
        let limited = r#"{"error": {"type": "rate_limit_error", "message": "Rate limited", "code": null}}"#;
        for (failure, text) in [
            (
                body_error(529, overloaded),
                r#"529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            (body_error(413, ""), "413 status code (no body)"),
            (body_error(502, "<html>\n<h1>Bad gateway"), "502 <html> <h1>Bad gateway"),
            (message_error(429, limited), "429 Rate limited"),
            (message_error(500, r#"{"error": "plain"}"#), "500 plain"),
            (message_error(400, r#"{"error": {"code": 7}}"#), r#"400 {"code":7}"#),
            (message_error(400, r#"{"detail": "no"}"#), r#"400 {"detail":"no"}"#),
            (message_error(400, ""), "400 status code (no body)"),
            (message_error(502, "<html>"), "502 <html>"),
        ] {
            assert_eq!(failure.text, text);
        }
    }
}
