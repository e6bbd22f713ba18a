//! Which cases are played.

use agentese::types::Scenario;
use globset::{Glob, GlobMatcher};

use crate::words::{either, nearest};

/// Patterns of names, and of what cases cover.
#[derive(Debug, Clone, Default)]
pub struct Selection(Vec<Pattern>);

#[derive(Debug, Clone)]
enum Pattern {
    /// A part of the name, or of something that the case covers.
    Part(String),
    /// A pattern of the whole name, or of the whole of something that the case covers.
    Glob(GlobMatcher),
}

/// Why cases cannot be selected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// A pattern is none.
    #[error("`{pattern}` is no pattern: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// A pattern fits nothing.
    #[error("no case fits `{pattern}`; {instead}`list --covers` shows names and what is covered")]
    Nothing {
        /// The pattern.
        pattern: String,
        /// Names that are like it, as a question; empty where none is.
        instead: String,
    },
}

/// The cases that patterns choose, as [`Selection`] reads them: what `--only` means wherever there is one.
///
/// # Errors
/// Where a pattern is none, or fits no case.
pub fn select(patterns: &[String], cases: Vec<Scenario>) -> Result<Vec<Scenario>, SelectionError> {
    Selection::new(patterns)?.of(cases)
}

impl Selection {
    /// Reads patterns. One with `*`, `?`, `[` or `{` fits the whole name or the whole of something that
    /// the case covers, as in `command *`; any other fits a part of it, and a name that is the same alone.
    ///
    /// # Errors
    /// Where a pattern is none.
    pub fn new(patterns: &[String]) -> Result<Self, SelectionError> {
        let read = |pattern: &String| {
            if !pattern.contains(['*', '?', '[', '{']) {
                return Ok(Pattern::Part(pattern.clone()));
            }
            let wrong = |error: globset::Error| SelectionError::Pattern {
                pattern: pattern.clone(),
                reason: error.kind().to_string(),
            };
            Ok(Pattern::Glob(Glob::new(pattern).map_err(wrong)?.compile_matcher()))
        };
        patterns.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// The cases that fit a pattern, in their order; all of them where there is no pattern.
    ///
    /// # Errors
    /// Where a pattern fits no case: it is misspelt, and a run of nothing would say that all is well.
    pub fn of(&self, cases: Vec<Scenario>) -> Result<Vec<Scenario>, SelectionError> {
        if self.0.is_empty() {
            return Ok(cases);
        }
        let chosen: Vec<Vec<bool>> = self.0.iter().map(|pattern| pattern.of(&cases)).collect();
        for (pattern, chosen) in self.0.iter().zip(&chosen) {
            if !chosen.contains(&true) {
                return Err(nothing(pattern.text(), &cases));
            }
        }
        let is_chosen = |at: usize| chosen.iter().any(|chosen| chosen[at]);
        let cases = cases.into_iter().enumerate();
        Ok(cases.filter(|(at, _)| is_chosen(*at)).map(|(_, case)| case).collect())
    }
}

impl Pattern {
    fn text(&self) -> &str {
        match self {
            Pattern::Part(part) => part,
            Pattern::Glob(glob) => glob.glob().glob(),
        }
    }

    /// For each case, whether it fits.
    fn of(&self, cases: &[Scenario]) -> Vec<bool> {
        // A whole name means that case, although others may have it in theirs.
        let named: Vec<bool> = cases.iter().map(|case| case.name == self.text()).collect();
        if named.contains(&true) {
            return named;
        }
        cases.iter().map(|case| texts(case).any(|text| self.fits(text))).collect()
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Pattern::Part(part) => text.contains(part.as_str()),
            Pattern::Glob(glob) => glob.is_match(text),
        }
    }
}

fn nothing(pattern: &str, cases: &[Scenario]) -> SelectionError {
    let near = nearest(pattern, cases.iter().flat_map(texts));
    let instead = if near.is_empty() { String::new() } else { format!("did you mean {}? ", either(&near)) };
    SelectionError::Nothing { pattern: pattern.to_owned(), instead }
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
    fn names_parts_globs_and_what_is_covered() {
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
    fn what_selects_nothing_is_an_error() {
        let nothing = "no case fits `nope`; `list --covers` shows names and what is covered";
        assert_eq!(select(&["fork", "nope"]).unwrap_err(), nothing);
        let near = "no case fits `bahs-abort`; did you mean `bash-abort`? `list --covers` shows names and what is covered";
        assert_eq!(select(&["bahs-abort"]).unwrap_err().replace(" or `command abort_bash`", ""), near);
        assert!(select(&["[a"]).unwrap_err().starts_with("`[a` is no pattern: "));
    }
}
