//! Search for an allowance of the dialect that permits a difference between two values.

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value;

use super::place::{DifferenceKind, Place};
use super::rules::Rules;
use super::tables::{AllowanceScope, Form};

/// Finds an allowance that permits a difference.
#[derive(Debug, Default)]
pub(super) struct AllowanceFinder {
    /// Members that an earlier allowed difference affects, with the allowance. The flag is `true` if the
    /// effect lasts until a command replaces the session or the conversation.
    tainted: HashMap<&'static str, (&'static str, bool)>,
    endings: HashMap<&'static str, Option<Regex>>,
}

impl AllowanceFinder {
    /// Permits later differences in these members, because they are consequences of an allowed difference.
    pub(super) fn taint(&mut self, members: &[&'static str], allowance: &'static str, until_replaced: bool) {
        for member in members {
            self.tainted.entry(member).or_insert((allowance, until_replaced));
        }
    }

    /// Ends all effects that last until a command replaces the session or the conversation.
    pub(super) fn clear_replaced(&mut self) {
        self.tainted.retain(|_, (_, until_replaced)| !*until_replaced);
    }

    /// Ends all other effects on these members.
    pub(super) fn clear(&mut self, members: &[&'static str]) {
        self.tainted.retain(|member, (_, until_replaced)| *until_replaced || !members.contains(member));
    }

    /// Returns the allowance of an earlier difference that affects the member.
    pub(super) fn tainted(&self, member: &str) -> Option<&'static str> {
        self.tainted.get(member).map(|(allowance, _)| *allowance)
    }

    pub(super) fn find(
        &mut self,
        rules: &Rules,
        place: Place<'_>,
        declared: bool,
        kind: DifferenceKind<'_>,
    ) -> Option<&'static str> {
        if let Some(allowance) = self.tainted(place.member) {
            return Some(allowance);
        }
        let mut all = rules.allowances().filter(|allowance| allowance.scope == AllowanceScope::Everywhere);
        let found = all.find(|allowance| self.holds(&allowance.form, place, declared, kind));
        found.map(|allowance| allowance.name)
    }

    fn holds(
        &mut self,
        form: &'static Form,
        place: Place<'_>,
        declared: bool,
        kind: DifferenceKind<'_>,
    ) -> bool {
        let here = |record: &str, member: &str| record == place.record && member == place.member;
        let among = |members: &[(&str, &str)]| members.iter().any(|(record, member)| here(record, member));
        match form {
            Form::NullOrAbsent(members) => {
                among(members) && matches!(kind, DifferenceKind::Missing(Value::Null) | DifferenceKind::Extra(Value::Null))
            }
            Form::Empty(members) => among(members) && is_empty(kind),
            Form::LeftOut(members) => among(members) && matches!(kind, DifferenceKind::Missing(_)),
            Form::Added(rows) => rows.iter().any(|(record, member, value)| {
                here(record, member) && matches!(kind, DifferenceKind::Extra(found) if equals_json(found, value))
            }),
            Form::AddedWhere(rows) => rows.iter().any(|(record, member, flag)| {
                here(record, member)
                    && matches!(kind, DifferenceKind::Extra(Value::String(_)))
                    && both_true(place, flag)
            }),
            Form::Undeclared => !declared && place.record != "*" && matches!(kind, DifferenceKind::Missing(_)),
            Form::Instead(rows) => rows.iter().any(|(record, member, golden, observed)| {
                here(record, member)
                    && matches!(kind, DifferenceKind::Changed(was, came) if equals_json(was, golden) && equals_json(came, observed))
            }),
            Form::OneHigher(record, member, flag) => {
                let one_higher = || match kind {
                    DifferenceKind::Changed(golden, observed) => {
                        Some(observed.as_u64()? == golden.as_u64()?.checked_add(1)?)
                    }
                    _ => None,
                };
                here(record, member) && both_true(place, flag) && one_higher() == Some(true)
            }
            Form::WithoutEnding(record, member, pattern) => {
                let DifferenceKind::Changed(Value::String(golden), Value::String(observed)) = kind else {
                    return false;
                };
                let ending = self.endings.entry(pattern).or_insert_with(|| Regex::new(pattern).ok());
                here(record, member)
                    && ending.as_ref().is_some_and(|ending| ending.replace(golden, "") == *observed)
            }
            Form::CutElsewhere(rows) => rows.iter().any(|(record, member, flag)| {
                let DifferenceKind::Changed(Value::String(golden), Value::String(observed)) = kind else {
                    return false;
                };
                here(record, member)
                    && both_true(place, flag)
                    && observed.len() >= golden.len() / MIN_PIECE
                    && !observed.is_empty()
                    && (golden.ends_with(observed.as_str()) || observed.ends_with(golden.as_str()))
            }),
            Form::StringForBlocks(rows) => rows.iter().any(|(record, member, text)| {
                let DifferenceKind::Changed(Value::Array(blocks), Value::String(found)) = kind else { return false };
                here(record, member) && joined(blocks, text).as_ref() == Some(found)
            }),
            _ => false,
        }
    }
}

/// Divisor of the length of a recorded piece. Another piece of the same truncated text must be at least as
/// long as the quotient.
const MIN_PIECE: usize = 4;

fn equals_json(value: &Value, json: &str) -> bool {
    serde_json::from_str::<Value>(json).is_ok_and(|wanted| wanted == *value)
}

fn both_true(place: Place<'_>, flag: &str) -> bool {
    let is_true = |value: Option<&Value>| value == Some(&Value::Bool(true));
    place.parents.is_some_and(|(golden, observed)| is_true(golden.get(flag)) && is_true(observed.get(flag)))
}

/// Returns `true` for null, an empty object, and an object of nothing but nulls.
fn is_null_or_nulls(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().all(Value::is_null),
        _ => false,
    }
}

fn is_empty(kind: DifferenceKind<'_>) -> bool {
    match kind {
        DifferenceKind::Missing(value) | DifferenceKind::Extra(value) => is_null_or_nulls(value),
        DifferenceKind::Changed(golden, observed) => is_null_or_nulls(golden) && is_null_or_nulls(observed),
    }
}

/// Joins the texts of the blocks, if all blocks have a text.
fn joined(blocks: &[Value], text: &str) -> Option<String> {
    blocks.iter().map(|block| block.get(text)?.as_str()).collect::<Option<String>>()
}
