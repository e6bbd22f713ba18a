//! The meaning of a dialect with its inheritance resolved.

use super::{Case, Constant, Meaning, Reader, Reducer, Rule, RuleTarget, Source};
use crate::index::Index;
use crate::model::{RunEffect, RunRole};

/// The meaning of a dialect's frames, including inherited rules and rules derived from the rows.
#[derive(Debug)]
pub struct ResolvedMeaning {
    /// Readers with their cases.
    pub readers: Vec<(Reader, Vec<Case>)>,
    /// Rules, derived rules first.
    pub rules: Vec<Rule>,
    /// Rows that need no rule.
    pub silent: Vec<RuleTarget>,
    /// Commands for a view that starts late: their answers contain the state that the view has missed.
    pub asks: Vec<&'static str>,
}

const OFF: &[super::Binding] = &[("on", Source::Is(Constant::Flag(false)))];
const ON: &[super::Binding] = &[("on", Source::Is(Constant::Flag(true)))];

const OVER: &[super::Binding] = &[("over", Source::Is(Constant::Flag(true)))];

/// Resolves the meaning of a dialect's frames, for all its revisions.
pub fn resolve(index: &Index) -> ResolvedMeaning {
    let mut lineage = vec![index.dialect];
    while let Some(parent) = lineage.last().and_then(|dialect| dialect.parent) {
        lineage.push(parent);
    }
    let mut resolved =
        ResolvedMeaning { readers: Vec::new(), rules: of_rows(index), silent: Vec::new(), asks: Vec::new() };
    let mut declared: Vec<Rule> = Vec::new();
    for dialect in lineage.iter().rev() {
        let Meaning { readers, rules, silent, asks } = dialect.meaning;
        for reader in readers {
            take_reader(&mut resolved.readers, reader);
        }
        declared.retain(|rule| !rules.iter().any(|own| own.on == rule.on) && !silent.contains(&rule.on));
        declared.extend(rules);
        resolved.silent.retain(|on| !rules.iter().any(|own| own.on == *on));
        resolved.silent.extend(silent);
        if !asks.is_empty() {
            resolved.asks = asks.to_vec();
        }
    }
    // A dialect's own rules about the end of a run replace the derived ones.
    let own = |rule: &Rule| declared.iter().any(|more| more.on == rule.on && more.reducer == Reducer::Work);
    resolved.rules.retain(|rule| rule.reducer != Reducer::Work || !own(rule));
    resolved.rules.extend(declared);
    // The outcome of a run is known before its end.
    resolved.rules.sort_by_key(|rule| rule.reducer != Reducer::Outcome);
    resolved.rules.retain(|rule| has(index, rule.on));
    resolved.silent.retain(|on| has(index, *on));
    resolved.silent.dedup();
    resolved
}

/// Derives the rules about runs from the rows.
fn of_rows(index: &Index) -> Vec<Rule> {
    let mut rules = Vec::new();
    for event in &index.events {
        let on = RuleTarget::Event(event.name);
        let rule = Rule { on, when: &[], reducer: Reducer::Work, bindings: OFF, over: None };
        match event.run {
            RunEffect::None | RunEffect::Holds | RunEffect::HoldsIf(_) => {}
            RunEffect::Begins => rules.push(Rule { bindings: ON, ..rule }),
            RunEffect::MayEnd | RunEffect::Ends => rules.push(rule),
            RunEffect::MayEndIf(member) => {
                let when: &'static [super::Condition] =
                    Box::leak(Box::new([super::Condition::Not(member, "false")]));
                rules.push(rule.when(when));
            }
            RunEffect::MayEndUnless(member) => {
                let when: &'static [super::Condition] =
                    Box::leak(Box::new([super::Condition::Not(member, "true")]));
                rules.push(rule.when(when));
            }
        }
    }
    for command in &index.commands {
        match command.run {
            RunRole::Stops => {
                let rule = Rule {
                    on: RuleTarget::Sent(command.wire),
                    when: &[],
                    reducer: Reducer::Abort,
                    bindings: &[],
                    over: None,
                };
                rules.push(rule);
                rules.push(Rule { on: RuleTarget::Answer(command.wire), bindings: OVER, ..rule });
                rules.push(Rule { on: RuleTarget::Refused(command.wire), bindings: OVER, ..rule });
            }
            RunRole::Starts if index.revision.run_end.answer_ends => {
                rules.push(Rule {
                    on: RuleTarget::Answer(command.wire),
                    when: &[],
                    reducer: Reducer::Work,
                    bindings: OFF,
                    over: None,
                });
                rules.push(Rule {
                    on: RuleTarget::Refused(command.wire),
                    when: &[],
                    reducer: Reducer::Work,
                    bindings: OFF,
                    over: None,
                });
            }
            _ => {}
        }
    }
    for dialog in &index.dialogs {
        if let Some(member) = dialog.withdraws {
            let bindings: &'static [super::Binding] = Box::leak(Box::new([("id", Source::At(member))]));
            rules.push(Rule {
                on: RuleTarget::Dialog(dialog.wire),
                when: &[],
                reducer: Reducer::Withdraw,
                bindings,
                over: None,
            });
        }
    }
    rules
}

/// Returns `true` if the dialect has the row.
fn has(index: &Index, on: RuleTarget) -> bool {
    match on {
        RuleTarget::Event(name) => index.events.iter().any(|event| event.name == name),
        RuleTarget::Sent(name) | RuleTarget::Answer(name) | RuleTarget::Refused(name) => {
            index.commands.iter().any(|command| command.wire == name)
        }
        RuleTarget::Dialog(name) => index.dialogs.iter().any(|dialog| dialog.wire == name),
    }
}

/// Adds a reader. If a reader with the same name exists, the new cases replace its cases with the same tag.
fn take_reader(readers: &mut Vec<(Reader, Vec<Case>)>, reader: &Reader) {
    match readers.iter_mut().find(|(known, _)| known.name == reader.name) {
        None => readers.push((*reader, reader.cases.to_vec())),
        Some((_, cases)) => {
            cases.retain(|known| !reader.cases.iter().any(|own| own.tag == known.tag));
            cases.extend(reader.cases);
        }
    }
}
