//! The meaning of pisces' frames for a conversation, as far as it differs from omp.

use crate::meaning::Source::{First, Map};
use crate::meaning::{Constant, Meaning, Reducer, Rule, RuleTarget, at, event, text};

/// The outcome of a subagent's work.
const ENDED: crate::meaning::Source =
    First(&[Map("exitCode", &[("0", Constant::Text("done"))]), text("failed")]);

/// The rules for pisces' frames.
const RULES: &[Rule] = &[
    event(
        "subagent_start",
        Reducer::Task,
        &[("id", at("id")), ("name", at("agent")), ("isolated", at("isolated")), ("state", text("running"))],
    ),
    event(
        "subagent_end",
        Reducer::Task,
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
        Reducer::Task,
        &[("id", at("id")), ("attempt", at("attempt")), ("verification", text("running"))],
    ),
    event(
        "subagent_verification_command_start",
        Reducer::Task,
        &[("id", at("id")), ("activity", at("commandName"))],
    ),
    event("subagent_verification_end", Reducer::Task, &[("id", at("id")), ("verification", at("status"))]),
    event(
        "budget_warning",
        Reducer::Notice,
        &[("level", text("warning")), ("text", at("snapshot.reason")), ("source", at("scope"))],
    ),
    event(
        "budget_exceeded",
        Reducer::Notice,
        &[("level", text("error")), ("text", at("snapshot.reason")), ("source", at("scope"))],
    ),
];

/// The meaning of pisces' frames.
pub const MEANING: Meaning = Meaning {
    readers: &[],
    rules: RULES,
    silent: &[RuleTarget::Event("subagent_verification_command_end")],
    asks: &[],
};
