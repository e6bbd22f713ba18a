//! Consistent replacement of values that an agent generates.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};

static IDS: LazyLock<Regex> = LazyLock::new(|| {
    // Matches UUIDs and the plain hexadecimal ids of entries, sessions and messages, also at the end of a
    // file name.
    pattern(
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?P<lead>\b|_)(?P<plain>[0-9a-f]{32}|[0-9a-f]{16})\b|\b[0-9a-f]{8}\b",
    )
});

static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    // Matches days, milliseconds, and seconds with a fraction.
    pattern(
        r"(?P<date>\b20\d\d-\d\d-)(?P<day>\d\d)(?P<rest>T\d\d[:-]\d\d[:-]\d\d)|(?P<ms>\b1[6-9]\d{11}\b)|(?P<s>\b1[6-9]\d{8})\.\d",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Replaces each id by another id of the same form, consistently in all lines.
pub(super) fn ids(texts: &[&str], case: &str, rng: &mut fastrand::Rng) -> Option<Vec<String>> {
    let mut others: HashMap<String, String> = HashMap::new();
    let mut other = |id: &str| {
        // An id must contain digits and letters, because a number, or an English word of hexadecimal
        // letters, is not an id.
        let is_id =
            id.bytes().any(|byte| byte.is_ascii_digit()) && id.bytes().any(|byte| byte.is_ascii_alphabetic());
        if !is_id || case.contains(id) {
            return id.to_owned();
        }
        let digit = |letter: char| match letter {
            '-' => '-',
            letter if letter.is_ascii_digit() => char::from(b'0' + rng.u8(0..10)),
            _ => char::from(b'a' + rng.u8(0..6)),
        };
        others.entry(id.to_owned()).or_insert_with(|| id.chars().map(digit).collect()).clone()
    };
    let mut replaced = |found: &Captures<'_>| match found.name("plain") {
        Some(plain) => format!("{}{}", &found["lead"], other(plain.as_str())),
        None => other(&found[0]),
    };
    Some(texts.iter().map(|text| IDS.replace_all(text, &mut replaced).into_owned()).collect())
}

/// Shifts times by some days, and dates within the same month.
pub(super) fn times(texts: &[&str], case: &str, rng: &mut fastrand::Rng) -> Option<Vec<String>> {
    let days = rng.u64(1..5);
    let other = |found: &Captures<'_>| {
        let later =
            |number: &str, day: u64| (number.parse::<u64>().unwrap_or_default() + days * day).to_string();
        match (found.name("ms"), found.name("s")) {
            _ if case.contains(&found[0]) => found[0].to_owned(),
            (Some(ms), _) => later(ms.as_str(), 86_400_000),
            (None, Some(seconds)) => later(seconds.as_str(), 86_400) + &found[0][seconds.len()..],
            (None, None) => {
                let day: u64 = found["day"].parse().unwrap_or_default();
                // Day 28 exists in every month.
                format!("{}{:02}{}", &found["date"], (day + days - 1) % 28 + 1, &found["rest"])
            }
        }
    };
    Some(texts.iter().map(|text| TIMES.replace_all(text, other).into_owned()).collect())
}
