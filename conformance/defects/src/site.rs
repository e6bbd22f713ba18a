//! Declared values at the places of a frame. They are found by following the dialect's generated schema
//! through the frame. A value for which the schema permits anything is not declared.

use agentese::schema::{Side, schema};
use agentese::spec::Spec;
use serde_json::Value;

use crate::place::Place;

/// Values that the schema permits at a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A fixed value, such as a tag.
    Constant,
    /// One of these strings. If the set is open, other strings are permitted too.
    Choice {
        /// The declared strings.
        values: Vec<String>,
        /// `true` if other strings are allowed.
        open: bool,
    },
    /// Any string.
    Text,
    /// A boolean.
    Boolean,
    /// Any number.
    Number,
    /// Any object, whose members are sites of their own.
    Object,
    /// Any array, whose items are sites of their own.
    Array,
    /// Any JSON value.
    Any,
}

/// A declared member or item of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Place of the value in the frame.
    pub place: Place,
    /// Name of the record that declares the member; `None` if the record has no name.
    pub record: Option<String>,
    /// Values that the schema permits at this site.
    pub kind: Kind,
    /// `true` if the schema requires the member.
    pub required: bool,
    /// `true` if null is allowed.
    pub nullable: bool,
    /// `true` if the schema allows values of other types as well.
    pub several: bool,
    /// `true` if an agent may omit the value, or send null, although the recording has it.
    pub may_be_absent: bool,
    /// `true` if the value belongs to a growing message, in which any earlier version of the value is valid.
    pub grows: bool,
}

/// Schema of the frames that an agent of one dialect sends.
#[derive(Debug)]
pub struct Shapes {
    root: Value,
}

impl Shapes {
    /// Loads the schema of a dialect.
    pub fn of(spec: &Spec) -> Self {
        let text = schema(&spec.id(), Side::Server).unwrap_or("{}");
        Self { root: serde_json::from_str(text).unwrap_or_default() }
    }

    /// Returns the sites of a frame, outer ones first. For an answer whose result depends on the method,
    /// `method` is the answered method.
    pub fn sites(&self, frame: &Value, method: Option<&str>) -> Vec<Site> {
        let mut walk = SiteWalker { shapes: self, sites: Vec::new() };
        walk.inside(&self.root, frame, &Place::default());
        // The schema of a JSON-RPC result depends on the method.
        let results = method.and_then(|method| self.root.get("x-results")?.get(method));
        if let (Some(shape), Some(result)) = (results, frame.get("result")) {
            walk.inside(shape, result, &Place::default().member("result"));
        }
        walk.sites
    }

    fn resolve<'a>(&'a self, mut shape: &'a Value) -> &'a Value {
        while let Some(name) = shape.get("$ref").and_then(Value::as_str) {
            match name.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
                Some(found) => shape = found,
                None => break,
            }
        }
        shape
    }
}

struct SiteWalker<'a> {
    shapes: &'a Shapes,
    sites: Vec<Site>,
}

impl<'a> SiteWalker<'a> {
    /// Visits a value whose shape is known, and the values inside it.
    fn inside(&mut self, shape: &'a Value, value: &Value, place: &Place) {
        let (shape, record) = self.fitting(shape, value);
        match value {
            Value::Object(members) => {
                let declared = shape.get("properties").and_then(Value::as_object);
                for (name, value) in members {
                    let inner = match declared.and_then(|declared| declared.get(name)) {
                        Some(inner) => inner,
                        None => match shape.get("additionalProperties").filter(|inner| inner.is_object()) {
                            Some(inner) => inner,
                            None => continue,
                        },
                    };
                    let required =
                        shape["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
                    self.site(inner, value, place.member(name), required, record);
                }
            }
            Value::Array(items) => {
                let Some(inner) = shape.get("items") else { return };
                for (at, value) in items.iter().enumerate() {
                    self.site(inner, value, place.item(at), true, None);
                }
            }
            _ => {}
        }
    }

    fn site(
        &mut self,
        shape: &'a Value,
        value: &Value,
        place: Place,
        required: bool,
        record: Option<&'a str>,
    ) {
        let whole = self.shapes.resolve(shape);
        let nullable = allows_null(whole);
        let several = whole.get("anyOf").and_then(Value::as_array).is_some_and(|arms| {
            arms.iter().filter(|arm| self.shapes.resolve(arm)["type"] != "null").count() > 1
        });
        let kind = kind(self.fitting(shape, value).0, value);
        let record = record.map(str::to_owned);
        self.sites.push(Site {
            place: place.clone(),
            record,
            kind,
            required,
            nullable,
            several,
            may_be_absent: false,
            grows: false,
        });
        self.inside(shape, value, &place);
    }

    /// Returns the alternative of a union that fits the value, and the name of the alternative.
    fn fitting(&self, shape: &'a Value, value: &Value) -> (&'a Value, Option<&'a str>) {
        let name = shape.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
        let shape = self.shapes.resolve(shape);
        let arms = shape.get("oneOf").or_else(|| shape.get("anyOf")).and_then(Value::as_array);
        let Some(arms) = arms else { return (shape, name) };
        let mut arms = arms.iter().map(|arm| self.fitting(arm, value));
        arms.find(|(arm, _)| fits(arm, value)).unwrap_or((&Value::Null, None))
    }
}

/// Returns `true` if the value fits the shape. The check is only precise enough to choose an alternative of
/// a union.
fn fits(shape: &Value, value: &Value) -> bool {
    let Some(shape) = shape.as_object() else { return false };
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" | "number" => value.is_number(),
        _ => false,
    };
    let kind = match shape.get("type") {
        None => true,
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is),
        Some(name) => name.as_str().is_some_and(is),
    };
    let constants =
        shape.get("properties").and_then(Value::as_object).into_iter().flatten().all(|(name, inner)| match (
            inner.get("const"),
            inner.get("not").and_then(|not| not.get("enum")),
            value.get(name),
        ) {
            (Some(constant), _, found) => found == Some(constant),
            (None, Some(known), Some(found)) => known.as_array().is_none_or(|known| !known.contains(found)),
            _ => true,
        });
    let required = shape.get("required").and_then(Value::as_array).into_iter().flatten();
    let required = required.filter_map(Value::as_str).all(|name| value.get(name).is_some());
    kind && constants && (required || !value.is_object())
}

