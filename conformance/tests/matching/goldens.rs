//! Tests that golden transcripts agree with themselves, and with other recordings of the same agent.

use agentese::types::CheckLevel;
use agentese_conformance::Suite;
use agentese_conformance::matching::{Choices, Comparison, checks, compare};
use agentese_conformance::verdict::Outcome;

use crate::support::{DIALECTS, failure_lines, failures, rules};

#[test]
fn each_golden_transcript_agrees_with_itself_without_any_allowance() {
    let suite = Suite::embedded();
    let mut count = 0;
    for dialect in DIALECTS {
        for case in suite.cases(dialect).unwrap() {
            let Some(golden) = suite.golden(dialect, &case.name).unwrap() else { continue };
            for same_agent in [false, true] {
                let comparison = Comparison {
                    golden: &golden,
                    alternatives: &[],
                    observed: &golden,
                    case: &case,
                    same_agent,
                    choices: &Choices::default(),
                };
                let compared = compare(rules(dialect), &comparison);
                assert_eq!(compared.agreed, compared.frames, "{dialect}/{}", case.name);
                for finding in &compared.findings {
                    assert_eq!(finding.outcome, Outcome::Held, "{dialect}/{}: {}", case.name, finding.check);
                }
                let names: Vec<&str> =
                    compared.findings.iter().map(|finding| finding.check.as_str()).collect();
                assert_eq!(names, checks::ALL, "{dialect}/{}", case.name);
            }
            count += 1;
        }
    }
    assert!(count > 240, "only {count} golden transcripts");
}

#[test]
fn the_best_fitting_golden_transcript_is_used() {
    let suite = Suite::embedded();
    let mut count = 0;
    for case in suite.cases("pi").unwrap() {
        let Some(other) = suite.alternative("pi", &case.name).unwrap() else { continue };
        let golden = suite.golden("pi", &case.name).unwrap().unwrap();
        let others = [other];
        let of = |alternatives: &[_]| {
            let comparison = Comparison {
                golden: &golden,
                alternatives,
                observed: &others[0],
                case: &case,
                same_agent: true,
                choices: &Choices::default(),
            };
            compare(rules("pi"), &comparison)
        };
        assert_eq!(failure_lines(&of(&others)), Vec::<String>::new(), "{}", case.name);
        count += 1;
    }
    assert!(count >= 4, "only {count} alternatives");
}

/// The golden transcript of another case must fail; otherwise the comparison would prove nothing.
#[test]
fn another_case_s_transcript_fails() {
    let suite = Suite::embedded();
    for dialect in DIALECTS {
        let cases = suite.cases(dialect).unwrap();
        let goldens: Vec<_> = cases
            .iter()
            .filter_map(|case| Some((case, suite.golden(dialect, &case.name).unwrap()?)))
            .collect();
        for pair in goldens.windows(2) {
            let [(case, golden), (other, observed)] = pair else { continue };
            let mut case = (*case).clone();
            case.allow = None;
            let case = &case;
            let comparison = Comparison {
                golden,
                alternatives: &[],
                observed,
                case,
                same_agent: false,
                choices: &Choices::default(),
            };
            let compared = compare(rules(dialect), &comparison);
            let weighty = failures(&compared).iter().any(|finding| finding.level != CheckLevel::Info);
            // In two cases the start of the agent fails, so it sends nothing.
            let silent =
                |transcript: &agentese_conformance::Transcript| transcript.received().next().is_none();
            assert!(
                weighty || silent(golden) && silent(observed),
                "{dialect}: {} as {}",
                other.name,
                case.name
            );
        }
    }
}
