//! Conversion of times to and from the text in session files: `2026-11-21T20:33:49.780Z`.

use jiff::Timestamp;

/// Converts milliseconds since the epoch to ISO text, in UTC and with three decimals. A time outside the calendar
/// becomes the epoch.
pub(super) fn iso(milliseconds: i64) -> String {
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// Converts ISO text to milliseconds since the epoch. Returns `None` if the text has another form.
pub(super) fn milliseconds(iso: &str) -> Option<i64> {
    usual(iso).or_else(|| iso.parse::<Timestamp>().ok().map(Timestamp::as_millisecond))
}

/// Converts a text that has exactly the form of [`iso`]. Returns `None` for other forms.
fn usual(iso: &str) -> Option<i64> {
    let bytes: &[u8; 24] = iso.as_bytes().try_into().ok()?;
    let signs = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if signs.iter().any(|(at, sign)| bytes[*at] != *sign) {
        return None;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().try_fold(0i64, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
        })
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // The library checks the ends of months.
    let is_usual = (1..=12).contains(&month)
        && (1..=28).contains(&day)
        && year >= 1
        && hour < 24
        && minute < 60
        && second < 60;
    // Years begin with March here, so that the leap day is the last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - DAYS_TO_1970;
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    is_usual.then_some(seconds * 1000 + number(20, 23)?)
}

/// Number of days from the first of March of the year 0 to the first day of 1970.
const DAYS_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_javascript_writes_them() {
        for text in ["1970-01-01T00:00:00.000Z", "2026-11-21T20:33:49.780Z", "2026-01-02T03:04:05.700Z"] {
            assert_eq!(iso(milliseconds(text).unwrap()), text);
        }
        assert_eq!(milliseconds("2026-11-21T21:33:49+01:00"), milliseconds("2026-11-21T20:33:49Z"));
        assert_eq!(milliseconds("yesterday"), None);
        for year in [1, 4, 1600, 1900, 1969, 1970, 1972, 2000, 2023, 2024, 2026, 2100, 9998] {
            for (month, day) in (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day))) {
                let text = format!("{year:04}-{month:02}-{day:02}T23:59:07.089Z");
                let parsed = text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
                assert_eq!(milliseconds(&text), parsed, "{text}");
            }
        }
        for text in ["2026-11-21T24:00:00.000Z", "2026-11-21T00:00:60.000Z", "2026-1a-21T00:00:00.000Z"] {
            assert_eq!(milliseconds(text), text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond));
        }
        assert_eq!(iso(i64::MAX), "1970-01-01T00:00:00.000Z");
    }
}
