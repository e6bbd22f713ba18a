//! The methods of Opal that carry each intent.

use super::meaning::ON;
use crate::intent::ParamSource::{Is, Joined};
use crate::intent::{
    ANSWERS, CALLS, CommandMapping, Companion, DialectOnly, Divergence, Intent, Intents, ORDER, ParamSource,
    STOPPED, by_adapter, dialect_only, divergence, from, handled, mapping, unsupported,
};
use crate::meaning::Source::Map;
use crate::meaning::{Binding, Constant, OTHER, Reader, at, case, each, read};

/// Readers: conversions of Opal's values to the neutral form.
const READERS: &[Reader] = &[Reader {
    name: "listed",
    tag: "",
    cases: &[case(OTHER, &[("session", at("id")), ("name", at("title")), ("modified", at("modified"))])],
}];

const TEXT: &[(&str, ParamSource)] = &[("text", from("text"))];
const OUTCOME: &[Binding] = &[(
    "outcome",
    Map("data.queued", &[("true", Constant::Text("queued")), ("false", Constant::Text("started"))]),
)];
/// The way in which Opal's queue differs from the neutral definition: all waiting messages are in one queue.
const ONE_QUEUE: Divergence = divergence(
    "all input waits in one queue, which the agent reads completely when it would otherwise stop: the inputs have one \
     answer, after all earlier tool calls",
)
.changes(&[ORDER, ANSWERS]);
/// The way in which Opal's choice of a provider differs from the neutral definition: only the providers of
/// the agent's models are known.
const PROVIDERS: Divergence =
    divergence("the agent rejects providers other than those of its models").refuses();
/// The member that makes a session persistent.
const STORED: (&str, ParamSource) = ("session", Is(Constant::Flag(true)));
const OPENED: &[Binding] = &[("session.id", at("data.session_id"))];

const MAPPINGS: &[CommandMapping] = &[
    mapping(Intent::Prompt, "agent/prompt").params(TEXT).results(OUTCOME).divergences(&[divergence(
        "the agent reports a tool call at its start: consecutive calls of one answer have answers of their own",
    )
    .changes(&[CALLS])]),
    mapping(Intent::Steer, "agent/prompt")
        .params(TEXT)
        .results(OUTCOME)
        .divergences(&[ONE_QUEUE]),
    mapping(Intent::FollowUp, "agent/prompt")
        .params(TEXT)
        .results(OUTCOME)
        .divergences(&[ONE_QUEUE]),
    mapping(Intent::Abort, "agent/abort")
        .divergences(&[divergence(
            "after an abort the agent reports neither unstarted tool calls nor the results of started ones",
        )
        .changes(&[STOPPED])
        .when_busy()]),
    mapping(Intent::NewSession, "session/start")
        .params(&[STORED, ("working_dir", from("directory"))])
        .results(OPENED),
    mapping(Intent::OpenSession, "session/start")
        .params(&[STORED, ("session_id", from("session"))])
        .results(OPENED),
    mapping(Intent::ListSessions, "session/list").results(&[("sessions", each("listed", "data.sessions"))]),
    mapping(Intent::DeleteSession, "session/delete").params(&[("session_id", from("session"))]),
    mapping(Intent::Fork, "session/branch")
        .params(&[("entry_id", from("entry"))])
        .divergences(&[
            divergence("the agent moves back within its session, which keeps its id").changes(&["session.id"])
        ]),
    mapping(Intent::State, "agent/state").results(&[
        ("model", read("model", "data.model")),
        ("thinkingLevel", at("data.model.thinking_level")),
        ("working", ON),
        ("messages", at("data.message_count")),
        ("session.id", at("data.session_id")),
        ("usage", read("usage", "data.token_usage")),
        ("context.tokens", at("data.token_usage.current_context_tokens")),
        ("context.window", at("data.token_usage.context_window")),
    ]),
    mapping(Intent::Messages, "session/history").results(&[("messages", each("message", "data.messages"))]),
    mapping(Intent::Models, "models/list").results(&[("models", each("model", "data.models"))]).bridge_divergences(&[PROVIDERS.with(&["providers"])]),
    mapping(Intent::SetModel, "model/set")
        .params(&[("model_id", Joined(&["provider", "id"], ":"))])
        .results(&[("model", read("model", "data.model")), ("thinkingLevel", at("data.model.thinking_level"))])
        .bridge_divergences(&[PROVIDERS.with(&["model_id"])]),
    mapping(Intent::SetThinking, "thinking/set")
        .params(&[("level", from("level"))])
        .results(&[("thinkingLevel", at("data.thinking_level"))]),
    mapping(Intent::Compact, "session/compact")
        .divergences(&[divergence("the agent compacts even a conversation of a few messages").refuses()]),
    mapping(Intent::Stats, "agent/state")
        .results(&[
            ("usage", read("usage", "data.token_usage")),
            ("messages", at("data.message_count")),
            ("context.tokens", at("data.token_usage.current_context_tokens")),
            ("context.window", at("data.token_usage.context_window")),
        ])
        .divergences(&[divergence("the agent reports neither the cost nor the tokens of caches")]),
    mapping(Intent::Todos, "tasks/list").results(&[("todos", each("task", "data.tasks"))]),
];

const LOGIN: &str = "each dialect has a login of its own";
const SETTINGS: &str = "the settings are those of Opal's own file";
const CONFIG: &str = "no other dialect switches tools and features of a session on and off";

const DIALECT_ONLY: &[DialectOnly] = &[
    dialect_only("auth/status", LOGIN),
    dialect_only("auth/login", LOGIN),
    dialect_only("auth/poll", LOGIN),
    dialect_only("auth/set_key", LOGIN),
    dialect_only("settings/get", SETTINGS),
    dialect_only("settings/save", SETTINGS),
    dialect_only("opal/config/get", CONFIG),
    dialect_only("opal/config/set", CONFIG),
    by_adapter("opal/ping", "it concerns the connection, not the agent"),
    by_adapter("opal/version", "it concerns the server, not the agent"),
];

const COMPANIONS: &[Companion] = &[
    unsupported("session/start", &["system_prompt", "tools", "mcp_servers", "features"]),
    handled("session/start", &["model"]),
    unsupported("session/compact", &["keep_recent"]),
    handled("models/list", &["providers"]),
    handled("model/set", &["thinking_level"]),
];

/// The mapping from intents to the methods of Opal.
pub const INTENTS: Intents = Intents {
    readers: READERS,
    mappings: MAPPINGS,
    dialect_only: DIALECT_ONLY,
    companions: COMPANIONS,
    derived_events: &["message_queued"],
    by_tool: &[("client/ask_user", "ask_user")],
};
