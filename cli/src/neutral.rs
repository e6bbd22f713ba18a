//! Text from files and models, made harmless for a terminal.

use std::borrow::Cow;

/// The text with everything shown that a terminal would obey: control characters, and those that
/// change the direction of writing. Line ends and tabs stay.
pub(super) fn neutral(text: &str) -> Cow<'_, str> {
    replace(text, |character| is_obeyed(character) && !matches!(character, '\n' | '\t'))
}

/// As [`neutral`], on one line.
pub(super) fn neutral_line(text: &str) -> Cow<'_, str> {
    replace(text, |character| is_obeyed(character) || matches!(character, '\u{2028}' | '\u{2029}'))
}

fn is_obeyed(character: char) -> bool {
    // Marks, embeddings, overrides and isolates: what stands in a file's name could look like another one.
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || character.is_control()
}

fn replace(text: &str, replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&replaced) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if replaced(character) {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fm_f124_a_terminal_obeys_nothing_of_it() {
        let cases = [
            ("plain ünïcode 漢字", "plain ünïcode 漢字"),
            ("\u{1b}]0;title\u{7}\u{1b}[2J", "\\u{1b}]0;title\\u{7}\\u{1b}[2J"),
            ("\u{9b}31m\u{7f}\r", "\\u{9b}31m\\u{7f}\\r"),
            ("a\u{202e}txt.exe\u{2066}", "a\\u{202e}txt.exe\\u{2066}"),
            ("a\tb\nc", "a\\tb\\nc"),
            ("a\u{2028}b", "a\\u{2028}b"),
        ];
        for (text, shown) in cases {
            assert_eq!(neutral_line(text), shown);
        }
        assert_eq!(neutral("a\tb\n\u{1b}c"), "a\tb\n\\u{1b}c");
    }
}
