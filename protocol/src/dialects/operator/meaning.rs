//! The meaning of Operator's frames for a conversation.
//!
//! No frame repeats the user's input: it enters the conversation as soon as the agent starts to work on it.

use crate::meaning::Source::{self, First, Map, Times};
use crate::meaning::Test::{Has, Is, Lacks, Not};
use crate::meaning::{
    Act, Case, Constant, Meaning, OTHER, On, Reader, Rule, STRING, Slot, answer, at, case, dialog, each,
    event, flag, read, refused, sent, text,
};

/// Readers of Operator's values.
const READERS: &[Reader] = &[
    Reader {
        name: "message",
        tag: "role",
        cases: &[
            Case {
                tag: "assistant",
                when: &[Has("error")],
                gives: &[
                    ("role", text("assistant")),
                    ("id", at("id")),
                    ("blocks", each("block", "contents")),
                    ("usage", read("usage", "usage")),
                    ("stopReason", at("stop_reason")),
                    ("error", First(&[at("error.message"), at("error")])),
                    ("state", text("failed")),
                    ("time", Times("timestamp", 1000)),
                ],
            },
            case(
                OTHER,
                &[
                    ("role", at("role")),
                    ("id", at("id")),
                    ("blocks", each("block", "contents")),
                    ("usage", read("usage", "usage")),
                    ("stopReason", at("stop_reason")),
                    ("state", Map("stop_reason", &[("abort", Constant::Text("aborted"))])),
                    ("time", Times("timestamp", 1000)),
                ],
            ),
        ],
    },
    Reader {
        name: "block",
        tag: "type",
        cases: &[
            case("text", &[("type", text("text")), ("text", at("content"))]),
            case(
                "thinking",
                &[("type", text("thinking")), ("text", at("content")), ("signature", at("signature"))],
            ),
            case(
                "tool_call",
                &[
                    ("type", text("tool")),
                    ("callId", at("id")),
                    ("name", at("name")),
                    ("arguments", at("args")),
                    ("state", text("coming")),
                ],
            ),
            case(STRING, &[("type", text("text")), ("text", at(""))]),
            case(OTHER, &[("type", text("data")), ("value", at(""))]),
        ],
    },
    Reader {
        name: "summary",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("role", text("summary")),
                ("kind", text("compaction")),
                ("blocks", each("block", "summary")),
                ("tokensBefore", at("tokens_before")),
            ],
        )],
    },
    Reader {
        name: "usage",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("input", at("input_tokens")),
                ("output", at("output_tokens")),
                ("cacheRead", at("cache_read_tokens")),
                ("cacheWrite", at("cache_write_tokens")),
                ("cost", at("cost.total")),
            ],
        )],
    },
];

/// The activity of the agent according to its state.
pub const ON: Source = Map("data.phase", &[("idle", Constant::Flag(false)), ("turn", Constant::Flag(true))]);

