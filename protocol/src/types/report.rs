//! The report of the conformance suite.

use super::formats::Direction;
use super::suite::CheckLevel;
use crate::dsl::protocol;
use crate::typed::{Bool, Count, List, Opt, Str};

protocol! {
    /// What is said of a case as a whole.
    strings CaseVerdict(closed) {
        /// Every check that counts holds.
        "pass",
        /// Every check that counts holds, some only by an allowance that is named.
        "lenient",
        /// A check that counts does not hold.
        "fail",
        /// The case could not be judged: the agent did not start, or the suite itself failed.
        "inconclusive",
        /// The profile says that the agent does not have what the case is about.
        "not_applicable",
    }

    /// What came of a check.
    strings CheckOutcome(closed) {
        /// It holds.
        "held",
        /// It holds by an allowance.
        "allowed",
        /// It does not hold.
        "failed",
        /// It could not be made.
        "unclear",
    }

    /// A line of a transcript, as a report shows it.
    record ReportFrame {
        /// Its place among the lines and events of its transcript, from 0.
        record: Count,
        /// Which way it went.
        dir: Direction,
        /// The line; of a long one, its beginning and how many bytes it has.
        line: Str,
        ;
        example {"record": 4, "dir": "s2c", "line": "{\"type\":\"agent_start\"}"}
    }

    /// What came of a check in a case.
    record ReportCheck {
        /// The check.
        check: Str,
        /// How much it weighs.
        level: CheckLevel,
        /// What came of it.
        outcome: CheckOutcome,
        /// What differs, in words; missing where it holds.
        says: Opt<Str>,
        /// The name of the allowance by which it holds.
        allowance: Opt<Str>,
        /// Where in the frame it differs; missing where it is the frame as a whole.
        path: Opt<Str>,
        /// The frame that was expected, of the golden transcript.
        expected: Opt<ReportFrame>,
        /// The frame that came.
        found: Opt<ReportFrame>,
        /// The frames that came before it, oldest first.
        before: Opt<List<ReportFrame>>,
        /// Why it is known to fail, where the file of expected failures has it.
        known: Opt<Str>,
        ;
        example {"check": "exit", "level": "should", "outcome": "failed", "says": "exit code 1, expected 0"}
    }

    /// What came of a case.
    record ReportCase {
        /// The case.
        name: Str,
        /// What it shows.
        title: Str,
        /// How much a failure weighs.
        level: CheckLevel,
        /// What is said of it.
        verdict: CaseVerdict,
        /// Whether all that fails in it is known to fail.
        expected: Opt<Bool>,
        /// Why it is inconclusive or not applicable.
        reason: Opt<Str>,
        /// How long it took, in milliseconds; missing where it was not played.
        ms: Opt<Count>,
        /// How many frames of the agent were compared.
        frames: Count,
        /// How many of them are as expected.
        agreed: Count,
        /// What of the dialect it covers.
        covers: List<Str>,
        /// The checks that were made. Those that hold say nothing more.
        checks: List<ReportCheck>,
        ;
        example {
            "name": "bash-basic", "title": "a command and its output", "level": "must", "verdict": "pass", "ms": 812,
            "frames": 6, "agreed": 6, "covers": ["command bash"],
            "checks": [{"check": "exit", "level": "should", "outcome": "held"}]
        }
    }

    /// How many cases came to which verdict.
    record ReportTotals {
        /// Every check that counts holds.
        pass: Count,
        /// As `pass`, by allowances.
        lenient: Count,
        /// Failures that were not expected.
        fail: Count,
        /// Failures that are known.
        expected_failure: Count,
        /// Cases that could not be judged.
        inconclusive: Count,
        /// Cases that are none for this agent.
        not_applicable: Count,
        ;
        example {"pass": 80, "lenient": 4, "fail": 0, "expected_failure": 2, "inconclusive": 0, "not_applicable": 17}
    }

    /// What the suite says of an agent.
    record SuiteReport {
        /// The format's version, 1.
        report: Count,
        /// The suite's version.
        suite: Str,
        /// The dialect, with its revision.
        dialect: Str,
        /// The profile.
        profile: Str,
        /// The agent.
        agent: Str,
        /// The command line of the agent, without what a case adds.
        command: List<Str>,
        /// The least level of the checks that count.
        level: CheckLevel,
        /// How long the run took, in milliseconds.
        ms: Count,
        /// The program's exit code.
        exit_code: Count,
        /// Whether the run was interrupted.
        interrupted: Opt<Bool>,
        /// How many cases came to which verdict.
        totals: ReportTotals,
        /// What is wrong with the run as a whole, lines of the file of expected failures among it.
        problems: List<Str>,
        /// What is worth knowing of the run as a whole: that little was judged, which commands no case exercised.
        notes: Opt<List<Str>>,
        /// The cases, in order of their names.
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

    /// How many of something cases that pass have shown.
    record SummaryShare {
        /// So many.
        shown: Count,
        /// Of so many.
        of: Count,
        ;
        example {"shown": 27, "of": 29}
    }

    /// What a run came to, for a README or a registry.
    record SuiteSummary {
        /// The format's version, 1.
        summary: Count,
        /// The suite's version.
        suite: Str,
        /// The dialect, with its revision.
        dialect: Str,
        /// The agent.
        agent: Str,
        /// The least level of the checks that counted.
        level: CheckLevel,
        /// Whether the run ended with exit code 0.
        passed: Bool,
        /// How many cases passed, known failures not among them.
        cases: SummaryShare,
        /// Commands of the dialect.
        commands: SummaryShare,
        /// Events of the dialect.
        events: SummaryShare,
        /// Dialogs of the dialect.
        dialogs: SummaryShare,
        /// How many cases fail in ways that are known and explained.
        known_failures: Count,
        ;
        example {
            "summary": 1, "suite": "0.1.0", "dialect": "pi@0.55", "agent": "agentese", "level": "should", "passed": true,
            "cases": {"shown": 115, "of": 117}, "commands": {"shown": 29, "of": 29}, "events": {"shown": 16, "of": 16},
            "dialogs": {"shown": 9, "of": 9}, "known_failures": 2
        }
    }
}
