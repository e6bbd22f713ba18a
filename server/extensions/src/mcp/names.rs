//! Distinct names for the tools and prompts of all servers.

use std::collections::{BTreeSet, HashMap};

/// The maximum length of a tool name that every model API accepts.
const LONGEST: usize = 64;

/// Returns a name for the model for each pair of a server and its tool, in the same order. A tool keeps its name if it
/// is unique. Otherwise the name of its server is added in front, and a number at the end if necessary.
pub(super) fn tools<'a>(
    offered: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    is_taken: impl Fn(&str) -> bool,
) -> Vec<String> {
    let short = |tool: &str| clean(tool);
    let long = |server: &str, tool: &str| clean(&format!("{server}_{tool}"));
    unique(offered, is_taken, short, long)
}

/// Returns the name of a slash command for each pair of a server and its prompt, in the same order.
pub(super) fn prompts<'a>(
    offered: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    is_taken: impl Fn(&str) -> bool,
) -> Vec<String> {
    // A command ends at the first white space.
    let word = |text: &str| text.split_whitespace().collect::<Vec<_>>().join("-");
    let long = |server: &str, prompt: &str| format!("{}:{}", word(server), word(prompt));
    unique(offered, is_taken, word, long)
}

fn unique<'a>(
    offered: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    is_taken: impl Fn(&str) -> bool,
    short: impl Fn(&str) -> String,
    long: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, name) in offered.clone() {
        *counts.entry(short(name)).or_default() += 1;
    }
    let mut given = BTreeSet::new();
    let name = |(server, name): (&str, &str)| {
        let wanted = short(name);
        let clashes = counts.get(&wanted).is_some_and(|count| *count > 1) || is_taken(&wanted);
        let wanted = if clashes { long(server, name) } else { wanted };
        let mut candidate = wanted.clone();
        let mut number = 2;
        while is_taken(&candidate) || !given.insert(candidate.clone()) {
            let end = format!("_{number}");
            candidate = format!("{}{end}", &wanted[..cut(&wanted, LONGEST - end.len())]);
            number += 1;
        }
        candidate
    };
    offered.map(name).collect()
}

/// Returns the name with only characters that every model API accepts, cut to the maximum length.
fn clean(name: &str) -> String {
    let usual = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    let name: String = name.chars().map(|one| if usual(one) { one } else { '_' }).take(LONGEST).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

fn cut(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(offered: &[(&str, &str)], taken: &[&str]) -> Vec<String> {
        tools(offered.iter().copied(), |name| taken.contains(&name))
    }

    #[test]
    fn a_name_is_kept_unless_it_clashes() {
        assert_eq!(named(&[("a", "echo"), ("a", "add")], &["read"]), ["echo", "add"]);
        assert_eq!(named(&[("a", "echo"), ("b", "echo"), ("b", "add")], &[]), ["a_echo", "b_echo", "add"]);
        assert_eq!(named(&[("files", "read")], &["read"]), ["files_read"]);
        assert_eq!(
            named(&[("a", "b_c"), ("a_b", "c"), ("a", "x"), ("a_b", "x")], &["c"]),
            ["b_c", "a_b_c", "a_x", "a_b_x"]
        );
        // The names are unique in every case.
        assert_eq!(named(&[("a", "x"), ("a", "x")], &["a_x"]), ["a_x_2", "a_x_3"]);
    }

    #[test]
    fn names_are_of_the_kind_that_models_take() {
        assert_eq!(named(&[("s", "get/item.v1 ü")], &[]), ["get_item_v1__"]);
        let long = "x".repeat(100);
        let names = named(&[("server", &long), ("other", &long)], &[]);
        assert!(names.iter().all(|name| name.len() == LONGEST) && names[0] != names[1], "{names:?}");
        assert_eq!(named(&[("s", "")], &[]), ["_"]);
    }

    #[test]
    fn names_of_prompts_have_no_white_space() {
        let offered = [("my server", "Code review"), ("b", "fix"), ("c", "fix")];
        let names = prompts(offered.iter().copied(), |name| name == "Code-review");
        assert_eq!(names, ["my-server:Code-review", "b:fix", "c:fix"]);
    }
}
