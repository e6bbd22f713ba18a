//! Values that the matcher does not compare exactly, according to its tables. Mutators do not change them.

use agentese::spec::{Framing, Spec};
use agentese_conformance::matching::path;
use agentese_conformance::matching::tables::{
    self, Delta, Form, Sameness, Snapshots, Tables, Wording, WordingCondition,
};
use regex::Regex;
use serde_json::Value;

use crate::place::{PathStep, Place};
use crate::site::Site;

/// The tables of a dialect.
#[derive(Debug)]
pub(super) struct Exclusions {
    tables: Option<&'static Tables>,
    /// Matches parts of texts that differ between runs, and unpublished prose.
    volatile: Option<Regex>,
    json_rpc: bool,
}

/// The values that the matcher accepts instead of the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freedom {
    /// The matcher accepts only the recorded value.
    None,
    /// The matcher also accepts null or an absent member.
    MayBeAbsent,
    /// The matcher accepts any earlier version of the final value.
    Grows,
    /// The matcher accepts other values: it binds the value to a recorded one, or does not compare it.
    Bound,
}

impl Exclusions {
    pub(super) fn of(spec: &Spec) -> Self {
        let tables = tables::DIALECTS.iter().copied().find(|tables| tables.name == spec.name);
        let tokens = tables.into_iter().flat_map(|tables| tables.matching.tokens).map(|token| token.pattern);
        let all: Vec<String> = tokens.chain(["<prose of "]).map(|pattern| format!("(?:{pattern})")).collect();
        Self {
            tables,
            volatile: Regex::new(&all.join("|")).ok(),
            json_rpc: matches!(spec.framing, Framing::JsonRpc { .. }),
        }
    }

    /// Returns `true` for an event that an agent may send any number of times: partial output of a tool, a
    /// piece of a streamed text, or an event that an allowance names. `body` is the event without its
    /// envelope.
    pub(super) fn is_piece(&self, event: &str, body: &Value) -> bool {
        let Some(tables) = self.tables else { return false };
        let matching = &tables.matching;
        let shows = matching.tools.as_ref().and_then(|tools| tools.shows.as_ref());
        shows.is_some_and(|shows| shows.event == event)
            || self.delta(event).is_some_and(|delta| piece(delta, body).is_some())
            || self.forms().any(|form| matches!(form, Form::Events(names) if names.contains(&event)))
    }

    /// Returns the declaration of the streamed pieces in events of this type.
    pub(super) fn delta(&self, event: &str) -> Option<&'static Delta> {
        self.tables?.matching.deltas.iter().find(|delta| delta.event == event)
    }

    /// Returns the declaration of growing messages.
    pub(super) fn snapshots(&self) -> Option<&'static Snapshots> {
        self.tables?.matching.snapshots.as_ref()
    }

    /// Returns the id of the tool call that an event belongs to, if any.
    pub(super) fn call<'a>(&self, event: &str, body: &'a Value) -> Option<&'a str> {
        let tools = self.tables?.matching.tools.as_ref()?;
        let other = tools.others.iter().find(|(name, _)| *name == event).map(|(_, path)| *path);
        let own = [tools.begins, tools.ends].contains(&event).then_some(tools.call);
        path::get(body, own.or(other)?)?.as_str()
    }

    /// Returns the values that name the concurrent stream of an event. Events of different streams have no order
    /// relative to each other.
    pub(super) fn concurrent_stream_key(&self, body: &Value) -> Vec<Option<String>> {
        let keys = self.tables.map_or(&[][..], |tables| tables.matching.stream_keys);
        keys.iter().map(|path| path::get(body, path).map(Value::to_string)).collect()
    }

    /// Returns an iterator over the rules of all allowances.
    pub(super) fn forms(&self) -> impl Iterator<Item = &'static Form> {
        let all = self.tables.map_or(&[][..], |tables| tables.matching.allowances);
        all.iter().copied().flatten().map(|allowance| &allowance.form)
    }

    /// Returns the values that the matcher accepts at a site. `frame` is the whole frame, and `sites` are all
    /// its sites. `event` is the event's name and its place in the frame.
    pub(super) fn freedom(
        &self,
        site: &Site,
        frame: &Value,
        sites: &[Site],
        event: Option<(&str, &Place)>,
    ) -> Freedom {
        let text = site.place.of(frame).and_then(Value::as_str);
        if text.is_some_and(|text| self.volatile.as_ref().is_some_and(|volatile| volatile.is_match(text))) {
            return Freedom::Bound;
        }
        if self.is_agent_text(site, frame) {
            return Freedom::Bound;
        }
        let mut least = Freedom::None;
        for length in 1..=site.place.0.len() {
            let prefix = Place(site.place.0[..length].to_vec());
            let Some(outer) = sites.iter().find(|outer| outer.place == prefix) else { continue };
            match self.own_freedom(outer, frame) {
                Freedom::None => {}
                Freedom::MayBeAbsent if length < site.place.0.len() => {}
                freedom => least = freedom,
            }
            if least == Freedom::Bound {
                return least;
            }
        }
        match event.and_then(|(name, inside)| self.growth(name, inside, site, sites)) {
            Some(freedom) => freedom,
            None => least,
        }
    }

    /// Returns `true` for an error text that no document of the dialect contains.
    fn is_agent_text(&self, site: &Site, frame: &Value) -> bool {
        let steps: Vec<&str> = site
            .place
            .0
            .iter()
            .filter_map(|step| match step {
                PathStep::Member(name) => Some(name.as_str()),
                PathStep::Item(_) => None,
            })
            .collect();
        let is_text = match (self.json_rpc, steps.as_slice()) {
            (true, ["error", "data", ..]) => return true,
            (true, ["error", "message"]) | (false, ["error"]) => {
                frame.get("success") != Some(&Value::Bool(true))
            }
            _ => false,
        };
        if !is_text || site.record.as_deref().is_some_and(|record| self.is_event(record)) {
            return false;
        }
        let text = site.place.of(frame).and_then(Value::as_str).unwrap_or_default();
        let documented = self.tables.into_iter().flat_map(|tables| {
            let own = tables.commands.iter().flat_map(|command| command.errors);
            own.chain(tables.errors).map(|(_, text)| *text)
        });
        !documented.into_iter().any(|documented| documented == text)
    }

    fn is_event(&self, record: &str) -> bool {
        self.tables.is_some_and(|tables| tables.events.iter().any(|(_, payload)| *payload == record))
    }

    fn own_freedom(&self, site: &Site, frame: &Value) -> Freedom {
        let (Some(tables), Some(record), Some(member)) =
            (self.tables, site.record.as_deref(), site.place.name())
        else {
            return Freedom::None;
        };
        let rules = tables.matching.members.iter().copied().flatten();
        if let Some(rule) = rules.into_iter().find(|rule| rule.record == record && rule.member == member) {
            let _: Sameness = rule.same;
            return Freedom::Bound;
        }
        let outer = Place(site.place.0[..site.place.0.len() - 1].to_vec());
        let Some(object) = outer.of(frame) else { return Freedom::None };
        let mut wording = tables.matching.wording.iter().copied().flatten();
        if wording.any(|row| row.record == record && row.members.contains(&member) && holds(row, object)) {
            return Freedom::Bound;
        }
        let value = site.place.of(frame).unwrap_or(&Value::Null);
        self.forms()
            .map(|form| allowed(form, (record, member), object, value))
            .find(|freedom| *freedom != Freedom::None)
            .unwrap_or(Freedom::None)
    }

    /// Returns the accepted values for a site within a growing message or the partial output of a tool.
    /// Returns `None` for other sites.
    fn growth(&self, event: &str, inside: &Place, site: &Site, sites: &[Site]) -> Option<Freedom> {
        let matching = &self.tables?.matching;
        let shows = matching.tools.as_ref().and_then(|tools| tools.shows.as_ref());
        if shows
            .is_some_and(|shows| shows.event == event && site.place.is_within(&below(inside, shows.partial)))
        {
            return Some(Freedom::Bound);
        }
        let row = matching.snapshots.as_ref()?;
        let within = |path: &str| site.place.is_within(&below(inside, path));
        let message = below(inside, row.message);
        let of_record = |other: &Site| {
            other.record.as_deref() == Some(row.record)
                && other.place.0.len() == message.0.len() + 1
                && other.place.is_within(&message)
        };
        // The start event of a message contains its first version.
        let begins = event == row.begins && within(row.message) && sites.iter().any(of_record);
        if !(begins || event == row.grows && row.within.iter().any(|path| within(path))) {
            return None;
        }
        let names = site.place.0.iter().filter_map(|step| match step {
            PathStep::Member(name) => Some(name.as_str()),
            PathStep::Item(_) => None,
        });
        let is_free = names
            .into_iter()
            .any(|name| row.loose.contains(&name) || row.until.iter().any(|(of, _)| *of == name));
        Some(if is_free { Freedom::Bound } else { Freedom::Grows })
    }
}

