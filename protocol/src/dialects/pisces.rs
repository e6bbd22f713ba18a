//! pisces, revision 13.18: omp with verified tasks, subagents and budgets.
//!
//! Source: the document "RPC Protocol Reference" of pisces 13.18.0.

use crate::dialect::{Behavior, Case, Dialect, Framing, Revision};
use crate::dialects::{omp, pi};
use crate::dsl::protocol;
use crate::model::Setting;
use crate::typed::{Bool, Count, Int, List, Num, Opt, Str};

pub mod matching;
pub mod meaning;
mod settings;

protocol! {
    /// How a verification ended.
    strings VerificationStatus(open) {
        /// It was not asked for.
        "not_requested",
        /// All required commands succeeded.
        "passed",
        /// A required command failed.
        "failed",
        /// The subagent itself failed, so nothing was verified.
        "skipped",
    }

    /// How an attempt at verification ended.
    strings AttemptStatus(open) {
        /// All required commands succeeded.
        "passed",
        /// A required command failed.
        "failed",
        /// Nothing was verified.
        "skipped",
    }

    /// How an attempt at verification ended, as its event says it.
    strings AttemptOutcome(open) {
        /// All required commands succeeded.
        "passed",
        /// A required command failed.
        "failed",
        /// Nothing was verified.
        "skipped",
        /// The budget was already exhausted.
        "budget_exceeded",
    }

    /// What a verification does.
    strings VerificationMode(open) {
        /// Nothing.
        "none",
        /// It runs commands.
        "command",
    }

    /// How a subagent's changes are handled when verification fails.
    strings FailurePolicy(open) {
        /// They are returned, with exit code 1.
        "return_failure",
        /// The subagent may repair them once.
        "retry_once",
        /// They are thrown away.
        "discard_patch",
    }

    /// One verification command and how it ended.
    record VerificationCommandResult {
        /// The command's name.
        name: Str,
        /// The command line.
        command: Str,
        /// Its exit code; 143 where it was stopped for its time limit.
        exitCode: Int,
        /// The duration in milliseconds.
        durationMs: Num,
        /// True where its failure does not matter.
        optional: Opt<Bool>,
        /// True where it was stopped for its time limit.
        timedOut: Opt<Bool>,
        /// The file with its output.
        artifactPath: Opt<Str>,
        /// The last 20 lines (4 KB) of its output.
        outputPreview: Opt<Str>,
    }

    /// One run over all verification commands.
    record VerificationAttemptResult {
        /// The number of the attempt, from 1.
        attempt: Count,
        /// The outcome.
        status: AttemptStatus,
        /// When it began, in milliseconds since the epoch.
        startedAt: Int,
        /// When it ended, in milliseconds since the epoch.
        endedAt: Int,
        /// The commands in order.
        commandResults: List<VerificationCommandResult>,
        /// The error message.
        error: Opt<Str>,
    }

    /// The verification of a subagent's work.
    record VerificationResult {
        /// Whether it was asked for.
        requested: Bool,
        /// The profile that was used.
        profile: Opt<Str>,
        /// What it did.
        mode: Opt<VerificationMode>,
        /// The outcome.
        status: VerificationStatus,
        /// The attempts in order.
        attempts: List<VerificationAttemptResult>,
        /// The number of repairs tried.
        retriesUsed: Count,
        /// How the changes are handled on failure.
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
        /// Its name.
        name: Str,
        /// The command line, run with `bash -lc` in the worktree.
        command: Str,
        /// Its time limit in milliseconds; none where it is missing.
        timeoutMs: Opt<Count>,
        /// True where its failure does not matter.
        optional: Opt<Bool>,
    }

