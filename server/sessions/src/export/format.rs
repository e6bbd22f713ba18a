//! Formats of numbers, money and times for people.

use std::ops::Range;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Formats a number as `12,345`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number as `812`, `12.3k`, `4.5M`.
pub(super) fn short_count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..999_950 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// Formats US dollars as `$1.23`, with four decimals for amounts below ten cents.
pub(super) fn cost(dollars: f64) -> String {
    match dollars {
        _ if dollars > 0.0 && dollars < 0.00005 => "<$0.0001".to_owned(),
        _ if dollars > 0.0 && dollars < 0.1 => format!("${dollars:.4}"),
        _ => format!("${dollars:.2}"),
    }
}

/// Formats a number with its noun: `1 entry`, `2 entries`.
pub(super) fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number as u64), if number == 1 { one } else { many })
}

/// Returns the first line with visible text, with runs of white space as one space, cut after `longest`
/// characters.
pub(super) fn preview(text: &str, longest: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut out = String::new();
    for (index, character) in
        line.split_whitespace().flat_map(|word| [" ", word]).skip(1).flat_map(str::chars).enumerate()
    {
        if index == longest {
            return out.trim_end().to_owned() + "…";
        }
        out.push(character);
    }
    out
}

/// A timestamp of the form `2026-11-21T20:34:21.270Z`, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment<'a> {
    year: &'a str,
    month: &'static str,
    day: u8,
    seconds: &'a str,
}

impl<'a> Moment<'a> {
    /// Parses a timestamp. Returns `None` if it has another form.
    pub fn parse(timestamp: &'a str) -> Option<Self> {
        let digits = |range: Range<usize>| {
            timestamp.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")];
        if !timestamp.ends_with('Z')
            || marks.iter().any(|&(at, mark)| timestamp.get(at..at + 1) != Some(mark))
        {
            return None;
        }
        let month: usize = digits(5..7)?.parse().ok()?;
        for time in [11..13, 14..16, 17..19] {
            digits(time)?;
        }
        Some(Self {
            year: digits(0..4)?,
            month: MONTHS.get(month.checked_sub(1)?)?,
            day: digits(8..10)?.parse().ok()?,
            seconds: timestamp.get(11..19)?,
        })
    }

    /// Returns the time as `20:34:21`.
    pub fn time(self) -> &'a str {
        self.seconds
    }

    /// Returns the date as `21 November 2026`.
    pub fn date(self) -> String {
        format!("{} {} {}", self.day, self.month, self.year)
    }
}

/// Returns the first and the last time of a session, in UTC. Returns an empty text if neither can be parsed.
pub(super) fn span(first: &str, last: &str) -> String {
    let (Some(first), Some(last)) =
        (Moment::parse(first).or(Moment::parse(last)), Moment::parse(last).or(Moment::parse(first)))
    else {
        return String::new();
    };
    let (from, to) = (&first.time()[..5], &last.time()[..5]);
    match (first.date(), last.date()) {
        (from_date, to_date) if from_date != to_date => format!("{from_date}, {from} – {to_date}, {to} UTC"),
        (date, _) if from == to => format!("{date}, {from} UTC"),
        (date, _) => format!("{date}, {from} – {to} UTC"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [999, 1_000, 12_345, 999_949, 999_950, 4_500_000].map(short_count),
            ["999", "1.0k", "12.3k", "999.9k", "1.0M", "4.5M"]
        );
        assert_eq!(
            [0.0, 0.00001, 0.0006, 0.25, 12.0].map(cost),
            ["$0.00", "<$0.0001", "$0.0006", "$0.25", "$12.00"]
        );
        assert_eq!(
            (counted(1, "entry", "entries"), counted(0, "entry", "entries")),
            ("1 entry".into(), "0 entries".into())
        );
    }

    #[test]
    fn previews() {
        assert_eq!(preview("\n \n  a\t b  \nc", 9), "a b");
        assert_eq!(preview("äöü äöü", 4), "äöü…");
        assert_eq!(preview("", 4), "");
    }

    #[test]
    fn times() {
        let span_of =
            |from: &str, to: &str| span(&format!("2026-{from}:00.000Z"), &format!("2026-{to}:59.999Z"));
        assert_eq!(span_of("11-21T20:34", "11-21T20:37"), "21 November 2026, 20:34 – 20:37 UTC");
        assert_eq!(span_of("11-21T20:34", "11-21T20:34"), "21 November 2026, 20:34 UTC");
        assert_eq!(
            span_of("11-30T23:59", "12-01T00:01"),
            "30 November 2026, 23:59 – 1 December 2026, 00:01 UTC"
        );
        for odd in [
            "",
            "2026",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T0a:00:00Z",
            "ä026-01-01T00:00:00Z",
        ] {
            assert_eq!(Moment::parse(odd), None, "{odd}");
        }
    }
}
