//! Tables of a dialect, prepared for look-ups during a comparison.

use std::collections::HashMap;
use std::sync::LazyLock;

use agentese::dynamic;
use agentese::spec::Spec;
use regex::Regex;
use serde_json::{Map, Value};

use super::tables::{
    Allowance, Choice, ChoiceEffect, Command, Constant, Field, Form, OWN_PLACEHOLDERS, Sameness, Shape,
    Tables, Ty, TypeDef, Wording,
};
use super::text::TokenMatcher;
use crate::generated;

/// Rules for the comparison of frames of one dialect.
#[derive(Debug)]
pub struct Rules {
    pub(super) spec: &'static Spec,
    pub(super) tables: &'static Tables,
    pub(super) tokens: TokenMatcher,
    members: HashMap<(&'static str, &'static str), Sameness>,
    wording: HashMap<&'static str, Vec<&'static Wording>>,
    commands: HashMap<&'static str, &'static Command>,
    events: HashMap<&'static str, &'static TypeDef>,
    dialogs: HashMap<&'static str, &'static TypeDef>,
    allowances: Vec<&'static Allowance>,
    /// Documented error texts, each with its command; `None` for an error of any command.
    errors: Vec<(Option<&'static str>, DocumentedError)>,
}

/// The documented text of a failure.
#[derive(Debug)]
pub(super) struct DocumentedError {
    pub(super) text: &'static str,
    pattern: Regex,
    /// For each placeholder of the text: `true` if the agent may insert any text there.
    agent_chosen: Vec<bool>,
}

impl DocumentedError {
    fn new(text: &'static str) -> Option<Self> {
        let mut pattern = String::from("^(?s:");
        let mut own = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}')?;
            pattern.push_str(&regex::escape(literal));
            pattern.push_str("(.*?)");
            own.push(OWN_PLACEHOLDERS.contains(&name));
            rest = behind;
        }
        pattern.push_str(&regex::escape(rest));
        pattern.push_str(")$");
        Some(Self { text, pattern: Regex::new(&pattern).ok()?, agent_chosen: own })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.pattern.is_match(text)
    }

    /// Returns the parts of an error text that repeat values of the request, in order.
    pub(super) fn request_parts<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let Some(found) = self.pattern.captures(text) else { return Vec::new() };
        let parts = found.iter().skip(1).zip(&self.agent_chosen).filter(|(_, own)| !**own);
        parts.filter_map(|(part, _)| Some(part?.as_str())).collect()
    }

    /// Returns `true` if the agent may choose a part of the text.
    pub(super) fn is_free(&self) -> bool {
        self.agent_chosen.contains(&true)
    }
}

static TYPES: LazyLock<HashMap<&'static str, &'static TypeDef>> =
    LazyLock::new(|| generated::types::TYPES.iter().map(|def| (def.name, def)).collect());

static RULES: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let of = |tables: &&'static Tables| {
        let spec = dynamic::SPECS.iter().find(|spec| spec.name == tables.name)?;
        Rules::new(spec, tables)
    };
    generated::DIALECTS.iter().filter_map(of).collect()
});

