//! The pisces dialect, revision 13.18: omp with verified tasks, subagents and budgets.
//!
//! Source: the document "RPC Protocol Reference" of pisces 13.18.0.

use crate::dialect::{Behavior, Dialect, Framing, NameCase, Revision};
use crate::dialects::{omp, pi};
use crate::dsl::protocol;
use crate::model::Setting;
use crate::typed::{Bool, Count, Int, List, Num, Opt, Str};

pub mod matching;
pub mod meaning;
mod settings;

protocol! {
    /// The status of a verification.
    strings VerificationStatus(open) {
        /// No verification was requested.
        "not_requested",
        /// All required commands succeeded.
        "passed",
        /// A required command failed.
        "failed",
        /// The subagent itself failed, so the agent verified nothing.
        "skipped",
    }

    /// The status of a verification attempt.
    strings AttemptStatus(open) {
        /// All required commands succeeded.
        "passed",
        /// A required command failed.
        "failed",
        /// The agent verified nothing.
        "skipped",
    }

    /// The status of a verification attempt, as reported by its event.
    strings AttemptOutcome(open) {
        /// All required commands succeeded.
        "passed",
        /// A required command failed.
        "failed",
        /// The agent verified nothing.
        "skipped",
        /// The budget was already exhausted.
        "budget_exceeded",
    }

    /// The method of a verification.
    strings VerificationMode(open) {
        /// There is no verification.
        "none",
        /// Commands verify the work.
        "command",
    }

    /// The handling of a subagent's changes after a failed verification.
    strings FailurePolicy(open) {
        /// The changes are returned, with exit code 1.
        "return_failure",
        /// The subagent may repair the changes once.
        "retry_once",
        /// The changes are discarded.
        "discard_patch",
    }

    /// A verification command with its outcome.
    record VerificationCommandResult {
        /// Name of the command.
        name: Str,
        /// Command line of the verification command.
        command: Str,
        /// Exit code of the command; 143 if it reached its timeout.
        exitCode: Int,
        /// Duration of the command in milliseconds.
        durationMs: Num,
        /// `true` if a failure of the command is ignored.
        optional: Opt<Bool>,
        /// `true` if the command reached its timeout.
        timedOut: Opt<Bool>,
        /// Path of the file with the output.
        artifactPath: Opt<Str>,
        /// The last 20 lines (4 KB) of the output.
        outputPreview: Opt<Str>,
    }

    /// One run over all verification commands.
    record VerificationAttemptResult {
        /// Number of the attempt, from 1.
        attempt: Count,
        /// Outcome of the attempt.
        status: AttemptStatus,
        /// Start of the attempt in milliseconds since the epoch.
        startedAt: Int,
        /// End of the attempt in milliseconds since the epoch.
        endedAt: Int,
        /// The commands in order.
        commandResults: List<VerificationCommandResult>,
        /// Error message of the attempt.
        error: Opt<Str>,
    }

    /// The verification of a subagent's work.
    record VerificationResult {
        /// `true` if a verification was requested.
        requested: Bool,
        /// Name of the verification profile.
        profile: Opt<Str>,
        /// Method of the verification.
        mode: Opt<VerificationMode>,
        /// Outcome of the verification.
        status: VerificationStatus,
        /// The attempts in order.
        attempts: List<VerificationAttemptResult>,
        /// Number of repairs.
        retriesUsed: Count,
        /// Handling of the changes after a failure.
        onFailure: Opt<FailurePolicy>,
        ;
        example {
            "requested": true, "profile": "ci", "mode": "command", "status": "passed",
            "attempts": [{
                "attempt": 1, "status": "passed", "startedAt": 1733234567890, "endedAt": 1733234568890,
                "commandResults": [{"name": "tests", "command": "make test", "exitCode": 0, "durationMs": 950, "timedOut": false}]
            }],
            "retriesUsed": 0, "onFailure": "return_failure"
        }
    }

