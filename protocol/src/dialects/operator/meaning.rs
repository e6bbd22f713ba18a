//! The meaning of Operator's frames for a conversation.
//!
//! No frame repeats the user's input: it enters the conversation as soon as the agent starts to work on it.

use crate::meaning::Condition::{Has, Is, Lacks, Not};
use crate::meaning::Source::{self, First, Map, Times};
use crate::meaning::{
    Binding, Case, Constant, Meaning, OTHER, Reader, Reducer, Rule, RuleTarget, STRING, answer, at, case,
    dialog, each, event, flag, read, refused, sent, text,
};

/// Readers: conversions of Operator's values to the neutral form.
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
    event("agent_start", Reducer::Arrive, &[]),
    // An event carries the user's input only if it was queued; the input of a prompt is already in the conversation.
    event("message_start", Reducer::Begin, &[("message", read("message", "message"))])
        .when(&[Not("message.role", "user")]),
    event("message_update", Reducer::Piece, &[("type", text("text")), ("text", at("content"))])
        .over("message.contents")
        .when(&[Is("type", "text")]),
    event("message_update", Reducer::Piece, &[("type", text("thinking")), ("text", at("content"))])
        .over("message.contents")
        .when(&[Is("type", "thinking")]),
    event(
        "message_update",
        Reducer::Tool,
        &[("callId", at("id")), ("name", at("name")), ("arguments", at("args"))],
    )
    .over("message.contents")
    .when(&[Is("type", "tool_call")]),
    event("message_end", Reducer::End, &[("message", read("message", "message"))]).when(&[Has("message")]),
    event("message_end", Reducer::End, &[]).when(&[Lacks("message")]),
    event(
        "tool_execution_start",
        Reducer::Tool,
        &[
            ("callId", at("tool_call.id")),
            ("name", at("tool_call.name")),
            ("arguments", at("tool_call.args")),
            ("state", text("running")),
        ],
    ),
    event(
        "tool_execution_update",
        Reducer::Tool,
        &[
            ("callId", at("partial_tool_result.id")),
            ("output", each("block", "partial_tool_result.content")),
            ("details", at("partial_tool_result.metadata")),
            ("state", text("running")),
        ],
    ),
    event(
        "tool_execution_end",
        Reducer::Tool,
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
    event("message_end", Reducer::Outcome, &[("told", Map("message.stop_reason", OUTCOMES)), ERROR, CODE])
        .when(&[Is("message.role", "assistant")]),
    event("message_end", Reducer::Outcome, &[FAILED_RUN, ERROR, CODE]).when(&[Has("message.error")]),
    event("agent_error", Reducer::Outcome, &[FAILED_RUN, ("message", at("error"))]),
    event("retry_start", Reducer::Outcome, &[("told", text("retried"))]),
    // The agent makes the next attempt in a new run.
    event("retry_start", Reducer::Retry, &[("attempt", at("attempt")), ("maxAttempts", at("max_retries"))]),
    event("retry_end", Reducer::Retried, &[("error", at("error"))]),
    event("agent_error", Reducer::Work, &[("on", flag(false)), ("error", at("error"))]),
    event("session_before_compact", Reducer::Compacting, &[("reason", text("threshold"))]),
    event("session_compact", Reducer::Compacted, &[("message", read("summary", "compaction_entry"))]),
    sent("prompt", Reducer::Wait, &[("text", First(&[at("text"), at("message")])), ("mode", text("prompt"))]),
    refused("prompt", Reducer::Waited, &[("state", text("gone"))]),
    // An answer at the end of a run has data; after an answer at its start, events report the run. A prompt rejected
    // because of a turn does not affect that turn.
    answer("prompt", Reducer::Work, &[("on", flag(false))]).when(&[Has("data")]),
    refused("prompt", Reducer::Work, &[("on", flag(false)), ("refusal", at("error"))])
        .when(&[Not("error", BUSY_WITH_TURN), Not("error", BUSY_COMPACTING)]),
    sent("steer", Reducer::Wait, &[("text", at("message")), ("mode", text("steer"))]),
    answer("steer", Reducer::Waited, &[("state", text("queued"))]),
    refused("steer", Reducer::Waited, &[("state", text("gone"))]),
    sent("follow_up", Reducer::Wait, &[("text", at("message")), ("mode", text("followUp"))]),
    answer("follow_up", Reducer::Waited, &[("state", text("queued"))]),
    refused("follow_up", Reducer::Waited, &[("state", text("gone"))]),
    sent("compact", Reducer::Compacting, &[("reason", text("manual"))]),
    // An answer without data only confirms the request; the compaction follows the next turn.
    answer("compact", Reducer::Compacted, &[("unknown", flag(true))]).when(&[Has("data")]),
    answer("compact", Reducer::Compacted, &[]).when(&[Lacks("data")]),
    refused("compact", Reducer::Compacted, &[]),
    answer("new_session", Reducer::Replace, &[("empty", flag(true))]),
    answer("fork", Reducer::Replace, &[]),
    answer("switch_session", Reducer::Replace, &[]),
    answer(
        "get_state",
        Reducer::Set,
        &[
            ("session.file", at("data.session_file")),
            ("session.id", at("data.session_id")),
            ("session.name", at("data.session_name")),
            ("context.tokens", at("data.context_tokens")),
            ("context.window", at("data.context_window")),
        ],
    ),
    answer("get_state", Reducer::Work, &[("on", ON)]),
    answer("set_session_name", Reducer::Keep, &[("session.name", at("params.name"))]),
    answer("set_thinking_level", Reducer::Keep, &[("thinkingLevel", at("data.level"))]),
    answer("set_auto_compaction", Reducer::Keep, &[("settings.autoCompaction", at("data.enabled"))]),
    answer(
        "get_session_stats",
        Reducer::Keep,
        &[
            ("session.id", at("data.session_id")),
            ("session.name", at("data.session_name")),
            ("context.tokens", at("data.context_tokens")),
            ("context.window", at("data.context_window")),
        ],
    ),
    dialog("confirm", Reducer::Ask, &[("kind", text("confirm")), TITLE, TEXT]),
    dialog("select", Reducer::Ask, &[("kind", text("select")), TITLE, TEXT, ("options", at("options"))]),
    dialog(
        "input",
        Reducer::Ask,
        &[("kind", text("input")), TITLE, TEXT, ("placeholder", at("placeholder"))],
    ),
    dialog(
        "notify",
        Reducer::Notice,
        &[("level", text("info")), ("text", First(&[at("message"), at("title")]))],
    ),
];

