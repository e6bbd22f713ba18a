//! Rate limit for the output of an extension.

use std::time::Duration;

use tokio::time::Instant;

const WINDOW: Duration = Duration::from_secs(1);
/// Maximum number of lines within a second, which is more than a user can read.
const LINES: usize = 2_000;
const BYTES: usize = 96 << 20;

/// Counts the output of an extension within the current second.
pub(super) struct RateLimiter {
    since: Instant,
    lines: usize,
    bytes: usize,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self { since: Instant::now(), lines: 0, bytes: 0 }
    }
}

impl RateLimiter {
    /// Counts a line of output. Fails with the reason if the limit is exceeded.
    pub fn add(&mut self, bytes: usize) -> Result<(), &'static str> {
        if self.since.elapsed() >= WINDOW {
            *self = Self::default();
        }
        self.lines += 1;
        self.bytes += bytes;
        match () {
            () if self.lines > LINES => Err("it sent more than 2000 lines in a second"),
            () if self.bytes > BYTES => Err("it sent more than 96 MiB in a second"),
            () => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn output_above_the_limit_of_a_second_fails() {
        let mut limiter = RateLimiter::default();
        for _ in 0..3 {
            for _ in 0..LINES {
                limiter.add(10).unwrap();
            }
            tokio::time::advance(WINDOW).await;
        }
        for _ in 0..LINES {
            limiter.add(10).unwrap();
        }
        assert!(limiter.add(10).is_err());
        tokio::time::advance(WINDOW).await;
        limiter.add(BYTES).unwrap();
        assert!(limiter.add(1).unwrap_err().contains("MiB"));
    }
}
