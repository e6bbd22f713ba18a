//! The meaning of Opal's frames for a conversation.
//!
//! No event ends a message of the model: the end of the turn or of the run ends it. An aborted message is discarded.

use crate::meaning::Source::{First, Join, Map};
use crate::meaning::Test::{Has, Is, Lacks};
use crate::meaning::{
    Act, Case, Constant, Meaning, OTHER, On, Reader, Rule, STRING, Slot, Source, answer, at, case, dialog,
    each, event, flag, read, refused, sent, text,
};

const SUMMARY: &[Slot] = &[
    ("role", text("summary")),
    ("kind", text("compaction")),
    ("id", at("id")),
    ("blocks", each("block", "content")),
];

/// Reads a message of the history that is a summary, independent of its role.
const fn summary(role: &'static str) -> Case {
    Case { tag: role, when: &[Is("metadata.type", "compaction_summary")], gives: SUMMARY }
}

const FAILED: &[(&str, Constant)] = &[("true", Constant::Text("failed"))];

/// Readers of Opal's values.
const READERS: &[Reader] = &[
    Reader {
        name: "message",
        tag: "role",
        cases: &[
            summary("user"),
            summary("assistant"),
            summary("system"),
            case("user", &[("role", text("user")), ("id", at("id")), ("blocks", each("block", "content"))]),
            case(
                "assistant",
                &[
                    ("role", text("assistant")),
                    ("id", at("id")),
                    (
                        "blocks",
                        Join(&[
                            each("thought", "thinking"),
                            each("block", "content"),
                            each("call", "tool_calls"),
                        ]),
                    ),
                ],
            ),
            case(
                "tool_result",
                &[
                    ("role", text("tool")),
                    ("id", at("id")),
                    ("callId", at("call_id")),
                    ("name", at("name")),
                    ("blocks", each("block", "content")),
                    ("state", Map("is_error", FAILED)),
                ],
            ),
            case(
                OTHER,
                &[
                    ("role", text("note")),
                    ("kind", at("role")),
                    ("id", at("id")),
                    ("blocks", each("block", "content")),
                ],
            ),
        ],
    },
    Reader {
        name: "block",
        tag: "",
        cases: &[
            case(STRING, &[("type", text("text")), ("text", at(""))]),
            case(OTHER, &[("type", text("data")), ("value", at(""))]),
        ],
    },
    Reader {
        name: "thought",
        tag: "",
        cases: &[case(STRING, &[("type", text("thinking")), ("text", at(""))])],
    },
    Reader {
        name: "call",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("type", text("tool")),
                ("callId", at("call_id")),
                ("name", at("name")),
                ("arguments", at("arguments")),
                ("state", text("coming")),
            ],
        )],
    },
    Reader { name: "answer", tag: "", cases: &[case(OTHER, &[("role", text("assistant"))])] },
    Reader {
        name: "words",
        tag: "",
        cases: &[case(OTHER, &[("role", text("user")), ("blocks", each("block", "text"))])],
    },
    Reader {
        name: "result",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("role", text("tool")),
                ("callId", at("call_id")),
                ("name", at("tool")),
                ("blocks", First(&[each("block", "result.output"), each("block", "result.error")])),
                ("details", at("result.meta")),
                ("state", Map("result.ok", &[("false", Constant::Text("failed"))])),
            ],
        )],
    },
    Reader {
        name: "usage",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("input", at("prompt_tokens")),
                ("output", at("completion_tokens")),
                ("total", at("total_tokens")),
            ],
        )],
    },
    Reader {
        name: "model",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("id", at("id")),
                ("provider", at("provider")),
                ("name", at("name")),
                ("reasoning", at("supports_thinking")),
            ],
        )],
    },
    Reader {
        name: "task",
        tag: "",
        cases: &[case(OTHER, &[("text", at("label")), ("status", at("status"))])],
    },
];

const CONTEXT: &[Slot] =
    &[("context.tokens", at("usage.current_context_tokens")), ("context.window", at("usage.context_window"))];
const USAGE: &[Slot] = &[("usage", read("usage", "usage"))];
const FAILED_RUN: Slot = ("told", text("failed"));
const OFF: Slot = ("on", flag(false));
/// The activity of the agent according to its state.
pub const ON: Source = Map(
    "data.status",
    &[
        ("idle", Constant::Flag(false)),
        ("running", Constant::Flag(true)),
        ("streaming", Constant::Flag(true)),
        ("executing_tools", Constant::Flag(true)),
    ],
);

