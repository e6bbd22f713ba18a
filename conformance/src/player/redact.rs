//! What is of one run alone, replaced by what is the same in all runs.

use agentese::types::Profile;

use super::layout::RunDirectory;
use crate::variables::Variables;

/// Texts and what stands in their place.
#[derive(Debug, Clone, Default)]
pub struct Redactions(Vec<(String, String)>);

impl Redactions {
    /// Replacements, made in order.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(pairs.into_iter().filter(|(from, _)| !from.is_empty()).collect())
    }

    /// Those of a profile, then the paths of a run and the address of its model.
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
            // Agents make names of folders out of paths.
            pairs.push((path.trim_start_matches('/').replace('/', "-"), format!("{name}-dir")));
        }
        pairs.push((host.to_owned(), "127.0.0.1:4010".to_owned()));
        Self::new(pairs)
    }

    /// The text with all replacements made.
    pub fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (from, to)| {
            if text.contains(from.as_str()) { text.replace(from.as_str(), to) } else { text }
        })
    }
}
