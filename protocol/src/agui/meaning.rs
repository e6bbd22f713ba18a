//! The meaning of AG-UI's frames for a conversation, and the intent of its command. Both serve to compute the losses
//! with an agent of a dialect behind AG-UI. No conversation is built from these rules.

use crate::intent::ParamSource::Joined;
use crate::intent::{CommandMapping, Intent, Intents, mapping};
use crate::meaning::Condition::Is;
use crate::meaning::{Meaning, Reducer, Rule, at, event, flag, sent, text};

const fn custom(name: &'static [crate::meaning::Condition], act: Reducer) -> Rule {
    event("CUSTOM", act, &[]).when(name)
}

const fn interrupt(kind: &'static str) -> crate::meaning::Binding {
    ("kind", text(kind))
}

const QUESTION: &str = "outcome.interrupts";

const RULES: &[Rule] = &[
    sent("run_agent", Reducer::Wait, &[("text", at("messages")), ("mode", text("prompt"))]),
    event("RUN_STARTED", Reducer::Work, &[("on", flag(true))]),
    event("RUN_FINISHED", Reducer::Work, &[("on", flag(false))]),
    event("RUN_FINISHED", Reducer::Ask, &[interrupt("select"), ("title", at("message"))]).over(QUESTION),
    event("RUN_FINISHED", Reducer::Ask, &[interrupt("confirm"), ("title", at("message"))]).over(QUESTION),
    event("RUN_FINISHED", Reducer::Ask, &[interrupt("input"), ("title", at("message"))]).over(QUESTION),
    event("RUN_FINISHED", Reducer::Ask, &[interrupt("editor"), ("title", at("message"))]).over(QUESTION),
    event("RUN_ERROR", Reducer::Work, &[("on", flag(false)), ("error", at("message"))]),
    event("TEXT_MESSAGE_START", Reducer::Piece, &[("type", text("text"))]),
    event("TEXT_MESSAGE_CONTENT", Reducer::Piece, &[("type", text("text")), ("text", at("delta"))]),
    event("TEXT_MESSAGE_END", Reducer::Piece, &[("type", text("text"))]),
    event("REASONING_START", Reducer::Piece, &[("type", text("thinking"))]),
    event("REASONING_MESSAGE_START", Reducer::Piece, &[("type", text("thinking"))]),
    event("REASONING_MESSAGE_CONTENT", Reducer::Piece, &[("type", text("thinking")), ("text", at("delta"))]),
    event("REASONING_MESSAGE_END", Reducer::Piece, &[("type", text("thinking"))]),
    event("REASONING_END", Reducer::Piece, &[("type", text("thinking"))]),
    event("TOOL_CALL_START", Reducer::Tool, &[("callId", at("toolCallId")), ("name", at("toolCallName"))]),
    event("TOOL_CALL_ARGS", Reducer::Piece, &[("type", text("tool")), ("argumentsText", at("delta"))]),
    event("TOOL_CALL_END", Reducer::Tool, &[("callId", at("toolCallId"))]),
    event("TOOL_CALL_RESULT", Reducer::Tool, &[("callId", at("toolCallId")), ("result", at("content"))]),
    event("MESSAGES_SNAPSHOT", Reducer::History, &[("messages", at("messages"))]),
    custom(&[Is("name", "agentese.queue")], Reducer::Queue),
    custom(&[Is("name", "agentese.notice")], Reducer::Notice),
    custom(&[Is("name", "agentese.retryBegan")], Reducer::Retry),
    custom(&[Is("name", "agentese.retryEnded")], Reducer::Retried),
    custom(&[Is("name", "agentese.compactionBegan")], Reducer::Compacting),
    custom(&[Is("name", "agentese.compactionEnded")], Reducer::Compacted),
    custom(&[Is("name", "agentese.usage")], Reducer::Usage),
];

/// The meaning of AG-UI's frames.
pub const MEANING: Meaning = Meaning { readers: &[], rules: RULES, silent: &[], asks: &[] };

const MAPPINGS: &[CommandMapping] =
    &[mapping(Intent::Prompt, "run_agent").params(&[("messages", Joined(&["text", "images"], ""))])];

/// The mapping from intents to the command. The program that serves AG-UI generates the start and end of
/// runs, messages, reasoning and calls; agents do not send them.
pub const INTENTS: Intents = Intents {
    mappings: MAPPINGS,
    derived_events: &[
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
