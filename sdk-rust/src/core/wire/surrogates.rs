//! Lone surrogates: `\ud800` without its other half. JavaScript writes such escapes, and JSON parsers of
//! other languages reject them. This module replaces them with U+FFFD on input, and the library never writes
//! them.

/// Returns the text with lone surrogates replaced; `None` without lone surrogates.
pub fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        at += next;
        let Some(unit) = unit(bytes, at) else {
            // Any other escape has two bytes; the text may also end here.
            at = (at + 2).min(bytes.len());
            continue;
        };
        let has_other_half = (0xd800..0xdc00).contains(&unit)
            && self::unit(bytes, at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        if has_other_half {
            at += 12;
            continue;
        }
        if (0xd800..0xe000).contains(&unit) {
            out.push_str(&text[copied..at]);
            out.push_str("\\ufffd");
            copied = at + 6;
        }
        at += 6;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Returns the code unit of a `\uXXXX` at a position.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let hex = escape.strip_prefix(b"\\u")?;
    let hex = std::str::from_utf8(hex).ok().filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(hex, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::replace_lone_surrogates;

    #[test]
    fn lone_halves_are_replaced_and_whole_characters_are_not() {
        let cases = [
            (r#"{"a":"x\ud800y"}"#, Some(r#"{"a":"x\ufffdy"}"#)),
            (r#"{"a":"\udc00\uD83E\uDD80"}"#, Some(r#"{"a":"\ufffd\uD83E\uDD80"}"#)),
            (r#"{"a":"\ud83e\ud83e\udd80"}"#, Some(r#"{"a":"\ufffd\ud83e\udd80"}"#)),
            (r#"{"a":"\\ud800"}"#, None),
            (r#"{"a":"\\\ud800"}"#, Some(r#"{"a":"\\\ufffd"}"#)),
            (r#"{"a":"\u00e4\n"}"#, None),
            ("\\u", None),
            ("\\", None),
            ("\\ud8", None),
            ("\\ué€ä", None),
        ];
        for (text, expected) in cases {
            assert_eq!(replace_lone_surrogates(text).as_deref(), expected, "{text}");
        }
    }
}
