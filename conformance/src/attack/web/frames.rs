//! Frames with hidden denied commands, and a check of the lines that reached the agent.

use std::fmt;

use agentese::spec::Framing;
use fastrand::Rng;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;

use super::super::codec::DialectCodec;
use super::super::stand_in::QUESTION;

/// Returns the member that names a command.
pub(super) fn command_member(codec: &DialectCodec) -> &'static str {
    if matches!(codec.spec.framing, Framing::JsonRpc { .. }) { "method" } else { "type" }
}

/// Returns a message that hides a denied command. One of many forms is chosen at random.
pub(super) fn hostile(codec: &DialectCodec, rng: &mut Rng, denied: &str, id: &str) -> Message {
    let (key, harmless) = (command_member(codec), codec.harmless_command());
    let letter = rng.usize(..key.len());
    let escaped = format!("{}\\u{:04x}{}", &key[..letter], key.as_bytes()[letter], &key[letter + 1..]);
    let head = if key == "method" { r#""jsonrpc":"2.0","# } else { "" };
    let frame = |members: &str| format!("{{{head}\"id\":\"{id}\",{members}}}");
    let question = |members: &str| format!("{{{head}\"id\":\"{QUESTION}\",{members}}}");
    let plain = frame(&format!(r#""{key}":"{denied}""#));
    let allowed = frame(&format!(r#""{key}":"{harmless}""#));
    let text = match rng.usize(..16) {
        0 => plain,
        1 => frame(&format!(r#""{key}":"{denied}","params":{{"text":"x"}},"{key}":"{harmless}""#)),
        2 => frame(&format!(r#""{key}":"{harmless}","{key}":"{denied}""#)),
        3 => frame(&format!(r#""{key}":"{denied}","{escaped}":"{harmless}""#)),
        4 => frame(&format!(r#""{escaped}":"{denied}","{key}":"{harmless}""#)),
        5 => question(&format!(r#""{key}":"{denied}","{key}":null"#)),
        6 => question(&format!(r#""method":"{denied}","method":null,"result":{{}}"#)),
        7 => question(&format!(r#""{key}":["{denied}"],"result":{{}}"#)),
        8 => format!("[{plain}]"),
        9 => format!("{allowed}\n{plain}"),
        10 => format!("{allowed}\r{plain}"),
        11 => format!("\u{feff}{plain}"),
        12 => return Message::binary(plain.into_bytes()),
        13 => frame(&format!(r#""{key}":{{"{key}":"{denied}"}}"#)),
        14 => format!("{allowed}{plain}"),
        _ => frame(&format!(r#""id":"{QUESTION}","{key}":"{denied}","result":{{}},"type":"x""#)),
    };
    Message::text(text)
}

/// Returns `true` if some JSON reader may find the command in a line. If a member is repeated, both of its
/// values are checked.
pub(super) fn may_name(line: &[u8], command: &str) -> bool {
    let read = |line: &[u8]| -> Vec<(String, Value)> {
        let mut reader = serde_json::Deserializer::from_slice(line);
        reader.deserialize_map(Members).unwrap_or_default()
    };
    let is_it = |(name, value): &(String, Value)| {
        matches!(name.as_str(), "type" | "method") && value.to_string().contains(&format!("\"{command}\""))
    };
    let objects = match serde_json::from_slice::<Vec<Box<serde_json::value::RawValue>>>(line) {
        Ok(all) => all.iter().map(|raw| read(raw.get().as_bytes())).collect(),
        Err(_) => vec![read(line)],
    };
    objects.iter().flatten().any(is_it)
}

/// Deserializer of all members of an object in order, including repeated names.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, Value)>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = map.next_entry()? {
            all.push(member);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_in_either_of_two_members() {
        for line in [
            r#"{"type":"a","type":"b"}"#,
            r#"{"type":"b","type":"a"}"#,
            r#"{"t\u0079pe":"a","type":"b"}"#,
            r#"[{"method":"a"}]"#,
            r#"{"method":["a"]}"#,
        ] {
            assert!(may_name(line.as_bytes(), "a"), "{line}");
        }
        for line in [r#"{"type":"b","text":"a"}"#, r#"{"type":"ab"}"#, "a", ""] {
            assert!(!may_name(line.as_bytes(), "a"), "{line}");
        }
    }
}
