//! Comparison of two values member by member, by their declared types.

mod free;
mod lists;

use serde_json::{Map, Value};

use super::choices::Wanted;
use super::place::{Kind, Place};
use super::rules::Rules;
use super::same;
use super::state::State;
use super::tables::{Field, Shape, Ty, TypeDef};
use crate::matching::difference::{Difference, Weight, brief};

use free::Free;

/// A comparison of two frames.
pub(super) struct Walk<'s, 'a> {
    pub(super) state: &'s mut State<'a>,
    path: Vec<String>,
    free: Option<Free>,
    /// Inside an entry of a list with free entries: the allowance, and the members that may differ.
    entry: Option<(&'static str, &'static [&'static str])>,
    found: Vec<Difference>,
}

/// Place of the whole frame.
const NOWHERE: Place<'static> = Place { record: "*", member: "", beside: None };

impl<'s, 'a> Walk<'s, 'a> {
    pub(super) fn new(state: &'s mut State<'a>) -> Self {
        Self { state, path: Vec::new(), free: None, entry: None, found: Vec::new() }
    }

    /// Starts a walk below a path.
    pub(super) fn below(state: &'s mut State<'a>, path: &str) -> Self {
        Self { path: vec![path.to_owned()], ..Self::new(state) }
    }

    /// Compares two objects of a record.
    pub(super) fn record(
        mut self,
        def: Option<&'static TypeDef>,
        golden: &Value,
        observed: &Value,
    ) -> Vec<Difference> {
        match (golden, observed) {
            (Value::Object(golden), Value::Object(observed)) => self.object(def, golden, observed),
            _ => self.value(None, golden, observed, NOWHERE),
        }
        self.found
    }

    /// Compares two values of a type.
    pub(super) fn typed(mut self, ty: Option<&Ty>, golden: &Value, observed: &Value) -> Vec<Difference> {
        self.value(ty, golden, observed, NOWHERE);
        self.found
    }

    fn at(&self) -> String {
        self.path.concat().trim_start_matches('.').to_owned()
    }

    fn push(&mut self, weight: Weight, says: String, allowance: Option<&'static str>) {
        let difference = Difference { path: self.at(), says, weight, allowance };
        self.found.push(difference);
    }

    fn differ(&mut self, place: Place<'_>, declared: bool, weight: Weight, kind: Kind<'_>, says: String) {
        let allowance = self.state.excuses.find(self.state.rules, place, declared, kind);
        self.push(weight, says, allowance);
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
        // Visits the flag of a cut text before the text, because the flag explains differences of the text.
        let flag = self.cut_flag(record);
        let is_flag = |(name, _): &(&String, &Value)| flag == Some(name.as_str());
        let members = golden.iter().filter(is_flag).chain(golden.iter().filter(|member| !is_flag(member)));
        for (name, value) in members {
            let field = fields.iter().find(|field| field.name == name);
            if self.slips(field, name) {
                continue;
            }
            let place = Place { record, member: name, beside: Some(both) };
            self.path.push(format!(".{name}"));
            self.free =
                free.or(cut).or_else(|| self.wording(record, name, both)).or_else(|| self.of_entry(name));
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
            let place = Place { record, member: name, beside: Some(both) };
            self.path.push(format!(".{name}"));
            self.free =
                free.or(cut).or_else(|| self.wording(record, name, both)).or_else(|| self.of_entry(name));
            if !self.choice(field, None, Some(value), place) {
                self.extra(def, field, value, place);
            }
            self.path.pop();
        }
        self.free = free;
    }

    /// Compares a member that shows a choice of the agent. Returns `false` for any other member.
    fn choice(
        &mut self,
        field: Option<&'static Field>,
        golden: Option<&Value>,
        observed: Option<&Value>,
        place: Place<'_>,
    ) -> bool {
        let row = self.state.rules.choice(place.record, place.member);
        let Some(wanted) = row.and_then(|row| self.state.choices.wanted(row, golden)) else { return false };
        let found = observed.filter(|value| !value.is_null());
        match (wanted, found) {
            (Wanted::Any, _) | (Wanted::Nothing, None) => {}
            (Wanted::Value(wanted), Some(found)) => self.member(field, wanted, found, place),
            (Wanted::Amount, Some(Value::Number(number))) if number.as_f64().is_some_and(|it| it >= 0.0) => {}
            (Wanted::Value(_), None) => {
                let says = format!("`{}` is missing, which the agent had chosen", place.member);
                self.push(Weight::Case, says, None);
            }
            (Wanted::Nothing, Some(found)) => {
                let says = format!("it is {}, where the agent had chosen none", brief(found));
                self.push(Weight::Case, says, None);
            }
            (Wanted::Amount, _) => return false,
        }
        true
    }

    fn slips(&self, field: Option<&Field>, name: &str) -> bool {
        field.is_none() && self.state.rules.tables.matching.slips.contains(&name)
    }

    fn missing(&mut self, def: Option<&TypeDef>, field: Option<&Field>, golden: &Value, place: Place<'_>) {
        let constant = is_constant(def, place.member);
        let weight =
            if constant || field.is_some_and(|field| field.required) { Weight::Must } else { Weight::Case };
        if let Some(free) = self.free.filter(|free| free.is_free(place.member) && weight != Weight::Must) {
            return self.push(Weight::Case, format!("`{}` is left out", place.member), free.allowance);
        }
        let says = format!("`{}` is missing; it is {} in the recording", place.member, brief(golden));
        self.differ(place, constant || field.is_some(), weight, Kind::Missing(golden), says);
    }

    fn extra(&mut self, def: Option<&TypeDef>, field: Option<&Field>, observed: &Value, place: Place<'_>) {
        let declared = field.is_some() || is_constant(def, place.member);
        if let Some(free) = self.free.filter(|free| free.values) {
            return self.push(
                Weight::Case,
                format!("`{}` is there in addition", place.member),
                free.allowance,
            );
        }
        if def.is_some() && !declared {
            // Records are open: clients ignore new members.
            let says = format!("`{}` is there, which no document has: {}", place.member, brief(observed));
            return self.push(Weight::Info, says, None);
        }
        let says =
            format!("`{}` is there, which the recording does not have: {}", place.member, brief(observed));
        if let Some(field) = field.filter(|_| self.state.is_written) {
            let fits = field.nullable && observed.is_null()
                || super::declared::misfit(&field.ty, observed).is_none();
            if fits {
                return self.push(Weight::Info, says, None);
            }
        }
        self.differ(place, declared, Weight::Case, Kind::Extra(observed), says);
    }

    fn member(&mut self, field: Option<&'static Field>, golden: &Value, observed: &Value, place: Place<'_>) {
        let rules = self.state.rules;
        if golden != observed
            && let Some(allowance) = self.state.excuses.tainted(place.member)
        {
            let says = format!("it is {} instead of {}", brief(observed), brief(golden));
            return self.push(Weight::Case, says, Some(allowance));
        }
        let same = rules
            .same(place.record, place.member)
            .or_else(|| rules.same("*", place.member).filter(|_| field.is_none()));
        if let Some(same) = same
            && let Some(found) = same::compare(self.state, same, golden, observed, place)
        {
            let path = self.at();
            self.found.extend(found.map(|difference| Difference { path: path.clone(), ..difference }));
            return;
        }
        if let (Some(same), Value::Array(was), Value::Array(came)) = (same, golden, observed)
            && was.len() == came.len()
        {
            for (at, (was, came)) in was.iter().zip(came).enumerate() {
                let path = format!("{}[{at}]", self.at());
                if let Some(found) = same::compare(self.state, same, was, came, place) {
                    self.found.extend(found.map(|it| Difference { path: path.clone(), ..it }));
                }
            }
            return;
        }
        if observed.is_null() && !golden.is_null() && field.is_some_and(|field| !field.nullable) {
            let says =
                format!("it is null, which the declaration does not allow, instead of {}", brief(golden));
            return self.differ(place, true, Weight::Must, Kind::Changed(golden, observed), says);
        }
        if observed.is_null() && !golden.is_null() && field.is_some() {
            let says = format!("it is null instead of {}", brief(golden));
            return self.differ(place, true, Weight::Case, Kind::Changed(golden, observed), says);
        }
        self.value(field.map(|field| &field.ty), golden, observed, place);
    }

    fn value(&mut self, ty: Option<&Ty>, golden: &Value, observed: &Value, place: Place<'_>) {
        match (golden, observed) {
            (Value::Object(was), Value::Object(came)) => {
                if self.nothing_in_it(golden, observed, place) {
                    return;
                }
                let def = ty.and_then(|ty| Rules::record(ty, was));
                self.object(def, was, came);
            }
            (Value::Array(was), Value::Array(came)) => self.list(ty, was, came, place),
            (Value::String(was), Value::String(came)) => self.text(ty, was, came, place),
            (Value::Number(was), Value::Number(came)) if same::numbers(was, came) => {}
            _ if golden == observed => {}
            _ => self.changed(ty, golden, observed, place),
        }
    }

    /// Checks an allowance for empty details, once for the object as a whole. Returns `true` if it applies.
    fn nothing_in_it(&mut self, golden: &Value, observed: &Value, place: Place<'_>) -> bool {
        if golden == observed {
            return false;
        }
        let kind = Kind::Changed(golden, observed);
        let Some(allowance) = self.state.excuses.find(self.state.rules, place, true, kind) else {
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
            let says = format!("it is {} instead of {}", brief(observed), brief(golden));
            return self.push(Weight::Case, says, free.allowance);
        }
        let (weight, why) =
            if fits { (Weight::Case, "") } else { (Weight::Must, ", which is not of the declared type,") };
        let says = format!("it is {}{why} instead of {}", brief(observed), brief(golden));
        self.differ(place, true, weight, Kind::Changed(golden, observed), says);
    }

    fn text(&mut self, ty: Option<&Ty>, golden: &str, observed: &str, place: Place<'_>) {
        if let Some(free) = self.free {
            return self.free_words(free, golden, observed);
        }
        let Some(says) = self.state.texts.differ(golden, observed) else { return };
        let kind = (Value::from(golden), Value::from(observed));
        let fits = ty.is_none_or(|ty| super::declared::is_of(ty, &kind.1));
        let weight = if fits { Weight::Case } else { Weight::Must };
        self.differ(place, true, weight, Kind::Changed(&kind.0, &kind.1), says);
    }
}

fn is_constant(def: Option<&TypeDef>, member: &str) -> bool {
    let Some(Shape::Record { constants, .. }) = def.map(|def| &def.shape) else { return false };
    constants.iter().any(|(name, _)| *name == member)
}
