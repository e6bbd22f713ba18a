//! Times as session files have them: `2026-11-21T20:33:49.780Z`.

use jiff::Timestamp;

/// Milliseconds since the epoch as ISO text, always in UTC and with three decimals. A time that no
/// calendar has becomes the epoch.
pub(super) fn iso(milliseconds: i64) -> String {
    let time = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

/// Milliseconds since the epoch of an ISO text; none where it is none.
pub(super) fn milliseconds(iso: &str) -> Option<i64> {
    iso.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

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
        assert_eq!(iso(i64::MAX), "1970-01-01T00:00:00.000Z");
    }
}
