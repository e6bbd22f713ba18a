//! A day of the calendar, in UTC.

use std::fmt;

/// A day of the Gregorian calendar, in UTC. Shown as `2026-11-22`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    year: i64,
    month: i64,
    day: i64,
}

impl Date {
    /// Returns the day of a moment, given in milliseconds since the Unix epoch.
    pub fn of_ms(moment: i64) -> Self {
        // Counted in years that begin with March, so that the day of a leap year comes last; day 0 is
        // 1 March of the year 0.
        let day = moment.div_euclid(86_400_000) + 719_468;
        let era = day.div_euclid(146_097);
        let day_of_era = day.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        Self {
            year: era * 400 + year_of_era + i64::from(month >= 10),
            month: if month < 10 { month + 3 } else { month - 9 },
            day: day_of_year - (153 * month + 2) / 5 + 1,
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_change_at_midnight_and_leap_years_are_respected() {
        let cases = [
            (0, "1970-01-01"),
            (86_399_999, "1970-01-01"),
            (86_400_000, "1970-01-02"),
            (-1, "1969-12-31"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_709_164_800_000, "2024-02-29"),
            (1_795_305_600_000, "2026-11-22"),
            (4_107_542_400_000, "2100-03-01"),
            (4_107_456_000_000, "2100-02-28"),
        ];
        for (moment, text) in cases {
            assert_eq!(Date::of_ms(moment).to_string(), text);
        }
    }
}
