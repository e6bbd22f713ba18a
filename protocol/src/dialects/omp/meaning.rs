//! What the frames of omp mean for a conversation, where it is more or other than in pi.

use crate::meaning::Source::{Count, First};
use crate::meaning::Test::Not;
use crate::meaning::{
    Act, Meaning, OTHER, On, Reader, Rule, answer, at, case, each, event, flag, read, refused, sent, text,
};

/// How values of omp are read.
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

/// What the rows of omp do.
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
];

/// What the rule says that the stream ran into.
const RULE: crate::meaning::Source = First(&[at("rules.0.content"), at("rules.0.name")]);

/// What the frames of omp mean.
pub const MEANING: Meaning =
    Meaning { readers: READERS, rules: RULES, silent: &[On::Event("ready")], asks: &[] };
