//! The meaning of AG-UI's frames for a conversation, and the intent of its command. Both serve to compute the losses
//! with an agent of a dialect behind AG-UI. No conversation is built from these rules.

use crate::intent::Send::Joined;
use crate::intent::{Carrier, Intent, Intents, carries};
use crate::meaning::Test::Is;
use crate::meaning::{Act, Meaning, Rule, at, event, flag, sent, text};

const fn custom(name: &'static [crate::meaning::Test], act: Act) -> Rule {
    event("CUSTOM", act, &[]).when(name)
}

const fn interrupt(kind: &'static str) -> crate::meaning::Slot {
    ("kind", text(kind))
}

const QUESTION: &str = "outcome.interrupts";

const RULES: &[Rule] = &[
    sent("run_agent", Act::Wait, &[("text", at("messages")), ("mode", text("prompt"))]),
    event("RUN_STARTED", Act::Work, &[("on", flag(true))]),
    event("RUN_FINISHED", Act::Work, &[("on", flag(false))]),
    event("RUN_FINISHED", Act::Ask, &[interrupt("select"), ("title", at("message"))]).over(QUESTION),
    event("RUN_FINISHED", Act::Ask, &[interrupt("confirm"), ("title", at("message"))]).over(QUESTION),
    event("RUN_FINISHED", Act::Ask, &[interrupt("input"), ("title", at("message"))]).over(QUESTION),
    event("RUN_FINISHED", Act::Ask, &[interrupt("editor"), ("title", at("message"))]).over(QUESTION),
    event("RUN_ERROR", Act::Work, &[("on", flag(false)), ("error", at("message"))]),
    event("TEXT_MESSAGE_START", Act::Piece, &[("type", text("text"))]),
    event("TEXT_MESSAGE_CONTENT", Act::Piece, &[("type", text("text")), ("text", at("delta"))]),
    event("TEXT_MESSAGE_END", Act::Piece, &[("type", text("text"))]),
    event("REASONING_START", Act::Piece, &[("type", text("thinking"))]),
    event("REASONING_MESSAGE_START", Act::Piece, &[("type", text("thinking"))]),
    event("REASONING_MESSAGE_CONTENT", Act::Piece, &[("type", text("thinking")), ("text", at("delta"))]),
    event("REASONING_MESSAGE_END", Act::Piece, &[("type", text("thinking"))]),
    event("REASONING_END", Act::Piece, &[("type", text("thinking"))]),
    event("TOOL_CALL_START", Act::Tool, &[("callId", at("toolCallId")), ("name", at("toolCallName"))]),
    event("TOOL_CALL_ARGS", Act::Piece, &[("type", text("tool")), ("argumentsText", at("delta"))]),
    event("TOOL_CALL_END", Act::Tool, &[("callId", at("toolCallId"))]),
    event("TOOL_CALL_RESULT", Act::Tool, &[("callId", at("toolCallId")), ("result", at("content"))]),
    event("MESSAGES_SNAPSHOT", Act::History, &[("messages", at("messages"))]),
    custom(&[Is("name", "agentese.queue")], Act::Queue),
    custom(&[Is("name", "agentese.notice")], Act::Notice),
    custom(&[Is("name", "agentese.retryBegan")], Act::Retry),
    custom(&[Is("name", "agentese.retryEnded")], Act::Retried),
    custom(&[Is("name", "agentese.compactionBegan")], Act::Compacting),
    custom(&[Is("name", "agentese.compactionEnded")], Act::Compacted),
    custom(&[Is("name", "agentese.usage")], Act::Usage),
];

/// The meaning of AG-UI's frames.
pub const MEANING: Meaning = Meaning { readers: &[], rules: RULES, silent: &[], asks: &[] };

const CARRIERS: &[Carrier] =
    &[carries(Intent::Prompt, "run_agent").sends(&[("messages", Joined(&["text", "images"], ""))])];

/// The mapping from intents to the command. This side generates the start and end of runs, messages, reasoning and
/// calls; agents do not send them.
pub const INTENTS: Intents = Intents {
    carriers: CARRIERS,
    made: &[
        "RUN_STARTED",
        "RUN_FINISHED",
        "RUN_ERROR",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "MESSAGES_SNAPSHOT",
    ],
    ..Intents::NONE
};
