//! The rules by which events determine the outcome of a run, prepared for the tables of the typed clients.

use agentese_protocol::Index;
use agentese_protocol::meaning::{Condition, Constant, Reducer, Rule, RuleTarget, Source, resolve};

/// A rule by which an event determines the outcome of a run.
#[derive(Debug)]
pub struct OutcomeRule {
    /// The list whose items contain the outcome, if it is in a list.
    pub over: Option<&'static str>,
    /// The conditions, all of which have to hold.
    pub when: &'static [Condition],
    /// The outcome: `failed`, `aborted`, `retried` or `fine`. `value_outcomes` overrides it.
    pub outcome: &'static str,
    /// A member whose value determines the outcome, and the outcome for each value.
    pub value_outcomes: Option<(&'static str, Vec<(&'static str, &'static str)>)>,
    /// The paths of the members that may contain the reason of a failure.
    pub message: Vec<&'static str>,
    /// The reason, if the event does not contain one.
    pub text: &'static str,
    /// The paths of the members that may contain the code of a failure.
    pub code: Vec<&'static str>,
    /// `true` if the same prompt may succeed.
    pub retryable: bool,
}

/// Returns the rules of an event, in the order of the declaration.
pub fn of_event(index: &Index, event: &str) -> Vec<OutcomeRule> {
    let rules = resolve(index).rules;
    let is_it = |rule: &&Rule| {
        rule.reducer == Reducer::Outcome && matches!(rule.on, RuleTarget::Event(name) if name == event)
    };
    rules.iter().filter(is_it).map(outcome).collect()
}

/// Splits a path into its names.
pub fn parts(path: &str) -> Vec<&str> {
    path.split('.').filter(|name| !name.is_empty()).collect()
}

fn outcome(rule: &Rule) -> OutcomeRule {
    let mut outcome = OutcomeRule {
        over: rule.over,
        when: rule.when,
        outcome: "fine",
        value_outcomes: None,
        message: Vec::new(),
        text: "",
        code: Vec::new(),
        retryable: false,
    };
    for (slot, source) in rule.bindings {
        match (*slot, source) {
            ("told", Source::Is(Constant::Text(name))) => outcome.outcome = name,
            ("told", Source::Map(path, words)) => {
                let word = |(word, name): &(&'static str, Constant)| match name {
                    Constant::Text(name) => (*word, *name),
                    other => panic!("unsupported value of `told`: {other:?}"),
                };
                outcome.value_outcomes = Some((path, words.iter().map(word).collect()));
            }
            ("message", Source::Is(Constant::Text(text))) => outcome.text = text,
            ("message", source) => outcome.message = paths(source),
            ("code", source) => outcome.code = paths(source),
            ("retryable", Source::Is(Constant::Flag(flag))) => outcome.retryable = *flag,
            other => panic!("clients cannot read {other:?}"),
        }
    }
    outcome
}

fn paths(source: &Source) -> Vec<&'static str> {
    match source {
        Source::At(path) => vec![path],
        Source::First(sources) => sources.iter().flat_map(paths).collect(),
        other => panic!("clients cannot read {other:?}"),
    }
}
