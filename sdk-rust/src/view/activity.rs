//! Activity of the agent: its run, retries and compactions.

use serde::{Deserialize, Serialize};

use super::record::record;

/// Activity of the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunState {
    /// The agent has no activity.
    #[default]
    Idle,
    /// The agent works on a prompt.
    Working,
    /// The agent waits before a retry of a request to the model.
    Retrying,
    /// The agent compacts the conversation.
    Compacting,
    /// The run was aborted and has not ended yet.
    Aborting,
}

record! {
    /// Activity of the agent.
    #[derive(Default)]
    Run {
        /// Summary of the activity.
        state: RunState,
        /// `true` during a run.
        working: bool,
        /// `true` after an abort, until the end of the run.
        aborting: bool,
    } {
        /// The pending retry.
        retry: Retry,
        /// The current compaction.
        compaction: Compaction,
        /// Description of the activity, sent by the agent.
        activity: String,
        /// Reason for the failure of the last run.
        error: String,
    }
}

record! {
    /// A retry of a request to the model.
    #[derive(Default)]
    Retry {} {
        /// The number of this retry, from 1.
        attempt: u64,
        /// Maximum number of retries.
        max_attempts: u64,
        /// Delay before the retry, in milliseconds.
        delay_ms: u64,
        /// The error of the failed request.
        error: String,
        /// Time of the report, in milliseconds since the epoch.
        at: f64,
    }
}

record! {
    /// A compaction.
    #[derive(Default)]
    Compaction {} {
        /// Reason for the compaction.
        reason: String,
    }
}
