//! The intents with their neutral parameters and results.

use super::{ANSWERS, Divergence, Fallback, Intent, IntentSpec, Kind, ORDER, Param, ResultSpec, divergence};
use Fallback::{Lost, Seen, Through};

const fn row(intent: Intent, name: &'static str, doc: &'static str, without: Fallback) -> IntentSpec {
    IntentSpec { intent, name, doc, params: &[], results: &[], without }
}

impl IntentSpec {
    const fn params(self, params: &'static [Param]) -> Self {
        IntentSpec { params, ..self }
    }

    const fn results(self, gives: &'static [ResultSpec]) -> Self {
        IntentSpec { results: gives, ..self }
    }
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: true, doc, hint: false }
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: false, doc, hint: false }
}

/// Declares a parameter that is omitted if a command does not accept it.
const fn hint(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: false, doc, hint: true }
}

const fn result(name: &'static str, doc: &'static str) -> ResultSpec {
    ResultSpec { name, doc }
}

const TEXT: Param = required("text", Kind::Text, "The words.");
const IMAGES: Param = optional("images", Kind::Images, "Images that go with them.");
const MODE: &[Param] = &[required("mode", Kind::Text, "The mode, as the settings of the state name it.")];
const ENABLED: &[Param] = &[required("enabled", Kind::Flag, "Whether it is on.")];
const OUTCOME: &[ResultSpec] = &[result(
    "outcome",
    "`started`, `queued`, or `handled` where no run follows; missing where the agent does not say.",
)];
const CANCELLED: ResultSpec = result("cancelled", "True where an extension of the agent prevented it.");
const MODEL: ResultSpec = result(
    "model",
    "The model: `id`, `provider`, `name`, `window` and `maxTokens` in tokens, `reasoning`, `input`, `api`, `baseUrl`, \
     `prices` in US dollars for a million tokens.",
);
const LEVEL: ResultSpec = result("thinkingLevel", "How hard the model thinks.");
const USAGE: ResultSpec =
    result("usage", "`input`, `output`, `cacheRead`, `cacheWrite`, `total` in tokens, `cost` in US dollars.");
const CONTEXT_TOKENS: ResultSpec = result("context.tokens", "Tokens in the model's context.");
const CONTEXT_WINDOW: ResultSpec = result("context.window", "Tokens that fit into it.");
const LEAF: ResultSpec = result("leaf", "The id of the entry at which the conversation stands.");

const SESSION_HELD: Divergence = divergence(
    "the words are kept back and sent as a prompt when the run is over, and have an answer of their own",
)
.changes(&[ORDER, ANSWERS]);
const NO_SETTING: &str = "the agent has no such setting";

