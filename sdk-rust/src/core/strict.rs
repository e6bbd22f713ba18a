//! Strict reading of client frames: ambiguous frames, which two readers could interpret differently, are
//! rejected.
//!
//! If an object has two members with one name, JSON does not define which one applies. Some take the last
//! member, some the first, and some compare names without regard to case. A server may check one of the members
//! and forward the text to a reader that uses the other. It would then admit a command that it must reject.
//! [`client_frame`] rejects such frames. Servers that check permissions must call it first.
//!
//! ```
//! use agentese::strict::{self, StrictKind};
//!
//! let spec = agentese::dynamic::spec("pi").unwrap();
//! let frame = strict::client_frame(spec, r#"{"id":"1","type":"get_state"}"#).unwrap();
//! assert_eq!(frame.kind, StrictKind::Command("get_state".into()));
//!
//! let error = strict::client_frame(spec, r#"{"type":"bash","type":"get_state"}"#).unwrap_err();
//! assert_eq!(error.to_string(), "the member `type` occurs twice; send it once");
//! ```

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::scan::{self, ScanError};
use crate::spec::{Framing, Spec};

/// Names of the members that classify a frame, in any dialect. In [`ClassifyingMembers`], each member has the
/// same index.
const NAMES: [&str; 7] = ["type", "method", "id", "params", "result", "error", "jsonrpc"];
const TYPE: usize = 0;
const METHOD: usize = 1;
const ID: usize = 2;
const RESULT: usize = 4;
const ERROR: usize = 5;

/// A client frame that all readers interpret alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrictFrame<'a> {
    /// The id as JSON text, if the frame has one.
    pub id: Option<&'a str>,
    /// The kind of the frame.
    pub kind: StrictKind<'a>,
}

/// The kind of a client's frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StrictKind<'a> {
    /// A command with that name, which may be undeclared.
    Command(Cow<'a, str>),
    /// An answer to a dialog.
    Answer,
    /// Progress of a dialog, which stays open.
    Progress,
}

/// The reason for rejecting a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrictError {
    /// The text is not one JSON object. A JSON-RPC batch is not an object.
    #[error("the message is not a JSON object")]
    NotAnObject,
    /// A classifying member occurs more than once.
    #[error("the member `{0}` occurs twice; send it once")]
    Repeated(&'static str),
    /// A member's name differs from a classifying name only in case or in invisible characters.
    #[error("a member is named almost like `{0}`; spell it `{0}`")]
    Misspelt(&'static str),
    /// The member that names the command is absent.
    #[error("the frame has no `{0}`; name a command with it")]
    Missing(&'static str),
    /// The value of the member that names the command is not a string, or it contains control characters or
    /// lone surrogates.
    #[error("the member `{0}` is not a name; send a string without control characters")]
    NotAName(&'static str),
    /// The frame is an answer but names a command.
    #[error("a frame with `method` is not an answer; leave `method` out")]
    AnswerWithMethod,
}

impl StrictError {
    /// Returns `true` if readers may interpret the frame in different ways. Returns `false` if no reader can
    /// use it.
    pub fn is_ambiguity(self) -> bool {
        matches!(self, Self::Repeated(_) | Self::Misspelt(_) | Self::AnswerWithMethod)
    }
}

/// The values of the members in [`NAMES`].
type ClassifyingMembers<'a> = [Option<&'a str>; NAMES.len()];

/// Reads a client frame for a permission check.
///
/// # Errors
/// Returns [`StrictError`] if the frame may mean different things to different readers.
pub fn client_frame<'a>(spec: &Spec, text: &'a str) -> Result<StrictFrame<'a>, StrictError> {
    let members = members(text)?;
    let kind = match spec.framing {
        Framing::JsonRpc { .. } => json_rpc(&members)?,
        Framing::Flat | Framing::Enveloped => flat(spec, &members)?,
    };
    Ok(StrictFrame { id: members[ID], kind })
}

/// Returns the raw id of a rejected command, for the error response. Returns `None` if the frame has no id or
/// several ids, or if it may be an answer.
pub fn rejected_id<'a>(spec: &Spec, text: &'a str) -> Option<&'a str> {
    let (mut id, mut name, mut ids) = (None, None, 0);
    let naming = NAMES[command_member(spec)];
    scan::members(text, |key, value| {
        if scan::is_named(key, NAMES[ID]) {
            (id, ids) = (Some(value), ids + 1);
        } else if scan::is_named(key, naming) {
            name = scan::string(value);
        }
    })
    .ok()?;
    id.filter(|_| ids == 1 && name.is_some_and(|name| !spec.is_answer(&name)))
}

/// Checks that no object in a JSON text has two members with one name. For requests that are not frames of a
/// dialect.
///
/// # Errors
/// Returns the error of the parser, which names the member.
pub fn unique_members(text: &str) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    UniqueMembers.deserialize(&mut parser)?;
    parser.end()
}

