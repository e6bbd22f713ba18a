//! The meaning of pi's frames for a conversation.

use crate::meaning::Condition::{Has, Is, Lacks, Not};
use crate::meaning::Source::{self, Count, First, Map, Text};
use crate::meaning::{
    Binding, Constant, Meaning, OTHER, Reader, Reducer, Rule, RuleTarget, STRING, answer, at, case, dialog,
    each, event, flag, read, refused, sent, text,
};

const FAILED: &[(&str, Constant)] = &[("true", Constant::Text("failed")), ("false", Constant::Text("done"))];

/// Readers: conversions of pi's values to the neutral form.
const READERS: &[Reader] = &[
    Reader {
        name: "message",
        tag: "role",
        cases: &[
            case(
                "user",
                &[("role", text("user")), ("blocks", each("block", "content")), ("time", at("timestamp"))],
            ),
            case(
                "assistant",
                &[
                    ("role", text("assistant")),
                    ("blocks", each("block", "content")),
                    ("model", at("model")),
                    ("provider", at("provider")),
                    ("api", at("api")),
                    ("usage", read("usage", "usage")),
                    ("stopReason", at("stopReason")),
                    ("error", at("errorMessage")),
                    ("state", STOPPED),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "toolResult",
                &[
                    ("role", text("tool")),
                    ("callId", at("toolCallId")),
                    ("name", at("toolName")),
                    ("blocks", each("block", "content")),
                    ("details", at("details")),
                    ("state", Map("isError", FAILED)),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "bashExecution",
                &[
                    ("role", text("shell")),
                    ("command", Text("command")),
                    ("blocks", each("block", "output")),
                    ("exitCode", at("exitCode")),
                    ("cancelled", at("cancelled")),
                    ("truncated", at("truncated")),
                    ("hidden", Map("excludeFromContext", &[("true", Constant::Flag(true))])),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "custom",
                &[
                    ("role", text("note")),
                    ("kind", at("customType")),
                    ("blocks", each("block", "content")),
                    ("details", at("details")),
                    ("hidden", Map("display", &[("false", Constant::Flag(true))])),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "branchSummary",
                &[
                    ("role", text("summary")),
                    ("kind", text("branch")),
                    ("blocks", each("block", "summary")),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "compactionSummary",
                &[
                    ("role", text("summary")),
                    ("kind", text("compaction")),
                    ("blocks", each("block", "summary")),
                    ("tokensBefore", at("tokensBefore")),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                "system",
                &[
                    ("role", text("system")),
                    ("blocks", each("block", "content")),
                    ("hidden", flag(true)),
                    ("time", at("timestamp")),
                ],
            ),
            case(
                OTHER,
                &[
                    ("role", text("note")),
                    ("kind", at("role")),
                    ("blocks", each("block", "content")),
                    ("time", at("timestamp")),
                ],
            ),
        ],
    },
    Reader {
        name: "block",
        tag: "type",
        cases: &[
            case("text", &[("type", text("text")), ("text", at("text"))]),
            case(
                "thinking",
                &[
                    ("type", text("thinking")),
                    ("text", at("thinking")),
                    ("redacted", at("redacted")),
                    ("signature", at("thinkingSignature")),
                ],
            ),
            case("image", &[("type", text("image")), ("mimeType", at("mimeType")), ("data", at("data"))]),
            case(
                "toolCall",
                &[
                    ("type", text("tool")),
                    ("callId", at("id")),
                    ("name", at("name")),
                    ("arguments", at("arguments")),
                    ("signature", at("thoughtSignature")),
                    ("state", text("coming")),
                ],
            ),
            case(STRING, &[("type", text("text")), ("text", at(""))]),
            case(OTHER, &[("type", text("data")), ("value", at(""))]),
        ],
    },
    Reader {
        name: "usage",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("input", at("input")),
                ("output", at("output")),
                ("cacheRead", at("cacheRead")),
                ("cacheWrite", at("cacheWrite")),
                ("total", First(&[at("totalTokens"), at("total")])),
                ("cost", at("cost.total")),
                ("costs", at("cost")),
            ],
        )],
    },
    Reader {
        name: "summary",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("role", text("summary")),
                ("kind", text("compaction")),
                ("blocks", each("block", "summary")),
                ("tokensBefore", at("tokensBefore")),
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
                ("window", at("contextWindow")),
                ("reasoning", at("reasoning")),
                ("api", at("api")),
                ("baseUrl", at("baseUrl")),
                ("input", at("input")),
                ("maxTokens", at("maxTokens")),
                ("prices", at("cost")),
            ],
        )],
    },
    Reader {
        name: "command",
        tag: "",
        cases: &[case(
            OTHER,
            &[("name", at("name")), ("description", at("description")), ("source", at("source"))],
        )],
    },
    Reader {
        name: "shell",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("role", text("shell")),
                ("command", Text("params.command")),
                ("blocks", each("block", "data.output")),
                ("exitCode", at("data.exitCode")),
                ("cancelled", at("data.cancelled")),
                ("truncated", at("data.truncated")),
                ("hidden", Map("params.excludeFromContext", &[("true", Constant::Flag(true))])),
            ],
        )],
    },
    Reader {
        name: "stats",
        tag: "",
        cases: &[case(
            OTHER,
            &[
                ("input", at("tokens.input")),
                ("output", at("tokens.output")),
                ("cacheRead", at("tokens.cacheRead")),
                ("cacheWrite", at("tokens.cacheWrite")),
                ("total", at("tokens.total")),
                ("cost", at("cost")),
            ],
        )],
    },
    Reader {
        name: "widget",
        tag: "",
        cases: &[case(OTHER, &[("lines", at("widgetLines")), ("placement", at("widgetPlacement"))])],
    },
    Reader { name: "fork", tag: "", cases: &[case(OTHER, &[("id", at("entryId")), ("text", at("text"))])] },
];

