//! How transcripts of pi are compared.

use crate::matching::Sameness::{Duration, Estimate, File, Id, Moment, Words};
use crate::matching::{
    Allowance, Delta, Form, Holds, Matching, MemberRule, Sameness, Snapshots, Token, ToolUpdate, Tools, When,
    Wording,
};

const fn rule(record: &'static str, member: &'static str, same: Sameness) -> MemberRule {
    MemberRule { record, member, same }
}

/// Members of pi's family.
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

const FILE_TOOLS: &[&str] = &["write", "edit"];

/// Words that no document has.
pub const WORDING: &[Wording] = &[
    Wording {
        record: "ToolResultMessage",
        when: When::True("isError"),
        members: &["content", "details"],
        allowance: None,
    },
    Wording { record: "ToolExecutionEnd", when: When::True("isError"), members: &["result"], allowance: None },
    Wording {
        record: "ToolResultMessage",
        when: When::OneOf("toolName", FILE_TOOLS),
        members: &["content", "details"],
        allowance: Some("tool-words"),
    },
    Wording {
        record: "ToolExecutionEnd",
        when: When::OneOf("toolName", FILE_TOOLS),
        members: &["result"],
        allowance: Some("tool-words"),
    },
];

/// What differs from run to run within texts.
pub const TOKENS: &[Token] = &[
    Token {
        pattern: r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:[.-]\d{3,9})?(?:Z|\+00:00)?",
        same: Moment,
    },
    Token { pattern: r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", same: Id },
    Token { pattern: r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b", same: Id },
    Token { pattern: r"(?:127\.0\.0\.1|localhost):(\d{2,5})", same: Duration },
];

/// Messages that grow.
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
    loose: SLIPS,
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
    }),
    ends: "tool_execution_end",
    call: "toolCallId",
    others: &[("message_start", "message.toolCallId"), ("message_end", "message.toolCallId")],
    lists: &[("AgentEnd", "messages"), ("TurnEnd", "toolResults"), ("Messages", "messages")],
    listed: "toolCallId",
};

/// What tells events of one type apart.
pub const MARKS: &[&str] = &[
    "message.role",
    "assistantMessageEvent.type",
    "assistantMessageEvent.contentIndex",
    "toolCallId",
    "message.toolCallId",
    "message.customType",
];

/// What tells dialogs of one method apart.
pub const DIALOG_MARKS: &[&str] = &["title", "message", "statusKey", "widgetKey"];

/// Members of blocks that real agents let slip while a message grows.
pub const SLIPS: &[&str] = &["index", "partialJson", "partialArgs"];