    /// A command of a verification profile.
    record VerifyCommand {
        /// Name of the command.
        name: Str,
        /// The command line, run with `bash -lc` in the worktree.
        command: Str,
        /// Timeout in milliseconds; no timeout if absent.
        timeoutMs: Opt<Count>,
        /// `true` if a failure of the command is ignored.
        optional: Opt<Bool>,
    }

    /// The verification of a task: the content of a profile in the settings, or `verify` as an object.
    record TaskVerifyConfig {
        /// Name of the base profile.
        profile: Opt<Str>,
        /// Method of the verification.
        mode: Opt<VerificationMode>,
        /// The commands; they replace the profile's.
        commands: Opt<List<VerifyCommand>>,
        /// Handling of the changes after a failure.
        onFailure: Opt<FailurePolicy>,
        /// Maximum number of repairs.
        maxRetries: Opt<Count>,
        ;
        example {
            "mode": "command",
            "commands": [{"name": "typecheck", "command": "bun check:ts", "timeoutMs": 120000}],
            "onFailure": "return_failure"
        }
    }

    /// A subagent is about to start.
    event subagent_start(SubagentStart {
        /// Id of the task, shared by all its events.
        id: Str,
        /// Name of the agent.
        agent: Str,
        /// `true` if the subagent works in its own worktree.
        isolated: Bool,
    }) {
        example {"type": "subagent_start", "id": "0-Alpha", "agent": "task", "isolated": true};
    }

    /// A subagent and its verification have ended.
    event subagent_end(SubagentEnd {
        /// Id of the task.
        id: Str,
        /// Name of the agent.
        agent: Str,
        /// Exit code of the subagent.
        exitCode: Int,
        /// The verification, if one was requested.
        verification: Opt<VerificationResult>,
    }) {
        example {"type": "subagent_end", "id": "0-Alpha", "agent": "task", "exitCode": 0};
    }

    /// A verification attempt starts.
    event subagent_verification_start(SubagentVerificationStart {
        /// Id of the task.
        id: Str,
        /// Number of the attempt, from 1.
        attempt: Count,
        /// Name of the verification profile, if there is one.
        profile: Opt<Str>,
    }) {
        example {"type": "subagent_verification_start", "id": "0-Alpha", "attempt": 1, "profile": "ci"};
    }

    /// A verification command is about to run.
    event subagent_verification_command_start(SubagentVerificationCommandStart {
        /// Id of the task.
        id: Str,
        /// Number of the attempt, from 1.
        attempt: Count,
        /// Name of the command.
        commandName: Str,
    }) {
        example {"type": "subagent_verification_command_start", "id": "0-Alpha", "attempt": 1, "commandName": "tests"};
    }

    /// A verification command has ended.
    event subagent_verification_command_end(SubagentVerificationCommandEnd {
        /// Id of the task.
        id: Str,
        /// Number of the attempt, from 1.
        attempt: Count,
        /// Name of the command.
        commandName: Str,
        /// Exit code of the command.
        exitCode: Int,
        /// Duration of the command in milliseconds.
        durationMs: Num,
        /// Id of the file with the output, if there was any.
        artifactId: Opt<Str>,
    }) {
        example {
            "type": "subagent_verification_command_end", "id": "0-Alpha", "attempt": 1, "commandName": "tests",
            "exitCode": 0, "durationMs": 950
        };
    }

    /// A verification attempt has ended.
    event subagent_verification_end(SubagentVerificationEnd {
        /// Id of the task.
        id: Str,
        /// Number of the attempt, from 1.
        attempt: Count,
        /// Outcome of the attempt.
        status: AttemptOutcome,
    }) {
        example {"type": "subagent_verification_end", "id": "0-Alpha", "attempt": 1, "status": "passed"};
    }

    /// The status of a budget.
    strings BudgetStatus(closed) {
        /// The use is below all limits.
        "ok",
        /// The use is near a limit.
        "warning",
        /// The use has reached a limit.
        "exceeded",
    }

