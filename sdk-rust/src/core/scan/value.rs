//! Decoding of scalar values from raw JSON.

use std::borrow::Cow;

use memchr::memchr;

/// Decodes a raw JSON string; `None` if the value is not a string or contains an unknown escape.
///
/// Borrows if there is no escape. A lone surrogate becomes U+FFFD. Agents send such halves if they cut a
/// model's text inside a surrogate pair.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    unescape(raw.strip_prefix('"')?.strip_suffix('"')?)
}

/// Decodes a raw JSON boolean; `None` for any other value.
pub fn boolean(raw: &str) -> Option<bool> {
    match raw {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// Decodes a raw JSON integer that is not negative; `None` for fractions, exponents and numbers out of range.
pub fn unsigned(raw: &str) -> Option<u64> {
    let digits = raw.bytes().all(|byte| byte.is_ascii_digit()) && (raw.len() == 1 || !raw.starts_with('0'));
    if digits { raw.parse().ok() } else { None }
}

/// Returns `true` if the raw JSON value is `null`.
pub fn is_null(raw: &str) -> bool {
    raw == "null"
}

/// Resolves the escapes in the text between two quotes.
pub(super) fn unescape(text: &str) -> Option<Cow<'_, str>> {
    let Some(first) = memchr(b'\\', text.as_bytes()) else { return Some(Cow::Borrowed(text)) };
    let mut plain = String::with_capacity(text.len());
    plain.push_str(text.get(..first)?);
    let mut rest = text.get(first..)?;
    while let Some(after) = rest.strip_prefix('\\') {
        let mut characters = after.chars();
        let (character, used) = match characters.next()? {
            '"' => ('"', 1),
            '\\' => ('\\', 1),
            '/' => ('/', 1),
            'b' => ('\u{8}', 1),
            'f' => ('\u{c}', 1),
            'n' => ('\n', 1),
            'r' => ('\r', 1),
            't' => ('\t', 1),
            'u' => unescape_unicode(characters.as_str())?,
            _ => return None,
        };
        plain.push(character);
        let next = after.get(used..)?;
        let until = memchr(b'\\', next.as_bytes()).unwrap_or(next.len());
        plain.push_str(next.get(..until)?);
        rest = next.get(until..)?;
    }
    Some(Cow::Owned(plain))
}

/// Decodes an escape after `\u`. Returns the character, and the length of the escape in bytes without its
/// backslash.
fn unescape_unicode(text: &str) -> Option<(char, usize)> {
    let first = hex(text)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 5));
    }
    let second = text.get(4..).and_then(|next| next.strip_prefix("\\u")).and_then(hex);
    match (first, second) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            Some((char::from_u32(code)?, 11))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 5)),
    }
}

fn hex(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}
