//! Replacement of references in a schema by the schemas to which they refer.

use serde_json::{Map, Value, json};

/// Maximum number of schemas inside one schema, and their maximum depth.
const MAX_SCHEMAS: usize = 4000;
const MAX_DEPTH: usize = 32;

/// Keywords whose members are schemas.
const SCHEMA_MAPS: &[&str] = &["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// Keywords whose values are data and never schemas.
const DATA_MEMBERS: &[&str] =
    &["enum", "const", "default", "example", "examples", "required", "dependentRequired"];

/// Returns the schema with each reference replaced by its target. A circular reference, or a reference to another
/// document, becomes a schema that accepts any value.
pub(super) fn resolve_references(schema: &Value) -> Value {
    let mut resolver = Resolver { root: schema, open: Vec::new(), remaining: MAX_SCHEMAS };
    resolver.schema(schema, MAX_DEPTH)
}

struct Resolver<'a> {
    root: &'a Value,
    /// References whose targets are being processed, to detect circles.
    open: Vec<&'a str>,
    remaining: usize,
}

impl<'a> Resolver<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Value {
        let (Value::Object(members), Some(depth)) = (schema, depth.checked_sub(1)) else {
            return if schema.is_boolean() { schema.clone() } else { json!({}) };
        };
        let Some(left) = self.remaining.checked_sub(1) else { return json!({}) };
        self.remaining = left;
        let mut found = match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.reference(reference, depth),
            None => Map::new(),
        };
        for (name, value) in members {
            // Members beside a reference override those of its target.
            if name != "$ref" && !matches!(name.as_str(), "$defs" | "definitions") {
                found.insert(name.clone(), self.member(name, value, depth));
            }
        }
        Value::Object(found)
    }

    fn member(&mut self, name: &str, value: &'a Value, depth: usize) -> Value {
        match value {
            _ if DATA_MEMBERS.contains(&name) => value.clone(),
            Value::Object(members) if SCHEMA_MAPS.contains(&name) => {
                members.iter().map(|(name, value)| (name.clone(), self.schema(value, depth))).collect()
            }
            Value::Object(_) => self.schema(value, depth),
            Value::Array(list) => {
                let item = |item: &'a Value| match item {
                    Value::Object(_) => self.schema(item, depth),
                    item => item.clone(),
                };
                list.iter().map(item).collect()
            }
            value => value.clone(),
        }
    }

    fn reference(&mut self, reference: &'a str, depth: usize) -> Map<String, Value> {
        let target =
            reference.strip_prefix('#').and_then(|pointer| self.root.pointer(&decode_pointer(pointer)));
        let name = reference.rsplit('/').next().unwrap_or_default();
        let Some(target) = target.filter(|_| !self.open.contains(&reference)) else {
            let mut any = Map::new();
            if !matches!(name, "" | "#") {
                any.insert("description".into(), format!("The same as {name}.").into());
            }
            return any;
        };
        self.open.push(reference);
        let meant = self.schema(target, depth);
        self.open.pop();
        match meant {
            Value::Object(meant) => meant,
            _ => Map::new(),
        }
    }
}

/// Decodes the JSON pointer in a URL fragment, which can be percent-encoded.
fn decode_pointer(pointer: &str) -> String {
    percent_encoding::percent_decode_str(pointer).decode_utf8_lossy().into_owned()
}
