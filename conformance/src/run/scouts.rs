//! Scouts: cases that are played first, to decide if the rest is worth playing.

use agentese::types::Scenario;

use super::Ran;

/// Number of scouts in a round.
const MOST: usize = 4;

/// Number of rounds before the rest is given up: a fault of the first scouts may not affect others.
pub(super) const ROUNDS: usize = 2;

/// Returns the indexes of the scouts. They are spread over all cases, so that a single fault does not affect
/// all of them. The same set of cases has the same scouts. The list is empty if there are at most [`MOST`]
/// cases.
pub(super) fn chosen(cases: &[Scenario], outcome: &[Option<Ran>]) -> Vec<usize> {
    let is_left = |at: &usize| outcome[*at].is_none() && cases[*at].alone != Some(true);
    let left: Vec<usize> = (0..cases.len()).filter(is_left).collect();
    if left.len() <= MOST {
        return Vec::new();
    }
    (0..MOST).map(|nth| left[nth * (left.len() - 1) / (MOST - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn they_are_spread_over_what_is_left() {
        let case = |alone: bool| -> Scenario {
            serde_json::from_value(json!({
                "scenario": 1, "name": "c", "dialect": "pi@0.55", "title": "t", "steps": [], "alone": alone,
            }))
            .unwrap()
        };
        let of = |cases: usize| {
            let mut cases: Vec<Scenario> = (0..cases).map(|_| case(false)).collect();
            cases.push(case(true));
            chosen(&cases, &cases.iter().map(|_| None).collect::<Vec<_>>())
        };
        assert_eq!(of(4), Vec::<usize>::new());
        assert_eq!(of(5), [0, 1, 2, 4]);
        assert_eq!(of(100), [0, 33, 66, 99]);
        let cases: Vec<Scenario> = (0..12).map(|_| case(false)).collect();
        let mut outcome: Vec<Option<Ran>> = cases.iter().map(|_| None).collect();
        for at in chosen(&cases, &outcome) {
            outcome[at] = Some(Ran::set_aside(crate::judge::could_not_play(&cases[at], "played")));
        }
        assert_eq!(chosen(&cases, &outcome), [1, 4, 6, 10]);
    }
}
