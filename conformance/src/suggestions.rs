//! Texts for messages: numbers with their nouns, and suggestions for misspelt names.

/// Maximum number of known names that are all listed. If there are more, only similar names are listed.
const FEW: usize = 12;
/// Maximum number of suggested names.
const MAX_SUGGESTIONS: usize = 3;
/// Minimum similarity of a suggestion. The similarity of equal names is 1.
const MIN_SIMILARITY: f64 = 0.45;

/// Formats a number with its noun: `1 case`, `2 cases`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// Describes the alternatives to an unknown name. Lists all known names if there are few, and otherwise
/// similar names. `all` describes where the user finds the full list.
pub fn suggest(name: &str, known: &[String], all: &str) -> String {
    if known.len() <= FEW {
        return format!("known: {}", known.join(", "));
    }
    match nearest(name, known.iter().map(String::as_str)).as_slice() {
        [] => all.to_owned(),
        names => format!("did you mean {}? {all}", either(names)),
    }
}

/// Returns the known names that are most similar to a wrong name, the most similar first. The list is empty
/// if no name is similar.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<(f64, &str)> = known
        .map(|known| (similarity(name, known), known))
        .filter(|(likeness, _)| *likeness >= MIN_SIMILARITY)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    found.dedup();
    found.into_iter().take(MAX_SUGGESTIONS).map(|(_, name)| name).collect()
}

/// Returns the similarity of two names, from 0 to 1. Compares the sequence of letters, and the pairs of
/// adjacent letters in any order, because parts of a name may be swapped.
fn similarity(name: &str, known: &str) -> f64 {
    strsim::normalized_damerau_levenshtein(name, known).max(strsim::sorensen_dice(name, known))
}

/// Joins names for a sentence: `a`, `b` or `c`.
pub fn either(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let said: Vec<String> = [0, 1, 2].map(|count| counted(count, "case", "cases")).into();
        assert_eq!(said, ["0 cases", "1 case", "2 cases"]);
    }

    #[test]
    fn similar_names_are_suggested_most_similar_first() {
        let known = ["bash-abort", "bash-basic", "bash-errors", "fork", "set-model", "tool-bash-anthropic"];
        let of = |name| nearest(name, known.into_iter());
        assert_eq!(of("bash-basi")[0], "bash-basic");
        assert_eq!(of("basic-bash")[0], "bash-basic");
        assert_eq!(of("frok"), ["fork"]);
        assert_eq!(of("zzz"), [""; 0]);
        assert!(of("bash").len() <= MAX_SUGGESTIONS);
    }

    #[test]
    fn few_names_are_listed_in_full() {
        let names = |count: usize| (0..count).map(|at| format!("name-{at}")).collect::<Vec<_>>();
        assert_eq!(suggest("x", &names(2), "see `list`"), "known: name-0, name-1");
        assert_eq!(suggest("x", &names(50), "see `list`"), "see `list`");
        let said = suggest("name-00", &names(50), "see `list`");
        assert_eq!(said, "did you mean `name-0`, `name-10` or `name-20`? see `list`");
        assert_eq!(
            (either(&[]), either(&["a"]), either(&["a", "b"])),
            (String::new(), "`a`".into(), "`a` or `b`".into())
        );
    }
}
