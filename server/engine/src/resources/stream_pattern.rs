//! Search for a regular expression in a text that arrives piece by piece. Each piece is read once, so the time is
//! linear in the length of the text, even if the pieces are small.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};

/// The maximum size of a compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// The maximum memory of a search, in bytes. If a search needs more, it becomes slower but does not fail.
const CACHE_BYTES: usize = 1 << 20;

/// One or several regular expressions, of which one must match. `\b` is an ASCII word boundary, as in
/// JavaScript. Backreferences and look-ahead are not supported.
#[derive(Debug)]
pub struct StreamPattern(DFA);

/// The state of a search in a text.
#[derive(Debug)]
pub struct SearchState {
    cache: Cache,
    state: LazyStateID,
    matched: bool,
    /// The search has failed and cannot continue.
    failed: bool,
}

impl StreamPattern {
    /// Compiles patterns. Fails if a pattern is not a regular expression or is too large.
    pub fn new<P: AsRef<str>>(patterns: &[P]) -> Result<Self, String> {
        let parsed = patterns.iter().map(|pattern| {
            regex_syntax::parse(pattern.as_ref()).map(ascii_words).map_err(|error| in_one_line(&error))
        });
        let parsed: Vec<Hir> = parsed.collect::<Result<_, _>>()?;
        let nfa = NFA::compiler()
            .configure(thompson::Config::new().nfa_size_limit(Some(MAX_PATTERN_BYTES)))
            .build_many_from_hir(&parsed)
            .map_err(|error| in_one_line(&error))?;
        let config = DFA::config()
            .match_kind(MatchKind::All)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(None);
        DFA::builder().configure(config).build_from_nfa(nfa).map(Self).map_err(|error| in_one_line(&error))
    }

    /// Returns the state before the first piece of a text.
    pub fn start(&self) -> SearchState {
        let mut cache = self.0.create_cache();
        let start_state = self.0.start_state(&mut cache, &start::Config::new().anchored(Anchored::No));
        let (state, failed) = start_state.map_or((LazyStateID::default(), true), |state| (state, false));
        SearchState { cache, state, matched: false, failed }
    }

    /// Reads the next piece of the text. Returns true if the text so far contains a match.
    pub fn feed(&self, position: &mut SearchState, piece: &str) -> bool {
        let SearchState { cache, state, matched, failed } = position;
        if *matched || *failed {
            return *matched;
        }
        for byte in piece.bytes() {
            match self.0.next_state(cache, *state, byte) {
                Ok(next) => *state = next,
                Err(_) => *failed = true,
            }
            // The automaton reports a match one byte late.
            if *failed || state.is_match() {
                *matched |= state.is_match();
                return *matched;
            }
        }
        // Checks for a match that needs the end of the text. Such a match is not stored, because `$` may
        // cease to match.
        self.0.next_eoi_state(cache, *state).is_ok_and(|end| end.is_match())
    }
}

fn in_one_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces Unicode word boundaries, which this automaton does not support, with ASCII ones.
fn ascii_words(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Look(look) => Hir::look(match look {
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            look => look,
        }),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(ascii_words(*repetition.sub));
            Hir::repetition(Repetition { sub, ..repetition })
        }
        HirKind::Capture(capture) => {
            let sub = Box::new(ascii_words(*capture.sub));
            Hir::capture(Capture { sub, ..capture })
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(ascii_words).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(ascii_words).collect()),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Empty => Hir::empty(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds the pieces one by one. Returns the number of bytes after which there is a match.
    fn match_length(patterns: &[&str], pieces: &[&str]) -> Option<usize> {
        let pattern = StreamPattern::new(patterns).unwrap();
        let mut position = pattern.start();
        let mut length = 0;
        pieces.iter().find_map(|piece| {
            length += piece.len();
            pattern.feed(&mut position, piece).then_some(length)
        })
    }

    #[test]
    fn match_is_found_with_the_piece_that_completes_it() {
        assert_eq!(match_length(&["forbidden[a-z]*"], &["y forbid", "denword ", "more"]), Some(16));
        assert_eq!(match_length(&["forbidden"], &["y forbid", "den"]), Some(11));
        assert_eq!(match_length(&["forbidden"], &["forbid", " den"]), None);
        assert_eq!(match_length(&["a", "b"], &["x", "yb"]), Some(3));
        assert_eq!(match_length(&["(?i)ÜBER"], &["ü", "ber"]), Some(5));
        assert_eq!(match_length(&["^x"], &["ax", "x"]), None);
        assert_eq!(match_length(&["x$"], &["xa", "ax", "b"]), Some(4));
        assert_eq!(match_length(&["\\bcat\\b"], &["con", "cat", " c", "at", "s cat"]), Some(10));
        assert_eq!(match_length(&[".*"], &[""]), Some(0));
        assert_eq!(match_length(&["a\\/b"], &["a/b"]), Some(3));
    }

    #[test]
    fn invalid_pattern_is_rejected_in_one_line() {
        for pattern in ["(", "a(?=b)", "(a)\\1", "[z-a]", "(?:a{1000}){1000}"] {
            let reason = StreamPattern::new(&[pattern]).unwrap_err();
            assert!(!reason.contains('\n'), "{reason}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[ab ü]{0,40}", cuts in prop::collection::vec(0..40_usize, 0..6)) {
            for pattern in ["a+b", "b b", "\\bab\\b", "ü.*a", "(ab|ba){2}"] {
                let regex = regex_automata::meta::Regex::new(&pattern.replace("\\b", "(?-u:\\b)")).unwrap();
                let watched = StreamPattern::new(&[pattern]).unwrap();
                let mut position = watched.start();
                let mut met = false;
                let mut borders: Vec<_> = cuts.iter().copied().filter(|cut| text.is_char_boundary(*cut)).collect();
                borders.extend([0, text.len()]);
                borders.sort_unstable();
                for piece in borders.windows(2) {
                    met |= watched.feed(&mut position, &text[piece[0]..piece[1]]);
                }
                let expected = (0..=text.len()).filter(|end| borders.contains(end)).any(|end| regex.is_match(&text[..end]));
                prop_assert_eq!(met, expected, "{} in {:?}", pattern, text);
            }
        }
    }
}
