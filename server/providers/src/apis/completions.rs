//! The chat completions API of OpenAI and of the many hosts with a compatible API.

mod compat;
mod details;
mod names;
mod reader;
mod request;

use super::api::{Api, Asked, Reader, Wire};
use super::forms::Form;
use super::refusals::message_refusal;
use crate::{Failure, declarations};

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

    fn tool_rules(&self) -> &'static declarations::ToolRules {
        &declarations::OPENAI
    }

    fn request(&self, asked: &Asked<'_>) -> Result<Wire, Failure> {
        request::write(asked)
    }

    fn forms(&self) -> &'static [Form] {
        compat::FORMS
    }

    fn reader(&self, _: &Asked<'_>) -> Box<dyn Reader> {
        Box::new(reader::Chunks::default())
    }

    fn refusal(&self, status: u16, body: &str) -> Failure {
        message_refusal(status, body)
    }
}
