//! The commands of omp that carry each intent, as far as they differ from pi.

use crate::dialects::pi::intents::{BASH, EXPORT, FORK, MODEL, PROMPT};
use crate::intent::{
    CommandMapping, DialectOnly, EVENTS, GOES_ON, HISTORY, Intent, Intents, SHELLS, by_adapter, dialect_only,
    divergence, from, mapping,
};
use crate::meaning::{at, each};

const MAPPINGS: &[CommandMapping] = &[
    PROMPT
        .divergences(&[divergence("after an automatic compaction the agent continues in a run of its own")
            .changes(&[GOES_ON])]),
    mapping(Intent::AbortAndPrompt, "abort_and_prompt")
        .params(&[("message", from("text")), ("images", from("images"))]),
    mapping(Intent::SetInterruptMode, "set_interrupt_mode").params(&[("mode", from("mode"))]),
    mapping(Intent::Fork, "branch")
        .params(&[("entryId", from("entry"))])
        .results(&[("cancelled", at("data.cancelled")), ("text", at("data.text"))])
        .divergences(&[FORK])
        .bridge_divergences(&[divergence(
            "the bridge aborts an incomplete answer of the model; omp would take it along",
        )
        .changes(&[EVENTS, HISTORY])
        .when_busy()]),
    BASH.divergences(&[divergence(
        "all commands have one shell, and one that a signal ends fails without a message",
    )
    .changes(&["message<shell>", SHELLS])]),
    EXPORT.divergences(&[divergence("the agent exports an empty conversation too")
        .changes(&["export.path"])
        .refuses()]),
    mapping(Intent::ForkPoints, "get_branch_messages").results(&[("points", each("fork", "data.messages"))]),
    mapping(Intent::State, "get_state").results(&[
        MODEL,
        ("thinkingLevel", at("data.thinkingLevel")),
        ("working", at("data.isStreaming")),
        ("compacting", at("data.isCompacting")),
        ("messages", at("data.messageCount")),
        ("waiting", at("data.queuedMessageCount")),
        ("session.id", at("data.sessionId")),
        ("session.file", at("data.sessionFile")),
        ("session.name", at("data.sessionName")),
        ("settings.steeringMode", at("data.steeringMode")),
        ("settings.followUpMode", at("data.followUpMode")),
        ("settings.interruptMode", at("data.interruptMode")),
        ("settings.autoCompaction", at("data.autoCompactionEnabled")),
        ("context.tokens", at("data.contextUsage.tokens")),
        ("context.window", at("data.contextUsage.contextWindow")),
    ]),
    mapping(Intent::Commands, "get_available_commands")
        .results(&[("commands", each("command", "data.commands"))]),
];

const DIALECT_ONLY: &[DialectOnly] = &[
    by_adapter("negotiate_protocol", "it concerns frames in pieces, not the agent"),
    dialect_only("set_host_tools", "no other dialect has tools that the client executes"),
    dialect_only("set_host_uri_schemes", "no other dialect reads addresses through the client"),
    dialect_only("get_login_providers", "each dialect has a login of its own"),
    dialect_only("login", "each dialect has a login of its own"),
    dialect_only("set_subagent_subscription", "no other dialect reports progress of subagents on request"),
    dialect_only("get_subagents", "no other dialect lists subagents"),
    dialect_only("get_subagent_messages", "no other dialect returns messages of subagents"),
    dialect_only("set_todos", "no other dialect has a todo list that the client can set"),
    dialect_only("set_fast_mode", "no other dialect has this mode"),
    dialect_only("get_messages_page", "no other dialect returns messages in pages"),
    dialect_only("handoff", "no other dialect hands over its work to a new session"),
];

/// The mapping from intents to the commands of omp.
pub const INTENTS: Intents = Intents {
    mappings: MAPPINGS,
    dialect_only: DIALECT_ONLY,
    derived_events: &["ready", "rpc_chunk", "prompt_result"],
    ..Intents::NONE
};
