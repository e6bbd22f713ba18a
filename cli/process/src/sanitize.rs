//! Escaping of text from files and models for a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes all characters that a terminal would execute or hide: control characters, direction marks, and
/// characters without a width. Line ends and tabs remain.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    replace(text, is_hidden, |character, shown| shown.extend(character.escape_default()))
}

/// Escapes text like [`sanitize`], and also line ends and tabs, so that the result is one line.
pub fn sanitize_line(text: &str) -> Cow<'_, str> {
    let is_hidden =
        |character| is_hidden(character) || matches!(character, '\n' | '\t' | '\u{2028}' | '\u{2029}');
    replace(text, is_hidden, |character, shown| shown.extend(character.escape_default()))
}

/// Escapes JSON text like [`sanitize`]. The escapes are those of JSON, so the values do not change.
pub fn sanitize_json(text: &str) -> Cow<'_, str> {
    replace(text, is_hidden, |character, shown| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    })
}

fn is_hidden(character: char) -> bool {
    // Direction marks, embeddings, overrides and isolates can make a file name look like another one.
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    // Spaces and joiners without a width, fillers, and tag characters are invisible.
    let has_no_width = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    );
    turns || has_no_width || (character.is_control() && !matches!(character, '\n' | '\t'))
}

fn replace(text: &str, is_replaced: impl Fn(char) -> bool, show: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_replaced(character) { show(character, &mut shown) } else { shown.push(character) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f124_control_characters_are_escaped() {
        let cases = [
            ("plain ünïcode 漢字", "plain ünïcode 漢字"),
            ("\u{1b}]0;title\u{7}\u{1b}[2J", "\\u{1b}]0;title\\u{7}\\u{1b}[2J"),
            ("\u{9b}31m\u{7f}\r", "\\u{9b}31m\\u{7f}\\r"),
            ("a\u{202e}txt.exe\u{2066}", "a\\u{202e}txt.exe\\u{2066}"),
            ("a\tb\nc", "a\\tb\\nc"),
            ("pay\u{200b}pal\u{feff}\u{e0041}", "pay\\u{200b}pal\\u{feff}\\u{e0041}"),
            ("a\u{2028}b", "a\\u{2028}b"),
        ];
        for (text, shown) in cases {
            assert_eq!(sanitize_line(text), shown);
        }
        assert_eq!(sanitize("a\tb\n\u{1b}c"), "a\tb\n\\u{1b}c");
        let json = "{\n  \"a\": \"\u{9b}\u{202e}\u{e0041}\"\n}";
        let shown = sanitize_json(json);
        assert_eq!(shown, "{\n  \"a\": \"\\u009b\\u202e\\udb40\\udc41\"\n}");
        let [before, after] =
            [json, &shown].map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
        assert_eq!(before, after);
    }
}