/// The outcome of a run, by the stop reason of the model's answer.
const OUTCOMES: &[(&str, Constant)] =
    &[("error", Constant::Text("failed")), ("abort", Constant::Text("aborted"))];
const FAILED_RUN: Binding = ("told", text("failed"));
const ERROR: Binding = ("message", First(&[at("message.error.message"), at("message.error")]));
const CODE: Binding = ("code", First(&[at("message.error.code"), at("message.error.type")]));

const TITLE: Binding = ("title", at("title"));
const TEXT: Binding = ("text", at("message"));

/// The error messages for a prompt during a turn and during a compaction.
const BUSY_WITH_TURN: &str = "Agent is busy (phase='turn'). Wait for the current operation to finish.";
const BUSY_COMPACTING: &str = "Agent is busy (phase='compaction'). Wait for the current operation to finish.";

/// The meaning of Operator's frames.
pub const MEANING: Meaning = Meaning { readers: READERS, rules: RULES, silent: SILENT, asks: &["get_state"] };

/// Rows that duplicate others, and rows without a place in a conversation. `set_model` has no effect, and
/// `get_messages` lacks the user's messages.
const SILENT: &[RuleTarget] = &[
    RuleTarget::Event("turn_end"),
    RuleTarget::Event("input"),
    RuleTarget::Event("before_agent_start"),
    RuleTarget::Event("context"),
    RuleTarget::Event("before_provider_request"),
    RuleTarget::Event("after_provider_response"),
    RuleTarget::Event("tool_call"),
    RuleTarget::Event("tool_result"),
    RuleTarget::Event("tool_execution_failure"),
    RuleTarget::Event("queue_update"),
    RuleTarget::Event("save_point"),
    RuleTarget::Event("session_start"),
    RuleTarget::Event("session_shutdown"),
    RuleTarget::Event("session_before_switch"),
    RuleTarget::Event("session_before_fork"),
    RuleTarget::Event("session_before_tree"),
    RuleTarget::Event("session_tree"),
    RuleTarget::Event("subagent_start"),
    RuleTarget::Event("subagent_end"),
    RuleTarget::Event("model_select"),
    RuleTarget::Event("thinking_level_select"),
    RuleTarget::Event("user_bash"),
    RuleTarget::Event("resources_discover"),
    RuleTarget::Event("goal_update"),
    RuleTarget::Answer("get_messages"),
    RuleTarget::Answer("get_last_assistant_text"),
    RuleTarget::Answer("set_model"),
];
