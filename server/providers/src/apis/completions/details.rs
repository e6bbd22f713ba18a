//! `reasoning_details`: the member in which OpenRouter sends reasoning that the model must receive back unchanged.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::verbatim::items;

/// Kinds of details that arrive in fragments, each with the member that grows.
const FRAGMENTED_KINDS: &[(&str, &str)] =
    &[("\"reasoning.text\"", "text"), ("\"reasoning.summary\"", "summary")];
/// Members that are equal in all fragments of one detail.
const COMMON: &[&str] = &["type", "index", "id", "format", "signature"];

/// The details of an answer so far, each unchanged. Fragments of one text are joined.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails {
    list: Vec<ReasoningDetail>,
    /// `true` if details arrived since the last call of `take_fresh`.
    fresh: bool,
}

impl ReasoningDetails {
    /// Adds the details of a chunk, which is a JSON list. Returns `true` if there are details that [`Self::take_fresh`]
    /// has not returned.
    pub fn add(&mut self, list: &str) -> bool {
        for (index, json) in items(list).into_iter().filter(|json| json.starts_with('{')).enumerate() {
            let Ok(members) = serde_json::from_str(json) else { continue };
            self.fresh = true;
            // Details in one list are complete: only the first can continue an earlier one.
            let last = self.list.last_mut().filter(|_| index == 0);
            if last.is_none_or(|last| !last.join(&members)) {
                self.list.push(ReasoningDetail { json: Some(json.to_owned()), members });
            }
        }
        self.fresh
    }

    /// Returns true if there are no details.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns all details as a JSON list. Returns `None` if no further details have arrived since the last call.
    pub fn take_fresh(&mut self) -> Option<String> {
        std::mem::take(&mut self.fresh).then(|| {
            let list: Vec<String> = self.list.iter().map(ReasoningDetail::text).collect();
            format!("[{}]", list.join(","))
        })
    }
}

#[derive(Debug)]
struct ReasoningDetail {
    /// The JSON text as it arrived. `None` after a fragment was joined.
    json: Option<String>,
    members: Members,
}

impl ReasoningDetail {
    /// Joins a fragment to this detail. Returns false if the fragment belongs to another detail.
    fn join(&mut self, fragment: &Members) -> bool {
        let differs = |name: &&str| match (self.members.get(name), fragment.get(name)) {
            (Some(a), Some(b)) => a != b,
            _ => *name == "type",
        };
        let kind = self.members.get("type");
        let Some((_, grows)) = FRAGMENTED_KINDS.iter().find(|(known, _)| kind == Some(*known)) else {
            return false;
        };
        let text = fragment.get(grows).unwrap_or("\"\"");
        // A signed text is complete.
        let is_over = self.members.get("signature").is_some() && text != "\"\"";
        if is_over || !text.starts_with('"') || COMMON.iter().any(differs) {
            return false;
        }
        self.json = None;
        for (name, value) in &fragment.0 {
            match self.members.position(name) {
                None => self.members.0.push((name.clone(), value.clone())),
                Some(index) if self.members.0[index].1 == "null" => self.members.0[index].1.clone_from(value),
                // Both are JSON strings: their contents are joined with the escapes unchanged.
                Some(index) if name == grows && value != "null" => {
                    let before = &mut self.members.0[index].1;
                    before.pop();
                    before.push_str(&value[1..]);
                }
                Some(_) => {}
            }
        }
        true
    }

    fn text(&self) -> String {
        let member =
            |(name, value): &(String, String)| format!("{}:{value}", serde_json::Value::from(name.as_str()));
        match &self.json {
            Some(json) => json.clone(),
            None => format!("{{{}}}", self.members.0.iter().map(member).collect::<Vec<_>>().join(",")),
        }
    }
}

/// The members of an object in their original order, with unchanged values.
#[derive(Debug)]
struct Members(Vec<(String, String)>);

impl Members {
    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|(known, _)| known == name)
    }

    /// Returns the value of a member that is present and not null.
    fn get(&self, name: &str) -> Option<&str> {
        self.position(name).map(|index| self.0[index].1.as_str()).filter(|value| *value != "null")
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    members.push((name, value.get().to_owned()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expected: &str) {
        let mut details = ReasoningDetails::default();
        for chunk in chunks {
            details.add(chunk);
        }
        assert_eq!(details.take_fresh().unwrap(), expected);
        assert_eq!(details.take_fresh(), None);
    }

    #[test]
    fn details_stay_as_they_came_and_in_order() {
        let (text, hidden) = (
            r#"{"type":"reasoning.text", "text":"h\u00e9","signature":"s\/=","index":0,"x":1.0e2}"#,
            r#"{"type":"reasoning.encrypted","data":"ZGF0YQ==","id":"c1","index":0}"#,
        );
        let summary = r#"{"type":"reasoning.summary","summary":"a"}"#;
        let novel = r#"{"type":"reasoning.novel","z":[1.50]}"#;
        check(&[&format!("[{text}, {hidden}]")], &format!("[{text},{hidden}]"));
        check(
            &[&format!("[{novel}]"), &format!("[{hidden}]"), &format!("[{text}]"), &format!("[{text}]")],
            &format!("[{novel},{hidden},{text},{text}]"),
        );
        // Details of one chunk are complete, even if they are equal.
        check(&[&format!("[{summary},{summary}]")], &format!("[{summary},{summary}]"));
    }

    #[test]
    fn fragments_are_put_together_by_number() {
        check(
            &[
                r#"[{"type":"reasoning.text","text":"I th","format":"f","index":0}]"#,
                r#"[{"type":"reasoning.text","text":"ink \ud83d","format":"f","index":0}]"#,
                r#"[{"type":"reasoning.text","text":"\ude00","index":0}]"#,
                r#"[{"type":"reasoning.text","signature":"c2ln","format":"f","index":0}]"#,
                r#"[{"type":"reasoning.text","text":"Next","index":1}]"#,
            ],
            concat!(
                r#"[{"type":"reasoning.text","text":"I think \ud83d\ude00","format":"f","index":0,"signature":"c2ln"},"#,
                r#"{"type":"reasoning.text","text":"Next","index":1}]"#
            ),
        );
        // Without numbers, a signature ends a text.
        check(
            &[
                r#"[{"type":"reasoning.text","text":"a","signature":null}]"#,
                r#"[{"type":"reasoning.text","text":"b","signature":"s"}]"#,
                r#"[{"type":"reasoning.text","text":"c"}]"#,
            ],
            r#"[{"type":"reasoning.text","text":"ab","signature":"s"},{"type":"reasoning.text","text":"c"}]"#,
        );
    }

    #[test]
    fn invalid_details_are_left_out() {
        let mut details = ReasoningDetails::default();
        for list in ["[]", "{}", "null", "[1, \"x\"]", "nope"] {
            assert!(!details.add(list), "{list}");
        }
        assert_eq!(details.take_fresh(), None);
    }
}
