//! The wire formats: how a request is written, and how an answer is read.
//!
//! Each is a pair of pure parts, tested without a network: a function from a request to JSON, and a
//! [`Reader`], a state machine from events to [`StreamEvent`](super::StreamEvent)s.

mod anthropic;
mod body;
mod completions;
mod content;
mod errors;
mod forms;
mod google;
mod hosts;
mod responses;
mod said;
#[cfg(test)]
mod seeded;
mod slots;
#[cfg(test)]
mod testing;
mod verbatim;

use agentese::types::{Model, ThinkingLevel};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};

use super::declarations::ToolRules;
use super::key::Key;
use super::{Efforts, Failure, Request, Settings, excerpt, most_tokens};

pub(super) use body::Body;
use errors::error_in;
pub(super) use errors::{error_in_json, error_in_text, named_error};
pub(super) use forms::{Form, OtherForms};
pub(super) use said::Said;

/// All that a request is written from.
pub(super) struct Asked<'a> {
    pub request: &'a Request,
    pub settings: &'a Settings,
    /// What is special about this host, as `models.json` says it.
    pub compat: &'a Map<String, Value>,
    /// What it is sent for each level, where `models.json` says that.
    pub efforts: &'a Efforts,
    /// The parts that this host wants in their other form.
    pub forms: &'a OtherForms,
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

    /// What the provider is sent for the level, where `models.json` says it.
    fn effort(&self) -> Option<&str> {
        self.efforts.of(self.request.thinking).filter(|_| self.model().reasoning)
    }

    /// The most tokens of the answer.
    fn max_tokens(&self) -> u64 {
        let model = self.model();
        self.request.max_tokens.map_or_else(|| most_tokens(model), |wanted| wanted.min(model.max_tokens))
    }

    /// The most tokens that come out, for APIs whose limit counts those for thinking: an answer that was
    /// given a limit has that room beside them, as far as the model has it.
    fn max_output_tokens(&self) -> u64 {
        let thinking = self.thinking().and_then(|level| self.settings.budgets.of(level));
        match (self.request.max_tokens, thinking) {
            (Some(wanted), Some(room)) => wanted.saturating_add(room).min(self.model().max_tokens),
            _ => self.max_tokens(),
        }
    }
}

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
    pub body: Body,
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

    /// Whether the format lets blocks grow side by side.
    fn interleaves(&self) -> bool {
        false
    }

    /// Whether a block that is open when a request is aborted is closed. Clients see the difference:
    /// pi's own libraries differ in it.
    fn closes_when_aborted(&self) -> bool {
        false
    }

    /// The rules for tools; those of a request fit them.
    fn tool_rules(&self) -> &'static ToolRules;

    /// Writes a request. Fails where the conversation cannot be said in this format.
    fn request(&self, asked: &Asked<'_>) -> Result<Wire, Failure>;

    /// The parts of its requests that some servers refuse.
    fn forms(&self) -> &'static [Form] {
        &[]
    }

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

const APIS: &[&dyn Api] =
    &[&anthropic::Anthropic, &completions::Completions, &responses::Responses, &google::Google];

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
        let told = Failure::of_status(status, error.to_string());
        (failure.kind, failure.unexplained) = (told.kind, told.unexplained);
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
mod tests {
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
