//! What the frames of pisces mean for a conversation, where it is more than in omp.

use crate::meaning::Source::{First, Map};
use crate::meaning::{Act, Constant, Meaning, On, Rule, at, event, text};

/// Whether a subagent did what it was told.
const ENDED: crate::meaning::Source =
    First(&[Map("exitCode", &[("0", Constant::Text("done"))]), text("failed")]);

/// What the rows of pisces do.
const RULES: &[Rule] = &[
    event(
        "subagent_start",
        Act::Task,
        &[("id", at("id")), ("name", at("agent")), ("isolated", at("isolated")), ("state", text("running"))],
    ),
    event(
        "subagent_end",
        Act::Task,
        &[
            ("id", at("id")),
            ("name", at("agent")),
            ("exitCode", at("exitCode")),
            ("verification", at("verification.status")),
            ("state", ENDED),
        ],
    ),
    event(
        "subagent_verification_start",
        Act::Task,
        &[("id", at("id")), ("attempt", at("attempt")), ("verification", text("running"))],
    ),
    event(
        "subagent_verification_command_start",
        Act::Task,
        &[("id", at("id")), ("activity", at("commandName"))],
    ),
    event("subagent_verification_end", Act::Task, &[("id", at("id")), ("verification", at("status"))]),
    event(
        "budget_warning",
        Act::Notice,
        &[("level", text("warning")), ("text", at("snapshot.reason")), ("source", at("scope"))],
    ),
    event(
        "budget_exceeded",
        Act::Notice,
        &[("level", text("error")), ("text", at("snapshot.reason")), ("source", at("scope"))],
    ),
];

/// What the frames of pisces mean.
pub const MEANING: Meaning = Meaning {
    readers: &[],
    rules: RULES,
    silent: &[On::Event("subagent_verification_command_end")],
    asks: &[],
};
