//! The responses API of OpenAI.

mod reader;
mod request;

use super::api::{Api, Reader, RequestContext, WireRequest};
use super::fallbacks::Fallback;
use super::http_errors::message_error;
use crate::{ProviderError, tool_schema};

/// The format `openai-responses`.
#[derive(Debug)]
pub(super) struct Responses;

impl Api for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn tool_rules(&self) -> &'static tool_schema::ToolRules {
        &tool_schema::OPENAI
    }

    fn request(&self, context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
        request::write(context)
    }

    fn fallbacks(&self) -> &'static [Fallback] {
        request::FALLBACKS
    }

    fn reader(&self, _: &RequestContext<'_>) -> Box<dyn Reader> {
        Box::new(reader::ResponseReader::default())
    }

    fn http_error(&self, status: u16, body: &str) -> ProviderError {
        message_error(status, body)
    }
}
