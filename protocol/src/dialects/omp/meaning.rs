//! The meaning of omp's frames for a conversation, as far as it differs from pi.

use crate::meaning::Source::{Count, First};
use crate::meaning::Test::Not;
use crate::meaning::{
    Act, Meaning, OTHER, On, Reader, Rule, answer, at, case, dialog, each, event, flag, read, refused, sent,
    text,
};

/// Readers of omp's values.
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
        Act::Notice,
        &[("level", text("info")), ("text", RULE), ("source", at("rules.0.name"))],
    ),
    event("ttsr_triggered", Act::Message, &[("gone", flag(true))]),
    event("todo_reminder", Act::Set, &[("todos", each("todo", "todos"))]),
    sent("abort_and_prompt", Act::Abort, &[]),
    sent(
        "abort_and_prompt",
        Act::Wait,
        &[("text", at("message")), ("images", Count("images")), ("mode", text("prompt"))],
    ),
    answer("abort_and_prompt", Act::Waited, &[("state", text("taken"))]),
    refused("abort_and_prompt", Act::Waited, &[("state", text("gone"))]),
    answer("set_interrupt_mode", Act::Keep, &[("settings.interruptMode", at("params.mode"))]),
    answer(
        "get_state",
        Act::Set,
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
    answer("get_state", Act::Count, &[("messages", at("data.messageCount"))]),
    answer("get_state", Act::Work, &[("on", at("data.isStreaming"))]),
    answer("branch", Act::Replace, &[("empty", flag(false))]).when(&[Not("data.cancelled", "true")]),
    answer("branch", Act::Draft, &[("text", at("data.text"))]).when(&[Not("data.cancelled", "true")]),
    answer("get_branch_messages", Act::Set, &[("forkPoints", each("fork", "data.messages"))]),
    event(
        "notice",
        Act::Notice,
        &[("level", at("level")), ("text", at("message")), ("source", at("source"))],
    ),
    event("command_output", Act::Notice, &[("level", text("info")), ("text", at("text"))]),
    event("rpc_frame_error", Act::Notice, &[("level", text("error")), ("text", at("error"))]),
    event("thinking_level_changed", Act::Keep, &[("thinkingLevel", at("thinkingLevel"))]),
    event(
        "session_info_update",
        Act::Keep,
        &[("session.name", at("title")), ("session.id", at("sessionId"))],
    ),
    event(
        "config_update",
        Act::Keep,
        &[("model", read("model", "model")), ("thinkingLevel", at("thinkingLevel"))],
    ),
    event("available_commands_update", Act::Set, &[("commands", each("command", "commands"))]),
    answer("get_available_commands", Act::Set, &[("commands", each("command", "data.commands"))]),
    answer("handoff", Act::Replace, &[("empty", flag(false))]),
    dialog("open_url", Act::Notice, &[("level", text("info")), ("text", at("url"))]),
];

/// Rows of later revisions that a conversation does not show: duplicates of other frames, activity of other agents, and
/// services of the client.
const SILENT: &[On] = &[
    On::Event("ready"),
    On::Event("rpc_chunk"),
    On::Event("prompt_result"),
    On::Event("subagent_lifecycle"),
    On::Event("subagent_progress"),
    On::Event("subagent_event"),
    On::Event("retry_fallback_applied"),
    On::Event("retry_fallback_succeeded"),
    On::Event("model_changed"),
    On::Event("config_warnings_changed"),
    On::Event("advisor_cost_changed"),
    On::Event("advisor_yielded"),
    On::Event("todo_auto_clear"),
    On::Event("irc_message"),
    On::Event("goal_updated"),
    On::Event("tool_stream_update"),
    On::Answer("negotiate_protocol"),
    On::Answer("set_host_tools"),
    On::Answer("set_host_uri_schemes"),
    On::Answer("get_login_providers"),
    On::Answer("login"),
    On::Answer("set_subagent_subscription"),
    On::Answer("get_subagents"),
    On::Answer("get_subagent_messages"),
    On::Answer("set_todos"),
    On::Answer("set_fast_mode"),
    On::Answer("get_messages_page"),
    On::Dialog("host_tool_call"),
    On::Dialog("host_tool_cancel"),
    On::Dialog("host_uri_request"),
    On::Dialog("host_uri_cancel"),
];

/// The text of the rule that matched the output of the model.
const RULE: crate::meaning::Source = First(&[at("rules.0.content"), at("rules.0.name")]);

/// The meaning of omp's frames.
pub const MEANING: Meaning = Meaning { readers: READERS, rules: RULES, silent: SILENT, asks: &[] };
