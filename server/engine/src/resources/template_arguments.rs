//! The arguments after a template's name, and their placeholders.

/// Splits arguments at spaces and tabs. Quotes of both kinds group text, also within an argument, and cannot
/// be escaped. An unclosed quote extends to the end. Empty quotes give no argument.
pub fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for character in text.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => word.push(character),
            None if matches!(character, '"' | '\'') => quote = Some(character),
            None if matches!(character, ' ' | '\t') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            None => word.push(character),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Substitutes the placeholders of a template: `$1`, `${@:N}`, `${@:N:L}`, `$@`, `$ARGUMENTS`. Makes one pass
/// from left to right, so an argument is never read as a placeholder.
pub(super) fn substitute(template: &str, arguments: &[String]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match placeholder(rest) {
            Some((placeholder, after)) => {
                text.push_str(&arguments[placeholder.range(arguments.len())].join(" "));
                rest = after;
            }
            None => text.push('$'),
        }
    }
    text.push_str(rest);
    text
}

/// The range of arguments that replace a placeholder: the first index, from 0, and the number of arguments.
struct Placeholder {
    start: usize,
    length: usize,
}

impl Placeholder {
    const ALL: Self = Self { start: 0, length: usize::MAX };
    const NONE: Self = Self { start: 0, length: 0 };

    fn range(&self, count: usize) -> std::ops::Range<usize> {
        let start = self.start.min(count);
        start..start.saturating_add(self.length).min(count)
    }
}

/// Parses the placeholder after a dollar sign. Returns it with the rest of the text.
fn placeholder(text: &str) -> Option<(Placeholder, &str)> {
    for all in ["ARGUMENTS", "@"] {
        if let Some(rest) = text.strip_prefix(all) {
            return Some((Placeholder::ALL, rest));
        }
    }
    if let Some((number, rest)) = number(text) {
        // There is no argument 0, and in pi it is empty.
        let one = number.checked_sub(1).map(|start| Placeholder { start, length: 1 });
        return Some((one.unwrap_or(Placeholder::NONE), rest));
    }
    let (from, rest) = number(text.strip_prefix("{@:")?)?;
    let start = from.saturating_sub(1);
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((Placeholder { start, length: usize::MAX }, rest));
    }
    let (length, rest) = number(rest.strip_prefix(':')?)?;
    Some((Placeholder { start, length }, rest.strip_prefix('}')?))
}

/// Parses a decimal number. A number that is too large gives the maximum.
fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (end > 0).then(|| (digits.parse().unwrap_or(usize::MAX), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_group() {
        let cases: [(&str, &[&str]); 12] = [
            ("", &[]),
            ("  \t ", &[]),
            ("a b", &["a", "b"]),
            (" a\t\tb ", &["a", "b"]),
            (r#""a b" c"#, &["a b", "c"]),
            ("'a b' c", &["a b", "c"]),
            (r#"a"b c"d"#, &["ab cd"]),
            (r#"'it"s' "it's""#, &["it\"s", "it's"]),
            (r#""" '' a"#, &["a"]),
            (r#""open end"#, &["open end"]),
            (r#"a\"b c\""#, &["a\\b c\\"]),
            ("two\nlines x", &["two\nlines", "x"]),
        ];
        for (text, words) in cases {
            assert_eq!(split(text), words, "{text}");
        }
    }

    #[test]
    fn arguments_replace_placeholders() {
        let nine: Vec<String> = (1..=9).map(|number| number.to_string()).collect();
        let cases = [
            ("Review $1: $@", "Review 1: 1 2 3 4 5 6 7 8 9"),
            ("$10", ""),
            ("$9$1", "91"),
            ("$$1", "$1"),
            ("$0|", "|"),
            ("${@:8}", "8 9"),
            ("${@:0}", "1 2 3 4 5 6 7 8 9"),
            ("${@:10}|", "|"),
            ("${@:2:0}|", "|"),
            ("${@:2:3}", "2 3 4"),
            ("${@:0:2}", "1 2"),
            ("${@:9:5}", "9"),
            ("${@:99999999999999999999999:1}|", "|"),
            ("${@:2:99999999999999999999999}", "2 3 4 5 6 7 8 9"),
            ("$ARGUMENTS.", "1 2 3 4 5 6 7 8 9."),
            ("$ ${@} ${1} ${@:} ${@:-1} ${@:1: $X $", "$ ${@} ${1} ${@:} ${@:-1} ${@:1: $X $"),
            ("costs $5.00", "costs 5.00"),
        ];
        for (template, text) in cases {
            assert_eq!(substitute(template, &nine), text, "{template}");
        }
    }

    #[test]
    fn placeholders_in_arguments_are_not_substituted() {
        let arguments = ["$2 $@ ${@:1}".to_owned(), "$ARGUMENTS".to_owned()];
        assert_eq!(substitute("$1|$2|$@", &arguments), "$2 $@ ${@:1}|$ARGUMENTS|$2 $@ ${@:1} $ARGUMENTS");
        assert_eq!(substitute("$1ARGUMENTS", &["$".to_owned()]), "$ARGUMENTS");
    }

    proptest! {
        #[test]
        fn text_without_placeholders_is_unchanged_and_arguments_round_trip(text in "[^$]*", words in prop::collection::vec("[^\"]{1,8}", 0..6)) {
            prop_assert_eq!(substitute(&text, &words), text);
            let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            prop_assert_eq!(split(&quoted.join(" ")), words.clone());
            prop_assert_eq!(substitute("$@", &words), words.join(" "));
        }
    }
}
