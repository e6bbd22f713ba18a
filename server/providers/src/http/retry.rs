//! Rules for repeating a request of which no part of an answer has arrived.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;

/// The wait before the first repetition. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait before a repetition. If the provider requests a longer one, the request is not repeated.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The outcome of a request that received no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RetryHints {
    /// The HTTP status. `None` if no response arrived.
    pub status: Option<u16>,
    /// The provider's statement about a repetition (`x-should-retry`).
    pub should_retry: Option<bool>,
    /// The wait that the provider requests.
    pub wait: Option<Duration>,
}

impl RetryHints {
    /// Creates the outcome of a request without any response.
    pub fn no_response() -> Self {
        Self { status: None, should_retry: None, wait: None }
    }

    /// Reads the outcome from the status and the headers of a response. `now` is in milliseconds since the epoch.
    pub fn from_response(status: u16, headers: &HeaderMap, now: i64) -> Self {
        let should_retry = match text(headers, "x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        Self { status: Some(status), should_retry, wait: requested_wait(headers, now) }
    }

    /// Returns the wait before the next repetition. Returns `None` if the request must not be repeated. `retries` is
    /// the number of repetitions so far.
    pub fn retry_delay(&self, retries: u32, max_retries: u32) -> Option<Duration> {
        let worth_it = self.should_retry.unwrap_or(match self.status {
            None | Some(408 | 409 | 429) => true,
            Some(status) => status >= 500,
        });
        if !worth_it || retries >= max_retries {
            return None;
        }
        match self.wait {
            Some(wait) => (wait <= LONGEST_WAIT).then_some(wait),
            None => Some(FIRST_WAIT.saturating_mul(1 << retries.min(10)).min(LONGEST_WAIT)),
        }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// A function that reads a duration from the value of a header.
type HeaderReader<'a> = &'a dyn Fn(&str) -> Option<Duration>;

/// Returns the wait that the provider requests in one of several headers. A value that is negative, invalid or in the
/// past is ignored.
fn requested_wait(headers: &HeaderMap, now: i64) -> Option<Duration> {
    let now = Duration::from_millis(u64::try_from(now).unwrap_or_default());
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    let seconds = |number: f64| Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX);
    let until = |moment: Duration| moment.checked_sub(now);
    let readings: [(&str, HeaderReader<'_>); 4] = [
        ("retry-after-ms", &|text| number(text).map(|number| seconds(number / 1000.0))),
        ("retry-after", &|text| {
            number(text).map(seconds).or_else(|| {
                let date: SystemTime = httpdate::parse_http_date(text).ok()?;
                until(date.duration_since(UNIX_EPOCH).ok()?)
            })
        }),
        ("x-ratelimit-reset-after", &|text| number(text).map(seconds)),
        ("x-ratelimit-reset", &|text| {
            // A time since the epoch, in seconds at some hosts and in milliseconds at others.
            let moment = number(text)?;
            until(seconds(if moment > 1e11 { moment / 1000.0 } else { moment }))
        }),
    ];
    readings.iter().find_map(|(name, read)| read(text(headers, name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time 2026-11-22T00:00:00Z, in milliseconds since the epoch.
    const NOW: i64 = 1_795_305_600_000;

    fn refused(status: u16, headers: &[(&'static str, &'static str)]) -> RetryHints {
        let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        RetryHints::from_response(status, &pairs.collect(), NOW)
    }

    #[test]
    fn waits_double_and_end_after_the_last_repeat() {
        for refused in [RetryHints::no_response(), refused(503, &[]), refused(429, &[]), refused(409, &[])] {
            let waits: Vec<_> = (0..4).map(|repeats| refused.retry_delay(repeats, 2)).collect();
            assert_eq!(waits[..2], [500, 1000].map(|wait| Some(Duration::from_millis(wait))));
            assert_eq!(waits[2..], [None, None]);
        }
        assert_eq!(RetryHints::no_response().retry_delay(9, 20), Some(LONGEST_WAIT));
        assert_eq!(refused(400, &[]).retry_delay(0, 2), None);
        assert_eq!(refused(401, &[]).retry_delay(0, 2), None);
    }

    #[test]
    fn the_header_of_the_provider_decides_about_retries() {
        assert_eq!(refused(529, &[("x-should-retry", "false")]).retry_delay(0, 2), None);
        assert!(refused(400, &[("x-should-retry", "true")]).retry_delay(0, 2).is_some());
        assert!(refused(529, &[("x-should-retry", "maybe")]).retry_delay(0, 2).is_some());
    }

    #[test]
    fn fm_f60_a_wish_to_wait_is_honoured_within_the_limit() {
        let wait = |name, value| refused(429, &[(name, value)]).wait;
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(wait("retry-after", "3"), seconds(3));
        assert_eq!(wait("retry-after", "0.25"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(wait("retry-after", "Sun, 22 Nov 2026 00:00:05 GMT"), seconds(5));
        assert_eq!(wait("retry-after", "Sun, 22 Nov 2020 00:00:05 GMT"), None);
        assert_eq!(wait("retry-after", "-3"), None);
        assert_eq!(wait("retry-after", "NaN"), None);
        assert_eq!(wait("retry-after", "soon"), None);
        assert_eq!(wait("retry-after", "1e30"), Some(Duration::MAX));
        assert_eq!(wait("x-ratelimit-reset-after", "2"), seconds(2));
        assert_eq!(wait("x-ratelimit-reset", "1795305602"), seconds(2));
        assert_eq!(wait("x-ratelimit-reset", "1795305602000"), seconds(2));

        let after = |value| refused(429, &[("retry-after", value)]).retry_delay(0, 2);
        assert_eq!(after("3"), seconds(3));
        assert_eq!(after("8"), seconds(8));
        assert_eq!(after("9"), None, "longer than the limit: the failure says so instead");
        assert_eq!(after("99999999999999999999"), None);
        assert_eq!(after("garbage"), Some(FIRST_WAIT));
        assert_eq!(after("-1"), Some(FIRST_WAIT));
    }
}
