//! The report of the conformance suite.

use super::formats::Direction;
use super::suite::CheckLevel;
use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Opt, Str};

protocol! {
    /// The verdict about a case as a whole.
    strings CaseVerdict(closed) {
        /// All relevant checks hold.
        "pass",
        /// All relevant checks hold, some of them by a named allowance.
        "lenient",
        /// A relevant check does not hold.
        "fail",
        /// The case could not be judged: the agent did not start, or the suite itself failed.
        "inconclusive",
        /// The profile does not claim the subject of the case.
        "not_applicable",
    }

    /// The outcome of a check.
    strings CheckOutcome(closed) {
        /// The check holds.
        "held",
        /// The check holds by an allowance.
        "allowed",
        /// The check does not hold.
        "failed",
        /// The check could not be performed.
        "unclear",
    }

    /// A line of a transcript in a report.
    record ReportFrame {
        /// Index among the lines and events of the transcript, from 0.
        record: Count,
        /// Direction of the line.
        dir: Direction,
        /// The line; of a long line, its beginning and its number of bytes.
        line: Str,
        ;
        example {"record": 4, "dir": "s2c", "line": "{\"type\":\"agent_start\"}"}
    }

    /// The outcome of a check in a case.
    record ReportCheck {
        /// Name of the check.
        check: Str,
        /// Level of the check.
        level: CheckLevel,
        /// Outcome of the check.
        outcome: CheckOutcome,
        /// Description of the difference; absent if the check holds.
        says: Opt<Str>,
        /// Name of the allowance by which the check holds.
        allowance: Opt<Str>,
        /// Path of the difference in the frame; absent if it concerns the whole frame.
        path: Opt<Str>,
        /// Expected frame of the golden transcript.
        expected: Opt<ReportFrame>,
        /// Actual frame of the agent.
        found: Opt<ReportFrame>,
        /// Frames before the actual frame, oldest first.
        before: Opt<List<ReportFrame>>,
        /// Reason from the file of expected failures, if the file lists the check.
        known: Opt<Str>,
        ;
        example {"check": "exit", "level": "should", "outcome": "failed", "says": "exit code 1, expected 0"}
    }

    /// The outcome of a case.
    record ReportCase {
        /// Name of the case.
        name: Str,
        /// Title of the case.
        title: Str,
        /// Level of the case.
        level: CheckLevel,
        /// Verdict of the case.
        verdict: CaseVerdict,
        /// `true` if all failures of the case are known.
        expected: Opt<Bool>,
        /// Reason for a verdict of inconclusive or not applicable.
        reason: Opt<Str>,
        /// Duration of the case in milliseconds; absent if it was not played.
        ms: Opt<Count>,
        /// Number of compared frames of the agent.
        frames: Count,
        /// Number of compared frames that are as expected.
        agreed: Count,
        /// Parts of the dialect that the case covers.
        covers: List<Str>,
        /// Performed checks. A check that holds has no further members.
        checks: List<ReportCheck>,
        ;
        example {
            "name": "bash-basic", "title": "a command and its output", "level": "must", "verdict": "pass", "ms": 812,
            "frames": 6, "agreed": 6, "covers": ["command bash"],
            "checks": [{"check": "exit", "level": "should", "outcome": "held"}]
        }
    }

    /// The number of cases for each verdict.
    record ReportTotals {
        /// Cases in which all relevant checks hold.
        pass: Count,
        /// Cases in which all relevant checks hold, some by an allowance.
        lenient: Count,
        /// Cases with unexpected failures.
        fail: Count,
        /// Cases with known failures only.
        expected_failure: Count,
        /// Cases that could not be judged.
        inconclusive: Count,
        /// Cases that do not apply to the agent.
        not_applicable: Count,
        ;
        example {"pass": 80, "lenient": 4, "fail": 0, "expected_failure": 2, "inconclusive": 0, "not_applicable": 17}
    }

    /// The report of the suite about an agent.
    record SuiteReport {
        /// Version of the format, 1.
        report: Count,
        /// Version of the suite.
        suite: Str,
        /// Name of the dialect, with its revision.
        dialect: Str,
        /// Name of the profile.
        profile: Str,
        /// Name of the agent.
        agent: Str,
        /// Command line of the agent, without additions of a case.
        command: List<Str>,
        /// Lowest level of the relevant checks.
        level: CheckLevel,
        /// Duration of the run in milliseconds.
        ms: Count,
        /// Exit code of the program.
        exit_code: Count,
        /// `true` if the run was interrupted.
        interrupted: Opt<Bool>,
        /// Number of cases for each verdict.
        totals: ReportTotals,
        /// Problems of the run as a whole, including outdated and invalid lines of the file of expected failures.
        problems: List<Str>,
        /// Notes about the run as a whole, for example few judged cases or commands that no case exercised.
        notes: Opt<List<Str>>,
        /// The cases in the order of their names.
        cases: List<ReportCase>,
        ;
        example {
            "report": 1, "suite": "0.1.0", "dialect": "pi@0.55", "profile": "agentese-pi", "agent": "agentese",
            "command": ["agentese", "--mode", "rpc"], "level": "should", "ms": 51200, "exit_code": 0,
            "totals": {
                "pass": 1, "lenient": 0, "fail": 0, "expected_failure": 0, "inconclusive": 0, "not_applicable": 0
            },
            "problems": [],
            "cases": [{
                "name": "bash-basic", "title": "a command and its output", "level": "must", "verdict": "pass", "ms": 812,
                "frames": 6, "agreed": 6, "covers": ["command bash"],
                "checks": [{"check": "exit", "level": "should", "outcome": "held"}]
            }]
        }
    }

    /// A share of the dialect's parts or of the cases that passing cases demonstrate.
    record SummaryShare {
        /// Number of demonstrated parts.
        shown: Count,
        /// Total number of parts.
        of: Count,
        ;
        example {"shown": 27, "of": 29}
    }

    /// The summary of a run, for a README or a registry.
    record SuiteSummary {
        /// Version of the format, 1.
        summary: Count,
        /// Version of the suite.
        suite: Str,
        /// Name of the dialect, with its revision.
        dialect: Str,
        /// Name of the agent.
        agent: Str,
        /// Lowest level of the relevant checks.
        level: CheckLevel,
        /// `true` if the run ended with exit code 0.
        passed: Bool,
        /// Share of cases that passed, without known failures.
        cases: SummaryShare,
        /// Share of the dialect's commands.
        commands: SummaryShare,
        /// Share of the dialect's events.
        events: SummaryShare,
        /// Share of the dialect's dialogs.
        dialogs: SummaryShare,
        /// Number of cases with known and explained failures.
        known_failures: Count,
        ;
        example {
            "summary": 1, "suite": "0.1.0", "dialect": "pi@0.55", "agent": "agentese", "level": "should", "passed": true,
            "cases": {"shown": 115, "of": 117}, "commands": {"shown": 29, "of": 29}, "events": {"shown": 16, "of": 16},
            "dialogs": {"shown": 9, "of": 9}, "known_failures": 2
        }
    }
}
