//! Drafts of requests, from which a request is written, and written again in another form.

use reqwest::header::HeaderMap;

use super::apis::{Api, Asked, OtherForms, Reader, Wire};
use super::declarations::Renames;
use super::definitions::Details;
use super::http::Sender;
use super::key::Key;
use super::keys::Keys;
use super::value::ConfigValue;
use super::{Failure, Request};

/// The answer of a server that refuses a request.
pub(super) struct Refusal<'a> {
    /// The body as received.
    pub body: &'a str,
    /// The message for the user.
    pub text: &'a str,
}

/// The parts of an exchange that are available without waiting.
pub(super) struct Preparation {
    pub api: &'static dyn Api,
    pub request: Request,
    /// Names of tools that the request has in another form.
    pub renames: Renames,
    pub details: Details,
    pub name: String,
    pub key: Option<ConfigValue>,
    pub keys: Keys,
    pub sender: Sender,
}

/// The input from which a request is written, kept so that it can be written again in another form.
pub(super) struct Draft {
    pub preparation: Preparation,
    pub key: Key,
    /// Headers from `models.json`.
    pub headers: HeaderMap,
    pub now: i64,
}

impl Draft {
    /// Writes the request, and creates the reader of its answer.
    pub fn write(self, forms: OtherForms) -> Result<(Wire, Box<dyn Reader>, Self, OtherForms), Failure> {
        let asked = self.asked(&forms);
        let (wire, reader) = (self.wire(&asked)?, self.preparation.api.reader(&asked));
        Ok((wire, reader, self, forms))
    }

    fn asked<'a>(&'a self, forms: &'a OtherForms) -> Asked<'a> {
        let Preparation { request, details, sender, .. } = &self.preparation;
        Asked {
            request,
            settings: &sender.settings,
            compat: &details.compat,
            efforts: &details.efforts,
            forms,
            key: Some(&self.key),
            now: self.now,
        }
    }

    fn wire(&self, asked: &Asked<'_>) -> Result<Wire, Failure> {
        let mut wire = self.preparation.api.request(asked)?;
        wire.headers.extend(self.headers.clone());
        Ok(wire)
    }

    /// Returns the request with other forms of the parts that a refusal names, if that changes it. `wire` is the
    /// refused request.
    pub fn other_form(
        &self,
        refused: &Refusal<'_>,
        wire: &Wire,
        forms: &OtherForms,
    ) -> Option<(Wire, OtherForms)> {
        let api = self.preparation.api;
        let forms = forms.with_named(api.forms(), refused.body, refused.text)?;
        let other = self.wire(&self.asked(&forms)).ok()?;
        (!other.body.is_same(&wire.body) || other.headers != wire.headers).then_some((other, forms))
    }

    /// Stores the accepted forms for later requests.
    pub fn keep(&self, forms: OtherForms) {
        self.preparation.sender.forms.keep(&self.preparation.request.model, forms);
    }
}