/// Returns the index of the member that names the command.
fn command_member(spec: &Spec) -> usize {
    if spec.framing_is_flat() { TYPE } else { METHOD }
}

fn json_rpc<'a>(members: &ClassifyingMembers<'a>) -> Result<StrictKind<'a>, StrictError> {
    let answers = members[RESULT].is_some() || members[ERROR].is_some();
    match members[METHOD] {
        Some(_) if answers => Err(StrictError::AnswerWithMethod),
        None if answers => Ok(StrictKind::Answer),
        _ => name(members, METHOD).map(StrictKind::Command),
    }
}

fn flat<'a>(spec: &Spec, members: &ClassifyingMembers<'a>) -> Result<StrictKind<'a>, StrictError> {
    let name = name(members, TYPE)?;
    match spec.is_answer(&name) {
        false => Ok(StrictKind::Command(name)),
        true if members[METHOD].is_some() => Err(StrictError::AnswerWithMethod),
        true if spec.is_progress(&name) => Ok(StrictKind::Progress),
        true => Ok(StrictKind::Answer),
    }
}

fn name<'a>(members: &ClassifyingMembers<'a>, place: usize) -> Result<Cow<'a, str>, StrictError> {
    let raw = members[place].ok_or(StrictError::Missing(NAMES[place]))?;
    let is_sound = |name: &Cow<'_, str>| !name.contains(|it: char| it.is_control() || it == '\u{fffd}');
    scan::string(raw).filter(is_sound).ok_or(StrictError::NotAName(NAMES[place]))
}

fn members(text: &str) -> Result<ClassifyingMembers<'_>, StrictError> {
    let (mut found, mut fault): (ClassifyingMembers<'_>, _) = ([None; NAMES.len()], None);
    let walked = scan::members(text, |key, value| {
        if let Some(place) = NAMES.iter().position(|name| scan::is_named(key, name)) {
            if found[place].replace(value).is_some() {
                fault.get_or_insert(StrictError::Repeated(NAMES[place]));
            }
        } else if let Some(name) = lenient_name(key) {
            fault.get_or_insert(StrictError::Misspelt(name));
        }
    });
    let not_an_object = |_: ScanError| StrictError::NotAnObject;
    walked.map_err(not_an_object)?;
    if let Some(fault) = fault {
        return Err(fault);
    }
    // The scan checks structure only; lenient readers may interpret invalid JSON in another way.
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| StrictError::NotAnObject)?;
    Ok(found)
}

/// Returns the name in [`NAMES`] for which a lenient reader may take `raw`. Such a reader ignores case, ends a
/// name at a NUL, or drops invisible characters.
fn lenient_name(raw: &str) -> Option<&'static str> {
    let name = scan::string(&format!("\"{raw}\""))?.into_owned();
    let shown = name.split('\0').next()?.chars().filter(|it| !is_invisible(*it));
    // Both directions: some letters have an ASCII partner in one direction only.
    let lowercase: String = shown.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    NAMES.into_iter().find(|name| lowercase == *name)
}

