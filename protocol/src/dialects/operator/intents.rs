//! The commands of Operator that carry each intent.

use super::meaning::ON;
use crate::intent::{
    CommandMapping, DialectOnly, HISTORY, Intent, Intents, dialect_only, divergence, from, mapping,
    unsupported,
};
use crate::meaning::{Binding, at, each};

const CANCELLED: Binding = ("cancelled", at("data.cancelled"));

/// The revision that executes one command at a time.
const SEED: &[&str] = &["operator@seed"];

const MAPPINGS: &[CommandMapping] = &[
    mapping(Intent::Prompt, "prompt").params(&[("text", from("text"))]),
    mapping(Intent::Abort, "abort"),
    mapping(Intent::Compact, "compact")
        .params(&[("custom_instructions", from("instructions"))])
        .divergences(&[divergence("the agent compacts even a conversation of a few messages").refuses()]),
    mapping(Intent::Steer, "steer").params(&[("message", from("text"))]),
    mapping(Intent::FollowUp, "follow_up").params(&[("message", from("text"))]),
    mapping(Intent::NewSession, "new_session").results(&[CANCELLED]),
    mapping(Intent::OpenSession, "switch_session")
        .params(&[("session_file", from("session"))])
        .results(&[CANCELLED])
        .divergences(&[
            divergence("the agent does not return the messages of the session: the history is empty")
                .changes(&[HISTORY]),
            divergence("the agent rejects the command during a run")
                .changes(&["session.id", "session.file"])
                .when_busy()
                .refuses()
                .of(SEED),
        ]),
    mapping(Intent::Fork, "fork")
        .params(&[("entry_id", from("entry"))])
        .results(&[CANCELLED])
        .divergences(&[divergence("the agent moves back within its session, which keeps its id and file")
            .changes(&["session.id", "session.file"])]),
    mapping(Intent::Messages, "get_messages")
        .results(&[("messages", each("message", "data.messages"))])
        .divergences(&[divergence("the messages are those of the process, without the user's prompts")]),
    mapping(Intent::SetThinking, "set_thinking_level")
        .params(&[("level", from("level"))])
        .results(&[("thinkingLevel", at("data.level"))]),
    mapping(Intent::SetAutoCompaction, "set_auto_compaction").params(&[("enabled", from("enabled"))]),
    mapping(Intent::SetSessionName, "set_session_name").params(&[("name", from("name"))]),
    mapping(Intent::LastText, "get_last_assistant_text").results(&[("text", at("data.text"))]),
    mapping(Intent::Stats, "get_session_stats").results(&[
        ("context.tokens", at("data.context_tokens")),
        ("context.window", at("data.context_window")),
    ]),
    mapping(Intent::State, "get_state").results(&[
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
const DIALECT_ONLY: &[DialectOnly] =
    &[dialect_only("set_model", "the agent confirms the command and keeps its model")];

/// The mapping from intents to the commands of Operator.
pub const INTENTS: Intents = Intents {
    mappings: MAPPINGS,
    dialect_only: DIALECT_ONLY,
    companions: &[unsupported("prompt", &["options"])],
    derived_events: &["turn_end"],
    ..Intents::NONE
};
