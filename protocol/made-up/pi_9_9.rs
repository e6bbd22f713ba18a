//! A made-up revision of pi. `make made-up-revision` compiles the generators with this file added, and checks that
//! clients, schemas, pages and the list of missing cases contain it.

use crate::dialect::{Behavior, Change, Fingerprint, Revision};
use crate::dsl::protocol;
use crate::model::{Field, Presence, RunEffect, Span, Ty};
use crate::typed::{Bool, Count, List, Opt, Str};

const HERE: Span = Span { since: &["pi@9.9"], until: &[] };

protocol! {
    /// The stored texts of the agent.
    record Memories [since "pi@9.9"] {
        /// The texts, oldest first.
        texts: List<Str>,
    }

    /// Stores a text for later sessions.
    command remember(RememberParams {
        /// The text.
        text: Str,
        /// Number of days; unlimited if absent.
        days: Opt<Count>,
    }) -> Memories [since "pi@9.9"] {
        answer: Done;
        lane: Immediate;
        example {"text": "Tabs, not spaces."} -> {"texts": ["Tabs, not spaces."]};
    }

    /// The agent has no further work. This ends the run.
    event agent_rests(AgentRests {
        /// `true` if the user stopped the agent.
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
    shows: &[Fingerprint::Event("agent_rests")],
    excludes: &[],
    changes: &[
        Change::Member(
            "SessionState",
            Field {
                name: "mood",
                doc: "The mood of the agent.",
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
