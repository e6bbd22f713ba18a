//! The rules for the comparison of Opal's transcripts.

use crate::matching::Sameness::{Duration, Estimate, File, Id, Moment, Version, Words};
use crate::matching::{
    Allowance, AllowanceScope, Delta, Entries, Form, Matching, MemberRule, Sameness, Sessions, Token, Tools,
    Wording, WordingCondition,
};

const fn rule(record: &'static str, member: &'static str, same: Sameness) -> MemberRule {
    MemberRule { record, member, same }
}

/// The rules for the comparison of Opal's transcripts.
pub const MATCHING: Matching = Matching {
    members: &[&[
        rule("*", "session_id", Id),
        rule("*", "sub_session_id", Id),
        rule("SessionStartResult", "session_dir", File),
        rule("OpalVersion", "server_version", Version),
        rule("OpalSessionInfo", "id", Id),
        rule("OpalSessionInfo", "modified", Moment),
        rule("OpalHistoryMessage", "id", Id),
        rule("OpalTask", "created_at", Moment),
        rule("OpalTask", "updated_at", Moment),
        rule("OpalUsage", "current_context_tokens", Estimate),
        rule("OpalRunError", "reason", Words),
        rule("OpalError", "data", Words),
    ]],
    choices: &[],
    wording: &[&[
        Wording {
            record: "OpalToolFailure",
            when: WordingCondition::Always,
            members: &["error"],
            allowance: None,
        },
        Wording {
            record: "OpalToolSuccess",
            when: WordingCondition::Always,
            members: &["output", "meta"],
            allowance: Some("tool-words"),
        },
        Wording {
            record: "OpalToolExecutionStart",
            when: WordingCondition::Always,
            members: &["meta"],
            allowance: Some("tool-words"),
        },
        Wording {
            record: "OpalHistoryMessage",
            when: WordingCondition::OneOf("role", &["tool_result"]),
            members: &["content"],
            allowance: Some("tool-words"),
        },
    ]],
    tokens: &[
        Token {
            pattern: r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d{3,9})?(?:Z|\+00:00)?",
            same: Moment,
        },
        Token { pattern: r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", same: Id },
        Token { pattern: r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b", same: Id },
        Token { pattern: r"(?:127\.0\.0\.1|localhost):(\d{2,5})", same: Duration },
    ],
    event_keys: &["call_id", "inner.type", "inner.call_id"],
    fine_event_keys: &[],
    stream_keys: &["session_id", "sub_session_id"],
    dialog_keys: &["title", "question", "prompt"],
    transient_members: &[],
    deltas: &[
        Delta { event: "message_delta", text: "delta" },
        Delta { event: "thinking_delta", text: "delta" },
    ],
    snapshots: None,
    tools: Some(Tools {
        begins: "tool_execution_start",
        shows: None,
        ends: "tool_execution_end",
        call: "call_id",
        others: &[],
        lists: &[],
        listed: "call_id",
    }),
    sessions: Sessions { history: Some(("session/history", "messages")), files: None, shell: "shell" },
    allowances: &[&[
        Allowance {
            name: "undocumented-events",
            scope: AllowanceScope::Everywhere,
            statement: "events that are not in the table are missing",
            reason: "the table of events has nineteen types",
            form: Form::Events(&["unknown", "tool_output"]),
        },
        Allowance {
            name: "not-in-the-document",
            scope: AllowanceScope::Everywhere,
            statement: "members that are not in the document are missing",
            reason: "the protocol table belongs to the server and is not part of the document",
            form: Form::Undeclared,
        },
        Allowance {
            name: "refused-argument",
            scope: AllowanceScope::Everywhere,
            statement: "a command with arguments that differ from the document is rejected instead of \
                        accepted, and changes nothing",
            reason: "the document lists the arguments of each command and their values",
            form: Form::Refused(&[]),
        },
        Allowance {
            name: "refused-directory",
            scope: AllowanceScope::Everywhere,
            statement: "a session in a missing directory is rejected",
            reason: "tools of such a session have no working directory",
            form: Form::RefusedFor("session/start", "working_dir", "no/such|nonexistent|missing", &[]),
        },
        Allowance {
            name: "refused-level",
            scope: AllowanceScope::Everywhere,
            statement: "a thinking level that is not in the document is rejected, and the level stays unchanged",
            reason: "the document lists the levels",
            form: Form::RefusedFor(
                "thinking/set",
                "level",
                "bogus|extreme|ultra",
                &["thinking_level", "model"],
            ),
        },
        Allowance {
            name: "refused-model-level",
            scope: AllowanceScope::Everywhere,
            statement: "a model with a thinking level that is not in the document is rejected, and the model \
                        stays unchanged",
            reason: "the document lists the levels",
            form: Form::RefusedFor(
                "model/set",
                "thinking_level",
                "bogus|extreme|ultra",
                &["thinking_level", "model"],
            ),
        },
        Allowance {
            name: "no-node",
            scope: AllowanceScope::Everywhere,
            statement: "the answer for a new session does not name the node of the server",
            reason: "nodes belong to the programming language of the recorded server",
            form: Form::LeftOut(&[("SessionStartResult", "node_name")]),
        },
        Allowance {
            name: "tool-words",
            scope: AllowanceScope::Everywhere,
            statement: "texts of tools have other wording",
            reason: "the tools are not in the document",
            form: Form::OtherWords,
        },
        Allowance {
            name: "invalid-params",
            scope: AllowanceScope::Everywhere,
            statement: "invalid parameters have the code for invalid params",
            reason: "JSON-RPC 2.0 has a code for invalid params",
            form: Form::ErrorCode(-32603, -32602),
        },
        Allowance {
            name: "other-models",
            scope: AllowanceScope::Everywhere,
            statement: "other models and providers are listed",
            reason: "the document lists none",
            form: Form::OtherEntries(&[
                Entries {
                    member: "models",
                    keys: &["provider", "id"],
                    free: &["name", "supports_thinking", "thinking_levels"],
                },
                Entries { member: "providers", keys: &["id"], free: &["name", "env_var"] },
            ]),
        },
        Allowance {
            name: "session-folder",
            scope: AllowanceScope::Everywhere,
            statement: "sessions are stored in another folder",
            reason: "the document does not state the folder",
            form: Form::OtherFolder,
        },
        Allowance {
            name: "signal-exit",
            scope: AllowanceScope::Everywhere,
            statement: "a clean exit instead of an end by the sent signal, or the reverse",
            reason: "the document does not mention signals",
            form: Form::SignalExit,
        },
        Allowance {
            name: "deletes-sessions",
            scope: AllowanceScope::InCases,
            statement: "a saved session is found and deleted",
            reason: "the method deletes a saved session",
            form: Form::Bounded,
        },
        Allowance {
            name: "masks-keys",
            scope: AllowanceScope::InCases,
            statement: "keys in settings are masked",
            reason: "the method for keys stores them; the document does not state their form in the settings",
            form: Form::Bounded,
        },
    ]],
};
