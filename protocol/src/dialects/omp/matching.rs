//! The rules for the comparison of omp's transcripts.

use crate::dialects::pi::{allowances, matching as pi};
use crate::matching::Sameness::{Duration, Estimate, File, Id, Moment, Words};
use crate::matching::{
    Allowance, AllowanceScope, Choice, ChoiceEffect, Form, Matching, MemberRule, Sameness, Token, Tools,
    Wording, WordingCondition,
};

const fn choice(member: &'static str, chosen: ChoiceEffect) -> Choice {
    Choice { record: "OmpSessionState", member, state: member, effect: chosen }
}

/// Values that an agent of the omp dialect chooses freely, in addition to the values that an agent of pi
/// chooses freely.
pub const CHOICES: &[Choice] = &[
    choice("model", ChoiceEffect::Value),
    choice("thinkingLevel", ChoiceEffect::Value),
    choice("steeringMode", ChoiceEffect::Value),
    choice("followUpMode", ChoiceEffect::Value),
    choice("interruptMode", ChoiceEffect::Value),
    choice("autoCompactionEnabled", ChoiceEffect::Value),
    choice("sessionFile", ChoiceEffect::Presence),
];

const fn rule(record: &'static str, member: &'static str, same: Sameness) -> MemberRule {
    MemberRule { record, member, same }
}

/// Rules for the comparison of members in omp's transcripts, also used by pisces.
pub const MEMBERS: &[MemberRule] = &[
    rule("OmpSessionState", "sessionId", Id),
    rule("OmpSessionState", "sessionFile", File),
    rule("AgentEnd", "sessionId", Id),
    rule("AgentEnd", "sessionFile", File),
    rule("AssistantMessage", "responseId", Id),
    rule("AssistantMessage", "duration", Duration),
    rule("AssistantMessage", "ttft", Duration),
    rule("TurnStart", "timestamp", Moment),
    rule("*", "duration", Duration),
    rule("*", "wallTimeMs", Duration),
    rule("*", "startedAt", Moment),
    rule("*", "lastUpdate", Moment),
    rule("*", "startTime", Moment),
    rule("*", "sessionId", Id),
    rule("*", "sessionFile", File),
    rule("*", "artifactId", File),
    rule("*", "artifactPath", File),
    rule("*", "outputPath", File),
    rule("*", "outputPaths", File),
    rule("*", "patchPath", File),
    rule("*", "totalDurationMs", Duration),
    rule("*", "tokens", Estimate),
    rule("*", "error", Words),
    rule("*", "stderr", Words),
    rule("*", "abortReason", Words),
];

const FILE_TOOLS: &[&str] = &["write", "edit", "multi_edit", "apply_patch"];

/// Texts whose wording no document prescribes.
pub const WORDING: &[Wording] = &[
    Wording {
        record: "ToolResultMessage",
        when: WordingCondition::OneOf("toolName", FILE_TOOLS),
        members: &["content", "details"],
        allowance: Some("tool-words"),
    },
    Wording {
        record: "ToolExecutionEnd",
        when: WordingCondition::OneOf("toolName", FILE_TOOLS),
        members: &["result"],
        allowance: Some("tool-words"),
    },
];

