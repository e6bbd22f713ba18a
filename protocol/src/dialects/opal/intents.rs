//! The methods of Opal that carry each intent.

use super::meaning::ON;
use crate::intent::Send::{Is, Joined};
use crate::intent::{
    ANSWERS, Beside, CALLS, Carrier, Differs, Intent, Intents, ORDER, Own, STOPPED, Send, by_front, carries,
    done, from, lost, own, says,
};
use crate::meaning::Source::Map;
use crate::meaning::{Constant, OTHER, Reader, Slot, at, case, each, read};

/// Readers of Opal's values.
const READERS: &[Reader] = &[Reader {
    name: "listed",
    tag: "",
    cases: &[case(OTHER, &[("session", at("id")), ("name", at("title")), ("modified", at("modified"))])],
}];

const WORDS: &[(&str, Send)] = &[("text", from("text"))];
const OUTCOME: &[Slot] = &[(
    "outcome",
    Map("data.queued", &[("true", Constant::Text("queued")), ("false", Constant::Text("started"))]),
)];
/// The difference in queueing: all waiting messages are in one queue.
const ONE_QUEUE: Differs = says(
    "words wait in one queue, which is read whole when the agent would stop: they have one answer, and calls before them are \
     carried out",
)
.changes(&[ORDER, ANSWERS]);
/// The difference in providers: only those of the agent's models are known.
const PROVIDERS: Differs =
    says("of providers those of the agent's models alone are known: others are refused").refuses();
/// The member that makes a session persistent.
const KEPT: (&str, Send) = ("session", Is(Constant::Flag(true)));
const OPENED: &[Slot] = &[("session.id", at("data.session_id"))];

const CARRIERS: &[Carrier] = &[
    carries(Intent::Prompt, "agent/prompt").sends(WORDS).gives(OUTCOME).differs(&[says(
        "a call is told when it begins: calls of one answer that run one after the other have answers of their own",
    )
    .changes(&[CALLS])]),
    carries(Intent::Steer, "agent/prompt")
        .sends(WORDS)
        .gives(OUTCOME)
        .differs(&[ONE_QUEUE]),
    carries(Intent::FollowUp, "agent/prompt")
        .sends(WORDS)
        .gives(OUTCOME)
        .differs(&[ONE_QUEUE]),
    carries(Intent::Abort, "agent/abort")
        .differs(&[says("neither calls of the stopped answer that had not begun are told, nor what the others gave")
            .changes(&[STOPPED])
            .when_busy()]),
    carries(Intent::NewSession, "session/start")
        .sends(&[KEPT, ("working_dir", from("directory"))])
        .gives(OPENED),
    carries(Intent::OpenSession, "session/start")
        .sends(&[KEPT, ("session_id", from("session"))])
        .gives(OPENED),
    carries(Intent::ListSessions, "session/list").gives(&[("sessions", each("listed", "data.sessions"))]),
    carries(Intent::DeleteSession, "session/delete").sends(&[("session_id", from("session"))]),
    carries(Intent::Fork, "session/branch")
        .sends(&[("entry_id", from("entry"))])
        .differs(&[
            says("the agent goes back within its session, which keeps its id").changes(&["session.id"])
        ]),
    carries(Intent::State, "agent/state").gives(&[
        ("model", read("model", "data.model")),
        ("thinkingLevel", at("data.model.thinking_level")),
        ("working", ON),
        ("messages", at("data.message_count")),
        ("session.id", at("data.session_id")),
        ("usage", read("usage", "data.token_usage")),
        ("context.tokens", at("data.token_usage.current_context_tokens")),
        ("context.window", at("data.token_usage.context_window")),
    ]),
    carries(Intent::Messages, "session/history").gives(&[("messages", each("message", "data.messages"))]),
    carries(Intent::Models, "models/list").gives(&[("models", each("model", "data.models"))]).alone(&[PROVIDERS.with(&["providers"])]),
    carries(Intent::SetModel, "model/set")
        .sends(&[("model_id", Joined(&["provider", "id"], ":"))])
        .gives(&[("model", read("model", "data.model")), ("thinkingLevel", at("data.model.thinking_level"))])
        .alone(&[PROVIDERS.with(&["model_id"])]),
    carries(Intent::SetThinking, "thinking/set")
        .sends(&[("level", from("level"))])
        .gives(&[("thinkingLevel", at("data.thinking_level"))]),
    carries(Intent::Compact, "session/compact")
        .differs(&[says("a conversation of a few messages is compacted, too").refuses()]),
    carries(Intent::Stats, "agent/state")
        .gives(&[
            ("usage", read("usage", "data.token_usage")),
            ("messages", at("data.message_count")),
            ("context.tokens", at("data.token_usage.current_context_tokens")),
            ("context.window", at("data.token_usage.context_window")),
        ])
        .differs(&[says("neither its cost nor the tokens of caches are told")]),
    carries(Intent::Todos, "tasks/list").gives(&[("todos", each("task", "data.tasks"))]),
];

const LOGIN: &str = "each dialect has a login of its own";
const SETTINGS: &str = "the settings are those of Opal's own file";
const CONFIG: &str = "no other dialect turns tools and features of a session on and off";

const OWN: &[Own] = &[
    own("auth/status", LOGIN),
    own("auth/login", LOGIN),
    own("auth/poll", LOGIN),
    own("auth/set_key", LOGIN),
    own("settings/get", SETTINGS),
    own("settings/save", SETTINGS),
    own("opal/config/get", CONFIG),
    own("opal/config/set", CONFIG),
    by_front("opal/ping", "it is about the connection, not about the agent"),
    by_front("opal/version", "it is about who answers, not about the agent"),
];

const BESIDE: &[Beside] = &[
    lost("session/start", &["system_prompt", "tools", "mcp_servers", "features"]),
    done("session/start", &["model"]),
    lost("session/compact", &["keep_recent"]),
    done("models/list", &["providers"]),
    done("model/set", &["thinking_level"]),
];

/// The mapping from intents to the methods of Opal.
pub const INTENTS: Intents = Intents {
    readers: READERS,
    carriers: CARRIERS,
    own: OWN,
    beside: BESIDE,
    made: &["message_queued"],
    by_tool: &[("client/ask_user", "ask_user")],
};