/// Allowances of pi's family.
pub const FAMILY: &[Allowance] = &[
    Allowance {
        name: "refused-argument",
        holds: Holds::Everywhere,
        says: "a command whose arguments are not as the document has them is refused instead of accepted, and changes nothing",
        reason: "the document lists the arguments of each command and the values that they have",
        form: Form::Refused(&[
            ("set_thinking_level", &["thinkingLevel", "level"]),
            ("set_steering_mode", &["steeringMode"]),
            ("set_follow_up_mode", &["followUpMode"]),
            ("set_interrupt_mode", &["interruptMode"]),
            ("set_auto_compaction", &["autoCompactionEnabled"]),
            ("set_session_name", &["sessionName"]),
            ("prompt", &["messageCount", "pendingMessageCount", "queuedMessageCount", "messages", "totalMessages", "userMessages"]),
            ("steer", &["messageCount", "pendingMessageCount", "queuedMessageCount", "messages", "totalMessages", "userMessages"]),
            ("follow_up", &["messageCount", "pendingMessageCount", "queuedMessageCount", "messages", "totalMessages", "userMessages"]),
            ("bash", &["messageCount", "messages", "totalMessages"]),
        ]),
    },
    Allowance {
        name: "exact-id",
        holds: Holds::Everywhere,
        says: "an integer id beyond 2^53 comes back exactly",
        reason: "an answer has the id of its command",
        form: Form::ExactId,
    },
    Allowance {
        name: "null-text",
        holds: Holds::Everywhere,
        says: "no text of an assistant is null instead of absent",
        reason: "the text is null where there is no message of the assistant",
        form: Form::NullOrAbsent(&[("LastAssistantText", "text")]),
    },
    Allowance {
        name: "null-result",
        holds: Holds::Everywhere,
        says: "no result of a compaction is null instead of absent",
        reason: "the result is null where compaction was stopped or failed",
        form: Form::NullOrAbsent(&[("AutoCompactionEnd", "result")]),
    },
    Allowance {
        name: "refused-session",
        holds: Holds::Everywhere,
        says: "a file that is missing or is no session is refused, and the session that was open stays open",
        reason: "the command loads a session file; a file that is none cannot be loaded, and must not be written over",
        form: Form::RefusedFor(
            "switch_session",
            "sessionPath",
            "garbage|none|missing|nope|not",
            &["sessionFile", "sessionId", "sessionName", "messageCount", "messages", "model", "thinkingLevel"],
        ),
    },
    Allowance {
        name: "file-untouched",
        holds: Holds::InCases,
        says: "a file that was refused as a session is as it was",
        reason: "nothing says that a file which is no session becomes one; the recorded agent writes over it",
        form: Form::Bounded,
    },
    Allowance {
        name: "closing-events",
        holds: Holds::Everywhere,
        says: "the closing events of a run are sent although a command put something else in its place",
        reason: "every message and every run has an event for its end",
        form: Form::ClosingEvents(&["message_start", "message_end", "tool_execution_end", "turn_end", "agent_end"]),
    },
    Allowance {
        name: "session-folder",
        holds: Holds::Everywhere,
        says: "session files stand in another folder or have another scheme of names",
        reason: "the document shows a path, and says nothing about folder and name",
        form: Form::OtherFolder,
    },
    Allowance {
        name: "tool-words",
        holds: Holds::Everywhere,
        says: "what the tools that write files say of their success is worded otherwise",
        reason: "the texts of tools are not in the document",
        form: Form::OtherWords,
    },
    Allowance {
        name: "delta-only",
        holds: Holds::Everywhere,
        says: "updates of a message come without the message so far",
        reason: "the message can be put together from the pieces; said once for a transcript",
        form: Form::NoSnapshots,
    },
    Allowance {
        name: "start-code",
        holds: Holds::Everywhere,
        says: "another exit code than the recorded one, where neither is success and nothing was answered",
        reason: "the document has no exit codes for failures to start",
        form: Form::ExitCode,
    },
    Allowance {
        name: "signal-exit",
        holds: Holds::Everywhere,
        says: "a clean end instead of a death by the signal that was sent, or the other way round",
        reason: "the document says nothing about signals",
        form: Form::SignalExit,
    },
];

