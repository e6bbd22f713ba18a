//! A revision of pi that nobody speaks: `make made-up-revision` compiles the generators with this file alone added, and looks
//! whether clients, schemas, pages and the list of missing cases follow.

use crate::dialect::{Behavior, Change, Revision, Sign};
use crate::dsl::protocol;
use crate::model::{Field, Presence, RunEffect, Span, Ty};
use crate::typed::{Bool, Count, List, Opt, Str};

const HERE: Span = Span { since: &["pi@9.9"], until: &[] };

protocol! {
    /// What the agent keeps in mind.
    record Memories [since "pi@9.9"] {
        /// The texts, the oldest first.
        texts: List<Str>,
    }

    /// Keeps a text in mind for later sessions.
    command remember(RememberParams {
        /// The text.
        text: Str,
        /// For how many days; for ever where it is missing.
        days: Opt<Count>,
    }) -> Memories [since "pi@9.9"] {
        answer: Done;
        lane: Immediate;
        example {"text": "Tabs, not spaces."} -> {"texts": ["Tabs, not spaces."]};
    }

    /// The agent will do nothing more, and says whether somebody stopped it. This ends the run.
    event agent_rests(AgentRests {
        /// Whether somebody stopped it.
        stopped: Bool,
    }) [since "pi@9.9"] {
        run: Ends;
        example {"type": "agent_rests", "stopped": false};
    }
}

/// The revision.
pub const REVISION: Revision = Revision {
    name: "9.9",
    document: "a made-up page",
    parent: None,
    edges: super::EDGES,
    run_end: super::RUN_END,
    behavior: Behavior::FIRST,
    shows: &[Sign::Event("agent_rests")],
    excludes: &[],
    changes: &[
        Change::Member(
            "SessionState",
            Field {
                name: "mood",
                doc: "How the agent feels.",
                presence: Presence::Optional,
                ty: Ty::String,
                span: HERE,
                renamed: None,
            },
        ),
        Change::ValueUntil("QueueMode", "all", &["pi@9.9"]),
        Change::Run("agent_settled", RunEffect::None, HERE),
    ],
};