fn allows_null(shape: &Value) -> bool {
    let is_null = |name: &Value| name == "null";
    match shape.get("type") {
        Some(Value::Array(names)) => names.iter().any(is_null),
        Some(name) => is_null(name),
        None => match shape.get("anyOf").and_then(Value::as_array) {
            Some(arms) => arms.iter().any(|arm| arm.get("type").is_some_and(is_null)),
            // The schema has no constraint, so any value fits.
            None => {
                ["oneOf", "const", "enum", "properties", "$ref"].iter().all(|word| shape.get(word).is_none())
            }
        },
    }
}

fn kind(shape: &Value, value: &Value) -> Kind {
    if shape.get("const").is_some() {
        return Kind::Constant;
    }
    let strings = |word: &str| -> Option<Vec<String>> {
        Some(shape.get(word)?.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    let has_no_type = shape.as_object().is_none_or(|shape| shape.get("type").is_none());
    if has_no_type {
        return Kind::Any;
    }
    match value {
        Value::String(_) => match (strings("enum"), strings("examples")) {
            (Some(values), _) => Kind::Choice { values, open: false },
            (None, Some(values)) => Kind::Choice { values, open: true },
            (None, None) => Kind::Text,
        },
        Value::Bool(_) => Kind::Boolean,
        Value::Number(_) => Kind::Number,
        Value::Object(_) => Kind::Object,
        Value::Array(_) => Kind::Array,
        Value::Null => Kind::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Formats the sites of a frame as text: place, kind and `optional` for each site.
    fn outline(dialect: &str, frame: &Value, method: Option<&str>) -> Vec<String> {
        let shapes = Shapes::of(agentese::dynamic::spec(dialect).unwrap());
        let told = |site: Site| {
            let kind = match site.kind {
                Kind::Choice { open, .. } => format!("Choice open {open}"),
                kind => format!("{kind:?}"),
            };
            format!("{} {kind}{}", site.place, if site.required { "" } else { " optional" })
        };
        shapes.sites(frame, method).into_iter().map(told).collect()
    }

    #[test]
    fn an_answer_has_the_sites_of_its_command() {
        let frame = json!({"id": 1, "type": "response", "command": "cycle_thinking_level", "success": true,
            "data": {"level": "low", "more": 1}});
        assert_eq!(
            outline("pi", &frame, None),
            [
                "id Any optional",
                "type Constant",
                "command Constant",
                "success Constant",
                "data Object",
                "data.level Choice open false",
            ]
        );
    }

    #[test]
    fn unions_are_distinguished_by_their_tags() {
        let frame = json!({"type": "message_end", "message": {"role": "user", "timestamp": 1,
            "content": [{"type": "text", "text": "hi"}, {"type": "unheard", "text": "of"}]}});
        let sites = outline("pi", &frame, None);
        assert!(sites.contains(&"message.content[0].text Text".to_owned()), "{sites:?}");
        assert!(!sites.iter().any(|site| site.starts_with("message.content[1].text")), "{sites:?}");
    }

    #[test]
    fn json_rpc_results_have_the_type_of_their_method() {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "result": {"queued": true}});
        let sites = outline("opal", &frame, Some("agent/prompt"));
        assert!(sites.contains(&"result.queued Boolean".to_owned()), "{sites:?}");
        assert!(!outline("opal", &frame, None).contains(&"result.queued Boolean".to_owned()));
    }

    #[test]
    fn an_envelope_is_looked_into() {
        let frame = json!({"type": "event", "event": {"type": "agent_end", "messages": []}});
        let sites = outline("operator", &frame, None);
        assert!(sites.contains(&"event.messages Array".to_owned()), "{sites:?}");
    }
}
