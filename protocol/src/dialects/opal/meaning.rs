//! The meaning of Opal's frames for a conversation.
//!
//! No event ends a message of the model: the end of the turn or of the run ends it. An aborted message is discarded.

use crate::meaning::Condition::{Has, Is, Lacks};
use crate::meaning::Source::{First, Join, Map};
use crate::meaning::{
    Binding, Case, Constant, Meaning, OTHER, Reader, Reducer, Rule, RuleTarget, STRING, Source, answer, at,
    case, dialog, each, event, flag, read, refused, sent, text,
};

const SUMMARY: &[Binding] = &[
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

/// Readers: conversions of Opal's values to the neutral form.
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

const CONTEXT: &[Binding] =
    &[("context.tokens", at("usage.current_context_tokens")), ("context.window", at("usage.context_window"))];
const USAGE: &[Binding] = &[("usage", read("usage", "usage"))];
const FAILED_RUN: Binding = ("told", text("failed"));
const OFF: Binding = ("on", flag(false));
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
    event("message_start", Reducer::Begin, &[("message", read("answer", ""))]),
    event("message_delta", Reducer::Piece, &[("type", text("text")), ("text", at("delta"))]),
    event("thinking_start", Reducer::Piece, &[("type", text("thinking")), ("text", text(""))]),
    event("thinking_delta", Reducer::Piece, &[("type", text("thinking")), ("text", at("delta"))]),
    event("turn_end", Reducer::End, &[]),
    event("message_applied", Reducer::End, &[("message", read("words", ""))]),
    event(
        "tool_execution_start",
        Reducer::Tool,
        &[
            ("callId", at("call_id")),
            ("name", at("tool")),
            ("arguments", at("args")),
            ("label", at("meta")),
            ("state", text("running")),
        ],
    ),
    event("tool_execution_end", Reducer::End, &[("message", read("result", ""))]),
    event("usage_update", Reducer::Usage, USAGE),
    event("usage_update", Reducer::Keep, CONTEXT),
    event("status_update", Reducer::Set, &[("run.activity", at("message"))]),
    event("agent_end", Reducer::Outcome, &[]),
    event("agent_abort", Reducer::Outcome, &[("told", text("aborted"))]),
    event(
        "agent_recovered",
        Reducer::Outcome,
        &[
            FAILED_RUN,
            ("message", text("the agent crashed and was started again")),
            ("retryable", flag(true)),
        ],
    ),
    event("error", Reducer::Outcome, &[FAILED_RUN, ("message", at("reason"))]),
    event("agent_end", Reducer::Work, &[OFF]),
    event("agent_end", Reducer::Usage, USAGE),
    event("agent_end", Reducer::Keep, CONTEXT),
    event("agent_abort", Reducer::Work, &[OFF, ("dropped", flag(true))]),
    event("agent_recovered", Reducer::Work, &[OFF, ("dropped", flag(true))]),
    event(
        "agent_recovered",
        Reducer::Notice,
        &[("level", text("warning")), ("text", text("the agent was started again"))],
    ),
    event("error", Reducer::Work, &[OFF, ("error", at("reason")), ("dropped", flag(true))]),
    event("error", Reducer::Notice, &[("level", text("error")), ("text", at("reason"))]),
    event(
        "skill_loaded",
        Reducer::Notice,
        &[("level", text("info")), ("text", at("description")), ("source", at("name"))],
    ),
    event("sub_agent_event", Reducer::Child, &[("callId", at("parent_call_id")), ("event", at("inner"))]),
    sent("agent/prompt", Reducer::Wait, &[("text", at("text")), ("mode", text("prompt"))]),
    answer("agent/prompt", Reducer::Arrive, &[]).when(&[Is("data.queued", "false")]),
    answer("agent/prompt", Reducer::Waited, &[("state", text("queued"))]).when(&[Is("data.queued", "true")]),
    refused("agent/prompt", Reducer::Waited, &[("state", text("gone"))]),
    answer("session/start", Reducer::Replace, &[("empty", flag(true))]).when(&[Lacks("params.session_id")]),
    answer("session/start", Reducer::Replace, &[]).when(&[Has("params.session_id")]),
    answer(
        "session/start",
        Reducer::Keep,
        &[("session.id", at("data.session_id")), ("session.directory", at("params.working_dir"))],
    ),
    answer("session/branch", Reducer::Replace, &[]),
    answer("session/branch", Reducer::Keep, &[("session.id", at("params.session_id"))]),
    sent("session/compact", Reducer::Compacting, &[("reason", text("manual"))]),
    answer("session/compact", Reducer::Compacted, &[("unknown", flag(true))]),
    refused("session/compact", Reducer::Compacted, &[]),
    answer("session/history", Reducer::History, &[("messages", each("message", "data.messages"))]),
    answer(
        "agent/state",
        Reducer::Keep,
        &[
            ("session.id", at("data.session_id")),
            ("model", read("model", "data.model")),
            ("thinkingLevel", at("data.model.thinking_level")),
            ("context.tokens", at("data.token_usage.current_context_tokens")),
            ("context.window", at("data.token_usage.context_window")),
        ],
    ),
    answer("agent/state", Reducer::Usage, &[("usage", read("usage", "data.token_usage"))]),
    answer("agent/state", Reducer::Count, &[("messages", at("data.message_count"))]),
    answer("agent/state", Reducer::Work, &[("on", ON)]),
    answer("models/list", Reducer::Set, &[("models", each("model", "data.models"))]),
    answer(
        "model/set",
        Reducer::Keep,
        &[("model", read("model", "data.model")), ("thinkingLevel", at("data.model.thinking_level"))],
    ),
    answer("thinking/set", Reducer::Keep, &[("thinkingLevel", at("data.thinking_level"))]),
    answer("tasks/list", Reducer::Set, &[("todos", each("task", "data.tasks"))]),
    dialog(
        "client/confirm",
        Reducer::Ask,
        &[
            ("kind", text("select")),
            ("title", at("title")),
            ("text", at("message")),
            ("options", at("actions")),
        ],
    ),
    dialog(
        "client/input",
        Reducer::Ask,
        &[("kind", text("input")), ("title", at("prompt")), ("secret", at("sensitive"))],
    ),
    dialog(
        "client/ask_user",
        Reducer::Ask,
        &[("kind", text("select")), ("title", at("question")), ("options", at("choices"))],
    )
    .when(&[Has("choices.0")]),
    dialog("client/ask_user", Reducer::Ask, &[("kind", text("input")), ("title", at("question"))])
        .when(&[Lacks("choices.0")]),
];

/// The meaning of Opal's frames.
pub const MEANING: Meaning = Meaning {
    readers: READERS,
    rules: RULES,
    silent: &[
        RuleTarget::Event("message_queued"),
        RuleTarget::Event("context_discovered"),
        RuleTarget::Event("unknown"),
        RuleTarget::Answer("session/list"),
        RuleTarget::Answer("session/delete"),
        RuleTarget::Answer("auth/status"),
        RuleTarget::Answer("auth/login"),
        RuleTarget::Answer("auth/poll"),
        RuleTarget::Answer("auth/set_key"),
        RuleTarget::Answer("settings/get"),
        RuleTarget::Answer("settings/save"),
        RuleTarget::Answer("opal/config/get"),
        RuleTarget::Answer("opal/config/set"),
        RuleTarget::Answer("opal/ping"),
        RuleTarget::Answer("opal/version"),
    ],
    asks: &["session/history", "agent/state"],
};
