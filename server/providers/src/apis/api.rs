//! A wire format, and what it is given.

use agentese::types::{Model, ThinkingLevel};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};

use super::body::Body;
use super::errors::error_in_text;
use super::forms::{Form, OtherForms};
use super::said::StreamEventBuilder;
use crate::declarations::ToolRules;
use crate::key::Key;
use crate::levels::Efforts;
use crate::{Failure, Request, Settings, most_tokens};

/// All that a request is written from.
pub(crate) struct Asked<'a> {
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
    pub(super) fn model(&self) -> &Model {
        &self.request.model
    }

    /// The address of an endpoint below the provider's.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.model().base_url.trim_end_matches('/'))
    }

    /// Whether the request goes to that host itself, not to one that speaks like it.
    pub(super) fn is_host(&self, host: &str) -> bool {
        host_of(&self.model().base_url).is_some_and(|found| found == host)
    }

    /// The level, where the model thinks at all.
    pub(super) fn thinking(&self) -> Option<ThinkingLevel> {
        let level = self.request.thinking;
        (self.model().reasoning && level != ThinkingLevel::Off).then_some(level)
    }

    /// What the provider is sent for the level, where `models.json` says it.
    pub(super) fn effort(&self) -> Option<&str> {
        self.efforts.of(self.request.thinking).filter(|_| self.model().reasoning)
    }

    /// The most tokens of the answer.
    pub(super) fn max_tokens(&self) -> u64 {
        let model = self.model();
        self.request.max_tokens.map_or_else(|| most_tokens(model), |wanted| wanted.min(model.max_tokens))
    }

    /// The most tokens that come out, for APIs whose limit counts those for thinking: an answer that was
    /// given a limit has that room beside them, as far as the model has it.
    pub(super) fn max_output_tokens(&self) -> u64 {
        let thinking = self.thinking().and_then(|level| self.settings.budgets.of(level));
        match (self.request.max_tokens, thinking) {
            (Some(wanted), Some(room)) => wanted.saturating_add(room).min(self.model().max_tokens),
            _ => self.max_tokens(),
        }
    }
}

/// The host of an address, in lower case.
pub(crate) fn host_of(address: &str) -> Option<String> {
    reqwest::Url::parse(address).ok()?.host_str().map(str::to_lowercase)
}

/// A request as it goes out.
#[derive(Debug)]
pub(crate) struct Wire {
    pub url: String,
    /// Secret values are marked as such.
    pub headers: HeaderMap,
    pub body: Body,
}

/// A wire format.
pub(crate) trait Api: Send + Sync {
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
pub(crate) trait Reader: Send + Sync {
    /// Takes the data of one event.
    fn event(&mut self, data: &str, said: &mut StreamEventBuilder);

    /// The body ended, in an orderly way.
    fn end(&mut self, said: &mut StreamEventBuilder);
}

/// Hands the data of an event that is named `error` to a reader; what that does not know is an error all the same.
pub(crate) fn named_error(reader: &mut dyn Reader, data: &str, said: &mut StreamEventBuilder) {
    if agentese::wire::decode::<Value>(data).is_ok_and(|value| value.is_object()) {
        reader.event(data, said);
    }
    if !said.is_over() {
        said.fail(error_in_text(data));
    }
}
