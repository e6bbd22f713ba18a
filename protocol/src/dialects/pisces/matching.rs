//! The rules for the comparison of pisces' transcripts.

use crate::dialects::omp::matching as omp;
use crate::dialects::pi::{allowances, matching as pi};
use crate::matching::Sameness::{Duration, Estimate, File, Id, Moment, Words};
use crate::matching::{Allowance, AllowanceScope, Form, Matching, MemberRule, Sameness};

const fn rule(record: &'static str, member: &'static str, same: Sameness) -> MemberRule {
    MemberRule { record, member, same }
}

const MEMBERS: &[MemberRule] = &[
    rule("VerificationResult", "startedAt", Moment),
    rule("VerificationResult", "endedAt", Moment),
    rule("VerificationAttemptResult", "startedAt", Moment),
    rule("VerificationAttemptResult", "endedAt", Moment),
    rule("VerificationAttemptResult", "durationMs", Duration),
    rule("VerificationCommandResult", "durationMs", Duration),
    rule("SubagentVerificationCommandEnd", "durationMs", Duration),
    rule("SubagentVerificationEnd", "durationMs", Duration),
    rule("SubagentStart", "id", Id),
    rule("SubagentVerificationCommandEnd", "artifactId", File),
    rule("VerificationCommandResult", "artifactPath", File),
    rule("BudgetSnapshot", "wallTimeMs", Duration),
    rule("BudgetSnapshot", "elapsedMs", Duration),
    rule("*", "endedAt", Moment),
    rule("*", "tokensBefore", Estimate),
    rule("*", "reason_text", Words),
];

const ALLOWANCES: &[Allowance] = &[
    Allowance {
        name: "repaired-is-passed",
        scope: AllowanceScope::Everywhere,
        statement: "a verification that passed after a repair is `passed`",
        reason: "the document has four statuses, of which `passed` fits",
        form: Form::Instead(&[
            ("VerificationResult", "status", "\"retried_passed\"", "\"passed\""),
            ("*", "status", "\"retried_passed\"", "\"passed\""),
        ]),
    },
    Allowance {
        name: "subagents-count",
        scope: AllowanceScope::InCases,
        statement: "tokens, cost and calls of subagents are counted",
        reason: "a snapshot has all tokens, the cost and all calls",
        form: Form::Bounded,
    },
    Allowance {
        name: "verification-settings",
        scope: AllowanceScope::InCases,
        statement: "settings of verification are read as in the document",
        reason: "the document has dotted keys, the master switch, and a profile with overriding inline commands",
        form: Form::Bounded,
    },
];

/// The rules for the comparison of pisces' transcripts.
pub const MATCHING: Matching = Matching {
    members: &[pi::MEMBERS, omp::MEMBERS, MEMBERS],
    // Subagents run concurrently.
    stream_keys: &["extensionPath", "id"],
    allowances: &[allowances::FAMILY, omp::ALLOWANCES, ALLOWANCES],
    ..omp::MATCHING
};
