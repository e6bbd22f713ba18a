//! Drafts of requests. A draft can be written as a request several times, with alternative forms of its parts.

use reqwest::header::HeaderMap;

use super::apis::{ActiveFallbacks, Api, Reader, RequestContext, WireRequest};
use super::config_value::ConfigValue;
use super::definitions::ModelDetails;
use super::http::Sender;
use super::key::Key;
use super::keys::Keys;
use super::tool_schema::Renames;
use super::{ProviderError, Request};

/// The response of a server that rejects a request.
pub(super) struct ErrorResponse<'a> {
    /// The body as received.
    pub body: &'a str,
    /// The message for the user.
    pub text: &'a str,
}

/// The parts of an exchange that are known before the key is available.
pub(super) struct Preparation {
    pub api: &'static dyn Api,
    pub request: Request,
    /// Names of tools that were changed for the request.
    pub renames: Renames,
    pub details: ModelDetails,
    pub name: String,
    pub key: Option<ConfigValue>,
    pub keys: Keys,
    pub sender: Sender,
}

/// The data from which a request is written. It is kept to write the request again with alternative forms.
pub(super) struct Draft {
    pub preparation: Preparation,
    pub key: Key,
    /// Headers from `models.json`.
    pub headers: HeaderMap,
    pub now: i64,
}

impl Draft {
    /// Writes the request, and creates the reader of its answer.
    pub fn write(
        self,
        fallbacks: ActiveFallbacks,
    ) -> Result<(WireRequest, Box<dyn Reader>, Self, ActiveFallbacks), ProviderError> {
        let context = self.context(&fallbacks);
        let (wire, reader) = (self.wire(&context)?, self.preparation.api.reader(&context));
        Ok((wire, reader, self, fallbacks))
    }

    fn context<'a>(&'a self, fallbacks: &'a ActiveFallbacks) -> RequestContext<'a> {
        let Preparation { request, details, sender, .. } = &self.preparation;
        RequestContext {
            request,
            settings: &sender.settings,
            compat: &details.compat,
            efforts: &details.efforts,
            fallbacks,
            key: Some(&self.key),
            now: self.now,
        }
    }

    fn wire(&self, context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
        let mut wire = self.preparation.api.request(context)?;
        wire.headers.extend(self.headers.clone());
        Ok(wire)
    }

    /// Returns the request with alternative forms of the parts that an error response rejects. `wire` is the rejected
    /// request. Returns `None` if the new request would be the same.
    pub fn fallback_request(
        &self,
        error: &ErrorResponse<'_>,
        wire: &WireRequest,
        fallbacks: &ActiveFallbacks,
    ) -> Option<(WireRequest, ActiveFallbacks)> {
        let api = self.preparation.api;
        let forms = fallbacks.with_refused(api.fallbacks(), error.body, error.text)?;
        let other = self.wire(&self.context(&forms)).ok()?;
        (!other.body.is_same(&wire.body) || other.headers != wire.headers).then_some((other, forms))
    }

    /// Stores the forms that the server has accepted, for later requests.
    pub fn keep_fallbacks(&self, fallbacks: ActiveFallbacks) {
        self.preparation.sender.fallbacks.insert(&self.preparation.request.model, fallbacks);
    }
}