/// The rules for Opal's frames, in the order of their application.
const RULES: &[Rule] = &[
    event("message_start", Act::Begin, &[("message", read("answer", ""))]),
    event("message_delta", Act::Piece, &[("type", text("text")), ("text", at("delta"))]),
    event("thinking_start", Act::Piece, &[("type", text("thinking")), ("text", text(""))]),
    event("thinking_delta", Act::Piece, &[("type", text("thinking")), ("text", at("delta"))]),
    event("turn_end", Act::End, &[]),
    event("message_applied", Act::End, &[("message", read("words", ""))]),
    event(
        "tool_execution_start",
        Act::Tool,
        &[
            ("callId", at("call_id")),
            ("name", at("tool")),
            ("arguments", at("args")),
            ("label", at("meta")),
            ("state", text("running")),
        ],
    ),
    event("tool_execution_end", Act::End, &[("message", read("result", ""))]),
    event("usage_update", Act::Usage, USAGE),
    event("usage_update", Act::Keep, CONTEXT),
    event("status_update", Act::Set, &[("run.activity", at("message"))]),
    event("agent_end", Act::Outcome, &[]),
    event("agent_abort", Act::Outcome, &[("told", text("aborted"))]),
    event(
        "agent_recovered",
        Act::Outcome,
        &[
            FAILED_RUN,
            ("message", text("the agent crashed and was started again")),
            ("retryable", flag(true)),
        ],
    ),
    event("error", Act::Outcome, &[FAILED_RUN, ("message", at("reason"))]),
    event("agent_end", Act::Work, &[OFF]),
    event("agent_end", Act::Usage, USAGE),
    event("agent_end", Act::Keep, CONTEXT),
    event("agent_abort", Act::Work, &[OFF, ("dropped", flag(true))]),
    event("agent_recovered", Act::Work, &[OFF, ("dropped", flag(true))]),
    event(
        "agent_recovered",
        Act::Notice,
        &[("level", text("warning")), ("text", text("the agent was started again"))],
    ),
    event("error", Act::Work, &[OFF, ("error", at("reason")), ("dropped", flag(true))]),
    event("error", Act::Notice, &[("level", text("error")), ("text", at("reason"))]),
    event(
        "skill_loaded",
        Act::Notice,
        &[("level", text("info")), ("text", at("description")), ("source", at("name"))],
    ),
    event("sub_agent_event", Act::Child, &[("callId", at("parent_call_id")), ("event", at("inner"))]),
    sent("agent/prompt", Act::Wait, &[("text", at("text")), ("mode", text("prompt"))]),
    answer("agent/prompt", Act::Arrive, &[]).when(&[Is("data.queued", "false")]),
    answer("agent/prompt", Act::Waited, &[("state", text("queued"))]).when(&[Is("data.queued", "true")]),
    refused("agent/prompt", Act::Waited, &[("state", text("gone"))]),
    answer("session/start", Act::Replace, &[("empty", flag(true))]).when(&[Lacks("params.session_id")]),
    answer("session/start", Act::Replace, &[]).when(&[Has("params.session_id")]),
    answer(
        "session/start",
        Act::Keep,
        &[("session.id", at("data.session_id")), ("session.directory", at("params.working_dir"))],
    ),
    answer("session/branch", Act::Replace, &[]),
    answer("session/branch", Act::Keep, &[("session.id", at("params.session_id"))]),
    sent("session/compact", Act::Compacting, &[("reason", text("manual"))]),
    answer("session/compact", Act::Compacted, &[("unknown", flag(true))]),
    refused("session/compact", Act::Compacted, &[]),
    answer("session/history", Act::History, &[("messages", each("message", "data.messages"))]),
    answer(
        "agent/state",
        Act::Keep,
        &[
            ("session.id", at("data.session_id")),
            ("model", read("model", "data.model")),
            ("thinkingLevel", at("data.model.thinking_level")),
            ("context.tokens", at("data.token_usage.current_context_tokens")),
            ("context.window", at("data.token_usage.context_window")),
        ],
    ),
    answer("agent/state", Act::Usage, &[("usage", read("usage", "data.token_usage"))]),
    answer("agent/state", Act::Count, &[("messages", at("data.message_count"))]),
    answer("agent/state", Act::Work, &[("on", ON)]),
    answer("models/list", Act::Set, &[("models", each("model", "data.models"))]),
    answer(
        "model/set",
        Act::Keep,
        &[("model", read("model", "data.model")), ("thinkingLevel", at("data.model.thinking_level"))],
    ),
    answer("thinking/set", Act::Keep, &[("thinkingLevel", at("data.thinking_level"))]),
    answer("tasks/list", Act::Set, &[("todos", each("task", "data.tasks"))]),
    dialog(
        "client/confirm",
        Act::Ask,
        &[
            ("kind", text("select")),
            ("title", at("title")),
            ("text", at("message")),
            ("options", at("actions")),
        ],
    ),
    dialog(
        "client/input",
        Act::Ask,
        &[("kind", text("input")), ("title", at("prompt")), ("secret", at("sensitive"))],
    ),
    dialog(
        "client/ask_user",
        Act::Ask,
        &[("kind", text("select")), ("title", at("question")), ("options", at("choices"))],
    )
    .when(&[Has("choices.0")]),
    dialog("client/ask_user", Act::Ask, &[("kind", text("input")), ("title", at("question"))])
        .when(&[Lacks("choices.0")]),
];

/// The meaning of Opal's frames.
pub const MEANING: Meaning = Meaning {
    readers: READERS,
    rules: RULES,
    silent: &[
        On::Event("message_queued"),
        On::Event("context_discovered"),
        On::Event("unknown"),
        On::Answer("session/list"),
        On::Answer("session/delete"),
        On::Answer("auth/status"),
        On::Answer("auth/login"),
        On::Answer("auth/poll"),
        On::Answer("auth/set_key"),
        On::Answer("settings/get"),
        On::Answer("settings/save"),
        On::Answer("opal/config/get"),
        On::Answer("opal/config/set"),
        On::Answer("opal/ping"),
        On::Answer("opal/version"),
    ],
    asks: &["session/history", "agent/state"],
};
