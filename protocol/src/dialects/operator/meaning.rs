//! What the frames of Operator mean for a conversation.
//!
//! No frame repeats the user's words: they are in the conversation as soon as the agent begins to work on them.

use crate::meaning::Source::{self, First, Map, Times};
use crate::meaning::Test::{Has, Is, Lacks, Not};
use crate::meaning::{
    Act, Case, Constant, Meaning, OTHER, On, Reader, Rule, STRING, answer, at, case, each, event, flag, read,
    refused, sent, text,
};

/// How values of Operator are read.
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

/// Whether the agent works, as its state says.
pub const ON: Source = Map("data.phase", &[("idle", Constant::Flag(false)), ("turn", Constant::Flag(true))]);

/// What the rows of Operator do, in the order in which it is done.
const RULES: &[Rule] = &[
    event("agent_start", Act::Arrive, &[]),
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
    event("message_end", Act::End, &[("message", read("message", "message"))])
        .when(&[Has("message"), Not("message.role", "user")]),
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
    sent("prompt", Act::Wait, &[("text", at("text")), ("mode", text("prompt"))]),
    refused("prompt", Act::Waited, &[("state", text("gone"))]),
    sent("compact", Act::Compacting, &[("reason", text("manual"))]),
    answer("compact", Act::Compacted, &[("unknown", flag(true))]),
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
];

/// What the frames of Operator mean.
pub const MEANING: Meaning =
    Meaning { readers: READERS, rules: RULES, silent: &[On::Event("turn_end")], asks: &["get_state"] };