fn is_invisible(character: char) -> bool {
    let is_zero_width = matches!(character, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{fffd}');
    is_zero_width || character.is_control() || character.is_whitespace()
}

/// Walks over a value and rejects objects with a repeated member.
struct UniqueMembers;

impl<'de> DeserializeSeed<'de> for UniqueMembers {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueMembers {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<Name<'de>>()? {
            if seen.contains(&name.0) {
                return Err(A::Error::custom(format_args!("the member `{}` occurs twice", name.0)));
            }
            seen.insert(name.0);
            map.next_value_seed(UniqueMembers)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(UniqueMembers)?.is_some() {}
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// The name of a member, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamic;

    fn read(dialect: &str, text: &str) -> Result<(Option<String>, String), StrictError> {
        let spec = dynamic::client(dialect).unwrap().0;
        client_frame(spec, text).map(|frame| {
            let kind = match frame.kind {
                StrictKind::Command(name) => name.into_owned(),
                StrictKind::Answer => "(answer)".to_owned(),
                StrictKind::Progress => "(progress)".to_owned(),
            };
            (frame.id.map(str::to_owned), kind)
        })
    }

    #[test]
    fn a_frame_with_one_meaning_is_read() {
        for (dialect, text, id, kind) in [
            ("pi", r#" {"id":"1","type":"bash","command":"x","command":"y"}"#, Some(r#""1""#), "bash"),
            ("pi", r#"{"t\u0079pe":"b\u0061sh"}"#, None, "bash"),
            ("omp", r#"{"type":"extension_ui_response","id":"q","value":"x"}"#, Some(r#""q""#), "(answer)"),
            (
                "omp",
                r#"{"type":"host_tool_update","id":"q","partialResult":{}}"#,
                Some(r#""q""#),
                "(progress)",
            ),
            ("opal", r#"{"id":7,"method":"a/b","params":{"id":1,"method":2}}"#, Some("7"), "a/b"),
            ("opal", r#"{"id":"s2c-0","result":null}"#, Some(r#""s2c-0""#), "(answer)"),
            ("opal", r#"{"id":"s2c-0","error":{"code":1},"result":null}"#, Some(r#""s2c-0""#), "(answer)"),
        ] {
            assert_eq!(read(dialect, text), Ok((id.map(str::to_owned), kind.to_owned())), "{text}");
        }
    }

    #[test]
    fn a_frame_with_two_meanings_is_rejected() {
        use StrictError::{AnswerWithMethod, Missing, Misspelt, NotAName, NotAnObject, Repeated};
        for (dialect, text, error) in [
            ("pi", r#"{"type":"bash","type":"get_state"}"#, Repeated("type")),
            ("pi", r#"{"type":"bash","ty\u0070e":"get_state"}"#, Repeated("type")),
            ("pi", r#"{"id":1,"type":"get_state","id":1}"#, Repeated("id")),
            ("pi", r#"{"type":"get_state","method":1,"method":1}"#, Repeated("method")),
            ("opal", r#"{"id":2,"method":"a","method":"b"}"#, Repeated("method")),
            ("opal", "\t\r\n {\"id\":2,\"method\":\"a\",\"m\\u0065thod\":\"b\"}", Repeated("method")),
            ("opal", r#"{"id":2,"method":"a","params":{},"params":{}}"#, Repeated("params")),
            ("opal", r#"{"id":2,"result":1,"result":2}"#, Repeated("result")),
            ("pi", r#"{"type":"get_state","Type":"bash"}"#, Misspelt("type")),
            ("pi", "{\"type\":\"get_state\",\"type\\u0000\":\"bash\"}", Misspelt("type")),
            ("pi", "{\"type\":\"get_state\",\"\u{200b}type\":\"bash\"}", Misspelt("type")),
            ("pi", "{\"type\":\"get_state\",\"type\\ud800\":\"bash\"}", Misspelt("type")),
            ("opal", "{\"id\":2,\"method\":\"a\",\"param\u{17f}\":{}}", Misspelt("params")),
            ("pi", r#"{"id":1}"#, Missing("type")),
            ("opal", r#"{"id":1,"params":{}}"#, Missing("method")),
            ("pi", r#"{"type":["bash"]}"#, NotAName("type")),
            ("pi", r#"{"type":"bash\u0000"}"#, NotAName("type")),
            ("pi", r#"{"type":"ba\ud800sh"}"#, NotAName("type")),
            ("opal", r#"{"id":1,"method":null}"#, NotAName("method")),
            ("opal", r#"{"id":1,"method":null,"result":1}"#, AnswerWithMethod),
            ("opal", r#"{"id":1,"method":"opal/ping","error":1}"#, AnswerWithMethod),
            ("pi", r#"{"type":"extension_ui_response","id":"q","method":null}"#, AnswerWithMethod),
            ("opal", r#"[{"id":1,"method":"opal/ping"}]"#, NotAnObject),
            ("opal", "\u{feff}{\"id\":1,\"method\":\"opal/ping\"}", NotAnObject),
            ("pi", "{\"type\":\"get_state\"}{\"type\":\"bash\"}", NotAnObject),
            ("pi", "{\"type\":\"get_state\",\"x\":1/**/}", NotAnObject),
            ("pi", "{\"type\":\"get_state\",\"x\":\"a\nb\"}", NotAnObject),
            ("pi", "", NotAnObject),
        ] {
            assert_eq!(read(dialect, text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_rejection_names_only_the_id_of_a_command() {
        let pi = dynamic::spec("pi").unwrap();
        let opal = dynamic::spec("opal").unwrap();
        assert_eq!(rejected_id(pi, r#"{"id":"1","type":"a","type":"b"}"#), Some(r#""1""#));
        assert_eq!(rejected_id(pi, r#"{"id":"1","id":"2","type":"a"}"#), None);
        assert_eq!(rejected_id(pi, r#"{"id":"q","type":"extension_ui_response","method":1}"#), None);
        assert_eq!(rejected_id(opal, r#"{"id":"s2c-0","method":null,"result":1}"#), None);
        assert_eq!(rejected_id(opal, r#"{"id":3,"method":"a","method":"b"}"#), Some("3"));
    }

    #[test]
    fn members_are_unique_at_any_depth() {
        assert!(unique_members(r#"{"a":[{"b":1},{"b":[true,null,-1,1.5,"b"]}],"b":{}}"#).is_ok());
        for text in [r#"{"a":1,"\u0061":1}"#, r#"[{"x":{"a":1,"b":2,"a":3}}]"#] {
            let error = unique_members(text).unwrap_err().to_string();
            assert!(error.starts_with("the member `a` occurs twice"), "{error}");
        }
        assert!(unique_members("{} {}").is_err());
    }
}
