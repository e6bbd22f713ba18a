//! The messages API of Anthropic.

mod reader;
mod request;

use super::api::{Api, Reader, RequestContext, WireRequest};
use super::fallbacks::Fallback;
use super::http_errors::body_error;
use crate::{ProviderError, tool_schema};

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

    fn tool_rules(&self) -> &'static tool_schema::ToolRules {
        &tool_schema::ANTHROPIC
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
