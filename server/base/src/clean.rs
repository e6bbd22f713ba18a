//! Removal of escape sequences from a terminal's output, for clients that need only the text.

use super::escape_sequences::{EscapeHandler, EscapeParser};

/// Returns the text without escape sequences and control characters, except tab and newline. See [`Cleaner`].
pub fn clean(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut result);
    result
}

/// Removes ANSI sequences, control characters except tab and newline, and U+FFF9 to U+FFFB. The sequences are CSI, OSC,
/// DCS, APC, PM, SOS and two-character ones, in their seven-bit and eight-bit forms. Accepts any division into chunks,
/// in constant memory. Never fails: an unfinished sequence ends at the next newline, so that later text is not lost.
#[derive(Debug, Default)]
pub struct Cleaner {
    parser: EscapeParser,
}

impl Cleaner {
    /// Appends the clean part of `text`.
    pub fn push(&mut self, text: &str, result: &mut String) {
        self.parser.push(text, &mut CleanText(result));
    }
}

struct CleanText<'a>(&'a mut String);

impl EscapeHandler for CleanText<'_> {
    fn text(&mut self, text: &str) {
        self.0.push_str(text);
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