/// Parts of texts that differ from run to run.
pub const TOKENS: &[Token] = &[
    Token { pattern: r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d{3,9})?(?:Z|\+00:00)?", same: Moment },
    Token { pattern: r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", same: Id },
    Token { pattern: r"(?:\b|_)([0-9a-f]{32}|[0-9a-f]{16})\b", same: Id },
    // The name of the file of a failed request contains its time.
    Token { pattern: r"\b\d{13}-[0-9a-z]{8,}\.json\b", same: Id },
    Token { pattern: r"chatcmpl-[\w-]+", same: Duration },
    Token { pattern: r"(?:127\.0\.0\.1|localhost):(\d{2,5})", same: Duration },
    Token { pattern: r"\bindex ([0-9a-f]{7,40}\.\.[0-9a-f]{7,40})", same: Duration },
    Token { pattern: r"\b\d+(?:\.\d+)?m?s\b", same: Duration },
];

/// Allowances of omp, also used by pisces.
pub const ALLOWANCES: &[Allowance] = &[
    Allowance {
        name: "not-in-the-document",
        scope: AllowanceScope::Everywhere,
        statement: "members that are not in the document are missing",
        reason: "the recorded agent is newer than the document",
        form: Form::Undeclared,
    },
    Allowance {
        name: "no-attribution",
        scope: AllowanceScope::Everywhere,
        statement: "messages have no attribution",
        reason: "no message of the document has one",
        form: Form::LeftOut(&[("*", "attribution")]),
    },
    Allowance {
        name: "not-ready",
        scope: AllowanceScope::Everywhere,
        statement: "no frame reports that the agent is ready",
        reason: "no category of frames contains it, and the agent of the document's version does not send it",
        form: Form::Events(&["ready"]),
    },
    Allowance {
        name: "bundled-widget",
        scope: AllowanceScope::Everywhere,
        statement: "the widget of an extension that is bundled with the recorded agent is missing",
        reason: "the document does not mention it, and the agent of the document's version does not send it",
        form: Form::DialogsLeftOut("setWidget", "widgetKey", "autoresearch"),
    },
    Allowance {
        name: "acknowledged-first",
        scope: AllowanceScope::Everywhere,
        statement: "a prompt is acknowledged before its failure, or only fails",
        reason: "a prompt is acknowledged at once, and may fail later with the same id",
        form: Form::AcknowledgedFirst,
    },
    Allowance {
        name: "any-name",
        scope: AllowanceScope::Everywhere,
        statement: "the answer to an object without a usable type has any command name, or none",
        reason: "the document only states that answers to unknown commands have no id",
        form: Form::AnyName,
    },
    Allowance {
        name: "thinking-off",
        scope: AllowanceScope::Everywhere,
        statement: "the thinking level is `off` instead of absent",
        reason: "the state has a thinking level, and `off` is one",
        form: Form::Added(&[
            ("OmpSessionState", "thinkingLevel", "\"off\""),
            ("CycledModel", "thinkingLevel", "\"off\""),
        ]),
    },
    Allowance {
        name: "survives-malformed",
        scope: AllowanceScope::InCases,
        statement: "a malformed line is answered, and the agent continues and exits with 0",
        reason: "a malformed line is answered and reading continues; at the end of stdin the agent exits with 0",
        form: Form::Bounded,
    },
    Allowance {
        name: "abort-is-immediate",
        scope: AllowanceScope::InCases,
        statement: "an abort takes effect at once; the recorded agent reads it only after the work",
        reason: "the commands serve to stop the current work",
        form: Form::Bounded,
    },
    Allowance {
        name: "of-the-moment",
        scope: AllowanceScope::InCases,
        statement: "an aborted answer is longer or shorter; two messages have different milliseconds instead \
                    of the same",
        reason: "no document defines durations",
        form: Form::Bounded,
    },
    Allowance {
        name: "settings-kept",
        scope: AllowanceScope::InCases,
        statement: "settings of a client are not written to the user's settings file",
        reason: "the commands control the session; the document does not mention files",
        form: Form::Bounded,
    },
];

/// Events about tools, as in pi.
pub const TOOLS: Tools = pi::TOOLS;

/// The rules for the comparison of omp's transcripts.
pub const MATCHING: Matching = Matching {
    members: &[pi::MEMBERS, MEMBERS],
    choices: &[pi::CHOICES, CHOICES],
    wording: &[pi::WORDING, WORDING],
    tokens: TOKENS,
    event_keys: pi::EVENT_KEYS,
    fine_event_keys: &["message.content"],
    // Extensions run concurrently with the agent.
    stream_keys: &["extensionPath"],
    dialog_keys: pi::DIALOG_KEYS,
    transient_members: pi::TRANSIENT_MEMBERS,
    deltas: pi::MATCHING.deltas,
    snapshots: Some(pi::SNAPSHOTS),
    tools: Some(TOOLS),
    sessions: pi::SESSIONS,
    allowances: &[allowances::FAMILY, ALLOWANCES],
};
