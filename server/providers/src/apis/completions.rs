//! The chat completions API of OpenAI, and of the many hosts that speak like it.

mod compat;
mod details;
mod reader;
mod request;

use super::{Api, Asked, Form, Reader, Wire, message_refusal};
use crate::{Failure, declarations};

/// `openai-completions`.
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

/// The members in which hosts send reasoning, and take it back. The name of the one that was used is
/// the block's mark.
const REASONING: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];
/// The member of a call in which hosts send what has to go back with it, such as Gemini's thought signature.
const EXTRA: &str = "extra_content";
