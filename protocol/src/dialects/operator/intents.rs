//! Which commands of Operator carry which intent.

use super::meaning::ON;
use crate::intent::{Carrier, Intent, Intents, carries, from, lost};
use crate::meaning::at;

const CARRIERS: &[Carrier] = &[
    carries(Intent::Prompt, "prompt").sends(&[("text", from("text"))]),
    carries(Intent::Abort, "abort"),
    carries(Intent::Compact, "compact").sends(&[("custom_instructions", from("instructions"))]),
    carries(Intent::NewSession, "new_session"),
    carries(Intent::OpenSession, "switch_session").sends(&[("session_file", from("session"))]),
    carries(Intent::Fork, "fork").sends(&[("entry_id", from("entry"))]),
    carries(Intent::State, "get_state").gives(&[
        ("working", ON),
        ("messages", at("data.message_count")),
        ("session.id", at("data.session_id")),
        ("session.file", at("data.session_file")),
        ("session.name", at("data.session_name")),
        ("context.tokens", at("data.context_tokens")),
        ("context.window", at("data.context_window")),
    ]),
];

/// What the commands of Operator are for.
pub const INTENTS: Intents = Intents {
    readers: &[],
    carriers: CARRIERS,
    own: &[],
    beside: &[lost("prompt", &["options"])],
    made: &["turn_end"],
};
