//! The methods of ACP that carry each intent, used to compute the losses on a bridge with ACP on one side.

use crate::intent::Send::Joined;
use crate::intent::{Carrier, Intent, Intents, Own, Send, by_front, carries, from, own, says};
use crate::meaning::{Slot, at};

const SESSION: &[Slot] = &[("session.id", at("data.sessionId"))];
const OPENS: &[(&str, Send)] = &[("sessionId", from("session"))];

const CARRIERS: &[Carrier] = &[
    carries(Intent::Prompt, "session/prompt").sends(&[("prompt", Joined(&["text", "images"], ""))]),
    carries(Intent::Abort, "session/cancel"),
    carries(Intent::NewSession, "session/new").sends(&[("cwd", from("directory"))]).gives(SESSION),
    carries(Intent::OpenSession, "session/load").sends(OPENS),
    carries(Intent::OpenSession, "session/resume")
        .sends(OPENS)
        .differs(&[says("what was said before is not told")]),
    carries(Intent::DeleteSession, "session/delete").sends(OPENS),
    carries(Intent::SetModel, "session/set_config_option")
        .sends(&[("value", from("id"))])
        .differs(&[says("models are the values of an option")]),
    carries(Intent::SetThinking, "session/set_config_option")
        .sends(&[("value", from("level"))])
        .differs(&[says("levels are the values of an option")]),
    carries(Intent::Models, "session/new").differs(&[says("models are the values of an option")]),
    carries(Intent::Commands, "session/new")
        .differs(&[says("the commands are told when the session is open")]),
];

const CONNECTION: &str = "it is about the connection, not about the agent";

const OWN: &[Own] = &[
    by_front("initialize", CONNECTION),
    by_front("authenticate", CONNECTION),
    by_front("logout", CONNECTION),
    by_front("$/cancel_request", CONNECTION),
    by_front("session/list", "the agent is asked, or the files of its sessions are read"),
    by_front("session/close", "the agent of the session is ended"),
    own("session/set_mode", "no dialect has modes of a session"),
];

/// The mapping from intents to the methods of ACP.
pub const INTENTS: Intents = Intents { carriers: CARRIERS, own: OWN, ..Intents::NONE };
