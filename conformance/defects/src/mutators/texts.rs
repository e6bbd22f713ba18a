//! Mutators for the content of texts.

use serde_json::json;

use super::{Effects, put};
use crate::site::Kind;
use crate::stream::Stream;
use crate::{Group, Mutator};

const fn texts(name: &'static str, description: &'static str, find: crate::EffectFinder) -> Mutator {
    Mutator::new(name, description, Group::Texts, find)
}

pub(super) const ALL: &[Mutator] = &[
    texts("text-changed", "a character of a text is another", |stream, at| each(stream, at, changed)),
    texts("text-cut", "the last character of a text is missing", |stream, at| {
        each(stream, at, |text| {
            let end = text.char_indices().next_back()?.0;
            Some(text[..end].to_owned())
        })
    })
    .sparing_growth(),
    texts("text-halved", "the second half of a text is missing", |stream, at| {
        each(stream, at, |text| {
            let count = text.chars().count();
            (count > 1).then(|| text.chars().take(count / 2).collect())
        })
    })
    .sparing_growth(),
    texts("text-longer", "something stands behind a text", |stream, at| {
        each(stream, at, |text| Some(format!("{text}…")))
    }),
    texts("text-before", "something stands before a text", |stream, at| {
        each(stream, at, |text| Some(format!("> {text}")))
    }),
    texts("text-recased", "the letters of a text have the other case", |stream, at| {
        each(stream, at, |text| {
            let other = |letter: char| {
                if letter.is_ascii_lowercase() {
                    letter.to_ascii_uppercase()
                } else {
                    letter.to_ascii_lowercase()
                }
            };
            Some(text.chars().map(other).collect())
        })
    }),
    texts("text-empty", "a text is empty", |stream, at| {
        each(stream, at, |text| (!text.is_empty()).then(String::new))
    })
    .sparing_growth(),
    texts("text-trimmed", "white space around a text is missing", |stream, at| {
        each(stream, at, |text| Some(text.trim().to_owned()))
    })
    .sparing_growth(),
    texts("text-one-line", "the line feeds of a text are spaces", |stream, at| {
        each(stream, at, |text| Some(text.replace('\n', " ")))
    }),
    texts("text-swapped", "two neighbouring characters of a text are swapped", |stream, at| {
        each(stream, at, |text| {
            let mut letters: Vec<char> = text.chars().collect();
            let at = letters.windows(2).position(|pair| pair[0] != pair[1])?;
            letters.swap(at, at + 1);
            Some(letters.into_iter().collect())
        })
    }),
    texts("text-misread", "text beyond ASCII was read in another encoding", |stream, at| {
        each(stream, at, |text| (!text.is_ascii()).then(|| text.bytes().map(char::from).collect()))
    }),
    texts("text-escaped", "a text is escaped a second time", |stream, at| {
        each(stream, at, |text| {
            let escaped = json!(text).to_string();
            Some(escaped[1..escaped.len() - 1].to_owned())
        })
    }),
];

/// Replaces each text by the result of `other`. Texts that `other` leaves unchanged are
/// skipped.
fn each(stream: &Stream, at: usize, other: fn(&str) -> Option<String>) -> Effects {
    let line = &stream.lines[at];
    let sites = line.sites.iter().filter(|site| site.kind == Kind::Text);
    sites
        .filter_map(|site| {
            let text = site.place.of(&line.frame)?.as_str()?;
            let other = other(text).filter(|other| other != text)?;
            Some(put(&site.place, json!(other)))
        })
        .collect()
}

/// Replaces the character in the middle.
fn changed(text: &str) -> Option<String> {
    let middle = text.chars().count() / 2;
    let (at, letter) = text.char_indices().nth(middle)?;
    let other = if letter == 'x' { 'y' } else { 'x' };
    let mut text = text.to_owned();
    text.replace_range(at..at + letter.len_utf8(), other.encode_utf8(&mut [0; 4]));
    Some(text)
}
