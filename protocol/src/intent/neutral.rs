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

    const fn results(self, results: &'static [ResultSpec]) -> Self {
        IntentSpec { results, ..self }
    }
}

const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: true, doc, hint: false }
}

const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: false, doc, hint: false }
}

/// Declares an optional parameter that is omitted if the command does not accept it.
const fn hint(name: &'static str, kind: Kind, doc: &'static str) -> Param {
    Param { name, kind, required: false, doc, hint: true }
}

const fn result(name: &'static str, doc: &'static str) -> ResultSpec {
    ResultSpec { name, doc }
}

const TEXT: Param = required("text", Kind::Text, "The text of the input.");
const IMAGES: Param = optional("images", Kind::Images, "The images of the input.");
const MODE: &[Param] = &[required("mode", Kind::Text, "The mode, as in the settings of the state.")];
const ENABLED: &[Param] = &[required("enabled", Kind::Flag, "`true` to switch it on.")];
const OUTCOME: &[ResultSpec] = &[result(
    "outcome",
    "`started`, `queued`, or `handled` if no run follows; absent if the agent does not report it.",
)];
const CANCELLED: ResultSpec = result("cancelled", "`true` if an extension of the agent prevented it.");
const MODEL: ResultSpec = result(
    "model",
    "The model: `id`, `provider`, `name`, `window` and `maxTokens` in tokens, `reasoning`, `input`, `api`, `baseUrl`, \
     `prices` in US dollars per million tokens.",
);
const LEVEL: ResultSpec = result("thinkingLevel", "The thinking level of the model.");
const USAGE: ResultSpec =
    result("usage", "`input`, `output`, `cacheRead`, `cacheWrite`, `total` in tokens, `cost` in US dollars.");
const CONTEXT_TOKENS: ResultSpec = result("context.tokens", "Number of tokens in the model's context.");
const CONTEXT_WINDOW: ResultSpec = result("context.window", "Size of the context window in tokens.");
const LEAF: ResultSpec = result("leaf", "The id of the entry at the current position.");

const DEFERRED: Divergence = divergence(
    "the input waits for the end of the run, is sent as a prompt then, and has an answer of its own",
)
.changes(&[ORDER, ANSWERS]);
const NO_SETTING: &str = "the agent has no such setting";

