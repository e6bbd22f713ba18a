//! Tests of the pi dialect within this process.
//!
//! Names with `fm_F…` are rows of the project's table of faults.

#[path = "pi/abort.rs"]
mod abort;
#[path = "pi/approvals.rs"]
mod approvals;
#[path = "pi/bad_input.rs"]
mod bad_input;
#[path = "pi/bash.rs"]
mod bash;
#[path = "pi/batches.rs"]
mod batches;
#[path = "pi/blank.rs"]
mod blank;
#[path = "pi/children.rs"]
mod children;
#[path = "pi/client.rs"]
mod client;
#[path = "pi/commands.rs"]
mod commands;
#[path = "pi/compaction.rs"]
mod compaction;
#[path = "pi/emitters.rs"]
mod emitters;
#[path = "pi/limits.rs"]
mod limits;
#[path = "pi/made_up_session.rs"]
mod made_up_session;
#[path = "pi/misbehaved.rs"]
mod misbehaved;
#[path = "pi/pi_1_5.rs"]
mod pi_1_5;
#[path = "pi/pi_1_6.rs"]
mod pi_1_6;
#[path = "pi/queues.rs"]
mod queues;
#[path = "pi/remote_agent.rs"]
mod remote_agent;
#[path = "pi/retry.rs"]
mod retry;
#[path = "pi/revisions.rs"]
mod revisions;
#[path = "pi/runs.rs"]
mod runs;
#[path = "pi/sessions.rs"]
mod sessions;
#[path = "pi/slow_client.rs"]
mod slow_client;
#[path = "support/mod.rs"]
mod support;
#[path = "pi/take_over.rs"]
mod take_over;
