//! Texts and values that may differ from the recording: undocumented texts, and values that describe a
//! truncated text.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::FrameWalker;
use crate::matching::difference::Weight;
use crate::matching::golden::place::ParentObjects;
use crate::matching::golden::tables::{Form, Wording, WordingCondition};
use crate::matching::golden::text::unequal;
use crate::matching::path;

/// Rule for a text that may differ from the recording. Contains the allowance, if one is needed. If `values`
/// is `true`, other values may differ too.
#[derive(Debug, Clone, Copy)]
pub(super) struct FreeText {
    pub(super) allowance: Option<&'static str>,
    pub(super) values: bool,
    /// For a truncated text: members about the whole text, which must be equal. Both texts must be pieces of
    /// the same whole.
    whole: Option<&'static [&'static str]>,
}

impl FreeText {
    /// Returns `true` if the value of a member may differ from the recording.
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

    /// Returns the rule that lets the text of a member differ. Returns `None` if the text must be equal.
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

    /// Returns the rule that lets texts of a record differ, if the flag for truncation is `true` on both
    /// sides.
    pub(super) fn cut_facts(&self, record: &str, (golden, observed): ParentObjects<'_>) -> Option<FreeText> {
        let (allowance, path, whole) = self.cut(record)?;
        let is_cut = |object: &Map<String, Value>| {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            object.get(first).and_then(|value| path::get(value, rest)) == Some(&Value::Bool(true))
        };
        let free = FreeText { allowance: Some(allowance), values: true, whole: Some(whole) };
        (is_cut(golden) && is_cut(observed)).then_some(free)
    }

    /// Compares two texts that may differ. If the recorded text occurs again, the observed text must be the
    /// same again.
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
/// Recorded texts of at most four lines are always accepted, because the agent's notice about the truncation
/// is among the lines.
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
