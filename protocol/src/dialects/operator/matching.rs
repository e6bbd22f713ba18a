//! The rules for the comparison of Operator's transcripts.

use crate::matching::Sameness::{Duration, File, Id, Moment, Words};
use crate::matching::{
    Allowance, AllowanceScope, Delta, Form, Matching, MemberRule, Sameness, Sessions, Token, Tools, Wording,
    WordingCondition,
};

const fn rule(record: &'static str, member: &'static str, same: Sameness) -> MemberRule {
    MemberRule { record, member, same }
}

/// The rules for the comparison of Operator's transcripts.
pub const MATCHING: Matching = Matching {
    members: &[&[
        rule("OperatorMessage", "id", Id),
        rule("OperatorMessage", "timestamp", Moment),
        rule("OperatorMessage", "error", Words),
        rule("OperatorState", "session_id", Id),
        rule("OperatorState", "session_file", File),
    ]],
    choices: &[],
    wording: &[&[Wording {
        record: "OperatorToolResult",
        when: WordingCondition::True("is_error"),
        members: &["content", "metadata"],
        allowance: None,
    }]],
    tokens: &[
        Token {
            pattern: r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d{3,9})?(?:Z|\+00:00)?",
            same: Moment,
        },
        Token { pattern: r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", same: Id },
        Token { pattern: r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b", same: Id },
        Token { pattern: r"(?:127\.0\.0\.1|localhost):(\d{2,5})", same: Duration },
    ],
    event_keys: &["message.role", "tool_call.id", "tool_result.id"],
    fine_event_keys: &[],
    stream_keys: &[],
    dialog_keys: &[],
    transient_members: &[],
    deltas: &[Delta { event: "message_update", text: "message.contents[].content" }],
    snapshots: None,
    tools: Some(Tools {
        begins: "tool_execution_start",
        shows: None,
        ends: "tool_execution_end",
        call: "tool_call.id",
        others: &[("tool_execution_end", "tool_result.id")],
        lists: &[("OperatorTurnEnd", "tool_results")],
        listed: "id",
    }),
    sessions: Sessions { history: None, files: None, shell: "bash" },
    allowances: &[&[
        Allowance {
            name: "not-in-the-document",
            scope: AllowanceScope::Everywhere,
            statement: "members that are not in the document are missing",
            reason: "the document shows events with their type and message, and no members of the state",
            form: Form::Undeclared,
        },
        Allowance {
            name: "session-folder",
            scope: AllowanceScope::Everywhere,
            statement: "session files are in another folder or follow another naming scheme",
            reason: "the document shows a path without rules for folder and name",
            form: Form::OtherFolder,
        },
        Allowance {
            name: "signal-exit",
            scope: AllowanceScope::Everywhere,
            statement: "a clean exit instead of an end by the sent signal, or the reverse",
            reason: "the document does not mention signals",
            form: Form::SignalExit,
        },
    ]],
};
