//! Frames with a secret payload: events that carry a key, reduced to their type.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::generated::secrets::{ENVELOPES, SECRET_EVENTS};
use crate::scan::{self, MemberSpan, Outline};

/// Searches for the types of events that carry a key, built once: building takes longer than searching a short
/// frame.
static SEARCHES: LazyLock<Vec<(&str, Finder<'static>)>> =
    LazyLock::new(|| SECRET_EVENTS.iter().map(|kind| (*kind, Finder::new(*kind))).collect());

/// Search for the escapes of letters.
static ESCAPES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));

/// Returns `true` if a frame of a text may have a secret payload: the text contains such a type, or escapes that
/// may hide one. One search for many short frames is faster than one search for each.
pub(crate) fn may_have_secret_payload(text: &str) -> bool {
    let mut all = SEARCHES.iter().map(|(_, search)| search).chain([&*ESCAPES]);
    all.any(|search| search.find(text.as_bytes()).is_some())
}

/// Returns a frame with a secret payload reduced to its type, or `None` for any other frame.
pub fn strip_payload(frame: &str) -> Option<String> {
    let plain = with_plain_letters(frame);
    let (kind, _) = SEARCHES.iter().find(|(_, search)| is_quoted(&plain, search))?;
    let shown = format!("{{\"type\":\"{kind}\"}}");
    let Some(types) = types_in(frame, true) else { return Some(shown) };
    if !types.iter().any(|named| named == kind) {
        return None;
    }
    let outer = types.last()?;
    match ENVELOPES.iter().find(|member| *member == outer) {
        Some(envelope) => Some(format!("{{\"type\":\"{envelope}\",\"{envelope}\":{shown}}}")),
        None => Some(shown),
    }
}

/// Works like [`strip_payload`], for a frame with a known outline, which decides nearly all cases independent of
/// the length.
pub(crate) fn strip_payload_by_outline(frame: &str, outline: &Outline) -> Option<String> {
    let part = |from: u32, to: u32| frame.get(from as usize..to as usize).unwrap_or_default();
    let may_be = |&[name, name_end, from, to]: &MemberSpan| {
        let (name, value) = (part(name, name_end), part(from, to));
        match scan::is_named(name, "type") {
            true => {
                scan::string(value).map_or(value.starts_with('"'), |kind| SECRET_EVENTS.contains(&&*kind))
            }
            false => value.starts_with('{') && ENVELOPES.iter().any(|member| scan::is_named(name, member)),
        }
    };
    outline.members().iter().any(may_be).then(|| strip_payload(frame)).flatten()
}

/// Returns the types that a frame names: types inside envelopes first, several types of one object in their
/// order. Returns `None` for the beginning of a frame and for invalid JSON; text that resembles an event with a
/// key is then treated as one.
fn types_in(text: &str, is_frame: bool) -> Option<Vec<Cow<'_, str>>> {
    let (mut types, mut inner) = (Vec::new(), Vec::new());
    let mut is_sound = true;
    let walked = scan::members(text, |name, value| {
        if scan::is_named(name, "type") {
            match scan::string(value) {
                Some(named) => types.push(named),
                None => is_sound &= !value.starts_with('"'),
            }
        } else if is_frame
            && value.starts_with('{')
            && ENVELOPES.iter().any(|member| scan::is_named(name, member))
        {
            match types_in(value, false) {
                Some(found) => inner.extend(found),
                None => is_sound = false,
            }
        }
    });
    inner.append(&mut types);
    (walked.is_ok() && is_sound).then_some(inner)
}

/// Returns `true` if a text contains the needle as a whole string.
fn is_quoted(text: &str, search: &Finder<'_>) -> bool {
    let bytes = text.as_bytes();
    let length = search.needle().len();
    search.find_iter(bytes).any(|at| at > 0 && bytes[at - 1] == b'"' && bytes.get(at + length) == Some(&b'"'))
}

/// Returns the frame with letters and `_` in place of their escapes, because escapes do not change a type.
/// Most frames have no such escapes.
fn with_plain_letters(frame: &str) -> Cow<'_, str> {
    let bytes = frame.as_bytes();
    let mut plain = String::new();
    let mut copied = 0;
    for at in ESCAPES.find_iter(bytes) {
        let Some(code) = frame.get(at + 4..at + 6).and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
            continue;
        };
        if code.is_ascii_alphabetic() || code == b'_' {
            plain.push_str(&frame[copied..at]);
            plain.push(char::from(code));
            copied = at + 6;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(frame);
    }
    plain.push_str(&frame[copied..]);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{MemberSet, member, scan_and_outline};

    #[test]
    fn outline_and_first_look_agree_with_the_text() {
        let kind = SECRET_EVENTS[0];
        let escaped = kind.replacen('_', "\\u005f", 1);
        let frames = [
            format!(r#"{{"type":"{kind}","key":1}}"#),
            format!(r#"{{"type":"{escaped}","key":1}}"#),
            format!(r#"{{"ty\u0070e":"{kind}","key":1}}"#),
            format!(r#"{{"type":"{kind}","type":"other"}}"#),
            format!(r#"{{"type":"other","type":"{kind}"}}"#),
            format!(r#"{{"type":"event","event":{{"a":1,"type":"{kind}"}}}}"#),
            format!(r#"{{"method":"x","params":{{"type":"{escaped}"}}}}"#),
            format!(r#"{{"type":"other","text":"{kind}","in":{{"type":"{kind}"}}}}"#),
            format!(r#"{{"type":"\q","text":"{kind}"}}"#),
            r#"{"type":"other","event":{"type":"more"}}"#.to_owned(),
            r#"{"type":"other","text":"\u005f\u001b"}"#.to_owned(),
        ];
        for frame in frames {
            let (_, outline) = scan_and_outline(&frame, &MemberSet::new([member("type")])).unwrap();
            let shown = strip_payload(&frame);
            assert_eq!(strip_payload_by_outline(&frame, &outline), shown, "{frame}");
            assert!(shown.is_none() || may_have_secret_payload(&frame), "{frame}");
        }
        assert!(!may_have_secret_payload(r#"{"type":"other","text":"\n"}"#));
    }
}
