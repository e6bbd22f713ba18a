//! The commands of pi that carry each intent.

use crate::intent::{Carrier, Differs, Intent, Intents, Send, carries, from, says};
use crate::meaning::Source::{self, Map};
use crate::meaning::{Constant, Slot, at, each, read};

/// The disposition of the user's input in an answer.
const DISPOSITION: Source = Map(
    "data.disposition",
    &[
        ("started", Constant::Text("started")),
        ("queued", Constant::Text("queued")),
        ("handled", Constant::Text("handled")),
    ],
);
/// The model in an answer.
pub const MODEL: Slot = ("model", read("model", "data.model"));

const WORDS: (&str, Send) = ("message", from("text"));
const IMAGES: (&str, Send) = ("images", from("images"));
const OUTCOME: &[Slot] = &[("outcome", DISPOSITION)];
/// The difference in meaning of a fork in this family.
pub const FORK: Differs = says("a place is a message of the user, and the conversation ends before it");
const CANCELLED: Slot = ("cancelled", at("data.cancelled"));

/// The command that runs a shell command of the user.
pub const BASH: Carrier = carries(Intent::Bash, "bash")
    .sends(&[("command", from("command")), ("excludeFromContext", from("hidden"))])
    .gives(&[
        ("output", at("data.output")),
        ("exitCode", at("data.exitCode")),
        ("cancelled", at("data.cancelled")),
        ("truncated", at("data.truncated")),
    ]);
/// The command that exports the conversation as an HTML page.
pub const EXPORT: Carrier = carries(Intent::Export, "export_html")
    .sends(&[("outputPath", from("path"))])
    .gives(&[("path", at("data.path"))]);

/// The command that starts a run with the user's input.
pub const PROMPT: Carrier =
    carries(Intent::Prompt, "prompt").sends(&[WORDS, IMAGES, ("streamingBehavior", from("whenBusy"))]);

const CARRIERS: &[Carrier] = &[
    PROMPT.gives(OUTCOME),
    carries(Intent::Steer, "steer").sends(&[WORDS, IMAGES]).gives(OUTCOME),
    carries(Intent::FollowUp, "follow_up").sends(&[WORDS, IMAGES]).gives(OUTCOME),
    carries(Intent::Abort, "abort"),
    carries(Intent::ClearQueue, "clear_queue")
        .gives(&[("steering", at("data.steering")), ("followUp", at("data.followUp"))]),
    carries(Intent::NewSession, "new_session")
        .sends(&[("parentSession", from("parent"))])
        .gives(&[CANCELLED]),
    carries(Intent::OpenSession, "switch_session")
        .sends(&[("sessionPath", from("session"))])
        .gives(&[CANCELLED]),
    carries(Intent::CloneSession, "clone").gives(&[CANCELLED]),
    carries(Intent::Fork, "fork")
        .sends(&[("entryId", from("entry"))])
        .gives(&[CANCELLED, ("text", at("data.text"))])
        .differs(&[FORK]),
    carries(Intent::ForkPoints, "get_fork_messages").gives(&[("points", each("fork", "data.messages"))]),
    carries(Intent::State, "get_state").gives(&[
        MODEL,
        ("thinkingLevel", at("data.thinkingLevel")),
        ("working", at("data.isStreaming")),
        ("compacting", at("data.isCompacting")),
        ("messages", at("data.messageCount")),
        ("waiting", at("data.pendingMessageCount")),
        ("session.id", at("data.sessionId")),
        ("session.file", at("data.sessionFile")),
        ("session.name", at("data.sessionName")),
        ("settings.steeringMode", at("data.steeringMode")),
        ("settings.followUpMode", at("data.followUpMode")),
        ("settings.autoCompaction", at("data.autoCompactionEnabled")),
    ]),
    carries(Intent::Messages, "get_messages").gives(&[("messages", each("message", "data.messages"))]),
    carries(Intent::LastText, "get_last_assistant_text").gives(&[("text", at("data.text"))]),
    carries(Intent::Stats, "get_session_stats").gives(&[
        ("usage", read("stats", "data")),
        ("messages", at("data.totalMessages")),
        ("context.tokens", at("data.contextUsage.tokens")),
        ("context.window", at("data.contextUsage.contextWindow")),
    ]),
    carries(Intent::Models, "get_available_models").gives(&[("models", each("model", "data.models"))]),
    carries(Intent::SetModel, "set_model")
        .sends(&[("provider", from("provider")), ("modelId", from("id"))])
        .gives(&[("model", read("model", "data"))]),
    carries(Intent::CycleModel, "cycle_model").gives(&[MODEL, ("thinkingLevel", at("data.thinkingLevel"))]),
    carries(Intent::ThinkingLevels, "get_available_thinking_levels").gives(&[("levels", at("data.levels"))]),
    carries(Intent::SetThinking, "set_thinking_level").sends(&[("level", from("level"))]),
    carries(Intent::CycleThinking, "cycle_thinking_level").gives(&[("thinkingLevel", at("data.level"))]),
    carries(Intent::SetSteeringMode, "set_steering_mode").sends(&[("mode", from("mode"))]),
    carries(Intent::SetFollowUpMode, "set_follow_up_mode").sends(&[("mode", from("mode"))]),
    carries(Intent::Compact, "compact")
        .sends(&[("customInstructions", from("instructions"))])
        .gives(&[("message", read("summary", "data"))])
        .differs(&[says("a conversation no longer than what stays of one is refused").refuses()]),
    carries(Intent::SetAutoCompaction, "set_auto_compaction").sends(&[("enabled", from("enabled"))]),
    carries(Intent::SetAutoRetry, "set_auto_retry").sends(&[("enabled", from("enabled"))]),
    carries(Intent::AbortRetry, "abort_retry"),
    BASH.differs(&[says("each command has a shell of its own: its directory and variables do not stay")
        .changes(&["bash.output", "message<shell>"])]),
    carries(Intent::AbortBash, "abort_bash"),
    EXPORT.differs(&[says("there is no page of a conversation in which nothing was said")
        .changes(&["export.path"])
        .refuses()]),
    carries(Intent::SetSessionName, "set_session_name").sends(&[("name", from("name"))]),
    carries(Intent::Commands, "get_commands").gives(&[("commands", each("command", "data.commands"))]),
    carries(Intent::Entries, "get_entries")
        .sends(&[("since", from("since"))])
        .gives(&[("entries", at("data.entries")), ("leaf", at("data.leafId"))]),
    carries(Intent::Tree, "get_tree").gives(&[("tree", at("data.tree")), ("leaf", at("data.leafId"))]),
];

/// The mapping from intents to the commands of pi.
pub const INTENTS: Intents =
    Intents { carriers: CARRIERS, made: &["turn_end", "entry_appended"], ..Intents::NONE };
