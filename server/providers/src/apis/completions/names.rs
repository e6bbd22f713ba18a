//! Names of members that not all hosts have.

/// The members in which hosts send reasoning, and take it back. The name of the one that was used is
/// the block's mark.
pub(super) const REASONING: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];

/// The member of a call in which hosts send what has to go back with it, such as Gemini's thought signature.
pub(super) const EXTRA: &str = "extra_content";
