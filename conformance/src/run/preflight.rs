//! Preflight: a few cases are played first. Their results decide if the others are played.

use agentese::types::Scenario;

use super::CaseResult;

/// Number of cases in a preflight round.
const MAX_CASES: usize = 4;

/// Number of preflight rounds. The remaining cases are skipped only if every case of every round times out: a
/// fault that stops the first round does not necessarily affect other cases.
pub(super) const ROUNDS: usize = 2;

/// Returns the indexes of the cases for the next preflight round. They are spread over the remaining cases,
/// because a single fault often affects neighbouring cases. The choice is deterministic. The list is empty if
/// at most [`MAX_CASES`] cases remain.
pub(super) fn preflight_cases(cases: &[Scenario], outcome: &[Option<CaseResult>]) -> Vec<usize> {
    let is_left = |at: &usize| outcome[*at].is_none() && cases[*at].alone != Some(true);
    let left: Vec<usize> = (0..cases.len()).filter(is_left).collect();
    if left.len() <= MAX_CASES {
        return Vec::new();
    }
    (0..MAX_CASES).map(|nth| left[nth * (left.len() - 1) / (MAX_CASES - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn preflight_cases_are_spread_over_the_remaining_cases() {
        let case = |alone: bool| -> Scenario {
            serde_json::from_value(json!({
                "scenario": 1, "name": "c", "dialect": "pi@0.55", "title": "t", "steps": [], "alone": alone,
            }))
            .unwrap()
        };
        let of = |cases: usize| {
            let mut cases: Vec<Scenario> = (0..cases).map(|_| case(false)).collect();
            cases.push(case(true));
            preflight_cases(&cases, &cases.iter().map(|_| None).collect::<Vec<_>>())
        };
        assert_eq!(of(4), Vec::<usize>::new());
        assert_eq!(of(5), [0, 1, 2, 4]);
        assert_eq!(of(100), [0, 33, 66, 99]);
        let cases: Vec<Scenario> = (0..12).map(|_| case(false)).collect();
        let mut outcome: Vec<Option<CaseResult>> = cases.iter().map(|_| None).collect();
        for at in preflight_cases(&cases, &outcome) {
            outcome[at] = Some(CaseResult::not_played(crate::judge::could_not_play(&cases[at], "played")));
        }
        assert_eq!(preflight_cases(&cases, &outcome), [1, 4, 6, 10]);
    }
}
