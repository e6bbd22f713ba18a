//! Comparison of two values, member by member, as their types declare.

mod free;
mod lists;

use serde_json::{Map, Value};

use super::choices::ExpectedChoice;
use super::equivalence;
use super::place::{DifferenceKind, Place};
use super::rules::Rules;
use super::state::ComparisonState;
use super::tables::{Field, Shape, Ty, TypeDef};
use crate::matching::difference::{Difference, Weight, brief};

use free::FreeText;

/// Comparer of two frames.
pub(super) struct FrameWalker<'s, 'a> {
    pub(super) state: &'s mut ComparisonState<'a>,
    path: Vec<String>,
    free: Option<FreeText>,
    /// Set while an element of a list is compared in which an allowance permits other elements. Contains
    /// the allowance, and the members that may differ.
    entry: Option<(&'static str, &'static [&'static str])>,
    found: Vec<Difference>,
}

/// Place of the whole frame.
const WHOLE_FRAME: Place<'static> = Place { record: "*", member: "", parents: None };

impl<'s, 'a> FrameWalker<'s, 'a> {
    pub(super) fn new(state: &'s mut ComparisonState<'a>) -> Self {
        Self { state, path: Vec::new(), free: None, entry: None, found: Vec::new() }
    }

    /// Creates a walk whose paths begin with `path`.
    pub(super) fn below(state: &'s mut ComparisonState<'a>, path: &str) -> Self {
        Self { path: vec![path.to_owned()], ..Self::new(state) }
    }

    /// Compares two objects by the declaration of their record.
    pub(super) fn record(
        mut self,
        def: Option<&'static TypeDef>,
        golden: &Value,
        observed: &Value,
    ) -> Vec<Difference> {
        match (golden, observed) {
            (Value::Object(golden), Value::Object(observed)) => self.object(def, golden, observed),
            _ => self.value(None, golden, observed, WHOLE_FRAME),
        }
        self.found
    }

    /// Compares two values by their declared type.
    pub(super) fn typed(mut self, ty: Option<&Ty>, golden: &Value, observed: &Value) -> Vec<Difference> {
        self.value(ty, golden, observed, WHOLE_FRAME);
        self.found
    }

    fn at(&self) -> String {
        self.path.concat().trim_start_matches('.').to_owned()
    }

    fn push(&mut self, weight: Weight, message: String, allowance: Option<&'static str>) {
        let difference = Difference { path: self.at(), message, weight, allowance };
        self.found.push(difference);
    }

    fn add_difference(
        &mut self,
        place: Place<'_>,
        declared: bool,
        weight: Weight,
        kind: DifferenceKind<'_>,
        message: String,
    ) {
        let allowance = self.state.allowances.find(self.state.rules, place, declared, kind);
        self.push(weight, message, allowance);
    }

    fn object(
        &mut self,
        def: Option<&'static TypeDef>,
        golden: &Map<String, Value>,
        observed: &Map<String, Value>,
    ) {
        let record = def.map_or("*", |def| def.name);
        let fields = def.map_or(&[][..], Rules::fields);
        let both = (golden, observed);
        let free = self.free;
        let cut = self.cut_facts(record, both);
        // The flag for a truncated text is visited before the text, because the flag explains differences
        // of the text.
        let flag = self.cut_flag(record);
        let is_flag = |(name, _): &(&String, &Value)| flag == Some(name.as_str());
        let members = golden.iter().filter(is_flag).chain(golden.iter().filter(|member| !is_flag(member)));
        for (name, value) in members {
            let field = fields.iter().find(|field| field.name == name);
            if self.slips(field, name) {
                continue;
            }
            let place = Place { record, member: name, parents: Some(both) };
            self.path.push(format!(".{name}"));
            self.free = free
                .or(cut)
                .or_else(|| self.wording(record, name, both))
                .or_else(|| self.entry_freedom(name));
            if !self.choice(field, Some(value), observed.get(name), place) {
                match observed.get(name) {
                    Some(found) => self.member(field, value, found, place),
                    None => self.missing(def, field, value, place),
                }
            }
            self.path.pop();
        }
        for (name, value) in observed {
            let field = fields.iter().find(|field| field.name == name);
            if golden.contains_key(name) || self.slips(field, name) {
                continue;
            }
            let place = Place { record, member: name, parents: Some(both) };
            self.path.push(format!(".{name}"));
            self.free = free
                .or(cut)
                .or_else(|| self.wording(record, name, both))
                .or_else(|| self.entry_freedom(name));
            if !self.choice(field, None, Some(value), place) {
                self.extra(def, field, value, place);
            }
            self.path.pop();
        }
        self.free = free;
    }

    /// Compares a member that depends on a choice of the agent. Returns `false` if the member does not
    /// depend on one.
    fn choice(
        &mut self,
        field: Option<&'static Field>,
        golden: Option<&Value>,
        observed: Option<&Value>,
        place: Place<'_>,
    ) -> bool {
        let row = self.state.rules.choice(place.record, place.member);
        let Some(wanted) = row.and_then(|row| self.state.choices.expected(row, golden)) else { return false };
        let found = observed.filter(|value| !value.is_null());
        match (wanted, found) {
            (ExpectedChoice::Any, _) | (ExpectedChoice::Nothing, None) => {}
            (ExpectedChoice::Value(wanted), Some(found)) => self.member(field, wanted, found, place),
            (ExpectedChoice::Amount, Some(Value::Number(number)))
                if number.as_f64().is_some_and(|it| it >= 0.0) => {}
            (ExpectedChoice::Value(_), None) => {
                let message = format!("missing `{}`, which the agent has chosen", place.member);
                self.push(Weight::Case, message, None);
            }
            (ExpectedChoice::Nothing, Some(found)) => {
                let message = format!("it is {}, but the agent has chosen no value", brief(found));
                self.push(Weight::Case, message, None);
            }
            (ExpectedChoice::Amount, _) => return false,
        }
        true
    }

    fn slips(&self, field: Option<&Field>, name: &str) -> bool {
        field.is_none() && self.state.rules.tables.matching.transient_members.contains(&name)
    }

    fn missing(&mut self, def: Option<&TypeDef>, field: Option<&Field>, golden: &Value, place: Place<'_>) {
        let constant = is_constant(def, place.member);
        let weight =
            if constant || field.is_some_and(|field| field.required) { Weight::Must } else { Weight::Case };
        if let Some(free) = self.free.filter(|free| free.is_free(place.member) && weight != Weight::Must) {
            return self.push(Weight::Case, format!("`{}` is left out", place.member), free.allowance);
        }
        let message = format!("`{}` is missing; it is {} in the recording", place.member, brief(golden));
        self.add_difference(
            place,
            constant || field.is_some(),
            weight,
            DifferenceKind::Missing(golden),
            message,
        );
    }

    fn extra(&mut self, def: Option<&TypeDef>, field: Option<&Field>, observed: &Value, place: Place<'_>) {
        let declared = field.is_some() || is_constant(def, place.member);
        if let Some(free) = self.free.filter(|free| free.values) {
            return self.push(Weight::Case, format!("additional `{}`", place.member), free.allowance);
        }
        if def.is_some() && !declared {
            // Clients ignore additional members of records.
            let message = format!("undocumented `{}`: {}", place.member, brief(observed));
            return self.push(Weight::Info, message, None);
        }
        let message =
            format!("unexpected `{}`, absent from the recording: {}", place.member, brief(observed));
        if let Some(field) = field.filter(|_| self.state.is_derived) {
            let fits = field.nullable && observed.is_null()
                || super::declared::type_mismatch(&field.ty, observed).is_none();
            if fits {
                return self.push(Weight::Info, message, None);
            }
        }
        self.add_difference(place, declared, Weight::Case, DifferenceKind::Extra(observed), message);
    }

    fn member(&mut self, field: Option<&'static Field>, golden: &Value, observed: &Value, place: Place<'_>) {
        let rules = self.state.rules;
        if golden != observed
            && let Some(allowance) = self.state.allowances.tainted(place.member)
        {
            let message = format!("it is {} instead of {}", brief(observed), brief(golden));
            return self.push(Weight::Case, message, Some(allowance));
        }
        let same = rules
            .sameness(place.record, place.member)
            .or_else(|| rules.sameness("*", place.member).filter(|_| field.is_none()));
        if let Some(same) = same
            && let Some(found) = equivalence::compare(self.state, same, golden, observed, place)
        {
            let path = self.at();
            self.found.extend(found.map(|difference| Difference { path: path.clone(), ..difference }));
            return;
        }
        if let (Some(same), Value::Array(expected), Value::Array(actual)) = (same, golden, observed)
            && expected.len() == actual.len()
        {
            for (at, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                let path = format!("{}[{at}]", self.at());
                if let Some(found) = equivalence::compare(self.state, same, expected, actual, place) {
                    self.found.extend(found.map(|it| Difference { path: path.clone(), ..it }));
                }
            }
            return;
        }
        if observed.is_null() && !golden.is_null() && field.is_some_and(|field| !field.nullable) {
            let message =
                format!("it is null, which the declaration does not allow, instead of {}", brief(golden));
            return self.add_difference(
                place,
                true,
                Weight::Must,
                DifferenceKind::Changed(golden, observed),
                message,
            );
        }
        if observed.is_null() && !golden.is_null() && field.is_some() {
            let message = format!("it is null instead of {}", brief(golden));
            return self.add_difference(
                place,
                true,
                Weight::Case,
                DifferenceKind::Changed(golden, observed),
                message,
            );
        }
        self.value(field.map(|field| &field.ty), golden, observed, place);
    }

    fn value(&mut self, ty: Option<&Ty>, golden: &Value, observed: &Value, place: Place<'_>) {
        match (golden, observed) {
            (Value::Object(was), Value::Object(came)) => {
                if self.allow_empty(golden, observed, place) {
                    return;
                }
                let def = ty.and_then(|ty| Rules::record(ty, was));
                self.object(def, was, came);
            }
            (Value::Array(was), Value::Array(came)) => self.list(ty, was, came, place),
            (Value::String(was), Value::String(came)) => self.text(ty, was, came, place),
            (Value::Number(was), Value::Number(came)) if equivalence::numbers(was, came) => {}
            _ if golden == observed => {}
            _ => self.changed(ty, golden, observed, place),
        }
    }

    /// Returns `true` if an allowance permits the difference of two objects as a whole.
    fn allow_empty(&mut self, golden: &Value, observed: &Value, place: Place<'_>) -> bool {
        if golden == observed {
            return false;
        }
        let kind = DifferenceKind::Changed(golden, observed);
        let Some(allowance) = self.state.allowances.find(self.state.rules, place, true, kind) else {
            return false;
        };
        self.push(
            Weight::Case,
            format!("it is {} instead of {}", brief(observed), brief(golden)),
            Some(allowance),
        );
        true
    }

    fn changed(&mut self, ty: Option<&Ty>, golden: &Value, observed: &Value, place: Place<'_>) {
        let fits = ty.is_none_or(|ty| super::declared::is_of(ty, observed));
        let of_a_kind = std::mem::discriminant(golden) == std::mem::discriminant(observed)
            || golden.is_null()
            || observed.is_null();
        if let Some(free) = self.free.filter(|free| free.is_free(place.member) && fits && of_a_kind) {
            let message = format!("it is {} instead of {}", brief(observed), brief(golden));
            return self.push(Weight::Case, message, free.allowance);
        }
        let (weight, why) =
            if fits { (Weight::Case, "") } else { (Weight::Must, ", which is not of the declared type,") };
        let message = format!("it is {}{why} instead of {}", brief(observed), brief(golden));
        self.add_difference(place, true, weight, DifferenceKind::Changed(golden, observed), message);
    }

    fn text(&mut self, ty: Option<&Ty>, golden: &str, observed: &str, place: Place<'_>) {
        if let Some(free) = self.free {
            return self.compare_free_text(free, golden, observed);
        }
        let Some(message) = self.state.texts.difference(golden, observed) else { return };
        let kind = (Value::from(golden), Value::from(observed));
        let fits = ty.is_none_or(|ty| super::declared::is_of(ty, &kind.1));
        let weight = if fits { Weight::Case } else { Weight::Must };
        self.add_difference(place, true, weight, DifferenceKind::Changed(&kind.0, &kind.1), message);
    }
}

fn is_constant(def: Option<&TypeDef>, member: &str) -> bool {
    let Some(Shape::Record { constants, .. }) = def.map(|def| &def.shape) else { return false };
    constants.iter().any(|(name, _)| *name == member)
}
