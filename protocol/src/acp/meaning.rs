//! The meaning of ACP's frames for a conversation, used to compute the losses on a bridge with ACP on one side. No
//! conversation is built from these rules.

use crate::meaning::Condition::{Has, Is};
use crate::meaning::{Meaning, Reducer, Rule, RuleTarget, answer, at, dialog, flag, sent, text};

const UPDATE: &str = "session/update";
const KIND: &str = "update.sessionUpdate";

const RULES: &[Rule] = &[
    sent("session/prompt", Reducer::Wait, &[("text", at("prompt")), ("mode", text("prompt"))]),
    sent("session/prompt", Reducer::Work, &[("on", flag(true))]),
    answer("session/prompt", Reducer::Work, &[("on", flag(false))]),
    answer("session/new", Reducer::Replace, &[("empty", flag(true))]),
    dialog(UPDATE, Reducer::Piece, &[("type", text("text")), ("text", at("update.content.text"))])
        .when(&[Is(KIND, "agent_message_chunk")]),
    dialog(UPDATE, Reducer::Piece, &[("type", text("thinking")), ("text", at("update.content.text"))])
        .when(&[Is(KIND, "agent_thought_chunk")]),
    dialog(
        UPDATE,
        Reducer::Block,
        &[("type", text("tool")), ("callId", at("update.toolCallId")), ("arguments", at("update.rawInput"))],
    )
    .when(&[Is(KIND, "tool_call")]),
    dialog(UPDATE, Reducer::Tool, &[("callId", at("update.toolCallId")), ("state", at("update.status"))])
        .when(&[Is(KIND, "tool_call_update")]),
    dialog(UPDATE, Reducer::Set, &[("todos", at("update.entries"))]).when(&[Is(KIND, "plan")]),
    dialog(UPDATE, Reducer::Set, &[("commands", at("update.availableCommands"))])
        .when(&[Is(KIND, "available_commands_update")]),
    dialog(UPDATE, Reducer::Set, &[("session.name", at("update.title"))])
        .when(&[Is(KIND, "session_info_update")]),
    dialog(UPDATE, Reducer::Set, &[("thinkingLevel", at("update.configOptions"))])
        .when(&[Is(KIND, "config_option_update")]),
    dialog(UPDATE, Reducer::Usage, &[("usage", at("update"))]).when(&[Is(KIND, "usage_update")]),
    dialog(UPDATE, Reducer::Notice, &[("level", at("update.severity")), ("text", at("update.title"))])
        .when(&[Is(KIND, "notice")]),
    dialog(UPDATE, Reducer::Compacting, &[])
        .when(&[Is(KIND, "compaction_update"), Is("update.status", "in_progress")]),
    dialog(UPDATE, Reducer::Compacted, &[]).when(&[Is(KIND, "compaction_update"), Has("update.summary")]),
    dialog(
        "session/request_permission",
        Reducer::Ask,
        &[("kind", text("select")), ("title", at("toolCall.title")), ("options", at("options"))],
    ),
    dialog(
        "session/request_permission",
        Reducer::Ask,
        &[("kind", text("confirm")), ("title", at("toolCall.title")), ("options", at("options"))],
    ),
    dialog("elicitation/create", Reducer::Ask, &[("kind", text("input")), ("title", at("message"))]),
    dialog("elicitation/create", Reducer::Ask, &[("kind", text("editor")), ("title", at("message"))]),
    dialog("$/cancel_request", Reducer::Withdraw, &[("id", at("requestId"))]),
];

/// The meaning of ACP's frames.
pub const MEANING: Meaning = Meaning {
    readers: &[],
    rules: RULES,
    silent: &[
        RuleTarget::Answer("initialize"),
        RuleTarget::Answer("authenticate"),
        RuleTarget::Answer("logout"),
        RuleTarget::Answer("session/list"),
        RuleTarget::Answer("session/close"),
        RuleTarget::Answer("session/delete"),
    ],
    asks: &[],
};
