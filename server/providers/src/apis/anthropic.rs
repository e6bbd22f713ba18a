//! The messages API of Anthropic.

mod reader;
mod request;

use super::api::{Api, Reader, RequestContext, WireRequest};
use super::forms::Fallback;
use super::refusals::body_error;
use crate::{ProviderError, declarations};

/// The format `anthropic-messages`.
#[derive(Debug)]
pub(super) struct Anthropic;

impl Api for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic-messages"
    }

    fn starts_when_sent(&self) -> bool {
        true
    }

    fn tool_rules(&self) -> &'static declarations::ToolRules {
        &declarations::ANTHROPIC
    }

    fn request(&self, context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
        request::write(context)
    }

    fn fallbacks(&self) -> &'static [Fallback] {
        request::FALLBACKS
    }

    fn reader(&self, _: &RequestContext<'_>) -> Box<dyn Reader> {
        Box::new(reader::MessageReader::default())
    }

    fn http_error(&self, status: u16, body: &str) -> ProviderError {
        body_error(status, body)
    }
}