/// The intents.
pub const INTENTS: &[IntentSpec] = &[
    row(Intent::Prompt, "prompt", "Sends words that begin a run.", Lost("the agent takes no prompts"))
        .params(&[
            TEXT,
            IMAGES,
            hint(
                "whenBusy",
                Kind::Text,
                "`steer` or `followUp`: what becomes of the words where a run is going on. Without it they are refused \
                 then, or queued where the dialect has one queue; it is left out where the command does not take it.",
            ),
        ])
        .results(OUTCOME),
    row(
        Intent::Steer,
        "steer",
        "Sends words to the run that is going on; they reach it before its next request to the model.",
        Through(&[Intent::Prompt], SESSION_HELD),
    )
    .params(&[TEXT, IMAGES])
    .results(OUTCOME),
    row(
        Intent::FollowUp,
        "followUp",
        "Queues words that the agent reads when it would stop.",
        Through(&[Intent::Prompt], SESSION_HELD),
    )
    .params(&[TEXT, IMAGES])
    .results(OUTCOME),
    row(
        Intent::AbortAndPrompt,
        "abortAndPrompt",
        "Stops the run that is going on and begins one with these words.",
        Through(&[Intent::Abort, Intent::Prompt], divergence("the run is stopped, and the prompt follows its end")),
    )
    .params(&[TEXT, IMAGES]),
    row(Intent::Abort, "abort", "Stops the run that is going on.", Lost("the agent cannot be stopped")),
    row(
        Intent::ClearQueue,
        "clearQueue",
        "Takes back what waits in the queues.",
        Lost("what was queued stays queued"),
    )
    .results(&[
        result("steering", "The steering words that waited."),
        result("followUp", "The follow-up words that waited."),
    ]),
    row(Intent::NewSession, "newSession", "Starts a new session.", Lost("the agent has one session"))
        .params(&[
            optional("parent", Kind::Text, "The session that it comes from."),
            optional("directory", Kind::Text, "Its working directory."),
        ])
        .results(&[CANCELLED, result("session.id", "The session's id.")]),
    row(
        Intent::OpenSession,
        "openSession",
        "Opens a session that is kept.",
        Lost("the agent opens no other session"),
    )
    .params(&[required(
        "session",
        Kind::Text,
        "What names it: its file where the state has `session.file`, else its id.",
    )])
    .results(&[CANCELLED, result("session.id", "The session's id.")]),
    row(
        Intent::ListSessions,
        "listSessions",
        "Lists the sessions that are kept.",
        Lost("the agent does not list its sessions"),
    )
    .results(&[result("sessions", "Each with `session`, which opens it, and `name` and `modified`.")]),
    row(
        Intent::DeleteSession,
        "deleteSession",
        "Deletes a session that is kept.",
        Lost("the agent deletes no sessions"),
    )
    .params(&[required("session", Kind::Text, "What names it, as in the list of sessions.")]),
    row(
        Intent::CloneSession,
        "cloneSession",
        "Goes on in a copy of the session.",
        Lost("the agent copies no sessions"),
    )
    .results(&[CANCELLED]),
    row(
        Intent::Fork,
        "fork",
        "Goes on from an earlier place of the conversation.",
        Lost("the agent goes back to no earlier place"),
    )
    .params(&[required("entry", Kind::Text, "The id of the place.")])
    .results(&[CANCELLED, result("text", "The words that stood there, to be changed.")]),
    row(
        Intent::ForkPoints,
        "forkPoints",
        "Lists the places from which a fork can be made.",
        Seen("the messages of the user that were seen"),
    )
    .results(&[result("points", "Each with `id` and `text`.")]),
    row(
        Intent::State,
        "state",
        "Says what the agent is doing, and with which settings.",
        Seen("from the events that came"),
    )
    .results(&[
        MODEL,
        LEVEL,
        result("working", "Whether a run is going on."),
        result("compacting", "Whether a summary is being made."),
        result("messages", "How many messages the conversation has."),
        result("waiting", "How many words wait in the queues."),
        result("session.id", "The session's id."),
        result("session.file", "The session's file."),
        result("session.name", "The session's name."),
        result("settings.steeringMode", "How steering words are handed over."),
        result("settings.followUpMode", "How follow-up words are handed over."),
        result("settings.interruptMode", "When steering words reach the run."),
        result("settings.autoCompaction", "Whether summaries are made by themselves."),
        USAGE,
        CONTEXT_TOKENS,
        CONTEXT_WINDOW,
    ]),
    row(
        Intent::Messages,
        "messages",
        "Gives the messages of the conversation.",
        Seen("from the events that came; what was said before is missing"),
    )
    .results(&[result("messages", "The messages, as a view has them.")]),
    row(
        Intent::LastText,
        "lastText",
        "Gives the text of the model's last message.",
        Seen("from the events that came"),
    )
    .results(&[result("text", "The text; missing where the model has said nothing.")]),
    row(
        Intent::Stats,
        "stats",
        "Gives the tokens and the cost of the session.",
        Seen("from the usage that events told"),
    )
    .results(&[USAGE, result("messages", "How many messages the session has."), CONTEXT_TOKENS, CONTEXT_WINDOW]),
    row(
        Intent::Models,
        "models",
        "Lists the models that can be chosen.",
        Seen("the model in use alone, where it was told"),
    )
    .results(&[result("models", "Each with the members of `model`.")]),
    row(Intent::SetModel, "setModel", "Chooses a model.", Lost("the agent's model cannot be changed"))
        .params(&[
            required("provider", Kind::Text, "The model's provider."),
            required("id", Kind::Text, "The model's id."),
        ])
        .results(&[MODEL, LEVEL]),
    row(
        Intent::CycleModel,
        "cycleModel",
        "Chooses the next model.",
        Through(&[Intent::Models, Intent::SetModel], divergence("the next one of the list is chosen")),
    )
    .results(&[MODEL, LEVEL]),
    row(
        Intent::ThinkingLevels,
        "thinkingLevels",
        "Lists the thinking levels that can be chosen.",
        Lost("the agent does not list them"),
    )
    .results(&[result("levels", "The levels.")]),
    row(
        Intent::SetThinking,
        "setThinking",
        "Chooses a thinking level.",
        Lost("the agent's thinking level cannot be changed"),
    )
    .params(&[required("level", Kind::Text, "The level.")])
    .results(&[LEVEL]),
    row(
        Intent::CycleThinking,
        "cycleThinking",
        "Chooses the next thinking level.",
        Through(&[Intent::ThinkingLevels, Intent::SetThinking], divergence("the next one of the list is chosen")),
    )
    .results(&[LEVEL]),
    row(
        Intent::SetSteeringMode,
        "setSteeringMode",
        "Says how steering words are handed over: all at once or one at a time.",
        Lost(NO_SETTING),
    )
    .params(MODE),
    row(
        Intent::SetFollowUpMode,
        "setFollowUpMode",
        "Says how follow-up words are handed over: all at once or one at a time.",
        Lost(NO_SETTING),
    )
    .params(MODE),
    row(
        Intent::SetInterruptMode,
        "setInterruptMode",
        "Says when steering words reach the run.",
        Lost(NO_SETTING),
    )
    .params(MODE),
    row(
        Intent::Compact,
        "compact",
        "Puts a summary in the place of older messages.",
        Lost("the agent makes no summaries on demand"),
    )
    .params(&[optional("instructions", Kind::Text, "What the summary should look at.")])
    .results(&[result("message", "The summary, as a view has it.")]),
    row(
        Intent::SetAutoCompaction,
        "setAutoCompaction",
        "Says whether the agent makes summaries by itself.",
        Lost(NO_SETTING),
    )
    .params(ENABLED),
    row(
        Intent::SetAutoRetry,
        "setAutoRetry",
        "Says whether failed requests to the model are made again.",
        Lost(NO_SETTING),
    )
    .params(ENABLED),
    row(
        Intent::AbortRetry,
        "abortRetry",
        "Ends the wait before a request that is made again, and the run with it.",
        Through(&[Intent::Abort], divergence("the run is stopped")),
    ),
    row(
        Intent::Bash,
        "bash",
        "Runs a shell command of the user; its output enters the conversation.",
        Lost("the agent runs no shell commands of the user"),
    )
    .params(&[
        required("command", Kind::Text, "The command line."),
        optional("hidden", Kind::Flag, "True where the model is not to see the output."),
    ])
    .results(&[
        result("output", "What it wrote."),
        result("exitCode", "Its exit code; missing where it was stopped."),
        result("cancelled", "Whether it was stopped."),
        result("truncated", "Whether the output was cut."),
    ]),
    row(
        Intent::AbortBash,
        "abortBash",
        "Stops the user's shell command.",
        Lost("the agent runs no shell commands of the user"),
    ),
    row(
        Intent::Export,
        "export",
        "Writes the conversation as a page.",
        Lost("the agent writes no pages"),
    )
    .params(&[optional("path", Kind::Text, "The file to write.")])
    .results(&[result("path", "The file that was written.")]),
    row(
        Intent::SetSessionName,
        "setSessionName",
        "Gives the session a name.",
        Seen("the name is kept for the front end alone"),
    )
    .params(&[required("name", Kind::Text, "The name.")]),
    row(
        Intent::Commands,
        "commands",
        "Lists what a prompt can invoke with `/name`.",
        Seen("an empty list"),
    )
    .results(&[result("commands", "Each with `name`, `description` and `source`.")]),
    row(
        Intent::Entries,
        "entries",
        "Gives the entries of the session.",
        Seen("made from the messages that were seen"),
    )
    .params(&[optional("since", Kind::Text, "The entry after which they begin.")])
    .results(&[result("entries", "The entries, as the agent has them."), LEAF]),
    row(
        Intent::Tree,
        "tree",
        "Gives the session as a tree.",
        Seen("made from the messages that were seen"),
    )
    .results(&[result("tree", "The roots, as the agent has them."), LEAF]),
    row(
        Intent::Todos,
        "todos",
        "Lists what the agent has still to do.",
        Lost("the agent does not list it"),
    )
    .results(&[result("todos", "Each with `text` and `status`.")]),
];
