//! The meaning of ACP's frames for a conversation, used to compute the losses on a bridge with ACP on one side. No
//! conversation is built from these rules.

use crate::meaning::Test::{Has, Is};
use crate::meaning::{Act, Meaning, On, Rule, answer, at, dialog, flag, sent, text};

const UPDATE: &str = "session/update";
const KIND: &str = "update.sessionUpdate";

const RULES: &[Rule] = &[
    sent("session/prompt", Act::Wait, &[("text", at("prompt")), ("mode", text("prompt"))]),
    sent("session/prompt", Act::Work, &[("on", flag(true))]),
    answer("session/prompt", Act::Work, &[("on", flag(false))]),
    answer("session/new", Act::Replace, &[("empty", flag(true))]),
    dialog(UPDATE, Act::Piece, &[("type", text("text")), ("text", at("update.content.text"))])
        .when(&[Is(KIND, "agent_message_chunk")]),
    dialog(UPDATE, Act::Piece, &[("type", text("thinking")), ("text", at("update.content.text"))])
        .when(&[Is(KIND, "agent_thought_chunk")]),
    dialog(
        UPDATE,
        Act::Block,
        &[("type", text("tool")), ("callId", at("update.toolCallId")), ("arguments", at("update.rawInput"))],
    )
    .when(&[Is(KIND, "tool_call")]),
    dialog(UPDATE, Act::Tool, &[("callId", at("update.toolCallId")), ("state", at("update.status"))])
        .when(&[Is(KIND, "tool_call_update")]),
    dialog(UPDATE, Act::Set, &[("todos", at("update.entries"))]).when(&[Is(KIND, "plan")]),
    dialog(UPDATE, Act::Set, &[("commands", at("update.availableCommands"))])
        .when(&[Is(KIND, "available_commands_update")]),
    dialog(UPDATE, Act::Set, &[("session.name", at("update.title"))])
        .when(&[Is(KIND, "session_info_update")]),
    dialog(UPDATE, Act::Set, &[("thinkingLevel", at("update.configOptions"))])
        .when(&[Is(KIND, "config_option_update")]),
    dialog(UPDATE, Act::Usage, &[("usage", at("update"))]).when(&[Is(KIND, "usage_update")]),
    dialog(UPDATE, Act::Notice, &[("level", at("update.severity")), ("text", at("update.title"))])
        .when(&[Is(KIND, "notice")]),
    dialog(UPDATE, Act::Compacting, &[])
        .when(&[Is(KIND, "compaction_update"), Is("update.status", "in_progress")]),
    dialog(UPDATE, Act::Compacted, &[]).when(&[Is(KIND, "compaction_update"), Has("update.summary")]),
    dialog(
        "session/request_permission",
        Act::Ask,
        &[("kind", text("select")), ("title", at("toolCall.title")), ("options", at("options"))],
    ),
    dialog(
        "session/request_permission",
        Act::Ask,
        &[("kind", text("confirm")), ("title", at("toolCall.title")), ("options", at("options"))],
    ),
    dialog("elicitation/create", Act::Ask, &[("kind", text("input")), ("title", at("message"))]),
    dialog("elicitation/create", Act::Ask, &[("kind", text("editor")), ("title", at("message"))]),
    dialog("$/cancel_request", Act::Withdraw, &[("id", at("requestId"))]),
];

/// The meaning of ACP's frames.
pub const MEANING: Meaning = Meaning {
    readers: &[],
    rules: RULES,
    silent: &[
        On::Answer("initialize"),
        On::Answer("authenticate"),
        On::Answer("logout"),
        On::Answer("session/list"),
        On::Answer("session/close"),
        On::Answer("session/delete"),
    ],
    asks: &[],
};
