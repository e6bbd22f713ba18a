//! Which commands of Operator carry which intent.

use super::meaning::ON;
use crate::intent::{Carrier, Intent, Intents, Own, carries, from, lost, own};
use crate::meaning::{Slot, at};

const CANCELLED: Slot = ("cancelled", at("data.cancelled"));

const CARRIERS: &[Carrier] = &[
    carries(Intent::Prompt, "prompt").sends(&[("text", from("text"))]),
    carries(Intent::Abort, "abort"),
    carries(Intent::Compact, "compact").sends(&[("custom_instructions", from("instructions"))]),
    carries(Intent::Steer, "steer").sends(&[("message", from("text"))]),
    carries(Intent::FollowUp, "follow_up").sends(&[("message", from("text"))]),
    carries(Intent::NewSession, "new_session").gives(&[CANCELLED]),
    carries(Intent::OpenSession, "switch_session")
        .sends(&[("session_file", from("session"))])
        .gives(&[CANCELLED]),
    carries(Intent::Fork, "fork").sends(&[("entry_id", from("entry"))]).gives(&[CANCELLED]),
    carries(Intent::LastText, "get_last_assistant_text").gives(&[("text", at("data.text"))]),
    carries(Intent::Stats, "get_session_stats").gives(&[
        ("context.tokens", at("data.context_tokens")),
        ("context.window", at("data.context_window")),
    ]),
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

/// Commands that only the live agent has and that a front end cannot rely on before it knows which agent this is.
const OWN: &[Own] = &[
    own("get_messages", "the messages of the process lack the user's, so they are no history"),
    own("set_model", "the agent says yes and keeps its model"),
    own("set_thinking_level", "the levels are not listed, and the agent of the document has none"),
    own("set_auto_compaction", "the agent of the document has no such setting"),
    own("set_session_name", "the agent of the document has no such command"),
];

/// What the commands of Operator are for.
pub const INTENTS: Intents = Intents {
    readers: &[],
    carriers: CARRIERS,
    own: OWN,
    beside: &[lost("prompt", &["options"])],
    made: &["turn_end"],
};