/// The state of a message of the model after its end.
const STOPPED: Source =
    Map("stopReason", &[("error", Constant::Text("failed")), ("aborted", Constant::Text("aborted"))]);

const PIECE: &str = "assistantMessageEvent.type";
const INDEX: Binding = ("index", at("assistantMessageEvent.contentIndex"));
const DELTA: Source = at("assistantMessageEvent.delta");
const WHOLE: Source = at("assistantMessageEvent.content");
const MODE: Source = First(&[
    Map("streamingBehavior", &[("steer", Constant::Text("steer")), ("followUp", Constant::Text("followUp"))]),
    text("prompt"),
]);
/// The disposition of a prompt.
const TAKEN: Source = First(&[
    Map("data.disposition", &[("queued", Constant::Text("queued")), ("handled", Constant::Text("gone"))]),
    Map(
        "params.streamingBehavior",
        &[("steer", Constant::Text("queued")), ("followUp", Constant::Text("queued"))],
    ),
    text("taken"),
]);
const TITLE: Binding = ("title", at("title"));
const TIMEOUT: Binding = ("timeoutMs", at("timeout"));

/// The rules for pi's frames, in the order of their application.
const RULES: &[Rule] = &[
    event("message_start", Reducer::Begin, &[("message", read("message", "message"))]),
    event("message_update", Reducer::Snapshot, &[("message", read("message", "message"))])
        .when(&[Has("message")]),
    event("message_update", Reducer::Piece, &[INDEX, ("type", text("text")), ("text", text(""))])
        .when(&[Lacks("message"), Is(PIECE, "text_start")]),
    event("message_update", Reducer::Piece, &[INDEX, ("type", text("text")), ("text", DELTA)])
        .when(&[Lacks("message"), Is(PIECE, "text_delta")]),
    event("message_update", Reducer::Block, &[INDEX, ("type", text("text")), ("text", WHOLE)])
        .when(&[Lacks("message"), Is(PIECE, "text_end")]),
    event("message_update", Reducer::Piece, &[INDEX, ("type", text("thinking")), ("text", text(""))])
        .when(&[Lacks("message"), Is(PIECE, "thinking_start")]),
    event("message_update", Reducer::Piece, &[INDEX, ("type", text("thinking")), ("text", DELTA)])
        .when(&[Lacks("message"), Is(PIECE, "thinking_delta")]),
    event("message_update", Reducer::Block, &[INDEX, ("type", text("thinking")), ("text", WHOLE)])
        .when(&[Lacks("message"), Is(PIECE, "thinking_end")]),
    event(
        "message_update",
        Reducer::Piece,
        &[
            INDEX,
            ("type", text("tool")),
            ("callId", at("assistantMessageEvent.id")),
            ("name", at("assistantMessageEvent.toolName")),
            ("argumentsText", text("")),
        ],
    )
    .when(&[Lacks("message"), Is(PIECE, "toolcall_start")]),
    event("message_update", Reducer::Piece, &[INDEX, ("type", text("tool")), ("argumentsText", DELTA)])
        .when(&[Lacks("message"), Is(PIECE, "toolcall_delta")]),
    event(
        "message_update",
        Reducer::Block,
        &[
            INDEX,
            ("type", text("tool")),
            ("callId", at("assistantMessageEvent.toolCall.id")),
            ("name", at("assistantMessageEvent.toolCall.name")),
            ("arguments", at("assistantMessageEvent.toolCall.arguments")),
        ],
    )
    .when(&[Lacks("message"), Is(PIECE, "toolcall_end")]),
    event("message_update", Reducer::Message, &[("usage", read("usage", "usage"))]).when(&[Has("usage")]),
    event("message_end", Reducer::End, &[("message", read("message", "message"))]),
    event(
        "tool_execution_start",
        Reducer::Tool,
        &[
            ("callId", at("toolCallId")),
            ("name", at("toolName")),
            ("arguments", at("args")),
            ("state", text("running")),
        ],
    ),
    event(
        "tool_execution_update",
        Reducer::Tool,
        &[
            ("callId", at("toolCallId")),
            ("name", at("toolName")),
            ("output", each("block", "partialResult.content")),
            ("details", at("partialResult.details")),
            ("state", text("running")),
        ],
    ),
    event(
        "tool_execution_end",
        Reducer::Tool,
        &[
            ("callId", at("toolCallId")),
            ("name", at("toolName")),
            ("result", each("block", "result.content")),
            ("details", at("result.details")),
            ("durationMs", at("durationMs")),
            ("state", Map("isError", FAILED)),
        ],
    ),
    event("auto_compaction_start", Reducer::Compacting, &[("reason", at("reason"))]),
    event(
        "auto_compaction_end",
        Reducer::Compacted,
        &[("message", read("summary", "result")), ("error", at("errorMessage"))],
    ),
    event("compaction_start", Reducer::Compacting, &[("reason", at("reason"))]),
    event(
        "compaction_end",
        Reducer::Compacted,
        &[("message", read("summary", "result")), ("error", at("errorMessage"))],
    ),
    event(
        "summarization_retry_scheduled",
        Reducer::Retry,
        &[
            ("attempt", at("attempt")),
            ("maxAttempts", at("maxAttempts")),
            ("delayMs", at("delayMs")),
            ("error", at("errorMessage")),
            ("reason", text("summary")),
        ],
    ),
    event("summarization_retry_attempt_start", Reducer::Retried, &[]),
    event("summarization_retry_finished", Reducer::Retried, &[]),
    event(
        "message_end",
        Reducer::Outcome,
        &[("told", Map("message.stopReason", OUTCOMES)), ("message", at("message.errorMessage"))],
    )
    .when(&[Is("message.role", "assistant")]),
    // A failure outside a request has no message of its own.
    event(
        "agent_end",
        Reducer::Outcome,
        &[("told", Map("stopReason", OUTCOMES)), ("message", at("errorMessage"))],
    )
    .over("messages")
    .when(&[Is("role", "assistant")]),
    event("auto_retry_start", Reducer::Outcome, &[("told", text("retried"))]),
    event("agent_settled", Reducer::Outcome, &[("told", text("aborted"))]).when(&[Is("aborted", "true")]),
    event("auto_retry_start", Reducer::Retry, RETRY),
    event("auto_retry_end", Reducer::Retried, &[("error", at("finalError"))]),
    event("queue_update", Reducer::Queue, &[("steering", at("steering")), ("followUp", at("followUp"))]),
    event("session_info_changed", Reducer::Set, &[("session.name", at("name"))]),
    event("thinking_level_changed", Reducer::Keep, &[("thinkingLevel", at("level"))]),
    event("bash_execution_update", Reducer::ShellOutput, &[("id", at("id")), ("text", at("delta"))]),
    event(
        "extension_error",
        Reducer::Notice,
        &[("level", text("error")), ("text", at("error")), ("source", at("extensionPath"))],
    ),
    sent("prompt", Reducer::Wait, &[("text", at("message")), ("images", Count("images")), ("mode", MODE)]),
    answer("prompt", Reducer::Waited, &[("state", TAKEN)]),
    refused("prompt", Reducer::Waited, &[("state", text("gone"))]),
    sent(
        "steer",
        Reducer::Wait,
        &[("text", at("message")), ("images", Count("images")), ("mode", text("steer"))],
    ),
    answer("steer", Reducer::Waited, &[("state", QUEUED)]),
    refused("steer", Reducer::Waited, &[("state", text("gone"))]),
    sent(
        "follow_up",
        Reducer::Wait,
        &[("text", at("message")), ("images", Count("images")), ("mode", text("followUp"))],
    ),
    answer("follow_up", Reducer::Waited, &[("state", QUEUED)]),
    refused("follow_up", Reducer::Waited, &[("state", text("gone"))]),
    answer("clear_queue", Reducer::Queue, &[]),
    answer("new_session", Reducer::Replace, &[("empty", flag(true))]).when(&[Not("data.cancelled", "true")]),
    answer("switch_session", Reducer::Replace, &[]).when(&[Not("data.cancelled", "true")]),
    answer("fork", Reducer::Replace, &[]).when(&[Not("data.cancelled", "true")]),
    answer("fork", Reducer::Draft, &[("text", at("data.text"))]).when(&[Not("data.cancelled", "true")]),
    answer("clone", Reducer::Replace, &[]).when(&[Not("data.cancelled", "true")]),
    answer(
        "get_state",
        Reducer::Set,
        &[
            ("model", read("model", "data.model")),
            ("thinkingLevel", at("data.thinkingLevel")),
            ("session.file", at("data.sessionFile")),
            ("session.id", at("data.sessionId")),
            ("session.name", at("data.sessionName")),
            ("settings.steeringMode", at("data.steeringMode")),
            ("settings.followUpMode", at("data.followUpMode")),
            ("settings.autoCompaction", at("data.autoCompactionEnabled")),
        ],
    ),
    answer("get_state", Reducer::Count, &[("messages", at("data.messageCount"))]),
    answer("get_state", Reducer::Work, &[("on", at("data.isStreaming"))]),
    answer("get_messages", Reducer::History, &[("messages", each("message", "data.messages"))]),
    answer("set_model", Reducer::Keep, &[("model", read("model", "data"))]),
    answer(
        "cycle_model",
        Reducer::Keep,
        &[("model", read("model", "data.model")), ("thinkingLevel", at("data.thinkingLevel"))],
    )
    .when(&[Has("data")]),
    answer("get_available_models", Reducer::Set, &[("models", each("model", "data.models"))]),
    answer("set_thinking_level", Reducer::Keep, &[("thinkingLevel", at("params.level"))]),
    answer("cycle_thinking_level", Reducer::Keep, &[("thinkingLevel", at("data.level"))]),
    answer("set_steering_mode", Reducer::Keep, &[("settings.steeringMode", at("params.mode"))]),
    answer("set_follow_up_mode", Reducer::Keep, &[("settings.followUpMode", at("params.mode"))]),
    answer("set_auto_compaction", Reducer::Keep, &[("settings.autoCompaction", at("params.enabled"))]),
    answer("set_auto_retry", Reducer::Keep, &[("settings.autoRetry", at("params.enabled"))]),
    sent("compact", Reducer::Compacting, &[("reason", text("manual"))]),
    answer("compact", Reducer::Compacted, &[("message", read("summary", "data"))]),
    refused("compact", Reducer::Compacted, &[]),
    sent("bash", Reducer::Shell, &[("command", Text("command"))]),
    answer("bash", Reducer::ShellDone, &[("message", read("shell", ""))]),
    refused("bash", Reducer::ShellDone, &[]),
    answer("get_session_stats", Reducer::Usage, &[("usage", read("stats", "data"))]),
    answer(
        "get_session_stats",
        Reducer::Keep,
        &[
            ("context.tokens", at("data.contextUsage.tokens")),
            ("context.window", at("data.contextUsage.contextWindow")),
        ],
    ),
    answer("get_fork_messages", Reducer::Set, &[("forkPoints", each("fork", "data.messages"))]),
    answer("set_session_name", Reducer::Keep, &[("session.name", at("params.name"))]),
    answer("get_commands", Reducer::Set, &[("commands", each("command", "data.commands"))]),
    dialog("select", Reducer::Ask, &[("kind", text("select")), TITLE, ("options", at("options")), TIMEOUT]),
    dialog("confirm", Reducer::Ask, &[("kind", text("confirm")), TITLE, ("text", at("message")), TIMEOUT]),
    dialog(
        "input",
        Reducer::Ask,
        &[("kind", text("input")), TITLE, ("placeholder", at("placeholder")), TIMEOUT],
    ),
    dialog("editor", Reducer::Ask, &[("kind", text("editor")), TITLE, ("prefill", at("prefill"))]),
    dialog(
        "notify",
        Reducer::Notice,
        &[("level", First(&[at("notifyType"), text("info")])), ("text", at("message"))],
    ),
    dialog(
        "setStatus",
        Reducer::Entry,
        &[("in", text("status")), ("key", at("statusKey")), ("value", at("statusText"))],
    ),
    dialog(
        "setWidget",
        Reducer::Entry,
        &[("in", text("widgets")), ("key", at("widgetKey")), ("value", read("widget", ""))],
    )
    .when(&[Has("widgetLines")]),
    dialog("setWidget", Reducer::Entry, &[("in", text("widgets")), ("key", at("widgetKey"))])
        .when(&[Lacks("widgetLines")]),
    dialog("setTitle", Reducer::Set, &[("title", at("title"))]),
    dialog("set_editor_text", Reducer::Draft, &[("text", at("text"))]),
];