    /// The limit that a budget reached.
    strings BudgetViolationReason(open) {
        /// Limit on the time since the agent started.
        "wall_time",
        /// Limit on input tokens.
        "input_tokens",
        /// Limit on output tokens.
        "output_tokens",
        /// Limit on all tokens.
        "total_tokens",
        /// Limit on cost.
        "cost",
        /// Limit on tool calls.
        "tool_calls",
        /// Limit on subagents.
        "subagents",
    }

    /// The owner of the budget.
    strings BudgetScope(open) {
        /// The budget of the session.
        "session",
        /// The budget of a task.
        "task",
        /// The budget of a subagent.
        "subagent",
    }

    /// The use of a budget.
    record BudgetSnapshot {
        /// Status of the budget.
        status: BudgetStatus,
        /// Time since the agent started, in milliseconds.
        wallTimeMs: Num,
        /// Number of input tokens used.
        inputTokens: Count,
        /// Number of output tokens used.
        outputTokens: Count,
        /// Number of all tokens used.
        totalTokens: Count,
        /// Cost in US dollars.
        costUsd: Num,
        /// Number of tool calls.
        toolCalls: Count,
        /// Number of started subagents.
        subagents: Count,
        /// Limit that the event reports.
        reason: Opt<BudgetViolationReason>,
    }

    /// A budget approaches a limit. Sent once per limit.
    event budget_warning(BudgetWarning {
        /// The owner of the budget.
        scope: BudgetScope,
        /// The use so far.
        snapshot: BudgetSnapshot,
    }) {
        example {
            "type": "budget_warning", "scope": "session",
            "snapshot": {
                "status": "warning", "wallTimeMs": 1200, "inputTokens": 200, "outputTokens": 40, "totalTokens": 240,
                "costUsd": 0.0004, "toolCalls": 0, "subagents": 0, "reason": "input_tokens"
            }
        };
    }

    /// A budget is exhausted: the agent rejects new prompts and subagents. Sent once per scope.
    event budget_exceeded(BudgetExceeded {
        /// The owner of the budget.
        scope: BudgetScope,
        /// The use so far.
        snapshot: BudgetSnapshot,
    }) {
        example {
            "type": "budget_exceeded", "scope": "session",
            "snapshot": {
                "status": "exceeded", "wallTimeMs": 1500, "inputTokens": 300, "outputTokens": 60, "totalTokens": 360,
                "costUsd": 0.0006, "toolCalls": 0, "subagents": 0, "reason": "input_tokens"
            }
        };
    }
}

/// The settings that the document of pisces describes.
pub const SETTINGS: &[Setting] = settings::SETTINGS;

/// The revisions, oldest first.
const REVISIONS: &[Revision] = &[Revision {
    name: "13.18",
    document: "pisces, docs/rpc.md (13.18.0)",
    parent: Some("12.7"),
    edges: omp::EDGES,
    run_end: omp::RUN_END,
    behavior: Behavior::FIRST,
    shows: &[],
    excludes: &[],
    changes: &[],
}];

/// The pisces dialect.
pub const PISCES: Dialect = Dialect {
    name: "pisces",
    revisions: REVISIONS,
    agent: "pisces",
    doc: "The RPC mode of pisces, a fork of omp with task verification and budgets.",
    parent: Some(&omp::OMP),
    without: &[],
    framing: Framing::Flat,
    case: NameCase::Camel,
    events_open: true,
    event_members: &[],
    dialog_frames: omp::DIALOG_FRAMES,
    chunks: None,
    errors: omp::OMP.errors,
    text: pi::TEXT,
    probe_command: "get_state",
    rows: &[ROWS],
    settings: SETTINGS,
    matching: matching::MATCHING,
    meaning: meaning::MEANING,
    intents: crate::intent::Intents::NONE,
};