impl Rules {
    /// Returns the rules of a dialect, `NAME` or `NAME@REVISION`, or `None` if the dialect is unknown.
    pub fn of(dialect: &str) -> Option<&'static Rules> {
        let spec = dynamic::spec(dialect).ok()?;
        RULES.iter().find(|rules| rules.spec.name == spec.name)
    }

    /// Returns the probe command: a read-only command without parameters.
    pub fn probe_command(&self) -> &'static str {
        self.tables.probe_command
    }

    /// Returns `true` if at least one record exempts this member from the comparison for equality. Such
    /// members are ids, times, estimates and free texts.
    pub fn is_bound(&self, member: &str) -> bool {
        let rows = self.members.keys().any(|(_, name)| *name == member);
        rows || self.tables.matching.transient_members.contains(&member)
    }

    /// Returns the members of a record that are not compared for equality.
    pub(super) fn bound(&self, record: &str) -> Vec<&'static str> {
        self.members.keys().filter(|(of, _)| *of == record).map(|(_, member)| *member).collect()
    }

    /// Returns the members of a record whose values depend on a choice of the agent.
    pub(super) fn choice_members(&self, record: &str) -> impl Iterator<Item = &'static str> {
        let rows = self.tables.matching.choices.iter().copied().flatten();
        rows.filter(move |row| row.record == record).map(|row| row.member)
    }

    /// Returns the agent's choice that determines a member.
    pub(super) fn choice(&self, record: &str, member: &str) -> Option<&'static Choice> {
        let mut rows = self.tables.matching.choices.iter().copied().flatten();
        rows.find(|row| row.record == record && row.member == member)
    }

    /// Returns `true` if an agent may omit this member of its state by its own choice.
    pub fn may_lack(&self, member: &str) -> bool {
        let mut rows = self.tables.matching.choices.iter().copied().flatten();
        rows.any(|row| row.state == member && row.effect == ChoiceEffect::Presence)
    }

    /// Returns the allowances of the dialect, each with its name, content and reason.
    pub fn allowances(&self) -> impl Iterator<Item = &'static Allowance> {
        self.allowances.iter().copied()
    }

    fn new(spec: &'static Spec, tables: &'static Tables) -> Option<Self> {
        let matching = &tables.matching;
        let record = |name: &'static str| TYPES.get(name).copied();
        let members = matching.members.iter().copied().flatten();
        let mut wording: HashMap<_, Vec<_>> = HashMap::new();
        for row in matching.wording.iter().copied().flatten() {
            wording.entry(row.record).or_default().push(row);
        }
        let errors = tables
            .commands
            .iter()
            .flat_map(|command| command.errors.iter().map(|(_, text)| (Some(command.wire), *text)));
        let errors = errors.chain(tables.errors.iter().map(|(_, text)| (None, *text)));
        Some(Self {
            spec,
            tables,
            tokens: TokenMatcher::new(matching.tokens)?,
            members: members.map(|rule| ((rule.record, rule.member), rule.same)).collect(),
            wording,
            commands: tables.commands.iter().map(|command| (command.wire, command)).collect(),
            events: tables.events.iter().filter_map(|(name, def)| Some((*name, record(def)?))).collect(),
            dialogs: tables.dialogs.iter().filter_map(|(name, def)| Some((*name, record(def)?))).collect(),
            allowances: matching.allowances.iter().copied().flatten().collect(),
            errors: errors
                .filter_map(|(command, text)| Some((command, DocumentedError::new(text)?)))
                .collect(),
        })
    }

    pub(super) fn allowance(&self, name: &str) -> Option<&'static Allowance> {
        self.allowances.iter().copied().find(|allowance| allowance.name == name)
    }

    /// Returns the first allowance for whose form `form` returns a value, with that value.
    pub(super) fn with_form<T>(
        &self,
        form: impl Fn(&'static Form) -> Option<T>,
    ) -> Option<(&'static Allowance, T)> {
        self.allowances.iter().find_map(|allowance| Some((*allowance, form(&allowance.form)?)))
    }

    pub(super) fn sameness(&self, record: &'static str, member: &str) -> Option<Sameness> {
        // The keys borrow for a shorter lifetime, because the arguments do not live as long as the tables.
        let members: &HashMap<(&str, &str), Sameness> = &self.members;
        members.get(&(record, member)).copied()
    }

    pub(super) fn wording(&self, record: &str) -> &[&'static Wording] {
        self.wording.get(record).map_or(&[], Vec::as_slice)
    }

    pub(super) fn command(&self, wire: &str) -> Option<&'static Command> {
        self.commands.get(wire).copied()
    }

    pub(super) fn event(&self, name: &str) -> Option<&'static TypeDef> {
        self.events.get(name).copied()
    }

    pub(super) fn dialog(&self, wire: &str) -> Option<&'static TypeDef> {
        self.dialogs.get(wire).copied()
    }

    /// Returns the documented error that matches the text. Errors without freely chosen text are preferred,
    /// then longer ones.
    pub(super) fn documented_error(&self, command: &str, text: &str) -> Option<&DocumentedError> {
        let of = self.errors.iter().filter(|(of, _)| of.is_none_or(|of| of == command));
        of.map(|(_, documented)| documented)
            .filter(|documented| documented.matches(text))
            .max_by_key(|documented| (!documented.is_free(), documented.text.len()))
    }

    /// Returns the type with this name.
    pub(crate) fn named(name: &str) -> Option<&'static TypeDef> {
        TYPES.get(name).copied()
    }

    /// Returns the record that a value belongs to. In a union, the value's tag selects the record.
    pub(super) fn record(ty: &Ty, value: &Map<String, Value>) -> Option<&'static TypeDef> {
        let Ty::Named(name) = ty else { return None };
        let def = Self::named(name)?;
        match &def.shape {
            Shape::Record { .. } => Some(def),
            Shape::Union { variants, .. } => variants
                .iter()
                .filter_map(|name| Self::named(name))
                .find(|variant| constants_fit(variant, value)),
            Shape::Choice { alternatives } => alternatives
                .iter()
                .filter_map(|ty| Self::record(ty, value))
                .find(|record| constants_fit(record, value)),
            Shape::Strings { .. } => None,
        }
    }

    /// Returns the type of an array's elements.
    pub(super) fn element(ty: Option<&Ty>) -> Option<&'static Ty> {
        match ty? {
            Ty::List(item) => Some(item),
            Ty::Named(name) => match &Self::named(name)?.shape {
                Shape::Choice { alternatives } => alternatives.iter().find_map(|ty| Self::element(Some(ty))),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the declared members of a record.
    pub(super) fn fields(def: &TypeDef) -> &'static [Field] {
        match def.shape {
            Shape::Record { fields, .. } => fields,
            _ => &[],
        }
    }
}

fn constants_fit(def: &TypeDef, value: &Map<String, Value>) -> bool {
    let Shape::Record { constants, .. } = def.shape else { return false };
    constants.iter().all(|(member, constant)| match (constant, value.get(*member)) {
        (Constant::String(text), Some(Value::String(found))) => text == found,
        (Constant::Boolean(flag), Some(Value::Bool(found))) => flag == found,
        _ => false,
    })
}
