//! The methods of ACP that carry each intent, used to compute the losses on a bridge with ACP on one side.

use crate::intent::ParamSource::Joined;
use crate::intent::{
    CommandMapping, DialectOnly, Intent, Intents, ParamSource, by_adapter, dialect_only, divergence, from,
    mapping,
};
use crate::meaning::{Binding, at};

const SESSION: &[Binding] = &[("session.id", at("data.sessionId"))];
const OPENS: &[(&str, ParamSource)] = &[("sessionId", from("session"))];

const MAPPINGS: &[CommandMapping] = &[
    mapping(Intent::Prompt, "session/prompt").params(&[("prompt", Joined(&["text", "images"], ""))]),
    mapping(Intent::Abort, "session/cancel"),
    mapping(Intent::NewSession, "session/new").params(&[("cwd", from("directory"))]).results(SESSION),
    mapping(Intent::OpenSession, "session/load").params(OPENS),
    mapping(Intent::OpenSession, "session/resume")
        .params(OPENS)
        .divergences(&[divergence("the agent does not send earlier messages")]),
    mapping(Intent::DeleteSession, "session/delete").params(OPENS),
    mapping(Intent::SetModel, "session/set_config_option")
        .params(&[("value", from("id"))])
        .divergences(&[divergence("models are the values of an option")]),
    mapping(Intent::SetThinking, "session/set_config_option")
        .params(&[("value", from("level"))])
        .divergences(&[divergence("levels are the values of an option")]),
    mapping(Intent::Models, "session/new").divergences(&[divergence("models are the values of an option")]),
    mapping(Intent::Commands, "session/new")
        .divergences(&[divergence("the agent sends the commands when the session is open")]),
];

const CONNECTION: &str = "it concerns the connection, not the agent";

const DIALECT_ONLY: &[DialectOnly] = &[
    by_adapter("initialize", CONNECTION),
    by_adapter("authenticate", CONNECTION),
    by_adapter("logout", CONNECTION),
    by_adapter("$/cancel_request", CONNECTION),
    by_adapter("session/list", "the adapter requests the sessions from the agent, or reads their files"),
    by_adapter("session/close", "the adapter ends the agent of the session"),
    dialect_only("session/set_mode", "no dialect has modes of a session"),
];

/// The mapping from intents to the methods of ACP.
pub const INTENTS: Intents = Intents { mappings: MAPPINGS, dialect_only: DIALECT_ONLY, ..Intents::NONE };