const OWN: &[Allowance] = &[
    Allowance {
        name: "own-name-and-id",
        holds: Holds::Everywhere,
        says: "a failure has its command's name and id, where the recorded one is `parse` or has no id",
        reason: "a failed command is answered with its name, and every answer has the id of its command",
        form: Form::OwnNameAndId,
    },
    Allowance {
        name: "any-name",
        holds: Holds::Everywhere,
        says: "the answer to an object without a usable type has any command name, or none",
        reason: "the document shows answers to commands that have a name",
        form: Form::AnyName,
    },
    Allowance {
        name: "one-answer",
        holds: Holds::Everywhere,
        says: "a prompt that is refused has one answer, the failure, instead of a failure and a success",
        reason: "a command that fails is answered with a failure; every command has one answer",
        form: Form::OneAnswer,
    },
    Allowance {
        name: "null-bash",
        holds: Holds::Everywhere,
        says: "an exit code or a path that there is not is null instead of absent",
        reason: "the example of such a message has null for the path that there is not",
        form: Form::NullOrAbsent(&[
            ("BashResult", "exitCode"),
            ("BashResult", "fullOutputPath"),
            ("BashExecutionMessage", "exitCode"),
            ("BashExecutionMessage", "fullOutputPath"),
        ]),
    },
    Allowance {
        name: "empty-details",
        holds: Holds::Everywhere,
        says: "details with nothing in them are an empty object, an object of nulls, null or absent",
        reason: "the examples show an empty object, and an object of nulls",
        form: Form::Empty(&[("ToolOutput", "details"), ("ToolResultMessage", "details")]),
    },
    Allowance {
        name: "cut-elsewhere",
        holds: Holds::Everywhere,
        says: "an output that was cut is cut to another length",
        reason: "the document speaks of cut output and names no limit",
        form: Form::CutElsewhere(&[
            ("BashResult", "output", "truncated"),
            ("BashExecutionMessage", "output", "truncated"),
        ]),
    },
    Allowance {
        name: "cut-facts",
        holds: Holds::Everywhere,
        says: "the result of a tool that was cut is cut to another length, and says so in its own words",
        reason: "the document speaks of cut output and names no limit",
        form: Form::CutFacts(&[
            ("ToolOutput", "details.truncation.truncated"),
            ("ToolResultMessage", "details.truncation.truncated"),
        ]),
    },
    Allowance {
        name: "full-output",
        holds: Holds::Everywhere,
        says: "an output that was cut has the path of the whole one",
        reason: "where output was cut, the answer has the path of all of it",
        form: Form::AddedWhere(&[("BashResult", "fullOutputPath", "truncated")]),
    },
    Allowance {
        name: "text-for-blocks",
        holds: Holds::Everywhere,
        says: "the user's words are a string instead of blocks of text",
        reason: "the content of a user's message is a string or an array",
        form: Form::StringForBlocks(&[("UserMessage", "content", "text")]),
    },
    Allowance {
        name: "no-attachments",
        holds: Holds::Everywhere,
        says: "a message of the user has an empty list of attachments",
        reason: "the example of such a message has one",
        form: Form::Added(&[("UserMessage", "attachments", "[]")]),
    },
    Allowance {
        name: "no-total",
        holds: Holds::Everywhere,
        says: "tokens have no sum",
        reason: "the document lists the parts and the cost",
        form: Form::LeftOut(&[("Usage", "totalTokens")]),
    },
    Allowance {
        name: "stream-marks",
        holds: Holds::Everywhere,
        says: "updates mark the beginning and the end of a message too",
        reason: "the table of updates has a start, a done and an error",
        form: Form::EventKinds("message_update", "assistantMessageEvent.type", &["start", "done", "error"]),
    },
    Allowance {
        name: "retry-attempt",
        holds: Holds::Everywhere,
        says: "the number of a retry that succeeded is one higher",
        reason: "the example of a success after one retry has attempt 2",
        form: Form::OneHigher("AutoRetryEnd", "attempt", "success"),
    },
    Allowance {
        name: "plain-description",
        holds: Holds::Everywhere,
        says: "descriptions do not end with where the command comes from",
        reason: "the examples have plain descriptions, and a member for the place",
        form: Form::WithoutEnding("CommandInfo", "description", r" \((?:user|project|path:[^)]*)\)$"),
    },
    Allowance {
        name: "no-model",
        holds: Holds::InCases,
        says: "the agent starts without any model and says that there is none",
        reason: "the model of the state is null where there is none",
        form: Form::Bounded,
    },
    Allowance {
        name: "stops-every-command",
        holds: Holds::InCases,
        says: "a stop of shell commands stops all that run",
        reason: "the command stops a running shell command; which one, where several run, is not said",
        form: Form::Bounded,
    },
    Allowance {
        name: "cut-call",
        holds: Holds::InCases,
        says: "a tool call that the limit of the output cut off is not executed",
        reason: "the document has no words for incomplete calls; running half a command can destroy data",
        form: Form::Bounded,
    },
    Allowance {
        name: "settings-kept",
        holds: Holds::InCases,
        says: "what a client sets is not written to the user's settings file",
        reason: "the commands control the session; nothing is said of files",
        form: Form::Bounded,
    },
    Allowance {
        name: "killed-command",
        holds: Holds::InCases,
        says: "a shell command that a signal ended was not cancelled: it has an exit code, or fails",
        reason: "cancelled belongs to the command that stops it; nothing is said of signals",
        form: Form::Bounded,
    },
];

/// How transcripts of pi are compared.
pub const MATCHING: Matching = Matching {
    members: &[MEMBERS],
    wording: &[WORDING],
    tokens: TOKENS,
    marks: MARKS,
    fine_marks: &["message.content"],
    strands: &[],
    dialog_marks: DIALOG_MARKS,
    slips: SLIPS,
    deltas: &[Delta { event: "message_update", text: "assistantMessageEvent.delta" }],
    snapshots: Some(SNAPSHOTS),
    tools: Some(TOOLS),
    allowances: &[FAMILY, OWN],
};
