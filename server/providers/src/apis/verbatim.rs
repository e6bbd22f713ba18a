//! JSON texts that a server sent and requires back byte for byte, with the same numbers, escapes and order of members.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Name of the only member of an object that stands for a JSON text. The name is random, so that no output of
/// a model or tool can equal such an object by chance.
static MARK: LazyLock<String> = LazyLock::new(|| uuid::Uuid::new_v4().to_string());

/// Returns a value that [`JsonText`] writes as this JSON text. Returns `None` if the text is not JSON.
pub(super) fn verbatim(json: &str) -> Option<Value> {
    serde_json::from_str::<&RawValue>(json).ok()?;
    Some(Value::Object(Map::from_iter([(MARK.clone(), Value::from(json))])))
}

/// Returns the JSON text of a member of an object. If the name occurs several times, the last member applies.
pub(super) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let members: HashMap<Cow<'a, str>, &'a RawValue> = serde_json::from_str(object).ok()?;
    members.get(name).map(|value| value.get())
}

/// Returns the JSON text of each item of a list. Returns an empty list if the text is not a list.
pub(super) fn items(list: &str) -> Vec<&str> {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    items.into_iter().map(RawValue::get).collect()
}

/// Displays a value as JSON text. Each part from [`verbatim`] is written as it arrived.
pub(super) struct JsonText<'a>(pub &'a Value);

impl Serialize for JsonText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                if let Some(json) = verbatim_text(members) {
                    return json.serialize(serializer);
                }
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, &JsonText(value))?;
                }
                map.end()
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&JsonText(item))?;
                }
                list.end()
            }
            other => other.serialize(serializer),
        }
    }
}

fn verbatim_text(members: &Map<String, Value>) -> Option<&RawValue> {
    let json = members.get(MARK.as_str()).filter(|_| members.len() == 1)?.as_str()?;
    serde_json::from_str(json).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        serde_json::to_string(&JsonText(value)).unwrap()
    }

    /// JSON that no parser would write in the same way.
    const ODD: &str = r#"{"b": 1.50e+3, "a":-0.0 ,"u":"\u00e9\/\ud83d","n":12345678901234567890123,"b":[ ]}"#;

    #[test]
    fn a_text_is_written_unchanged_at_any_place() {
        let kept = verbatim(ODD).unwrap();
        assert_eq!(text(&kept), ODD);
        let within = json!({"first": [kept, {"x": 1}], "é\n": null});
        assert_eq!(text(&within), format!("{{\"first\":[{ODD},{{\"x\":1}}],\"é\\n\":null}}"));
        for broken in ["", "{", "{}{}", "nope"] {
            assert_eq!(verbatim(broken), None, "{broken}");
        }
        let ordinary = json!({"a": [1, 2.5, "x", {"b": true}], "c": {}});
        assert_eq!(text(&ordinary), ordinary.to_string());
    }

    #[test]
    fn members_and_items_are_found_as_they_were_written() {
        assert_eq!(member(ODD, "b"), Some("[ ]"));
        assert_eq!(member(ODD, "a"), Some("-0.0"));
        assert_eq!(member(r#"{"\u0061": 7}"#, "a"), Some("7"));
        assert_eq!((member("[1]", "a"), member(ODD, "z")), (None, None));
        assert_eq!(items("[1.0, {\"a\" : 2}]"), ["1.0", "{\"a\" : 2}"]);
        assert_eq!(items("{}"), Vec::<&str>::new());
    }
}