/// Returns the piece of a streamed text that an event carries.
pub(super) fn piece<'a>(delta: &Delta, body: &'a Value) -> Option<&'a str> {
    // In these paths, `[]` means the first element.
    let path = delta.text.replace("[]", ".0");
    path.split('.')
        .try_fold(body, |value, name| match name.parse::<usize>() {
            Ok(at) => value.get(at),
            Err(_) => value.get(name),
        })?
        .as_str()
}

/// Returns the place that a path, starting at `place`, leads to.
pub(super) fn below(place: &Place, path: &str) -> Place {
    path.split('.').fold(place.clone(), |place, name| match name.strip_suffix("[]") {
        Some(name) => place.member(name).item(0),
        None => place.member(name),
    })
}

fn holds(row: &Wording, object: &Value) -> bool {
    match row.when {
        WordingCondition::Always => true,
        WordingCondition::True(flag) => object.get(flag) == Some(&Value::Bool(true)),
        WordingCondition::OneOf(name, values) => {
            object.get(name).and_then(Value::as_str).is_some_and(|value| values.contains(&value))
        }
    }
}

/// Returns the values that an allowance accepts instead of `value`, a member of `object`.
fn allowed(form: &Form, (record, member): (&str, &str), object: &Value, value: &Value) -> Freedom {
    let here = |of: &str, name: &str| (of == record || of == "*") && name == member;
    let among = |rows: &[(&str, &str)]| rows.iter().any(|(of, name)| here(of, name));
    let flagged = |path: &str| path::get(object, path) == Some(&Value::Bool(true));
    let bound = match form {
        Form::NullOrAbsent(rows) | Form::LeftOut(rows) if among(rows) => return Freedom::MayBeAbsent,
        Form::Empty(rows) => among(rows) && is_nothing(value),
        Form::OneHigher(of, name, flag) => here(of, name) && flagged(flag),
        Form::WithoutEnding(of, name, _) => here(of, name),
        Form::CutElsewhere(rows) => rows.iter().any(|(of, name, flag)| here(of, name) && flagged(flag)),
        Form::CutFacts(rows) => rows.iter().any(|(of, path, _)| *of == record && flagged(path)),
        Form::OtherEntries(rows) => rows.iter().any(|row| row.member == member),
        _ => false,
    };
    if bound { Freedom::Bound } else { Freedom::None }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().all(Value::is_null),
        _ => false,
    }
}
