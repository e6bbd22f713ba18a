//! Selection of cases by patterns.

use agentese::types::Scenario;
use globset::{Glob, GlobMatcher};

use crate::suggestions::{either, nearest};

/// Patterns that select cases by their names and covered items.
#[derive(Debug, Clone, Default)]
pub struct Selection(Vec<CasePattern>);

#[derive(Debug, Clone)]
enum CasePattern {
    /// Text that occurs in a name or a covered item.
    Part(String),
    /// Glob that matches a whole name or a whole covered item.
    Glob(GlobMatcher),
}

/// Reason why a selection fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// A pattern is invalid.
    #[error("invalid pattern `{pattern}`: {reason}")]
    Pattern {
        /// The invalid pattern.
        pattern: String,
        /// Description of the error.
        reason: String,
    },
    /// A pattern fits no case.
    #[error("no case matches `{pattern}`; {instead}see `list --covers` for names and covered items")]
    NoMatch {
        /// The pattern without a match.
        pattern: String,
        /// Suggestion of similar names for the message; empty if no name is similar.
        instead: String,
    },
}

/// Returns the cases that match at least one pattern. [`Selection::new`] describes the patterns. All options
/// `--only` use this function.
///
/// # Errors
/// If a pattern is invalid, or matches no case.
pub fn select(patterns: &[String], cases: Vec<Scenario>) -> Result<Vec<Scenario>, SelectionError> {
    Selection::new(patterns)?.of(cases)
}

impl Selection {
    /// Parses patterns.
    ///
    /// A pattern with `*`, `?`, `[` or `{` matches a whole name or a whole covered item, as in `command *`.
    /// Any other pattern matches a part of them. If a pattern is the name of a case, it selects only that
    /// case.
    ///
    /// # Errors
    /// If a pattern is invalid.
    pub fn new(patterns: &[String]) -> Result<Self, SelectionError> {
        let read = |pattern: &String| {
            if !pattern.contains(['*', '?', '[', '{']) {
                return Ok(CasePattern::Part(pattern.clone()));
            }
            let wrong = |error: globset::Error| SelectionError::Pattern {
                pattern: pattern.clone(),
                reason: error.kind().to_string(),
            };
            Ok(CasePattern::Glob(Glob::new(pattern).map_err(wrong)?.compile_matcher()))
        };
        patterns.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the cases that match at least one pattern, in their order. Returns all cases if there are no
    /// patterns.
    ///
    /// # Errors
    /// If a pattern matches no case. It may be misspelt, and a run without cases would look like a success.
    pub fn of(&self, cases: Vec<Scenario>) -> Result<Vec<Scenario>, SelectionError> {
        if self.0.is_empty() {
            return Ok(cases);
        }
        let chosen: Vec<Vec<bool>> = self.0.iter().map(|pattern| pattern.of(&cases)).collect();
        for (pattern, chosen) in self.0.iter().zip(&chosen) {
            if !chosen.contains(&true) {
                return Err(no_match(pattern.text(), &cases));
            }
        }
        let is_chosen = |at: usize| chosen.iter().any(|chosen| chosen[at]);
        let cases = cases.into_iter().enumerate();
        Ok(cases.filter(|(at, _)| is_chosen(*at)).map(|(_, case)| case).collect())
    }
}

impl CasePattern {
    fn text(&self) -> &str {
        match self {
            CasePattern::Part(part) => part,
            CasePattern::Glob(glob) => glob.glob().glob(),
        }
    }

    /// Returns a flag for each case: `true` if the pattern matches it.
    fn of(&self, cases: &[Scenario]) -> Vec<bool> {
        // A complete name selects only that case, although other names may contain it.
        let named: Vec<bool> = cases.iter().map(|case| case.name == self.text()).collect();
        if named.contains(&true) {
            return named;
        }
        cases.iter().map(|case| texts(case).any(|text| self.fits(text))).collect()
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            CasePattern::Part(part) => text.contains(part.as_str()),
            CasePattern::Glob(glob) => glob.is_match(text),
        }
    }
}

fn no_match(pattern: &str, cases: &[Scenario]) -> SelectionError {
    let near = nearest(pattern, cases.iter().flat_map(texts));
    let instead = if near.is_empty() { String::new() } else { format!("did you mean {}? ", either(&near)) };
    SelectionError::NoMatch { pattern: pattern.to_owned(), instead }
}

fn texts(case: &Scenario) -> impl Iterator<Item = &str> {
    std::iter::once(case.name.as_str()).chain(case.covers.iter().flatten().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(patterns: &[&str]) -> Result<Vec<String>, String> {
        let case = |name: &str, covers: &[&str]| -> Scenario {
            serde_json::from_value(serde_json::json!({
                "scenario": 1, "name": name, "dialect": "pi@0.55", "title": "t", "steps": [], "covers": covers,
            }))
            .unwrap()
        };
        let cases = vec![
            case("bash", &["command bash"]),
            case("bash-abort", &["command bash", "command abort_bash"]),
            case("fork", &["command fork", "edge a/b"]),
        ];
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        let cases = super::select(&patterns, cases).map_err(|error| error.to_string())?;
        Ok(cases.into_iter().map(|case| case.name).collect())
    }

    #[test]
    fn names_parts_globs_and_covered_items_select_cases() {
        let table: [(&[&str], &[&str]); 8] = [
            (&[], &["bash", "bash-abort", "fork"]),
            (&["bash"], &["bash"]),
            (&["abort"], &["bash-abort"]),
            (&["bash*"], &["bash", "bash-abort"]),
            (&["fork", "*-abort"], &["bash-abort", "fork"]),
            (&["command bash"], &["bash", "bash-abort"]),
            (&["command {fork,abort_bash}"], &["bash-abort", "fork"]),
            (&["edge *"], &["fork"]),
        ];
        for (patterns, wanted) in table {
            assert_eq!(select(patterns).unwrap(), wanted, "{patterns:?}");
        }
    }

    #[test]
    fn a_pattern_without_a_match_is_an_error() {
        let nothing = "no case matches `nope`; see `list --covers` for names and covered items";
        assert_eq!(select(&["fork", "nope"]).unwrap_err(), nothing);
        let near = "no case matches `bahs-abort`; did you mean `bash-abort`? see `list --covers` for names and covered items";
        assert_eq!(select(&["bahs-abort"]).unwrap_err().replace(" or `command abort_bash`", ""), near);
        assert!(select(&["[a"]).unwrap_err().starts_with("invalid pattern `[a`: "));
    }
}
