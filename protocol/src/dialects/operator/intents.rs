//! The commands of Operator that carry each intent.

use super::meaning::ON;
use crate::intent::{Carrier, HISTORY, Intent, Intents, Own, carries, from, lost, own, says};
use crate::meaning::{Slot, at, each};

const CANCELLED: Slot = ("cancelled", at("data.cancelled"));

/// The revision that executes one command at a time.
const SEED: &[&str] = &["operator@seed"];

const CARRIERS: &[Carrier] = &[
    carries(Intent::Prompt, "prompt").sends(&[("text", from("text"))]),
    carries(Intent::Abort, "abort"),
    carries(Intent::Compact, "compact")
        .sends(&[("custom_instructions", from("instructions"))])
        .differs(&[says("a conversation of a few messages is compacted, too").refuses()]),
    carries(Intent::Steer, "steer").sends(&[("message", from("text"))]),
    carries(Intent::FollowUp, "follow_up").sends(&[("message", from("text"))]),
    carries(Intent::NewSession, "new_session").gives(&[CANCELLED]),
    carries(Intent::OpenSession, "switch_session")
        .sends(&[("session_file", from("session"))])
        .gives(&[CANCELLED])
        .differs(&[
            says("the agent does not tell the messages of the session: the history is empty")
                .changes(&[HISTORY]),
            says("the agent refuses while a run is going on")
                .changes(&["session.id", "session.file"])
                .when_busy()
                .refuses()
                .of(SEED),
        ]),
    carries(Intent::Fork, "fork")
        .sends(&[("entry_id", from("entry"))])
        .gives(&[CANCELLED])
        .differs(&[says("the agent goes back within its session, which keeps its id and file")
            .changes(&["session.id", "session.file"])]),
    carries(Intent::Messages, "get_messages")
        .gives(&[("messages", each("message", "data.messages"))])
        .differs(&[says("the messages of the process, without the user's prompts")]),
    carries(Intent::SetThinking, "set_thinking_level")
        .sends(&[("level", from("level"))])
        .gives(&[("thinkingLevel", at("data.level"))]),
    carries(Intent::SetAutoCompaction, "set_auto_compaction").sends(&[("enabled", from("enabled"))]),
    carries(Intent::SetSessionName, "set_session_name").sends(&[("name", from("name"))]),
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

/// Commands that the agent confirms without effect.
const OWN: &[Own] = &[own("set_model", "the agent says yes and keeps its model")];

/// The mapping from intents to the commands of Operator.
pub const INTENTS: Intents = Intents {
    carriers: CARRIERS,
    own: OWN,
    beside: &[lost("prompt", &["options"])],
    made: &["turn_end"],
    ..Intents::NONE
};
