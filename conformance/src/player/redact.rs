//! Redaction: replaces texts that differ between runs by fixed texts.

use agentese::types::{LinePart, Profile};

use super::layout::RunDirectory;
use crate::recording::parts;
use crate::variables::Variables;

/// Texts and their replacements.
#[derive(Debug, Clone, Default)]
pub struct Redactions(Vec<(String, String)>);

impl Redactions {
    /// Creates the replacements. They are applied in this order.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().filter(|(from, _)| !from.is_empty()).collect())
    }

    /// Creates the replacements for a run: those of the profile, then the run's paths and the model's
    /// address.
    pub(super) fn of_run(
        profile: &Profile,
        variables: &Variables,
        directory: &RunDirectory,
        host: &str,
    ) -> Self {
        let own = profile.redactions.iter().flatten();
        let mut pairs: Vec<_> =
            own.map(|redaction| (variables.text(&redaction.from), redaction.to.clone())).collect();
        for (name, path) in directory.parts() {
            let path = path.to_string_lossy();
            pairs.push((path.to_string(), format!("/{name}-dir")));
            // Some agents derive folder names from paths.
            pairs.push((path.trim_start_matches('/').replace('/', "-"), format!("{name}-dir")));
        }
        pairs.push((host.to_owned(), "127.0.0.1:4010".to_owned()));
        Self::new(pairs)
    }

    /// Returns the text with all replacements made.
    pub fn text(&self, text: &str) -> String {
        // Long repetitions of one character are not searched, because a line may contain megabytes of
        // them.
        let Some(parts) = parts(text) else { return self.plain(text) };
        let part = |part: &LinePart| match part {
            LinePart::Text(text) => self.plain(text),
            LinePart::Repeat(run) => run.repeat.repeat(usize::try_from(run.n).unwrap_or_default()),
        };
        parts.iter().map(part).collect()
    }

    fn plain(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // Some JSON writers escape the slashes of paths.
        if text.contains(r"\/") {
            let plain = slashes(&text);
            if self.0.iter().any(|(from, _)| from.contains('/') && plain.contains(from)) {
                text = plain;
            }
        }
        self.0.iter().fold(text, |text, (from, to)| replaced(text, from, to))
    }
}

/// Removes the backslashes before slashes from a JSON text.
fn slashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('/')) => {}
            ('\\', Some(_)) => {
                out.push(character);
                out.extend(characters.next());
            }
            _ => out.push(character),
        }
    }
    out
}

/// Replaces each occurrence of `from`, except in the middle of a number: `:40` also occurs in
/// `:4010`.
fn replaced(text: String, from: &str, to: &str) -> String {
    if !text.contains(from) {
        return text;
    }
    let is_number = from.ends_with(|last: char| last.is_ascii_digit());
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(from) {
        let after = &rest[at + from.len()..];
        let is_part = is_number && after.starts_with(|next: char| next.is_ascii_digit());
        out.push_str(&rest[..at]);
        out.push_str(if is_part { from } else { to });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_made_in_order_and_spare_longer_numbers() {
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let redactions = Redactions::new([
            pair("/run/work", "/work-dir"),
            pair("/run", "/run-dir"),
            pair("h:40", "h:4010"),
            pair("", "never"),
        ]);
        assert_eq!(
            redactions.text("/run/work/a /run/b h:40 h:401 h:40"),
            "/work-dir/a /run-dir/b h:4010 h:401 h:4010"
        );
        assert_eq!(redactions.text(r#""\/run\/work\/a \\/ \"""#), r#""/work-dir/a \\/ \"""#);
        assert_eq!(redactions.text(r"a\/b"), r"a\/b");
    }
}
