//! Normalisation of text for comparison: typographic quotes, hyphens and spaces become ASCII, and compatible characters
//! become equal. Models often write such characters differently.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A normalised line without its line ending. It maps positions back to the original line.
pub(crate) struct NormalizedLine {
    /// The line in the form NFKC, with ASCII quotes, hyphens and spaces, and without white space at its end.
    pub text: String,
    /// Pairs of positions, in the original line and in `text`, at which both correspond. The last pair is the end of
    /// both. Empty for an ASCII line, in which all positions are equal.
    pieces: Vec<(usize, usize)>,
}

impl NormalizedLine {
    pub(crate) fn new(line: &str) -> Self {
        let line = line.trim_end();
        if line.is_ascii() {
            return Self { text: line.to_owned(), pieces: Vec::new() };
        }
        let mut text = String::with_capacity(line.len());
        let mut pieces = Vec::new();
        let mut start = 0;
        for (at, _) in line.char_indices().skip(1).filter(|&(_, character)| begins_a_piece(character)) {
            pieces.push((start, text.len()));
            push(&line[start..at], &mut text);
            start = at;
        }
        pieces.push((start, text.len()));
        push(&line[start..], &mut text);
        pieces.push((line.len(), text.len()));
        Self { text, pieces }
    }

    /// Converts a position in `text` to the position in the original line. Returns `None` if no position corresponds to
    /// it.
    pub(crate) fn original(&self, at: usize) -> Option<usize> {
        if self.pieces.is_empty() {
            return Some(at);
        }
        let found = self.pieces.binary_search_by_key(&at, |&(_, normalised)| normalised).ok()?;
        Some(self.pieces[found].0)
    }
}

/// Normalises several lines. `keep_last_space` keeps the white space at the end of the last line.
pub(crate) fn normalize(text: &str, keep_last_space: bool) -> String {
    let mut lines = text.split('\n').map(|line| NormalizedLine::new(line).text).collect::<Vec<_>>();
    if keep_last_space && let Some(last) = lines.last_mut() {
        let line = text.rsplit('\n').next().unwrap_or_default();
        push(&line[line.trim_end().len()..], last);
    }
    lines.join("\n")
}

fn push(piece: &str, text: &mut String) {
    if piece.is_ascii() {
        text.push_str(piece);
    } else {
        text.extend(piece.nfkc().map(plain));
    }
}

/// Returns true if a character never combines with the character before it, so that a line can be split before it.
fn begins_a_piece(character: char) -> bool {
    if character.is_ascii() {
        return true;
    }
    let first = std::iter::once(character).nfkd().next().unwrap_or(character);
    canonical_combining_class(first) == 0 && is_nfc_quick(std::iter::once(first)) == IsNormalized::Yes
}

fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn typography_becomes_plain() {
        let plain = |text| NormalizedLine::new(text).text;
        assert_eq!(plain("“a” ‘b’ – — − x\u{a0}y  "), "\"a\" 'b' - - - x y");
        assert_eq!(plain("ﬁn … ½"), "fin ... 1⁄2");
        assert_eq!(plain("e\u{301}"), "é");
        assert_eq!(normalize("a  \nb \u{a0}", false), "a\nb");
        assert_eq!(normalize("a  \nb \u{a0}", true), "a\nb  ");
    }

    #[test]
    fn places_lead_back_to_the_original() {
        let line = NormalizedLine::new("a…b  ");
        assert_eq!(line.text, "a...b");
        let back: Vec<_> = (0..=5).map(|at| line.original(at)).collect();
        assert_eq!(back, [Some(0), Some(1), None, None, Some(4), Some(5)]);
    }

    proptest! {
        #[test]
        fn pieces_normalise_to_the_whole(line in "[ae\u{301}\u{327}\u{fb01}\u{1100}\u{1161}\u{11a8}\u{ac00}\u{2026}\u{201c}\u{a0} ]{0,20}") {
            let normalised = NormalizedLine::new(&line);
            let whole: String = line.trim_end().nfkc().map(plain).collect();
            prop_assert_eq!(&normalised.text, &whole);
            for &(original, position) in &normalised.pieces {
                prop_assert!(line.is_char_boundary(original) && normalised.text.is_char_boundary(position));
                let head: String = line[..original].nfkc().map(plain).collect();
                prop_assert_eq!(&normalised.text[..position], head);
            }
        }
    }
}
