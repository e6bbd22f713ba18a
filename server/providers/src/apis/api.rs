//! A wire format and its input.

use agentese::types::{Model, ThinkingLevel};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value};

use super::body::Body;
use super::errors::error_in_text;
use super::fallbacks::{ActiveFallbacks, Fallback};
use super::stream_event_builder::StreamEventBuilder;
use crate::key::Key;
use crate::levels::Efforts;
use crate::tool_schema::ToolRules;
use crate::{ProviderError, Request, Settings, default_max_tokens};

/// The input from which a request is written.
pub(crate) struct RequestContext<'a> {
    pub request: &'a Request,
    pub settings: &'a Settings,
    /// Differences of this host, from `compat` in `models.json`.
    pub compat: &'a Map<String, Value>,
    /// The value sent for each thinking level, if `models.json` declares it.
    pub efforts: &'a Efforts,
    /// Parts of the request that this host receives in their alternative form.
    pub fallbacks: &'a ActiveFallbacks,
    pub key: Option<&'a Key>,
    /// The current time in milliseconds since the epoch.
    pub now: i64,
}

impl RequestContext<'_> {
    pub(super) fn model(&self) -> &Model {
        &self.request.model
    }

    /// Returns the address of an endpoint below the provider's address.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.model().base_url.trim_end_matches('/'))
    }

    /// Returns whether the request goes to that host itself, not to one with a compatible API.
    pub(super) fn is_host(&self, host: &str) -> bool {
        host_of(&self.model().base_url).is_some_and(|found| found == host)
    }

    /// Returns the thinking level, if the model can think.
    pub(super) fn thinking(&self) -> Option<ThinkingLevel> {
        let level = self.request.thinking;
        (self.model().reasoning && level != ThinkingLevel::Off).then_some(level)
    }

    /// Returns the value that the provider receives for the level, if `models.json` declares it.
    pub(super) fn effort(&self) -> Option<&str> {
        self.efforts.of(self.request.thinking).filter(|_| self.model().reasoning)
    }

    /// Returns the limit of the answer in tokens.
    pub(super) fn max_tokens(&self) -> u64 {
        let model = self.model();
        self.request
            .max_tokens
            .map_or_else(|| default_max_tokens(model), |wanted| wanted.min(model.max_tokens))
    }

    /// Returns the limit of the output in tokens, for APIs whose limit includes thinking. If the request
    /// limits the answer, the thinking tokens are added to that limit, as far as the model allows.
    pub(super) fn max_output_tokens(&self) -> u64 {
        let thinking = self.thinking().and_then(|level| self.settings.budgets.of(level));
        match (self.request.max_tokens, thinking) {
            (Some(wanted), Some(room)) => wanted.saturating_add(room).min(self.model().max_tokens),
            _ => self.max_tokens(),
        }
    }
}

/// Returns the host of an address in lower case.
pub(crate) fn host_of(address: &str) -> Option<String> {
    reqwest::Url::parse(address).ok()?.host_str().map(str::to_lowercase)
}

/// A request in its wire format.
#[derive(Debug)]
pub(crate) struct WireRequest {
    pub url: String,
    /// Headers; secret values are marked as sensitive.
    pub headers: HeaderMap,
    pub body: Body,
}

/// A wire format.
pub(crate) trait Api: Send + Sync {
    /// Returns the name of the format, as in the `api` of models.
    fn name(&self) -> &'static str;

    /// Returns whether an answer starts when the request is sent, not when the provider answers. The difference is
    /// visible to clients; pi's own libraries differ in it.
    fn starts_when_sent(&self) -> bool {
        false
    }

    /// Returns whether the format can stream several blocks of an answer at the same time.
    fn interleaves(&self) -> bool {
        false
    }

    /// Returns whether the open block is closed when a request is aborted. The difference is visible to clients; pi's
    /// own libraries differ in it.
    fn closes_when_aborted(&self) -> bool {
        false
    }

    /// Returns the rules for tools. The tools of a request conform to them.
    fn tool_rules(&self) -> &'static ToolRules;

    /// Writes a request. Fails if the conversation cannot be expressed in this format.
    fn request(&self, context: &RequestContext<'_>) -> Result<WireRequest, ProviderError>;

    /// Returns the parts of requests that some servers refuse.
    fn fallbacks(&self) -> &'static [Fallback] {
        &[]
    }

    /// Creates the reader of the answer to that request.
    fn reader(&self, context: &RequestContext<'_>) -> Box<dyn Reader>;

    /// Converts an HTTP error to a failure.
    fn http_error(&self, status: u16, body: &str) -> ProviderError;
}

/// A reader of an answer, event by event. No event follows the end of the answer.
pub(crate) trait Reader: Send + Sync {
    /// Reads the data of one event.
    fn event(&mut self, data: &str, builder: &mut StreamEventBuilder);

    /// Handles the regular end of the body.
    fn end(&mut self, builder: &mut StreamEventBuilder);
}

/// Passes the data of an event named `error` to a reader. If the reader does not recognize the data as an
/// error, the answer fails nevertheless.
pub(crate) fn read_error_event(reader: &mut dyn Reader, data: &str, builder: &mut StreamEventBuilder) {
    if agentese::wire::decode::<Value>(data).is_ok_and(|value| value.is_object()) {
        reader.event(data, builder);
    }
    if !builder.has_ended() {
        builder.fail(error_in_text(data));
    }
}
