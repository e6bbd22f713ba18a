//! Names of members that only some hosts use.

/// Members in which hosts send reasoning and expect it back. The block stores the name of the used member as its
/// signature.
pub(super) const REASONING: &[&str] = &["reasoning_content", "reasoning", "reasoning_text"];

/// The member of a call with data that the host must receive back with the call, such as Gemini's thought signature.
pub(super) const EXTRA: &str = "extra_content";
