use crate::suite::Suite;

use super::*;

#[test]
fn a_seed_makes_one_session_and_sessions_differ() {
    let pool = Pool::new(&Suite::embedded(), agentese::dynamic::spec("omp").unwrap()).unwrap();
    let mut last = Vec::new();
    for seed in 1..60 {
        let one = session(&pool, seed, &[]);
        let other = session(&pool, seed, &[]);
        assert_eq!((&one.moves, &one.says), (&other.moves, &other.says), "{seed}");
        assert_ne!(one.moves, last, "{seed}");
        last = one.moves;
    }
}

#[test]
fn a_trick_that_is_left_out_is_not_played() {
    let pool = Pool::new(&Suite::embedded(), agentese::dynamic::spec("pi").unwrap()).unwrap();
    let all: Vec<String> = TRICKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for seed in 0..40 {
        let session = session(&pool, seed, &all);
        assert!(!session.says.contains(','), "{}", session.says);
        assert!(!session.rush && session.manner.pieces == Pieces::Lines);
    }
}

#[test]
fn an_answer_never_comes_before_its_question() {
    for dialect in ["pi", "omp", "pisces", "operator", "opal"] {
        let pool = Pool::new(&Suite::embedded(), agentese::dynamic::spec(dialect).unwrap()).unwrap();
        for seed in 1..80 {
            let made = session(&pool, seed, &[]).moves;
            let ends = made.iter().filter(|step| matches!(step, Move::End(_))).count();
            assert_eq!(ends, 1, "{dialect} {seed}");
            for (at, step) in made.iter().enumerate() {
                let Move::Answer(answer) = step else { continue };
                let asks = |step: &Move| match step {
                    Move::Say(line) => matches!(route(pool.spec, line), Ok(Routed::Dialog { id, .. })
                        if agentese::wire::decode::<Value>(id.as_str()).unwrap() == answer.id),
                    _ => false,
                };
                assert!(made[..at].iter().any(asks), "{dialect} {seed}: {}", answer.id);
            }
        }
    }
}
