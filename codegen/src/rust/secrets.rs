//! The members and patterns by which keys are recognised.

use std::fmt::Write as _;

use agentese_protocol::secrets::{ENVELOPES, KEYS, MEMBERS, REDACTED, SECRET_EVENTS, SUFFIX_LENGTH};

use super::banner;

pub fn file() -> String {
    let mut out =
        banner("Keys in frames: the names of members that contain keys, and the shapes of well-known keys.");
    let _ = writeln!(out, "use crate::redact::KeyShape;\n");
    let _ = writeln!(out, "/// Text in place of a key.\npub const REDACTED: &str = {REDACTED:?};\n");
    let _ = writeln!(
        out,
        "/// Names of members whose values are keys, in lower case and without separators.\npub const MEMBERS: &[&str] = &{MEMBERS:?};\n"
    );
    let _ = writeln!(
        out,
        "/// Minimum length of a name that may be the end of a longer one.\npub const SUFFIX_LENGTH: usize = {SUFFIX_LENGTH};\n"
    );
    let _ = writeln!(
        out,
        "/// Events whose type alone may be shown, because they carry a key in members of any name.\npub const SECRET_EVENTS: &[&str] = &{SECRET_EVENTS:?};\n"
    );
    let _ = writeln!(
        out,
        "/// Members that contain the event in frames of dialects that wrap it.\npub const ENVELOPES: &[&str] = &{ENVELOPES:?};\n"
    );
    out.push_str("/// The shapes of well-known keys.\npub const KEYS: &[KeyShape] = &[\n");
    for shape in KEYS {
        let _ = writeln!(
            out,
            "    KeyShape {{ prefix: {:?}, rest: {}, also: {:?}, scheme: {} }},",
            shape.prefix, shape.rest, shape.also, shape.scheme
        );
    }
    out.push_str("];\n");
    out
}
