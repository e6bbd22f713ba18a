//! Tests of a sample of all defects and neutral changes. The program itself tries all of them.

use std::collections::BTreeMap;

use agentese_conformance::Suite;
use agentese_conformance_defects::baseline::Baseline;
use agentese_conformance_defects::experiment::{Outcome, Plan, run};
use agentese_conformance_defects::{mutators, neutrals};

/// Number of changes for each dialect, so that an unoptimised test takes some seconds.
const TRIALS: usize = 40;

fn bases(dialect: &str, cases: &[&str]) -> Vec<Baseline> {
    let suite = Suite::embedded();
    let profile = suite.profile(dialect).or_else(|_| suite.profile(&format!("agentese-{dialect}"))).unwrap();
    let base = |case: &&str| Baseline::golden(&suite, &suite.case(dialect, case).unwrap(), &profile).unwrap();
    cases.iter().map(base).collect()
}

/// Short cases of each dialect. Some have growing messages, questions, times and generated ids.
const CASES: &[(&str, &[&str])] = &[
    ("pi", &["tool-bash-anthropic", "set-model", "ext-ui-two-at-once", "prompt-text-openai"]),
    ("omp", &["prompt_text", "ext_dialogs", "set_model", "bash"]),
    ("pisces", &["budget_jump", "verify_named_profile", "budget_wall_time"]),
    ("operator", &["d01_prompt_answered_at_completion", "d03_commands", "d04_busy_and_abort"]),
    ("opal", &["05_tool_read", "12_ask_user", "16_resume", "32_unknown_session"]),
];

/// Returns the outcome of a sample in a dialect.
fn tried(dialect: &str, most: usize, only: Vec<String>) -> Outcome {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    let (_, cases) = CASES.iter().find(|(name, _)| *name == dialect).unwrap();
    let plan = Plan { sample: 2, most, seed, jobs: 2, only };
    let outcome = run(&Suite::embedded(), &bases(dialect, cases), &plan, &|_, _| {}).unwrap();
    eprintln!("{dialect}: seed {seed} (SEED=… for another one)");
    outcome
}

/// Checks that the suite catches at least 98 % of the defects.
fn defects_are_caught(dialect: &str) {
    let defects = mutators().iter().map(|mutator| mutator.name.to_owned()).collect();
    let outcome = tried(dialect, TRIALS, defects);
    assert_eq!(outcome.all_defects().tried, TRIALS);
    assert!(outcome.is_good(), "{dialect}: {:#?}", outcome.wrong);
}

#[test]
fn defects_of_pi_are_caught() {
    defects_are_caught("pi");
}

#[test]
fn defects_of_omp_are_caught() {
    defects_are_caught("omp");
}

#[test]
fn defects_of_pisces_are_caught() {
    defects_are_caught("pisces");
}

#[test]
fn defects_of_operator_are_caught() {
    defects_are_caught("operator");
}

#[test]
fn defects_of_opal_are_caught() {
    defects_are_caught("opal");
}

#[test]
fn every_neutral_change_passes_in_every_dialect_and_is_tried_in_some() {
    let names: Vec<String> = neutrals().iter().map(|neutral| neutral.name.to_owned()).collect();
    let mut times: BTreeMap<String, usize> = names.iter().map(|name| (name.clone(), 0)).collect();
    for (dialect, cases) in CASES {
        let outcome = tried(dialect, 0, names.clone());
        assert!(outcome.all_neutral().tried >= cases.len() * 4, "{dialect}: {:?}", outcome.neutral);
        assert!(outcome.is_good(), "{dialect}: {:#?}", outcome.wrong);
        for (name, count) in outcome.neutral {
            *times.get_mut(name).unwrap() += count.tried;
        }
    }
    assert!(times.values().all(|times| *times > 0), "{times:?}");
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
