use crate::suite::Suite;

use super::*;

#[test]
fn a_seed_makes_one_session_and_sessions_differ() {
    let pool = Pool::new(&Suite::embedded(), agentese::dynamic::spec("omp").unwrap()).unwrap();
    let mut last = Vec::new();
    for seed in 1..60 {
        let one = session(&pool, seed, &[]);
        let other = session(&pool, seed, &[]);
        assert_eq!((&one.actions, &one.description), (&other.actions, &other.description), "{seed}");
        assert_ne!(one.actions, last, "{seed}");
        last = one.actions;
    }
}

#[test]
fn a_trick_that_is_left_out_is_not_played() {
    let pool = Pool::new(&Suite::embedded(), agentese::dynamic::spec("pi").unwrap()).unwrap();
    let all: Vec<String> = TRICKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for seed in 0..40 {
        let session = session(&pool, seed, &all);
        assert!(!session.description.contains(','), "{}", session.description);
        assert!(!session.rush && session.encoder.boundaries == WriteBoundaries::Lines);
    }
}

#[test]
fn an_answer_never_comes_before_its_question() {
    for dialect in ["pi", "omp", "pisces", "operator", "opal"] {
        let pool = Pool::new(&Suite::embedded(), agentese::dynamic::spec(dialect).unwrap()).unwrap();
        for seed in 1..80 {
            let made = session(&pool, seed, &[]).actions;
            let ends = made.iter().filter(|step| matches!(step, PlannedAction::End(_))).count();
            assert_eq!(ends, 1, "{dialect} {seed}");
            for (at, step) in made.iter().enumerate() {
                let PlannedAction::Answer(answer) = step else { continue };
                let asks = |step: &PlannedAction| match step {
                    PlannedAction::SendLine(line) => {
                        matches!(route(pool.spec, line), Ok(RoutedFrame::Dialog { id, .. })
                        if agentese::wire::decode::<Value>(id.as_str()).unwrap() == answer.id)
                    }
                    _ => false,
                };
                assert!(made[..at].iter().any(asks), "{dialect} {seed}: {}", answer.id);
            }
        }
    }
}