    /// How a task is verified: a profile of the settings, or the object form of `verify`.
    record TaskVerifyConfig {
        /// The profile to start from.
        profile: Opt<Str>,
        /// What is done.
        mode: Opt<VerificationMode>,
        /// The commands; they replace the profile's.
        commands: Opt<List<VerifyCommand>>,
        /// How the changes are handled on failure.
        onFailure: Opt<FailurePolicy>,
        /// The number of repairs allowed.
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
        /// The task's id, the same for all its events.
        id: Str,
        /// The agent's name.
        agent: Str,
        /// Whether it works in a worktree of its own.
        isolated: Bool,
    }) {
        example {"type": "subagent_start", "id": "0-Alpha", "agent": "task", "isolated": true};
    }

    /// A subagent has ended, and its verification with it.
    event subagent_end(SubagentEnd {
        /// The task's id.
        id: Str,
        /// The agent's name.
        agent: Str,
        /// Its exit code.
        exitCode: Int,
        /// The verification, where one was asked for.
        verification: Opt<VerificationResult>,
    }) {
        example {"type": "subagent_end", "id": "0-Alpha", "agent": "task", "exitCode": 0};
    }

    /// A verification attempt begins.
    event subagent_verification_start(SubagentVerificationStart {
        /// The task's id.
        id: Str,
        /// The number of the attempt, from 1.
        attempt: Count,
        /// The profile, where one is used.
        profile: Opt<Str>,
    }) {
        example {"type": "subagent_verification_start", "id": "0-Alpha", "attempt": 1, "profile": "ci"};
    }

    /// A verification command is about to run.
    event subagent_verification_command_start(SubagentVerificationCommandStart {
        /// The task's id.
        id: Str,
        /// The number of the attempt.
        attempt: Count,
        /// The command's name.
        commandName: Str,
    }) {
        example {"type": "subagent_verification_command_start", "id": "0-Alpha", "attempt": 1, "commandName": "tests"};
    }

    /// A verification command has ended.
    event subagent_verification_command_end(SubagentVerificationCommandEnd {
        /// The task's id.
        id: Str,
        /// The number of the attempt.
        attempt: Count,
        /// The command's name.
        commandName: Str,
        /// Its exit code.
        exitCode: Int,
        /// The duration in milliseconds.
        durationMs: Num,
        /// The file with its output, where it wrote any.
        artifactId: Opt<Str>,
    }) {
        example {
            "type": "subagent_verification_command_end", "id": "0-Alpha", "attempt": 1, "commandName": "tests",
            "exitCode": 0, "durationMs": 950
        };
    }

    /// A verification attempt has ended.
    event subagent_verification_end(SubagentVerificationEnd {
        /// The task's id.
        id: Str,
        /// The number of the attempt.
        attempt: Count,
        /// The outcome.
        status: AttemptOutcome,
    }) {
        example {"type": "subagent_verification_end", "id": "0-Alpha", "attempt": 1, "status": "passed"};
    }

    /// The status of a budget.
    strings BudgetStatus(closed) {
        /// Below all limits.
        "ok",
        /// Near a limit.
        "warning",
        /// At or over a limit.
        "exceeded",
    }

    /// Which limit a budget ran into.
    strings BudgetViolationReason(open) {
        /// Time since the agent started.
        "wall_time",
        /// Input tokens.
        "input_tokens",
        /// Output tokens.
        "output_tokens",
        /// All tokens.
        "total_tokens",
        /// Cost.
        "cost",
        /// Tool calls.
        "tool_calls",
        /// Subagents.
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
        /// The status.
        status: BudgetStatus,
        /// Time since the agent started, in milliseconds.
        wallTimeMs: Num,
        /// Input tokens used.
        inputTokens: Count,
        /// Output tokens used.
        outputTokens: Count,
        /// All tokens used.
        totalTokens: Count,
        /// The cost in US dollars.
        costUsd: Num,
        /// Tool calls made.
        toolCalls: Count,
        /// Subagents started.
        subagents: Count,
        /// The limit that the event is about.
        reason: Opt<BudgetViolationReason>,
    }

    /// A budget nears a limit. Sent once for each dimension.
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

    /// A budget is used up: new prompts and subagents are refused. Sent once for each scope.
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

/// The settings that the document names.
pub const SETTINGS: &[Setting] = settings::SETTINGS;

/// The revisions, the oldest first.
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
    case: Case::Camel,
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
