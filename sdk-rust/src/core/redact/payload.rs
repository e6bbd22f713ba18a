//! Reduction of events that carry a key to their type.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::generated::secrets::{ENVELOPES, SECRET_EVENTS};
use crate::scan::{self, MemberSpan, Outline};

/// Searchers for the types of events that carry a key. They are built once, because building takes longer than
/// the search of a short frame.
static SEARCHES: LazyLock<Vec<(&str, Finder<'static>)>> =
    LazyLock::new(|| SECRET_EVENTS.iter().map(|kind| (*kind, Finder::new(*kind))).collect());

/// Searcher for escapes that may stand for letters.
static ESCAPES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));

/// Returns `true` if a text may contain an event with a key. Such a text contains the type of the event, or
/// escapes that may hide it. For many short frames, one search over their common text is faster than one for
/// each.
pub(crate) fn may_have_secret_payload(text: &str) -> bool {
    let mut all = SEARCHES.iter().map(|(_, search)| search).chain([&*ESCAPES]);
    all.any(|search| search.find(text.as_bytes()).is_some())
}

/// Reduces an event that carries a key to its type. Returns `None` for any other frame.
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

/// Works like [`strip_payload`], for a frame with a known outline. In nearly all cases the outline suffices, so
/// the length of the frame does not matter.
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

/// Returns all types that a frame contains: first those inside envelopes, then those of the object itself.
/// Returns `None` for an incomplete frame and for invalid JSON. The caller then treats text that resembles an
/// event with a key as such an event.
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

/// Returns `true` if a text contains the searched text as a whole string, between quotes.
fn is_quoted(text: &str, search: &Finder<'_>) -> bool {
    let bytes = text.as_bytes();
    let length = search.needle().len();
    search.find_iter(bytes).any(|at| at > 0 && bytes[at - 1] == b'"' && bytes.get(at + length) == Some(&b'"'))
}

/// Replaces escapes of letters and of `_` by the characters, because escapes do not change a type. Most frames
/// contain no such escapes.
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
