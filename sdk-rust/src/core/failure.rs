//! Kinds of failures, found by comparison with the texts in the dialect's document.

use crate::spec::{FailureSpec, Spec};

/// Returns the kind of a failure by its text, and by its code for dialects with codes. `command` is the name
/// in the response.
///
/// Some agents add the prefix for unreadable lines to failures of commands. This function therefore first tries
/// the text without the prefix. If several documented texts match, the one with the most fixed characters
/// applies. A documented text that consists only of placeholders matches only responses to unreadable lines.
pub(crate) fn kind_of(
    spec: &Spec,
    command: Option<&str>,
    code: Option<i64>,
    message: &str,
) -> Option<&'static str> {
    let unreadable = command == Some(spec.edges.parse_command);
    let best = |text: &str| {
        let fits = |failure: &&FailureSpec| {
            let pattern = Pattern(failure.text);
            failure.code.is_none_or(|expected| code == Some(expected))
                && (pattern.fixed() > 0 || unreadable)
                && pattern.fits(text)
        };
        // Of equal candidates the first in the table applies.
        let best =
            spec.failures.iter().filter(fits).rev().max_by_key(|failure| Pattern(failure.text).fixed());
        best.map(|failure| failure.kind)
    };
    message.strip_prefix(spec.edges.parse_prefix).and_then(best).or_else(|| best(message))
}

/// A documented text. Each `{…}` in it is a placeholder for any text.
struct Pattern(&'static str);

impl Pattern {
    /// Returns the fixed texts between the placeholders.
    fn parts(&self) -> impl Iterator<Item = &'static str> {
        let mut rest = Some(self.0);
        std::iter::from_fn(move || {
            let text = rest?;
            let placeholder = text.find('{').and_then(|open| Some((open, open + text[open..].find('}')?)));
            match placeholder {
                Some((open, close)) => {
                    rest = Some(&text[close + 1..]);
                    Some(&text[..open])
                }
                None => {
                    rest = None;
                    Some(text)
                }
            }
        })
    }

    /// Returns the number of bytes outside of placeholders.
    fn fixed(&self) -> usize {
        self.parts().map(str::len).sum()
    }

    fn fits(&self, text: &str) -> bool {
        let parts: Vec<&str> = self.parts().collect();
        let [first, between @ .., last] = parts.as_slice() else { return text == self.0 };
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        for part in between {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn placeholders_stand_for_any_text() {
        for (pattern, text, fits) in [
            ("Already compacted", "Already compacted", true),
            ("Already compacted", "Already compacted.", false),
            ("No {a}.{b}", "No key.\n\nUse one.", true),
            ("No {a}.{b}", "No key", false),
            ("a{x}b{y}c", "abc", true),
            ("a{x}b{y}c", "acb", false),
            ("{reason}", "", true),
            ("ab{x}b", "ab", false),
        ] {
            assert_eq!(Pattern(pattern).fits(text), fits, "{pattern} and {text}");
        }
    }

    /// Runs the test cases that the clients of all languages share.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/failures.json")).unwrap();
        assert!(cases.len() >= 10);
        for case in cases {
            let spec = crate::dynamic::spec(case["dialect"].as_str().unwrap()).unwrap();
            let kind = kind_of(
                spec,
                case["command"].as_str(),
                case["code"].as_i64(),
                case["message"].as_str().unwrap(),
            );
            assert_eq!(kind, case["kind"].as_str(), "{case}");
        }
    }
}
