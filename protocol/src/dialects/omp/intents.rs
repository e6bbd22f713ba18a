//! The commands of omp that carry each intent, as far as they differ from pi.

use crate::dialects::pi::intents::{BASH, EXPORT, FORK, MODEL, PROMPT};
use crate::intent::{
    Carrier, EVENTS, GOES_ON, HISTORY, Intent, Intents, Own, SHELLS, by_front, carries, from, own, says,
};
use crate::meaning::{at, each};

const CARRIERS: &[Carrier] = &[
    PROMPT.differs(&[says("when the agent has made a summary by itself, it goes on in a run of its own")
        .changes(&[GOES_ON])]),
    carries(Intent::AbortAndPrompt, "abort_and_prompt")
        .sends(&[("message", from("text")), ("images", from("images"))]),
    carries(Intent::SetInterruptMode, "set_interrupt_mode").sends(&[("mode", from("mode"))]),
    carries(Intent::Fork, "branch")
        .sends(&[("entryId", from("entry"))])
        .gives(&[("cancelled", at("data.cancelled")), ("text", at("data.text"))])
        .differs(&[FORK])
        .alone(&[says("who stands between stops an answer that is being given, where omp takes it along")
            .changes(&[EVENTS, HISTORY])
            .when_busy()]),
    BASH.differs(&[says("all commands have one shell, and one that a signal ends fails without a message")
        .changes(&["message<shell>", SHELLS])]),
    EXPORT.differs(&[says("a conversation in which nothing was said has a page, too")
        .changes(&["export.path"])
        .refuses()]),
    carries(Intent::ForkPoints, "get_branch_messages").gives(&[("points", each("fork", "data.messages"))]),
    carries(Intent::State, "get_state").gives(&[
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
    carries(Intent::Commands, "get_available_commands")
        .gives(&[("commands", each("command", "data.commands"))]),
];

const OWN: &[Own] = &[
    by_front("negotiate_protocol", "it is about frames in pieces, not about the agent"),
    own("set_host_tools", "no other dialect has tools that the client carries out"),
    own("set_host_uri_schemes", "no other dialect reads addresses through the client"),
    own("get_login_providers", "each dialect has a login of its own"),
    own("login", "each dialect has a login of its own"),
    own("set_subagent_subscription", "no other dialect tells of subagents on request"),
    own("get_subagents", "no other dialect lists subagents"),
    own("get_subagent_messages", "no other dialect gives messages of subagents"),
    own("set_todos", "no other dialect lets the client say what is to do"),
    own("set_fast_mode", "no other dialect has this mode"),
    own("get_messages_page", "no other dialect gives messages in pages"),
    own("handoff", "no other dialect hands its work to a new session"),
];

/// The mapping from intents to the commands of omp.
pub const INTENTS: Intents =
    Intents { carriers: CARRIERS, own: OWN, made: &["ready", "rpc_chunk", "prompt_result"], ..Intents::NONE };
