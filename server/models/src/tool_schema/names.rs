//! Renaming of the properties of a tool.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::rules::{LONGEST_NAME, ToolRules};

/// Properties of one tool that have other names in requests. A name is replaced in all objects of the tool's arguments.
#[derive(Debug, Clone, Default)]
pub(super) struct PropertyNames {
    request_names: BTreeMap<String, String>,
}

impl PropertyNames {
    /// Creates a new name for each property that the API rejects. The new name differs from all other names of the
    /// tool.
    pub fn new(own: BTreeSet<String>, rules: &ToolRules) -> Self {
        let mut taken: BTreeSet<String> =
            own.iter().filter(|name| rules.accepts_property(name)).cloned().collect();
        let Some((others, longest)) = rules.properties else { return Self::default() };
        let usual = |one: char| if one.is_ascii_alphanumeric() || others.contains(&one) { one } else { '_' };
        let mut sent = BTreeMap::new();
        for name in own.into_iter().filter(|name| !rules.accepts_property(name)) {
            let mut wanted: String = name.chars().map(usual).take(longest).collect();
            if wanted.is_empty() {
                wanted.push('_');
            }
            sent.insert(name, unique_name(&wanted, &mut taken));
        }
        Self { request_names: sent }
    }

    pub fn is_empty(&self) -> bool {
        self.request_names.is_empty()
    }

    /// Returns the name of a property in requests. Names that the API accepts are returned unchanged.
    pub fn request_name<'a>(&'a self, own: &'a str) -> &'a str {
        self.request_names.get(own).map_or(own, String::as_str)
    }

    /// Replaces the tool's own names in arguments by the names in requests.
    pub fn to_request(&self, arguments: Value) -> Value {
        rename_members(arguments, &|name| self.request_names.get(name))
    }

    /// Replaces the names in requests by the tool's own names.
    pub fn to_original(&self, arguments: Value) -> Value {
        let own: BTreeMap<&String, &String> =
            self.request_names.iter().map(|(own, sent)| (sent, own)).collect();
        rename_members(arguments, &|name| own.get(name).copied())
    }
}

fn rename_members<'a>(value: Value, name_of: &impl Fn(&String) -> Option<&'a String>) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| {
                (name_of(&name).cloned().unwrap_or(name), rename_members(value, name_of))
            };
            Value::Object(members.into_iter().map(member).collect::<Map<_, _>>())
        }
        Value::Array(list) => list.into_iter().map(|value| rename_members(value, name_of)).collect(),
        value => value,
    }
}

/// Returns `wanted`, or the same name with a number if it is in `taken`. Adds the result to `taken`. `wanted` must be
/// ASCII.
pub(super) fn unique_name(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", &wanted[..wanted.len().min(LONGEST_NAME - end.len())])
    });
    let names = std::iter::once(wanted.to_owned()).chain(numbered);
    let name = names.into_iter().find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}