/// All intents with their parameters and results.
pub const INTENTS: &[IntentSpec] = &[
    row(Intent::Prompt, "prompt", "Sends user input that starts a run.", Lost("the agent accepts no prompts"))
        .params(&[
            TEXT,
            IMAGES,
            hint(
                "whenBusy",
                Kind::Text,
                "`steer` or `followUp`: the handling of the input during a run. Without it the agent rejects the \
                 input, or queues it if the dialect has one queue. Omitted if the command does not accept it.",
            ),
        ])
        .results(OUTCOME),
    row(
        Intent::Steer,
        "steer",
        "Sends user input to the current run, before its next request to the model.",
        Through(&[Intent::Prompt], DEFERRED),
    )
    .params(&[TEXT, IMAGES])
    .results(OUTCOME),
    row(
        Intent::FollowUp,
        "followUp",
        "Queues user input that the agent reads when it would otherwise stop.",
        Through(&[Intent::Prompt], DEFERRED),
    )
    .params(&[TEXT, IMAGES])
    .results(OUTCOME),
    row(
        Intent::AbortAndPrompt,
        "abortAndPrompt",
        "Aborts the current run and starts a run with this input.",
        Through(&[Intent::Abort, Intent::Prompt], divergence("the run is aborted, and the prompt follows its end")),
    )
    .params(&[TEXT, IMAGES]),
    row(Intent::Abort, "abort", "Aborts the current run.", Lost("the agent cannot be stopped")),
    row(
        Intent::ClearQueue,
        "clearQueue",
        "Empties the queues and returns their input.",
        Lost("queued input stays queued"),
    )
    .results(&[
        result("steering", "The queued steering input."),
        result("followUp", "The queued follow-up input."),
    ]),
    row(Intent::NewSession, "newSession", "Starts a new session.", Lost("the agent has one session"))
        .params(&[
            optional("parent", Kind::Text, "The session from which it originates."),
            optional("directory", Kind::Text, "The working directory of the session."),
        ])
        .results(&[CANCELLED, result("session.id", "The id of the session.")]),
    row(
        Intent::OpenSession,
        "openSession",
        "Opens a stored session.",
        Lost("the agent opens no other session"),
    )
    .params(&[required(
        "session",
        Kind::Text,
        "The file of the session if the state has `session.file`, otherwise its id.",
    )])
    .results(&[CANCELLED, result("session.id", "The id of the session.")]),
    row(
        Intent::ListSessions,
        "listSessions",
        "Lists the stored sessions.",
        Lost("the agent does not list its sessions"),
    )
    .results(&[result("sessions", "The sessions, each with `session` for opening it, `name` and `modified`.")]),
    row(
        Intent::DeleteSession,
        "deleteSession",
        "Deletes a stored session.",
        Lost("the agent deletes no sessions"),
    )
    .params(&[required("session", Kind::Text, "The `session` of the list of sessions.")]),
    row(
        Intent::CloneSession,
        "cloneSession",
        "Continues in a copy of the session.",
        Lost("the agent copies no sessions"),
    )
    .results(&[CANCELLED]),
    row(
        Intent::Fork,
        "fork",
        "Continues from an earlier position in the conversation.",
        Lost("the agent cannot return to an earlier position"),
    )
    .params(&[required("entry", Kind::Text, "The id of the position.")])
    .results(&[CANCELLED, result("text", "The text of the user's message at this position.")]),
    row(
        Intent::ForkPoints,
        "forkPoints",
        "Lists the possible positions of a fork.",
        Seen("from the received messages of the user"),
    )
    .results(&[result("points", "The positions, each with `id` and `text`.")]),
    row(
        Intent::State,
        "state",
        "Returns the activity and the settings of the agent.",
        Seen("from the received events"),
    )
    .results(&[
        MODEL,
        LEVEL,
        result("working", "`true` during a run."),
        result("compacting", "`true` during a compaction."),
        result("messages", "Number of messages in the conversation."),
        result("waiting", "Number of inputs in the queues."),
        result("session.id", "The id of the session."),
        result("session.file", "The file of the session."),
        result("session.name", "The name of the session."),
        result("settings.steeringMode", "The delivery of steering input."),
        result("settings.followUpMode", "The delivery of follow-up input."),
        result("settings.interruptMode", "The moment at which steering input reaches the run."),
        result("settings.autoCompaction", "`true` if the agent compacts automatically."),
        USAGE,
        CONTEXT_TOKENS,
        CONTEXT_WINDOW,
    ]),
    row(
        Intent::Messages,
        "messages",
        "Returns the messages of the conversation.",
        Seen("from the received events, without earlier messages"),
    )
    .results(&[result("messages", "The messages, in the form of a view.")]),
    row(
        Intent::LastText,
        "lastText",
        "Returns the text of the model's last message.",
        Seen("from the received events"),
    )
    .results(&[result("text", "The text; absent if the model has not answered.")]),
    row(
        Intent::Stats,
        "stats",
        "Returns the tokens and the cost of the session.",
        Seen("from the usage in the received events"),
    )
    .results(&[USAGE, result("messages", "Number of messages in the session."), CONTEXT_TOKENS, CONTEXT_WINDOW]),
    row(
        Intent::Models,
        "models",
        "Lists the available models.",
        Seen("only the current model, if it is known"),
    )
    .results(&[result("models", "The models, each with the members of `model`.")]),
    row(Intent::SetModel, "setModel", "Sets the model.", Lost("the agent's model cannot be changed"))
        .params(&[
            required("provider", Kind::Text, "The provider of the model."),
            required("id", Kind::Text, "The id of the model."),
        ])
        .results(&[MODEL, LEVEL]),
    row(
        Intent::CycleModel,
        "cycleModel",
        "Switches to the next model.",
        Through(&[Intent::Models, Intent::SetModel], divergence("the next model of the list is set")),
    )
    .results(&[MODEL, LEVEL]),
    row(
        Intent::ThinkingLevels,
        "thinkingLevels",
        "Lists the available thinking levels.",
        Lost("the agent does not list them"),
    )
    .results(&[result("levels", "The thinking levels.")]),
    row(
        Intent::SetThinking,
        "setThinking",
        "Sets the thinking level.",
        Lost("the agent's thinking level cannot be changed"),
    )
    .params(&[required("level", Kind::Text, "The thinking level.")])
    .results(&[LEVEL]),
    row(
        Intent::CycleThinking,
        "cycleThinking",
        "Switches to the next thinking level.",
        Through(&[Intent::ThinkingLevels, Intent::SetThinking], divergence("the next level of the list is set")),
    )
    .results(&[LEVEL]),
    row(
        Intent::SetSteeringMode,
        "setSteeringMode",
        "Sets the delivery of steering input: all at once or one at a time.",
        Lost(NO_SETTING),
    )
    .params(MODE),
    row(
        Intent::SetFollowUpMode,
        "setFollowUpMode",
        "Sets the delivery of follow-up input: all at once or one at a time.",
        Lost(NO_SETTING),
    )
    .params(MODE),
    row(
        Intent::SetInterruptMode,
        "setInterruptMode",
        "Sets the moment at which steering input reaches the run.",
        Lost(NO_SETTING),
    )
    .params(MODE),
    row(
        Intent::Compact,
        "compact",
        "Replaces older messages by a summary.",
        Lost("the agent does not compact on request"),
    )
    .params(&[optional("instructions", Kind::Text, "Instructions for the summary.")])
    .results(&[result("message", "The summary, in the form of a view.")]),
    row(
        Intent::SetAutoCompaction,
        "setAutoCompaction",
        "Switches automatic compaction on or off.",
        Lost(NO_SETTING),
    )
    .params(ENABLED),
    row(
        Intent::SetAutoRetry,
        "setAutoRetry",
        "Switches the retry of failed requests to the model on or off.",
        Lost(NO_SETTING),
    )
    .params(ENABLED),
    row(
        Intent::AbortRetry,
        "abortRetry",
        "Ends the delay before a retry, and the run with it.",
        Through(&[Intent::Abort], divergence("the run is aborted")),
    ),
    row(
        Intent::Bash,
        "bash",
        "Runs a shell command of the user; its output enters the conversation.",
        Lost("the agent runs no shell commands of the user"),
    )
    .params(&[
        required("command", Kind::Text, "The command."),
        optional("hidden", Kind::Flag, "`true` to hide the output from the model."),
    ])
    .results(&[
        result("output", "The output of the command."),
        result("exitCode", "The exit code; absent if the command was stopped."),
        result("cancelled", "`true` if the command was stopped."),
        result("truncated", "`true` if the output was cut."),
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
        "Writes the conversation as an HTML page.",
        Lost("the agent writes no pages"),
    )
    .params(&[optional("path", Kind::Text, "The file to write.")])
    .results(&[result("path", "The written file.")]),
    row(
        Intent::SetSessionName,
        "setSessionName",
        "Sets the name of the session.",
        Seen("only the client has the name"),
    )
    .params(&[required("name", Kind::Text, "The name.")]),
    row(
        Intent::Commands,
        "commands",
        "Lists the commands that can start a prompt, as `/name`.",
        Seen("an empty list"),
    )
    .results(&[result("commands", "The commands, each with `name`, `description` and `source`.")]),
    row(
        Intent::Entries,
        "entries",
        "Returns the entries of the session.",
        Seen("from the received messages"),
    )
    .params(&[optional("since", Kind::Text, "The id of the entry before the first returned one.")])
    .results(&[result("entries", "The entries, in the form of the agent."), LEAF]),
    row(
        Intent::Tree,
        "tree",
        "Returns the session as a tree.",
        Seen("from the received messages"),
    )
    .results(&[result("tree", "The roots, in the form of the agent."), LEAF]),
    row(
        Intent::Todos,
        "todos",
        "Lists the tasks of the agent.",
        Lost("the agent does not list its tasks"),
    )
    .results(&[result("todos", "The tasks, each with `text` and `status`.")]),
];
