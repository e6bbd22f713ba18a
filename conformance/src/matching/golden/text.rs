//! Comparison of texts. Parts of a text may differ between runs, and a placeholder may replace unpublished
//! prose.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::bindings::Bindings;
use super::tables::{Sameness, Token};

/// Length in bytes from which equal texts are not searched for parts that differ between runs.
const LONG: usize = 64 << 10;

/// Placeholder for unpublished text of the recorded agent. It matches any text.
static PROSE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"<prose of the original, \d+ characters>").ok());

/// Finder of tokens: parts of texts that differ between runs.
#[derive(Debug)]
pub(super) struct TokenMatcher {
    pattern: Regex,
    /// For each kind of token: the index of its regex group, the index of the group to compare, and the
    /// rule of the comparison.
    groups: Vec<(usize, usize, Sameness)>,
}

/// A piece of a text.
#[derive(Debug, PartialEq)]
enum TextPiece<'a> {
    Literal(&'a str),
    Part(Sameness, &'a str),
}

impl TokenMatcher {
    pub(super) fn new(tokens: &[Token]) -> Option<Self> {
        let mut groups = Vec::new();
        let mut next = 1;
        let mut patterns = Vec::new();
        for token in tokens {
            let inner = Regex::new(token.pattern).ok()?.captures_len() - 1;
            groups.push((next, next + usize::from(inner > 0), token.same));
            next += 1 + inner;
            patterns.push(format!("({})", token.pattern));
        }
        Some(Self { pattern: Regex::new(&patterns.join("|")).ok()?, groups })
    }

    fn pieces<'a>(&self, text: &'a str) -> Vec<TextPiece<'a>> {
        let mut pieces = Vec::new();
        let mut from = 0;
        for found in self.pattern.captures_iter(text) {
            let part = self.groups.iter().find_map(|(outer, inner, same)| {
                found.get(*outer)?;
                Some((found.get(*inner)?, *same))
            });
            let Some((part, same)) = part else { continue };
            pieces.push(TextPiece::Literal(&text[from..part.start()]));
            pieces.push(TextPiece::Part(same, part.as_str()));
            from = part.end();
        }
        pieces.push(TextPiece::Literal(&text[from..]));
        pieces
    }
}

/// Comparer of texts, with the bindings so far.
#[derive(Debug)]
pub(super) struct TextComparer<'a> {
    tokens: &'a TokenMatcher,
    pub(super) bindings: Bindings,
    prose: HashMap<String, Option<Arc<Regex>>>,
}

impl<'a> TextComparer<'a> {
    pub(super) fn new(tokens: &'a TokenMatcher, bindings: Bindings) -> Self {
        Self { tokens, bindings, prose: HashMap::new() }
    }

    /// Describes the difference of two texts. Returns `None` if they differ only in parts that may differ
    /// between runs, or if a placeholder permits any text.
    pub(super) fn difference(&mut self, golden: &str, observed: &str) -> Option<String> {
        if golden == observed && (golden.len() < 8 || golden.len() > LONG) {
            return None;
        }
        if let Some(fits) = self.prose(golden, observed) {
            return (!fits).then(|| unequal(golden, observed));
        }
        let found = self.pieces(golden, observed);
        if found.is_some() && golden != observed {
            // The text may contain the path of a bound file, which differs in the observed text.
            if let Some(renamed) = self.bindings.rename_files(golden)
                && (renamed == observed || self.pieces(&renamed, observed).is_none())
            {
                return None;
            }
        }
        found
    }

    fn pieces(&mut self, golden: &str, observed: &str) -> Option<String> {
        let expected = self.tokens.pieces(golden);
        let found = self.tokens.pieces(observed);
        let alike = expected.len() == found.len()
            && expected.iter().zip(&found).all(|pair| match pair {
                (TextPiece::Literal(golden), TextPiece::Literal(observed)) => golden == observed,
                (TextPiece::Part(golden, _), TextPiece::Part(observed, _)) => golden == observed,
                _ => false,
            });
        if !alike {
            return Some(unequal(golden, observed));
        }
        expected.iter().zip(&found).find_map(|pair| match pair {
            (TextPiece::Part(same, golden), TextPiece::Part(_, observed)) => {
                self.bindings.part(*same, golden, observed).err()
            }
            _ => None,
        })
    }

    /// Returns `true` if the observed text fits an expected text with placeholders. Returns `None` if the
    /// expected text has no placeholders.
    fn prose(&mut self, golden: &str, observed: &str) -> Option<bool> {
        if !golden.contains("<prose of the original, ") {
            return None;
        }
        let pattern = self.prose.entry(golden.to_owned()).or_insert_with(|| {
            let placeholder = PROSE.as_ref()?;
            let literals: Vec<String> =
                placeholder.split(golden).map(|part| self.tokens.loose_pattern(part)).collect();
            Regex::new(&format!("^(?s:{})$", literals.join(".*"))).ok().map(Arc::new)
        });
        pattern.as_ref().map(|pattern| pattern.is_match(observed))
    }
}

impl TokenMatcher {
    /// Returns a regex for a text. Parts that differ between runs match any text without spaces.
    fn loose_pattern(&self, text: &str) -> String {
        let pieces = self.pieces(text);
        let parts = pieces.iter().map(|piece| match piece {
            TextPiece::Literal(text) => regex::escape(text),
            TextPiece::Part(..) => r"\S+?".to_owned(),
        });
        parts.collect()
    }
}

/// Describes the first difference of two texts.
pub(super) fn unequal(golden: &str, observed: &str) -> String {
    const BEFORE: usize = 20;
    const LENGTH: usize = 60;
    let same =
        golden.chars().zip(observed.chars()).take_while(|(golden, observed)| golden == observed).count();
    let from = same.saturating_sub(BEFORE);
    let part = |text: &str| {
        let mut rest = text.chars().skip(from);
        let shown: String = rest.by_ref().take(LENGTH).collect();
        let (before, after) = (if from > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
        format!("{before}{}{after}", serde_json::Value::from(shown))
    };
    format!("the text is {} instead of {}", part(observed), part(golden))
}