/// The rules for Operator's frames, in the order of their application.
const RULES: &[Rule] = &[
    event("agent_start", Act::Arrive, &[]),
    // An event carries the user's input only if it was queued; the input of a prompt is already in the conversation.
    event("message_start", Act::Begin, &[("message", read("message", "message"))])
        .when(&[Not("message.role", "user")]),
    event("message_update", Act::Piece, &[("type", text("text")), ("text", at("content"))])
        .over("message.contents")
        .when(&[Is("type", "text")]),
    event("message_update", Act::Piece, &[("type", text("thinking")), ("text", at("content"))])
        .over("message.contents")
        .when(&[Is("type", "thinking")]),
    event(
        "message_update",
        Act::Tool,
        &[("callId", at("id")), ("name", at("name")), ("arguments", at("args"))],
    )
    .over("message.contents")
    .when(&[Is("type", "tool_call")]),
    event("message_end", Act::End, &[("message", read("message", "message"))]).when(&[Has("message")]),
    event("message_end", Act::End, &[]).when(&[Lacks("message")]),
    event(
        "tool_execution_start",
        Act::Tool,
        &[
            ("callId", at("tool_call.id")),
            ("name", at("tool_call.name")),
            ("arguments", at("tool_call.args")),
            ("state", text("running")),
        ],
    ),
    event(
        "tool_execution_update",
        Act::Tool,
        &[
            ("callId", at("partial_tool_result.id")),
            ("output", each("block", "partial_tool_result.content")),
            ("details", at("partial_tool_result.metadata")),
            ("state", text("running")),
        ],
    ),
    event(
        "tool_execution_end",
        Act::Tool,
        &[
            ("callId", at("tool_result.id")),
            ("result", each("block", "tool_result.content")),
            ("details", at("tool_result.metadata")),
            (
                "state",
                Map(
                    "tool_result.is_error",
                    &[("true", Constant::Text("failed")), ("false", Constant::Text("done"))],
                ),
            ),
        ],
    ),
    event("message_end", Act::Outcome, &[("told", Map("message.stop_reason", OUTCOMES)), ERROR, CODE])
        .when(&[Is("message.role", "assistant")]),
    event("message_end", Act::Outcome, &[FAILED_RUN, ERROR, CODE]).when(&[Has("message.error")]),
    event("agent_error", Act::Outcome, &[FAILED_RUN, ("message", at("error"))]),
    event("retry_start", Act::Outcome, &[("told", text("retried"))]),
    // The agent makes the next attempt in a new run.
    event("retry_start", Act::Retry, &[("attempt", at("attempt")), ("maxAttempts", at("max_retries"))]),
    event("retry_end", Act::Retried, &[("error", at("error"))]),
    event("agent_error", Act::Work, &[("on", flag(false)), ("error", at("error"))]),
    event("session_before_compact", Act::Compacting, &[("reason", text("threshold"))]),
    event("session_compact", Act::Compacted, &[("message", read("summary", "compaction_entry"))]),
    sent("prompt", Act::Wait, &[("text", First(&[at("text"), at("message")])), ("mode", text("prompt"))]),
    refused("prompt", Act::Waited, &[("state", text("gone"))]),
    // An answer at the end of a run has data; after an answer at its start, events report the run. A prompt rejected
    // because of a turn does not affect that turn.
    answer("prompt", Act::Work, &[("on", flag(false))]).when(&[Has("data")]),
    refused("prompt", Act::Work, &[("on", flag(false)), ("refusal", at("error"))])
        .when(&[Not("error", BUSY_WITH_TURN), Not("error", BUSY_COMPACTING)]),
    sent("steer", Act::Wait, &[("text", at("message")), ("mode", text("steer"))]),
    answer("steer", Act::Waited, &[("state", text("queued"))]),
    refused("steer", Act::Waited, &[("state", text("gone"))]),
    sent("follow_up", Act::Wait, &[("text", at("message")), ("mode", text("followUp"))]),
    answer("follow_up", Act::Waited, &[("state", text("queued"))]),
    refused("follow_up", Act::Waited, &[("state", text("gone"))]),
    sent("compact", Act::Compacting, &[("reason", text("manual"))]),
    // An answer without data only confirms the request; the compaction follows the next turn.
    answer("compact", Act::Compacted, &[("unknown", flag(true))]).when(&[Has("data")]),
    answer("compact", Act::Compacted, &[]).when(&[Lacks("data")]),
    refused("compact", Act::Compacted, &[]),
    answer("new_session", Act::Replace, &[("empty", flag(true))]),
    answer("fork", Act::Replace, &[]),
    answer("switch_session", Act::Replace, &[]),
    answer(
        "get_state",
        Act::Set,
        &[
            ("session.file", at("data.session_file")),
            ("session.id", at("data.session_id")),
            ("session.name", at("data.session_name")),
            ("context.tokens", at("data.context_tokens")),
            ("context.window", at("data.context_window")),
        ],
    ),
    answer("get_state", Act::Work, &[("on", ON)]),
    answer("set_session_name", Act::Keep, &[("session.name", at("params.name"))]),
    answer("set_thinking_level", Act::Keep, &[("thinkingLevel", at("data.level"))]),
    answer("set_auto_compaction", Act::Keep, &[("settings.autoCompaction", at("data.enabled"))]),
    answer(
        "get_session_stats",
        Act::Keep,
        &[
            ("session.id", at("data.session_id")),
            ("session.name", at("data.session_name")),
            ("context.tokens", at("data.context_tokens")),
            ("context.window", at("data.context_window")),
        ],
    ),
    dialog("confirm", Act::Ask, &[("kind", text("confirm")), TITLE, TEXT]),
    dialog("select", Act::Ask, &[("kind", text("select")), TITLE, TEXT, ("options", at("options"))]),
    dialog("input", Act::Ask, &[("kind", text("input")), TITLE, TEXT, ("placeholder", at("placeholder"))]),
    dialog("notify", Act::Notice, &[("level", text("info")), ("text", First(&[at("message"), at("title")]))]),
];

/// The outcome of a run, by the stop reason of the model's answer.
const OUTCOMES: &[(&str, Constant)] =
    &[("error", Constant::Text("failed")), ("abort", Constant::Text("aborted"))];
const FAILED_RUN: Slot = ("told", text("failed"));
const ERROR: Slot = ("message", First(&[at("message.error.message"), at("message.error")]));
const CODE: Slot = ("code", First(&[at("message.error.code"), at("message.error.type")]));

const TITLE: Slot = ("title", at("title"));
const TEXT: Slot = ("text", at("message"));

/// The error messages for a prompt during a turn and during a compaction.
const BUSY_WITH_TURN: &str = "Agent is busy (phase='turn'). Wait for the current operation to finish.";
const BUSY_COMPACTING: &str = "Agent is busy (phase='compaction'). Wait for the current operation to finish.";

/// The meaning of Operator's frames.
pub const MEANING: Meaning = Meaning { readers: READERS, rules: RULES, silent: SILENT, asks: &["get_state"] };

/// Rows that duplicate others, and rows without a place in a conversation. `set_model` has no effect, and
/// `get_messages` lacks the user's messages.
const SILENT: &[On] = &[
    On::Event("turn_end"),
    On::Event("input"),
    On::Event("before_agent_start"),
    On::Event("context"),
    On::Event("before_provider_request"),
    On::Event("after_provider_response"),
    On::Event("tool_call"),
    On::Event("tool_result"),
    On::Event("tool_execution_failure"),
    On::Event("queue_update"),
    On::Event("save_point"),
    On::Event("session_start"),
    On::Event("session_shutdown"),
    On::Event("session_before_switch"),
    On::Event("session_before_fork"),
    On::Event("session_before_tree"),
    On::Event("session_tree"),
    On::Event("subagent_start"),
    On::Event("subagent_end"),
    On::Event("model_select"),
    On::Event("thinking_level_select"),
    On::Event("user_bash"),
    On::Event("resources_discover"),
    On::Event("goal_update"),
    On::Answer("get_messages"),
    On::Answer("get_last_assistant_text"),
    On::Answer("set_model"),
];
