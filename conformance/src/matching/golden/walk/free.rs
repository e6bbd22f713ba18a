//! Texts and values that may differ from the recording: undocumented texts, and facts about a truncated text.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::FrameWalker;
use crate::matching::difference::Weight;
use crate::matching::golden::place::ParentObjects;
use crate::matching::golden::tables::{Form, Wording, WordingCondition};
use crate::matching::golden::text::unequal;
use crate::matching::path;

/// Freedom of a text: the allowance that permits other texts, if it needs one. `values` is `true` if other
/// values are free too.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeText {
    pub(super) allowance: Option<&'static str>,
    pub(super) values: bool,
    /// For a truncated text: members about the whole text, which are not free. The texts have to be pieces of
    /// the same whole.
    whole: Option<&'static [&'static str]>,
}

impl FreeText {
    /// Returns `true` if the value of a member is free.
    pub(super) fn is_free(&self, member: &str) -> bool {
        self.values && self.whole.is_none_or(|members| !members.contains(&member))
    }
}

impl FrameWalker<'_, '_> {
    pub(super) fn entry_freedom(&self, member: &str) -> Option<FreeText> {
        let (allowance, members) = self.entry?;
        members.contains(&member).then_some(FreeText {
            allowance: Some(allowance),
            values: true,
            whole: None,
        })
    }

    /// Returns the freedom of a member's text. Returns `None` if the text has to be equal.
    pub(super) fn wording(
        &self,
        record: &str,
        member: &str,
        (golden, observed): ParentObjects<'_>,
    ) -> Option<FreeText> {
        let holds = |row: &&&Wording| match row.when {
            WordingCondition::Always => true,
            WordingCondition::True(flag) => {
                [golden, observed].iter().all(|object| object.get(flag) == Some(&Value::Bool(true)))
            }
            WordingCondition::OneOf(name, values) => [golden, observed].iter().all(|object| {
                object.get(name).and_then(Value::as_str).is_some_and(|value| values.contains(&value))
            }),
        };
        let row = self
            .state
            .rules
            .wording(record)
            .iter()
            .filter(|row| row.members.contains(&member))
            .find(holds)?;
        let values = row.allowance.is_some() && member != "content";
        Some(FreeText { allowance: row.allowance, values, whole: None })
    }

    /// Returns the allowance for truncated texts in a record: its name, the path of the flag, and the members
    /// about the whole text.
    fn cut(&self, record: &str) -> Option<(&'static str, &'static str, &'static [&'static str])> {
        let (allowance, rows) = self.state.rules.with_form(|form| match form {
            Form::CutFacts(rows) => Some(*rows),
            _ => None,
        })?;
        rows.iter().find(|(of, ..)| *of == record).map(|(_, path, whole)| (allowance.name, *path, *whole))
    }

    /// Returns the member that contains the flag for a truncated text.
    pub(super) fn cut_flag(&self, record: &str) -> Option<&'static str> {
        self.cut(record)?.1.split('.').next()
    }

    /// Returns the freedom of a record's texts, if the flag is `true` on both sides.
    pub(super) fn cut_facts(&self, record: &str, (golden, observed): ParentObjects<'_>) -> Option<FreeText> {
        let (allowance, path, whole) = self.cut(record)?;
        let is_cut = |object: &Map<String, Value>| {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            object.get(first).and_then(|value| path::get(value, rest)) == Some(&Value::Bool(true))
        };
        let free = FreeText { allowance: Some(allowance), values: true, whole: Some(whole) };
        (is_cut(golden) && is_cut(observed)).then_some(free)
    }

    /// Compares two free texts. Wherever the same recorded text occurs, the observed text has to be the same
    /// too.
    pub(super) fn compare_free_text(&mut self, free: FreeText, golden: &str, observed: &str) {
        if golden != observed && self.state.texts.difference(golden, observed).is_none() {
            return;
        }
        if free.whole.is_some() && !is_other_piece(golden, observed) {
            let message = format!("not a part of the truncated text: {}", unequal(golden, observed));
            return self.push(Weight::Case, message, None);
        }
        if let Err(message) = self.state.texts.bindings.bind_text(golden, observed) {
            return self.push(Weight::Case, message, None);
        }
        if golden == observed {
            return;
        }
        let message = unequal(golden, observed);
        let weight =
            if free.allowance.is_some() || self.state.same_agent { Weight::Case } else { Weight::Info };
        self.push(weight, message, free.allowance);
    }
}

/// Returns `true` if two texts may be pieces of one truncated text: the longer one contains half the lines of
/// the shorter one.
///
/// Accepts recorded texts of a few lines, because the agent's notice about the truncation is among them.
fn is_other_piece(golden: &str, observed: &str) -> bool {
    const FEW: usize = 4;
    let lines = |text: &'_ str| text.lines().filter(|line| !line.is_empty()).count();
    if lines(golden) <= FEW {
        return true;
    }
    let (short, long) = if lines(golden) < lines(observed) { (golden, observed) } else { (observed, golden) };
    let known: HashSet<&str> = long.lines().filter(|line| !line.is_empty()).collect();
    let shared = short.lines().filter(|line| known.contains(line)).count();
    shared > 0 && shared * 2 >= lines(short)
}
