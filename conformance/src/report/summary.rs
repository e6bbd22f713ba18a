//! Summary of a run, as a line and as the declared format `suite-summary`, for a README or a registry of
//! agents.

use agentese::types::{SuiteReport, SuiteSummary, SuiteSummaryBuilder, SummaryShare};

use super::text::shares;

/// Creates the summary of a report.
pub fn summary(report: &SuiteReport) -> SuiteSummary {
    let totals = &report.totals;
    let passed = totals.pass + totals.lenient;
    let share = |wanted: &str| {
        let found = shares(report).into_iter().find(|(plural, ..)| *plural == wanted);
        found.map_or(SummaryShare::new(0, 0), |(_, shown, of)| SummaryShare::new(shown as u64, of as u64))
    };
    SuiteSummaryBuilder {
        summary: 1,
        suite: report.suite.clone(),
        dialect: report.dialect.clone(),
        agent: report.agent.clone(),
        level: report.level,
        passed: report.exit_code == 0,
        cases: SummaryShare::new(passed, report.cases.len() as u64),
        commands: share("commands"),
        events: share("events"),
        dialogs: share("dialogs"),
        known_failures: totals.expected_failure,
    }
    .build()
}

/// Formats the summary in one line.
pub fn line(summary: &SuiteSummary) -> String {
    let outcome = if summary.passed { "passes" } else { "does not pass" };
    let mut text = format!(
        "{} {outcome} {} at level {} (agentese-conformance {}): {} of {} cases, {} of {} commands, {} of {} events",
        summary.agent,
        summary.dialect,
        summary.level,
        summary.suite,
        summary.cases.shown,
        summary.cases.of,
        summary.commands.shown,
        summary.commands.of,
        summary.events.shown,
        summary.events.of,
    );
    if summary.dialogs.of > 0 {
        text += &format!(", {} of {} dialogs", summary.dialogs.shown, summary.dialogs.of);
    }
    if summary.known_failures > 0 {
        text += &format!("; {} known failures", summary.known_failures);
    }
    text
}
