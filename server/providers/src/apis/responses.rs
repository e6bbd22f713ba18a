//! The responses API of OpenAI.

mod reader;
mod request;

use super::{Api, Asked, Form, Reader, Wire, message_refusal};
use crate::{Failure, declarations};

/// `openai-responses`.
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

/// Between the id of a call and the id of the item that carried it: the API has both, and a tool call
/// of ours has one.
const ID_SEPARATOR: char = '|';
