//! Cleaning a terminal's output for a client that only wants the text.

/// The text without escape sequences and control characters; tab and newline stay. See [`Cleaner`].
pub fn clean(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut result);
    result
}

/// Removes ANSI sequences (CSI, OSC, DCS, APC, PM, SOS, two-character ones, in their seven-bit and eight-bit forms),
/// all control characters but tab and newline, and U+FFF9 to U+FFFB. Works on any division into chunks, in constant
/// memory. Never fails: an unfinished sequence ends at the next newline, so that it cannot swallow what follows.
#[derive(Debug, Default)]
pub struct Cleaner {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// Between CSI and its final character.
    Control,
    /// Inside a string sequence, up to BEL or ST.
    Command,
    /// Inside a string sequence after an ESC that may begin its ST.
    CommandEscape,
}

impl Cleaner {
    /// Appends the clean part of `text`.
    pub fn push(&mut self, text: &str, result: &mut String) {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            // Most output is plain, and taken in runs.
            let run = if self.state == State::Text { plain_run(rest) } else { 0 };
            if run > 0 {
                result.push_str(&rest[..run]);
                rest = &rest[run..];
                continue;
            }
            rest = &rest[character.len_utf8()..];
            self.state = match self.state {
                _ if character == '\n' => keep(character, result),
                State::Text => plain(character, result),
                State::Escape => match character {
                    '[' => State::Control,
                    ']' | 'P' | 'X' | '^' | '_' => State::Command,
                    // Intermediate characters come before the final one, as in ESC ( B.
                    ' '..='/' => State::Escape,
                    '0'..='~' => State::Text,
                    _ => plain(character, result),
                },
                State::Control => match character {
                    ' '..='?' => State::Control,
                    '@'..='~' => State::Text,
                    _ => plain(character, result),
                },
                State::Command => match character {
                    '\x07' | '\u{9c}' => State::Text,
                    '\x1b' => State::CommandEscape,
                    _ => State::Command,
                },
                State::CommandEscape => match character {
                    '\\' => State::Text,
                    '[' => State::Control,
                    ']' | 'P' | 'X' | '^' | '_' => State::Command,
                    '\x1b' => State::CommandEscape,
                    _ => State::Text,
                },
            };
        }
    }
}

/// The length of the ASCII text at the start that needs no look at its characters.
fn plain_run(text: &str) -> usize {
    text.bytes().position(|byte| !matches!(byte, b' '..=b'~' | b'\n' | b'\t')).unwrap_or(text.len())
}

fn keep(character: char, result: &mut String) -> State {
    result.push(character);
    State::Text
}

fn plain(character: char, result: &mut String) -> State {
    match character {
        '\x1b' => State::Escape,
        '\u{9b}' => State::Control,
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => State::Command,
        '\t' => keep(character, result),
        '\u{fff9}'..='\u{fffb}' => State::Text,
        _ if character.is_control() => State::Text,
        _ => keep(character, result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(clean(given), expected);
    }

    #[test]
    fn fm_f78_sequences_and_controls_are_removed() {
        check("\x1b[31mred\x1b[0m\r\n", "red\n");
        check("\x1b[38;2;1;2;3mx\x1b[K\x1b[?25l", "x");
        check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "alink");
        check("\x1bP1$r\x1b\\a\x1b_app\x1b\\b\x1b^pm\x1b\\c", "abc");
        check("\x1b(Ba\x1b=b\x1bMc\x1b7d", "abcd");
        check("\u{9b}31mred\u{9d}t\u{9c}x", "redx");
        check("a\x00\x01\x07\x08\x0b\x0c\x7f\u{85}b\tc\n", "ab\tc\n");
        check("a\u{fff9}b\u{fffa}c\u{fffb}d\u{fffd}", "abcd\u{fffd}");
        check("\r\n\r", "\n");
        check("plain é 😀", "plain é 😀");
    }

    #[test]
    fn an_unfinished_sequence_ends_with_its_line() {
        check("\x1b]0;never closed\nnext", "\nnext");
        check("\x1b[12\nnext", "\nnext");
        check("a\x1b", "a");
        check("\x1b[3\u{e9}", "\u{e9}");
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter_and_nothing_unwanted_is_left(
            text in "[\x1b\\[\\]\\\\;0m\x07\r\n\tPa\u{e9}\u{9b}\u{fff9}]{0,60}", at in any::<prop::sample::Index>(),
        ) {
            let whole = clean(&text);
            let middle = (0..=at.index(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let (mut cleaner, mut parts) = (Cleaner::default(), String::new());
            cleaner.push(&text[..middle], &mut parts);
            cleaner.push(&text[middle..], &mut parts);
            prop_assert_eq!(&parts, &whole);
            prop_assert!(!whole.contains(|c: char| c.is_control() && c != '\t' && c != '\n'));
            prop_assert_eq!(whole.matches('\n').count(), text.matches('\n').count());
        }
    }
}
