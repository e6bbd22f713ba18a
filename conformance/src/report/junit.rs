//! The report as JUnit XML, for servers that show test results.

use agentese::types::{CaseVerdict, CheckOutcome, ReportCase, ReportCheck, SuiteReport};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::text::check_text;
use crate::judge::is_visible;

/// Writes the report as one test suite with a test for each case. Known failures and cases that are not
/// applicable are skipped tests. Inconclusive cases are errors. Each wrong line in the file of expected
/// failures is a further test.
///
/// # Errors
/// Never for a report.
pub fn junit(report: &SuiteReport) -> Result<String, quick_junit::SerializeError> {
    let mut suite = TestSuite::new(format!("{} {}", report.agent, report.dialect));
    for (name, value) in [
        ("profile", report.profile.clone()),
        ("level", report.level.to_string()),
        ("command", report.command.join(" ")),
    ] {
        suite.add_property(Property::new(name, value));
    }
    suite.add_test_cases(report.cases.iter().map(|case| test(report, case)));
    for problem in &report.problems {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(xml(problem));
        suite.add_test_case(TestCase::new("expected failures", status));
    }
    suite.set_time(std::time::Duration::from_millis(report.ms));
    let mut whole = Report::new("agentese-conformance");
    whole.add_test_suite(suite);
    whole.to_string()
}

/// Replaces the two characters that XML does not allow and that the writer does not replace itself.
fn xml(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn test(report: &SuiteReport, case: &ReportCase) -> TestCase {
    let mut test = TestCase::new(case.name.as_str(), status(report, case));
    test.set_classname(report.dialect.as_str());
    if let Some(ms) = case.ms {
        test.set_time(std::time::Duration::from_millis(ms));
    }
    test
}

fn status(report: &SuiteReport, case: &ReportCase) -> TestCaseStatus {
    let (mut status, message, details) = match case.verdict {
        CaseVerdict::Pass | CaseVerdict::Lenient => return TestCaseStatus::success(),
        CaseVerdict::Fail if case.expected == Some(true) => {
            let known = case.checks.iter().filter_map(|check| check.known.as_deref()).next();
            (TestCaseStatus::skipped(), format!("known to fail: {}", known.unwrap_or_default()), None)
        }
        CaseVerdict::Fail => {
            let failed: Vec<&ReportCheck> = failed(report, case).collect();
            let first = failed.first().and_then(|check| check.says.clone()).unwrap_or_default();
            let details = failed.iter().map(|check| check_text(check)).collect::<String>();
            (TestCaseStatus::non_success(NonSuccessKind::Failure), first, Some(details))
        }
        CaseVerdict::Inconclusive => {
            let reason = case.reason.clone().unwrap_or_default();
            (TestCaseStatus::non_success(NonSuccessKind::Error), reason, None)
        }
        CaseVerdict::NotApplicable => {
            (TestCaseStatus::skipped(), case.reason.clone().unwrap_or_default(), None)
        }
    };
    status.set_message(xml(&message));
    if let Some(details) = details {
        status.set_description(xml(&details));
    }
    status
}

fn failed<'a>(report: &SuiteReport, case: &'a ReportCase) -> impl Iterator<Item = &'a ReportCheck> {
    let level = report.level;
    case.checks.iter().filter(move |check| {
        check.outcome == CheckOutcome::Failed && check.known.is_none() && is_visible(check.level, level)
    })
}
