//! Names of members that not all hosts have.

/// Members in which hosts send reasoning and accept it back. The name of the member in use is the block's mark.
pub(super) const REASONING: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];

/// The member of a call with data that must be sent back with the call, such as Gemini's thought signature.
pub(super) const EXTRA: &str = "extra_content";
