//! The meaning of omp's frames for a conversation, as far as it differs from pi.

use crate::meaning::Condition::Not;
use crate::meaning::Source::{Count, First};
use crate::meaning::{
    Meaning, OTHER, Reader, Reducer, Rule, RuleTarget, answer, at, case, dialog, each, event, flag, read,
    refused, sent, text,
};

/// Readers: conversions of omp's values to the neutral form.
const READERS: &[Reader] = &[
    Reader {
        name: "message",
        tag: "role",
        cases: &[
            case(
                "developer",
                &[
                    ("role", text("system")),
                    ("kind", at("role")),
                    ("blocks", each("block", "content")),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "fileMention",
                &[
                    ("role", text("note")),
                    ("kind", at("role")),
                    ("blocks", each("file", "files")),
                    ("time", at("timestamp")),
                ],
            ),
        ],
    },
    Reader { name: "file", tag: "", cases: &[case(OTHER, &[("type", text("data")), ("value", at(""))])] },
    Reader {
        name: "todo",
        tag: "",
        cases: &[case(OTHER, &[("text", at("content")), ("status", at("status"))])],
    },
];

/// The rules for omp's frames.
const RULES: &[Rule] = &[
    event(
        "ttsr_triggered",
        Reducer::Notice,
        &[("level", text("info")), ("text", RULE), ("source", at("rules.0.name"))],
    ),
    event("ttsr_triggered", Reducer::Message, &[("gone", flag(true))]),
    event("todo_reminder", Reducer::Set, &[("todos", each("todo", "todos"))]),
    sent("abort_and_prompt", Reducer::Abort, &[]),
    sent(
        "abort_and_prompt",
        Reducer::Wait,
        &[("text", at("message")), ("images", Count("images")), ("mode", text("prompt"))],
    ),
    answer("abort_and_prompt", Reducer::Waited, &[("state", text("taken"))]),
    refused("abort_and_prompt", Reducer::Waited, &[("state", text("gone"))]),
    answer("set_interrupt_mode", Reducer::Keep, &[("settings.interruptMode", at("params.mode"))]),
    answer(
        "get_state",
        Reducer::Set,
        &[
            ("model", read("model", "data.model")),
            ("thinkingLevel", at("data.thinkingLevel")),
            ("session.file", at("data.sessionFile")),
            ("session.id", at("data.sessionId")),
            ("session.name", at("data.sessionName")),
            ("settings.steeringMode", at("data.steeringMode")),
            ("settings.followUpMode", at("data.followUpMode")),
            ("settings.interruptMode", at("data.interruptMode")),
            ("settings.autoCompaction", at("data.autoCompactionEnabled")),
        ],
    ),
    answer("get_state", Reducer::Count, &[("messages", at("data.messageCount"))]),
    answer("get_state", Reducer::Work, &[("on", at("data.isStreaming"))]),
    answer("branch", Reducer::Replace, &[("empty", flag(false))]).when(&[Not("data.cancelled", "true")]),
    answer("branch", Reducer::Draft, &[("text", at("data.text"))]).when(&[Not("data.cancelled", "true")]),
    answer("get_branch_messages", Reducer::Set, &[("forkPoints", each("fork", "data.messages"))]),
    event(
        "notice",
        Reducer::Notice,
        &[("level", at("level")), ("text", at("message")), ("source", at("source"))],
    ),
    event("command_output", Reducer::Notice, &[("level", text("info")), ("text", at("text"))]),
    event("rpc_frame_error", Reducer::Notice, &[("level", text("error")), ("text", at("error"))]),
    event("thinking_level_changed", Reducer::Keep, &[("thinkingLevel", at("thinkingLevel"))]),
    event(
        "session_info_update",
        Reducer::Keep,
        &[("session.name", at("title")), ("session.id", at("sessionId"))],
    ),
    event(
        "config_update",
        Reducer::Keep,
        &[("model", read("model", "model")), ("thinkingLevel", at("thinkingLevel"))],
    ),
    event("available_commands_update", Reducer::Set, &[("commands", each("command", "commands"))]),
    answer("get_available_commands", Reducer::Set, &[("commands", each("command", "data.commands"))]),
    answer("handoff", Reducer::Replace, &[("empty", flag(false))]),
    dialog("open_url", Reducer::Notice, &[("level", text("info")), ("text", at("url"))]),
];

/// Rows of later revisions that a conversation does not show: duplicates of other frames, activity of other agents, and
/// services of the client.
const SILENT: &[RuleTarget] = &[
    RuleTarget::Event("ready"),
    RuleTarget::Event("rpc_chunk"),
    RuleTarget::Event("prompt_result"),
    RuleTarget::Event("subagent_lifecycle"),
    RuleTarget::Event("subagent_progress"),
    RuleTarget::Event("subagent_event"),
    RuleTarget::Event("retry_fallback_applied"),
    RuleTarget::Event("retry_fallback_succeeded"),
    RuleTarget::Event("model_changed"),
    RuleTarget::Event("config_warnings_changed"),
    RuleTarget::Event("advisor_cost_changed"),
    RuleTarget::Event("advisor_yielded"),
    RuleTarget::Event("todo_auto_clear"),
    RuleTarget::Event("irc_message"),
    RuleTarget::Event("goal_updated"),
    RuleTarget::Event("tool_stream_update"),
    RuleTarget::Answer("negotiate_protocol"),
    RuleTarget::Answer("set_host_tools"),
    RuleTarget::Answer("set_host_uri_schemes"),
    RuleTarget::Answer("get_login_providers"),
    RuleTarget::Answer("login"),
    RuleTarget::Answer("set_subagent_subscription"),
    RuleTarget::Answer("get_subagents"),
    RuleTarget::Answer("get_subagent_messages"),
    RuleTarget::Answer("set_todos"),
    RuleTarget::Answer("set_fast_mode"),
    RuleTarget::Answer("get_messages_page"),
    RuleTarget::Dialog("host_tool_call"),
    RuleTarget::Dialog("host_tool_cancel"),
    RuleTarget::Dialog("host_uri_request"),
    RuleTarget::Dialog("host_uri_cancel"),
];

/// The text of the rule that matched the output of the model.
const RULE: crate::meaning::Source = First(&[at("rules.0.content"), at("rules.0.name")]);

/// The meaning of omp's frames.
pub const MEANING: Meaning = Meaning { readers: READERS, rules: RULES, silent: SILENT, asks: &[] };
