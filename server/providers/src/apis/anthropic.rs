//! The messages API of Anthropic.

mod reader;
mod request;

use super::api::{Api, Asked, Reader, Wire};
use super::forms::Form;
use super::refusals::body_refusal;
use crate::{Failure, declarations};

/// The format `anthropic-messages`.
#[derive(Debug)]
pub(super) struct Anthropic;

impl Api for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic-messages"
    }

    fn begins_when_sent(&self) -> bool {
        true
    }

    fn tool_rules(&self) -> &'static declarations::ToolRules {
        &declarations::ANTHROPIC
    }

    fn request(&self, asked: &Asked<'_>) -> Result<Wire, Failure> {
        request::write(asked)
    }

    fn forms(&self) -> &'static [Form] {
        request::FORMS
    }

    fn reader(&self, _: &Asked<'_>) -> Box<dyn Reader> {
        Box::new(reader::Messages::default())
    }

    fn refusal(&self, status: u16, body: &str) -> Failure {
        body_refusal(status, body)
    }
}
