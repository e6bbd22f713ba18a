//! The members of a JSON object as texts. Members without a change are written exactly as they were read.

use std::borrow::Cow;
use std::fmt;

use agentese::scan;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, MemberValue<'a>)>);

/// The value of a member, as JSON text.
#[derive(Debug, Clone)]
enum MemberValue<'a> {
    Read(&'a RawValue),
    Set(String),
}

impl MemberValue<'_> {
    fn text(&self) -> &str {
        match self {
            MemberValue::Read(raw) => raw.get(),
            MemberValue::Set(text) => text,
        }
    }
}

impl<'a> Members<'a> {
    /// Parses an object. Fails if the text is anything else.
    pub fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the JSON text of a member. If the name occurs several times, the last one applies, as in JavaScript.
    pub fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.text())
    }

    /// Decodes a member. Lone surrogates become replacement characters. Returns `None` if the member is absent or has
    /// another type.
    pub fn get<T: serde::de::DeserializeOwned>(&self, name: &str) -> Option<T> {
        decode(self.raw(name)?).ok()
    }

    /// Returns a member that is a string. Returns `None` if the member is absent or has another type.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        scan::string(self.raw(name)?)
    }

    /// Returns a member that is a string, a number or a boolean, as a string. Returns `None` if it is absent, empty or
    /// has another type.
    pub fn scalar_text(&self, name: &str) -> Option<String> {
        let raw = self.raw(name)?;
        if let Some(text) = scan::string(raw) {
            return Some(text.into_owned()).filter(|text| !text.is_empty());
        }
        match decode(raw).ok()? {
            value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_)) => Some(value.to_string()),
            _ => None,
        }
    }

    /// Sets a member. A new member is inserted after the member `after`; without this member, at the end.
    pub fn set(&mut self, name: &str, value: &impl serde::Serialize, after: &str) {
        self.set_raw(name, text(value), after);
    }

    /// Sets a member to a JSON text, as [`Members::set`] does.
    pub fn set_raw(&mut self, name: &str, value: String, after: &str) {
        if let Some((_, old)) = self.0.iter_mut().rev().find(|(known, _)| known == name) {
            *old = MemberValue::Set(value);
            return;
        }
        let at = self.0.iter().position(|(known, _)| known == after).map_or(self.0.len(), |at| at + 1);
        self.0.insert(at, (name.to_owned().into(), MemberValue::Set(value)));
    }

    /// Removes a member.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// Returns the object as one line.
    pub fn line(&self) -> String {
        let mut line = LineWriter::default();
        for (name, value) in &self.0 {
            line.raw(name, value.text());
        }
        line.end()
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(8);
                while let Some((Name(name), value)) = map.next_entry::<Name<'de>, &RawValue>()? {
                    members.push((name, MemberValue::Read(value)));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The name of a member. It borrows from the text if it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(text.to_owned().into()))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

/// Writes an object, one member after the other.
#[derive(Debug, Default)]
pub(super) struct LineWriter(String);

impl LineWriter {
    /// Adds a member.
    pub fn member(&mut self, name: &str, value: &(impl serde::Serialize + ?Sized)) -> &mut Self {
        self.raw(name, &text(value))
    }

    /// Adds a member if there is a value.
    pub fn optional(&mut self, name: &str, value: Option<&impl serde::Serialize>) -> &mut Self {
        match value {
            Some(value) => self.member(name, value),
            None => self,
        }
    }

    fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(&text(name));
        self.0.push(':');
        self.0.push_str(value);
        self
    }

    /// Ends the object and returns its text.
    pub fn end(&mut self) -> String {
        if self.0.is_empty() {
            self.0.push('{');
        }
        self.0.push('}');
        let mut line = std::mem::take(&mut self.0);
        // The text is kept as long as the session.
        line.shrink_to_fit();
        line
    }
}

/// Decodes JSON text. Lone surrogates become replacement characters.
pub(super) fn decode<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let whole = agentese::wire::replace_lone_surrogates(text);
    serde_json::from_str(whole.as_deref().unwrap_or(text))
}

fn text(value: &(impl serde::Serialize + ?Sized)) -> String {
    // Only maps with keys that are not strings cannot be written, and there are no such maps here.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_members_are_written_as_read() {
        let text =
            r#"{"b":1.0,"a":{"x": 1e2,  "x":2},"big":123456789012345678901234567890,"s":"\u00e4\ud800"}"#;
        let mut members = Members::read(text).unwrap();
        assert_eq!(members.line(), text);
        assert_eq!(members.get::<String>("s").as_deref(), Some("ä\u{fffd}"));
        members.set("a", &true, "b");
        members.set("c", &"new", "b");
        members.remove("big");
        assert_eq!(members.line(), r#"{"b":1.0,"c":"new","a":true,"s":"\u00e4\ud800"}"#);
        assert!(Members::read("[]").is_err());
        assert!(Members::read("{} {}").is_err());
        assert_eq!(Members::read("{}").unwrap().line(), "{}");
    }
}
