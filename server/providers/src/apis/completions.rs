//! The chat completions API of OpenAI and of the many hosts with a compatible API.

mod compat;
mod details;
mod names;
mod reader;
mod request;

use super::api::{Api, Reader, RequestContext, WireRequest};
use super::fallbacks::Fallback;
use super::http_errors::message_error;
use crate::{ProviderError, tool_schema};

/// The format `openai-completions`.
#[derive(Debug)]
pub(super) struct Completions;

impl Api for Completions {
    fn name(&self) -> &'static str {
        "openai-completions"
    }

    fn interleaves(&self) -> bool {
        true
    }

    fn closes_when_aborted(&self) -> bool {
        true
    }

    fn tool_rules(&self) -> &'static tool_schema::ToolRules {
        &tool_schema::OPENAI
    }

    fn request(&self, context: &RequestContext<'_>) -> Result<WireRequest, ProviderError> {
        request::write(context)
    }

    fn fallbacks(&self) -> &'static [Fallback] {
        compat::FALLBACKS
    }

    fn reader(&self, _: &RequestContext<'_>) -> Box<dyn Reader> {
        Box::new(reader::CompletionReader::default())
    }

    fn http_error(&self, status: u16, body: &str) -> ProviderError {
        message_error(status, body)
    }
}
