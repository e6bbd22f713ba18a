//! The responses API of OpenAI.

mod reader;
mod request;

use super::api::{Api, Asked, Reader, Wire};
use super::forms::Form;
use super::refusals::message_refusal;
use crate::{Failure, declarations};

/// The format `openai-responses`.
#[derive(Debug)]
pub(super) struct Responses;

impl Api for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn tool_rules(&self) -> &'static declarations::ToolRules {
        &declarations::OPENAI
    }

    fn request(&self, asked: &Asked<'_>) -> Result<Wire, Failure> {
        request::write(asked)
    }

    fn forms(&self) -> &'static [Form] {
        request::FORMS
    }

    fn reader(&self, _: &Asked<'_>) -> Box<dyn Reader> {
        Box::new(reader::Items::default())
    }

    fn refusal(&self, status: u16, body: &str) -> Failure {
        message_refusal(status, body)
    }
}
