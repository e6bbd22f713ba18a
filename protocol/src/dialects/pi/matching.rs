//! The rules for the comparison of pi's transcripts.

use super::allowances;
use crate::matching::ChoiceEffect::{Amount, Presence, Value};
use crate::matching::Sameness::{Duration, Estimate, File, Id, Moment, Words};
use crate::matching::{
    Choice, ChoiceEffect, Delta, Matching, MemberRule, Sameness, SessionFiles, Sessions, Snapshots, Token,
    ToolUpdate, Tools, Wording, WordingCondition,
};

const fn rule(record: &'static str, member: &'static str, same: Sameness) -> MemberRule {
    MemberRule { record, member, same }
}

/// Rules for the comparison of members in transcripts of pi's family.
pub const MEMBERS: &[MemberRule] = &[
    rule("SessionState", "sessionId", Id),
    rule("SessionState", "sessionFile", File),
    rule("SessionStats", "sessionId", Id),
    rule("SessionStats", "sessionFile", File),
    rule("ForkPoint", "entryId", Id),
    rule("CompactionResult", "firstKeptEntryId", Id),
    rule("BranchSummaryMessage", "fromId", Id),
    rule("CompactionResult", "tokensBefore", Estimate),
    rule("CompactionSummaryMessage", "tokensBefore", Estimate),
    rule("UserMessage", "timestamp", Moment),
    rule("AssistantMessage", "timestamp", Moment),
    rule("ToolResultMessage", "timestamp", Moment),
    rule("BashExecutionMessage", "timestamp", Moment),
    rule("CustomMessage", "timestamp", Moment),
    rule("BranchSummaryMessage", "timestamp", Moment),
    rule("CompactionSummaryMessage", "timestamp", Moment),
    rule("AssistantMessage", "errorMessage", Words),
    rule("AutoRetryStart", "errorMessage", Words),
    rule("AutoRetryEnd", "finalError", Words),
    rule("AutoCompactionEnd", "errorMessage", Words),
    rule("ExtensionError", "error", Words),
    rule("BashResult", "fullOutputPath", File),
    rule("BashExecutionMessage", "fullOutputPath", File),
    rule("*", "fullOutputPath", File),
    rule("*", "timestamp", Moment),
    rule("*", "durationMs", Duration),
];

const fn choice(
    record: &'static str,
    member: &'static str,
    state: &'static str,
    chosen: ChoiceEffect,
) -> Choice {
    Choice { record, member, state, effect: chosen }
}

/// Values that every agent of pi's family chooses freely, apart from its state.
pub const CHOICES: &[Choice] = &[
    choice("AssistantMessage", "api", "model.api", Value),
    choice("AssistantMessage", "provider", "model.provider", Value),
    choice("AssistantMessage", "model", "model.id", Value),
    choice("Cost", "input", "model.cost", Amount),
    choice("Cost", "output", "model.cost", Amount),
    choice("Cost", "cacheRead", "model.cost", Amount),
    choice("Cost", "cacheWrite", "model.cost", Amount),
    choice("Cost", "total", "model.cost", Amount),
    choice("SessionStats", "cost", "model.cost", Amount),
    choice("SessionStats", "sessionFile", "sessionFile", Presence),
];

const PI_CHOICES: &[Choice] = &[
    choice("SessionState", "model", "model", Value),
    choice("SessionState", "thinkingLevel", "thinkingLevel", Value),
    choice("SessionState", "steeringMode", "steeringMode", Value),
    choice("SessionState", "followUpMode", "followUpMode", Value),
    choice("SessionState", "autoCompactionEnabled", "autoCompactionEnabled", Value),
    choice("SessionState", "sessionFile", "sessionFile", Presence),
];

const FILE_TOOLS: &[&str] = &["write", "edit"];

/// Texts whose wording no document prescribes.
pub const WORDING: &[Wording] = &[
    Wording {
        record: "ToolResultMessage",
        when: WordingCondition::True("isError"),
        members: &["content", "details"],
        allowance: None,
    },
    Wording {
        record: "ToolExecutionEnd",
        when: WordingCondition::True("isError"),
        members: &["result"],
        allowance: None,
    },
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
    Token { pattern: r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b", same: Id },
    Token { pattern: r"(?:127\.0\.0\.1|localhost):(\d{2,5})", same: Duration },
];

/// Events with a message in progress.
pub const SNAPSHOTS: Snapshots = Snapshots {
    begins: "message_start",
    grows: "message_update",
    ends: "message_end",
    message: "message",
    record: "AssistantMessage",
    within: &["message", "assistantMessageEvent.partial"],
    kind: "assistantMessageEvent.type",
    block: "assistantMessageEvent.contentIndex",
    piece: "assistantMessageEvent.delta",
    blocks: "content",
    texts: &[("text_delta", "text"), ("thinking_delta", "thinking")],
    steady: &["role", "type", "api", "provider", "model", "timestamp"],
    loose: TRANSIENT_MEMBERS,
    until: &[("stopReason", "\"stop\"")],
};

/// Events about tools.
pub const TOOLS: Tools = Tools {
    begins: "tool_execution_start",
    shows: Some(ToolUpdate {
        event: "tool_execution_update",
        partial: "partialResult",
        result: "result",
        texts: "content[].text",
        cut: "details.truncation.truncated",
    }),
    ends: "tool_execution_end",
    call: "toolCallId",
    others: &[("message_start", "message.toolCallId"), ("message_end", "message.toolCallId")],
    lists: &[("AgentEnd", "messages"), ("TurnEnd", "toolResults"), ("Messages", "messages")],
    listed: "toolCallId",
};

/// Events and members about sessions and their files.
pub const SESSIONS: Sessions = Sessions {
    history: Some(("get_messages", "messages")),
    files: Some(SessionFiles {
        reported_by: ("get_state", "sessionFile"),
        opened: ("switch_session", "sessionPath"),
    }),
    shell: "bash",
};

/// Members that distinguish events of one type.
pub const EVENT_KEYS: &[&str] = &[
    "message.role",
    "assistantMessageEvent.type",
    "assistantMessageEvent.contentIndex",
    "toolCallId",
    "message.toolCallId",
    "message.customType",
];

/// Members that distinguish dialogs of one method.
pub const DIALOG_KEYS: &[&str] = &["title", "message", "statusKey", "widgetKey"];

/// Members of blocks that actual agents leave in their events while a message is in progress.
pub const TRANSIENT_MEMBERS: &[&str] = &["index", "partialJson", "partialArgs"];

/// The rules for the comparison of pi's transcripts.
pub const MATCHING: Matching = Matching {
    members: &[MEMBERS],
    choices: &[CHOICES, PI_CHOICES],
    wording: &[WORDING],
    tokens: TOKENS,
    event_keys: EVENT_KEYS,
    fine_event_keys: &["message.content"],
    // Extensions run concurrently with the agent.
    stream_keys: &["extensionPath"],
    dialog_keys: DIALOG_KEYS,
    transient_members: TRANSIENT_MEMBERS,
    deltas: &[Delta { event: "message_update", text: "assistantMessageEvent.delta" }],
    snapshots: Some(SNAPSHOTS),
    tools: Some(TOOLS),
    sessions: SESSIONS,
    allowances: &[allowances::FAMILY, allowances::PI_ONLY],
};
