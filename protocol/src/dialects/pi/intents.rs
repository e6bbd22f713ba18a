//! The commands of pi that carry each intent.

use crate::intent::{CommandMapping, Divergence, Intent, Intents, ParamSource, divergence, from, mapping};
use crate::meaning::Source::{self, Map};
use crate::meaning::{Binding, Constant, at, each, read};

/// The agent's treatment of user input, as an answer reports it.
const DISPOSITION: Source = Map(
    "data.disposition",
    &[
        ("started", Constant::Text("started")),
        ("queued", Constant::Text("queued")),
        ("handled", Constant::Text("handled")),
    ],
);
/// The model that an answer contains, as a neutral result.
pub const MODEL: Binding = ("model", read("model", "data.model"));

const TEXT: (&str, ParamSource) = ("message", from("text"));
const IMAGES: (&str, ParamSource) = ("images", from("images"));
const OUTCOME: &[Binding] = &[("outcome", DISPOSITION)];
/// The way in which a fork in dialects of pi's family differs from the neutral definition of a fork.
pub const FORK: Divergence =
    divergence("a position is a message of the user, and the conversation ends before it");
const CANCELLED: Binding = ("cancelled", at("data.cancelled"));

/// The command that runs a shell command of the user.
pub const BASH: CommandMapping = mapping(Intent::Bash, "bash")
    .params(&[("command", from("command")), ("excludeFromContext", from("hidden"))])
    .results(&[
        ("output", at("data.output")),
        ("exitCode", at("data.exitCode")),
        ("cancelled", at("data.cancelled")),
        ("truncated", at("data.truncated")),
    ]);
/// The command that exports the conversation as an HTML page.
pub const EXPORT: CommandMapping = mapping(Intent::Export, "export_html")
    .params(&[("outputPath", from("path"))])
    .results(&[("path", at("data.path"))]);

/// The command that starts a run with the user's input.
pub const PROMPT: CommandMapping =
    mapping(Intent::Prompt, "prompt").params(&[TEXT, IMAGES, ("streamingBehavior", from("whenBusy"))]);

const MAPPINGS: &[CommandMapping] = &[
    PROMPT.results(OUTCOME),
    mapping(Intent::Steer, "steer").params(&[TEXT, IMAGES]).results(OUTCOME),
    mapping(Intent::FollowUp, "follow_up").params(&[TEXT, IMAGES]).results(OUTCOME),
    mapping(Intent::Abort, "abort"),
    mapping(Intent::ClearQueue, "clear_queue")
        .results(&[("steering", at("data.steering")), ("followUp", at("data.followUp"))]),
    mapping(Intent::NewSession, "new_session")
        .params(&[("parentSession", from("parent"))])
        .results(&[CANCELLED]),
    mapping(Intent::OpenSession, "switch_session")
        .params(&[("sessionPath", from("session"))])
        .results(&[CANCELLED]),
    mapping(Intent::CloneSession, "clone").results(&[CANCELLED]),
    mapping(Intent::Fork, "fork")
        .params(&[("entryId", from("entry"))])
        .results(&[CANCELLED, ("text", at("data.text"))])
        .divergences(&[FORK]),
    mapping(Intent::ForkPoints, "get_fork_messages").results(&[("points", each("fork", "data.messages"))]),
    mapping(Intent::State, "get_state").results(&[
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
    mapping(Intent::Messages, "get_messages").results(&[("messages", each("message", "data.messages"))]),
    mapping(Intent::LastText, "get_last_assistant_text").results(&[("text", at("data.text"))]),
    mapping(Intent::Stats, "get_session_stats").results(&[
        ("usage", read("stats", "data")),
        ("messages", at("data.totalMessages")),
        ("context.tokens", at("data.contextUsage.tokens")),
        ("context.window", at("data.contextUsage.contextWindow")),
    ]),
    mapping(Intent::Models, "get_available_models").results(&[("models", each("model", "data.models"))]),
    mapping(Intent::SetModel, "set_model")
        .params(&[("provider", from("provider")), ("modelId", from("id"))])
        .results(&[("model", read("model", "data"))]),
    mapping(Intent::CycleModel, "cycle_model").results(&[MODEL, ("thinkingLevel", at("data.thinkingLevel"))]),
    mapping(Intent::ThinkingLevels, "get_available_thinking_levels")
        .results(&[("levels", at("data.levels"))]),
    mapping(Intent::SetThinking, "set_thinking_level").params(&[("level", from("level"))]),
    mapping(Intent::CycleThinking, "cycle_thinking_level").results(&[("thinkingLevel", at("data.level"))]),
    mapping(Intent::SetSteeringMode, "set_steering_mode").params(&[("mode", from("mode"))]),
    mapping(Intent::SetFollowUpMode, "set_follow_up_mode").params(&[("mode", from("mode"))]),
    mapping(Intent::Compact, "compact")
        .params(&[("customInstructions", from("instructions"))])
        .results(&[("message", read("summary", "data"))])
        .divergences(&[divergence(
            "the agent rejects the compaction of a short conversation, which would stay unchanged",
        )
        .refuses()]),
    mapping(Intent::SetAutoCompaction, "set_auto_compaction").params(&[("enabled", from("enabled"))]),
    mapping(Intent::SetAutoRetry, "set_auto_retry").params(&[("enabled", from("enabled"))]),
    mapping(Intent::AbortRetry, "abort_retry"),
    BASH.divergences(&[divergence(
        "each command has a shell of its own, without the directory and variables of earlier commands",
    )
    .changes(&["bash.output", "message<shell>"])]),
    mapping(Intent::AbortBash, "abort_bash"),
    EXPORT.divergences(&[divergence("the agent does not export an empty conversation")
        .changes(&["export.path"])
        .refuses()]),
    mapping(Intent::SetSessionName, "set_session_name").params(&[("name", from("name"))]),
    mapping(Intent::Commands, "get_commands").results(&[("commands", each("command", "data.commands"))]),
    mapping(Intent::Entries, "get_entries")
        .params(&[("since", from("since"))])
        .results(&[("entries", at("data.entries")), ("leaf", at("data.leafId"))]),
    mapping(Intent::Tree, "get_tree").results(&[("tree", at("data.tree")), ("leaf", at("data.leafId"))]),
];

/// The mapping from intents to the commands of pi.
pub const INTENTS: Intents =
    Intents { mappings: MAPPINGS, derived_events: &["turn_end", "entry_appended"], ..Intents::NONE };
