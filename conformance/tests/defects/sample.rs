//! A sample of all defects and of all neutral changes: the command has them all.

use agentese_conformance::Suite;
use agentese_conformance::defects::experiment::{Plan, run};
use agentese_conformance::defects::trial::Base;
use agentese_conformance::defects::{mutators, neutrals};

/// How many changes are tried for each dialect: what takes some seconds without optimization.
const TRIALS: usize = 60;

fn bases(dialect: &str, cases: &[&str]) -> Vec<Base> {
    let suite = Suite::embedded();
    let profile = suite.profile(dialect).or_else(|_| suite.profile(&format!("agentese-{dialect}"))).unwrap();
    let base = |case: &&str| Base::golden(&suite, &suite.case(dialect, case).unwrap(), &profile).unwrap();
    cases.iter().map(base).collect()
}

/// 98 of a hundred defects are caught, and every neutral change passes.
fn the_suite_is_good(dialect: &str, cases: &[&str]) {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    eprintln!("{dialect}: seed {seed} (SEED=… for another one)");
    let bases = bases(dialect, cases);
    let plan = |most, only| Plan { sample: 2, most, seed, jobs: 2, only };
    let neutral = neutrals().iter().map(|neutral| neutral.name.to_owned()).collect();
    let defects = mutators().iter().map(|mutator| mutator.name.to_owned()).collect();
    for (plan, least) in [(plan(TRIALS, defects), TRIALS), (plan(0, neutral), cases.len() * 4)] {
        let outcome = run(&Suite::embedded(), &bases, &plan, &|_, _| {}).unwrap();
        let (defects, neutral) = (outcome.all_defects(), outcome.all_neutral());
        eprintln!(
            "{} of {} defects caught, {} of {} neutral changes passed",
            defects.right, defects.tried, neutral.right, neutral.tried
        );
        assert!(defects.tried + neutral.tried >= least, "{defects:?} {neutral:?}");
        assert!(outcome.is_good(), "{:#?}", outcome.wrong);
    }
}

#[test]
fn defects_of_pi_are_caught() {
    the_suite_is_good(
        "pi",
        &["tool-bash-anthropic", "set-model", "ext-ui-two-at-once", "prompt-text-openai"],
    );
}

#[test]
fn the_same_seed_draws_the_same_sample() {
    let bases = bases("pi", &["get-commands-empty"]);
    let plan = Plan { sample: 1, most: 30, seed: 5, jobs: 2, only: Vec::new() };
    let counts = || {
        let outcome = run(&Suite::embedded(), &bases, &plan, &|_, _| {}).unwrap();
        outcome.defects.iter().map(|(name, count)| (*name, count.tried)).collect::<Vec<_>>()
    };
    assert_eq!(counts(), counts());
}