/// The outcome of a run, by the stop reason of the model's answer.
const OUTCOMES: &[(&str, Constant)] =
    &[("error", Constant::Text("failed")), ("aborted", Constant::Text("aborted"))];

const RETRY: &[Binding] = &[
    ("attempt", at("attempt")),
    ("maxAttempts", at("maxAttempts")),
    ("delayMs", at("delayMs")),
    ("error", at("errorMessage")),
];

/// The disposition of a message for a queue.
const QUEUED: Source =
    First(&[Map("data.disposition", &[("handled", Constant::Text("gone"))]), text("queued")]);

/// The meaning of pi's frames.
pub const MEANING: Meaning = Meaning {
    readers: READERS,
    rules: RULES,
    silent: &[
        RuleTarget::Event("turn_end"),
        RuleTarget::Event("entry_appended"),
        RuleTarget::Answer("abort"),
        RuleTarget::Answer("abort_retry"),
        RuleTarget::Answer("abort_bash"),
        RuleTarget::Answer("get_available_thinking_levels"),
        RuleTarget::Answer("export_html"),
        RuleTarget::Answer("get_entries"),
        RuleTarget::Answer("get_tree"),
        RuleTarget::Answer("get_last_assistant_text"),
    ],
    asks: &["get_messages", "get_state"],
};
