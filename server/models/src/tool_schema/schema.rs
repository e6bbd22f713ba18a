//! Rewriting of a tool's schema for an API.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::names::PropertyNames;
use super::references::resolve_references;
use super::rules::ToolRules;

/// Keywords that are removed: keywords about the schema itself, and references that are already replaced. No API needs
/// them, and some APIs reject them.
const DROPPED: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$schema",
    "$vocabulary",
    "definitions",
];
/// Keywords that no API accepts at the top level of a tool's schema.
const NOT_AT_TOP: &[&str] = &[
    "allOf",
    "anyOf",
    "const",
    "dependencies",
    "dependentSchemas",
    "else",
    "enum",
    "if",
    "not",
    "oneOf",
    "then",
];
/// `LISTS`: keywords whose value is a list of schemas. `SINGLE`: keywords whose value is one schema.
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
const SINGLE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// A schema in the form that an API accepts.
#[derive(Debug)]
pub(super) struct FittedSchema {
    pub schema: Value,
    pub names: PropertyNames,
    /// A sentence about constraints that the rewritten schema cannot express.
    pub note: Option<String>,
}

/// Returns the reason why no API accepts a schema in any form; `None` if the schema can be used.
pub fn problem(schema: &Value) -> Option<String> {
    let Value::Object(members) = schema else {
        return Some(format!("its schema is {}, not an object", kind(schema)));
    };
    let is_object = |kind: &Value| kind == "object";
    match resolve_references(schema).get("type").or(members.get("type")) {
        None => None,
        Some(kind) if is_object(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_object)) => {
            None
        }
        Some(kind) => Some(format!("its schema has the type {kind}, not \"object\"")),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Rewrites a schema for an API. Fails with the reason if this is not possible.
pub(super) fn rewrite(schema: &Value, rules: &ToolRules) -> Result<FittedSchema, String> {
    if let Some(problem) = problem(schema) {
        return Err(problem);
    }
    let Value::Object(top) = resolve_references(schema) else { return Err("it has no schema".to_owned()) };
    let (top, note) = flatten(top);
    let mut own = BTreeSet::new();
    if rules.properties.is_some() {
        collect(&top, &mut own);
    }
    let names = PropertyNames::new(own, rules);
    let mut schema = adapt(top, rules, &names);
    // APIs require the type in the schema.
    schema.insert("type".into(), "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    Ok(FittedSchema { schema: Value::Object(schema), names, note })
}

/// Replaces alternatives at the top level by one object schema. It has the properties of all alternatives, and requires
/// only properties that every alternative requires. The note lists the required properties of each alternative.
fn flatten(mut top: Map<String, Value>) -> (Map<String, Value>, Option<String>) {
    for part in list(top.shift_remove("allOf")) {
        let (part, _) = flatten(part);
        let required = union(&required_names(&top), &required_names(&part));
        merge(&mut top, part);
        require(&mut top, required);
    }
    let mut notes = Vec::new();
    for name in ["anyOf", "oneOf"] {
        let forms: Vec<_> = list(top.shift_remove(name)).into_iter().map(|form| flatten(form).0).collect();
        if forms.is_empty() {
            continue;
        }
        let each: Vec<Vec<String>> = forms.iter().map(required_names).collect();
        let all = |name: &&String| each.iter().all(|names| names.contains(name));
        let common: Vec<String> = each[0].iter().filter(all).cloned().collect();
        let required = union(&required_names(&top), &common);
        forms.into_iter().for_each(|form| merge(&mut top, form));
        let differs = each.iter().any(|names| names.len() > common.len());
        if differs {
            let form = |names: &Vec<String>| match names.is_empty() {
                true => "nothing".to_owned(),
                false => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and "),
            };
            let forms: Vec<_> = each.iter().map(form).collect();
            let how = if name == "oneOf" { "exactly one" } else { "at least one" };
            notes.push(format!("Arguments have {how} of these forms, which require: {}.", forms.join("; ")));
        }
        require(&mut top, required);
    }
    NOT_AT_TOP.iter().for_each(|name| drop(top.shift_remove(*name)));
    (top, (!notes.is_empty()).then(|| notes.join("\n")))
}

fn list(value: Option<Value>) -> Vec<Map<String, Value>> {
    let Some(Value::Array(list)) = value else { return Vec::new() };
    let object = |item: Value| match item {
        Value::Object(members) if members.get("type").is_none_or(|kind| kind != "null") => Some(members),
        _ => None,
    };
    list.into_iter().filter_map(object).collect()
}

fn required_names(schema: &Map<String, Value>) -> Vec<String> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn union(one: &[String], other: &[String]) -> Vec<String> {
    let more = other.iter().filter(|name| !one.contains(name));
    one.iter().chain(more).cloned().collect()
}

fn require(schema: &mut Map<String, Value>, names: Vec<String>) {
    match names.is_empty() {
        true => drop(schema.shift_remove("required")),
        false => drop(schema.insert("required".into(), json!(names))),
    }
}

/// Adds the members of `part` to a schema. A property with two different schemas accepts both.
fn merge(schema: &mut Map<String, Value>, part: Map<String, Value>) {
    for (name, value) in part {
        match (schema.get_mut(&name), value) {
            (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => {
                for (name, other) in more {
                    match known.get_mut(&name) {
                        None => drop(known.insert(name, other)),
                        Some(one) if *one == other => {}
                        Some(one) => add_alternative(one, other),
                    }
                }
            }
            (None, value) => drop(schema.insert(name, value)),
            (Some(_), _) => {}
        }
    }
}

fn add_alternative(one: &mut Value, other: Value) {
    match one.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(forms) if !forms.contains(&other) => forms.push(other),
        Some(_) => {}
        None => *one = json!({"anyOf": [one.take(), other]}),
    }
}

/// Collects the names of all properties at any depth.
fn collect(schema: &Map<String, Value>, names: &mut BTreeSet<String>) {
    let mut inner = |value: &Value| {
        if let Value::Object(schema) = value {
            collect(schema, names);
        }
    };
    for (name, value) in schema {
        match value {
            Value::Array(list) if LISTS.contains(&name.as_str()) || name == "items" => {
                list.iter().for_each(&mut inner)
            }
            value if SINGLE.contains(&name.as_str()) => inner(value),
            _ => {}
        }
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        properties.values().for_each(&mut inner);
        names.extend(properties.keys().cloned());
    }
}

/// Converts a schema and all schemas inside it to the form that the API accepts.
fn adapt(schema: Map<String, Value>, rules: &ToolRules, names: &PropertyNames) -> Map<String, Value> {
    let mut found = Map::new();
    let one = |value: Value| match value {
        Value::Object(schema) => Some(Value::Object(adapt(schema, rules, names))),
        Value::Bool(true) => Some(json!({})),
        // A schema without a matching value.
        _ => None,
    };
    for (name, value) in schema {
        if DROPPED.contains(&name.as_str()) {
            continue;
        }
        match (name.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let property = |(own, value): (String, Value)| {
                    let sent = names.request_name(&own).to_owned();
                    let mut schema = one(value)?;
                    if sent != own
                        && let Value::Object(schema) = &mut schema
                    {
                        schema.entry("title").or_insert(own.into());
                    }
                    Some((sent, schema))
                };
                let properties: Map<_, _> = properties.into_iter().filter_map(property).collect();
                found.insert(name, Value::Object(properties));
            }
            ("required" | "propertyOrdering", Value::Array(list)) => {
                let sent =
                    list.iter().filter_map(Value::as_str).map(|own| Value::from(names.request_name(own)));
                found.insert(name, sent.collect());
            }
            // In drafts 3 and 4 these are booleans.
            ("required" | "exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {}
            ("enum", Value::Array(list)) if list.is_empty() => {}
            ("const", value) if rules.keywords.is_some() => drop(found.insert("enum".into(), json!([value]))),
            ("allOf", Value::Array(parts)) if rules.keywords.is_some() => {
                for part in parts.into_iter().filter_map(one) {
                    if let Value::Object(part) = part {
                        let required = union(&required_names(&found), &required_names(&part));
                        merge(&mut found, part);
                        require(&mut found, required);
                    }
                }
            }
            // A list of schemas was a tuple before draft 2020-12.
            ("items", Value::Array(items)) => {
                found.insert("prefixItems".into(), items.into_iter().filter_map(one).collect());
            }
            (
                "additionalProperties" | "unevaluatedProperties" | "additionalItems",
                value @ Value::Bool(_),
            ) => {
                found.insert(name, value);
            }
            (keyword, Value::Array(schemas)) if LISTS.contains(&keyword) => {
                let schemas: Vec<Value> = schemas.into_iter().filter_map(one).collect();
                if !schemas.is_empty() {
                    found.insert(name, schemas.into());
                }
            }
            (keyword, value) if SINGLE.contains(&keyword) => {
                if let Some(schema) = one(value) {
                    found.insert(name, schema);
                }
            }
            (_, value) => drop(found.insert(name, value)),
        }
    }
    if found.get("type").is_some_and(|kind| kind == "array") && !found.contains_key("prefixItems") {
        found.entry("items").or_insert_with(|| json!({}));
    }
    if let Some(keywords) = rules.keywords {
        found.retain(|name, _| keywords.contains(&name.as_str()));
        only_known_required(&mut found);
    }
    found
}

/// Removes names from `required` that are not in `properties`.
fn only_known_required(schema: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    let (known, unknown): (Vec<String>, Vec<String>) =
        required_names(schema).into_iter().partition(|name| properties.contains_key(name));
    if !unknown.is_empty() {
        require(schema, known);
    }
}
