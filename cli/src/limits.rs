//! Options for the limits of a run.

use std::time::Duration;

use agentese_server::config::RunLimits;
use clap::Args;

/// Limits of a run from the command line. Each one replaces a setting.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(super) struct Limits {
    /// End a run after N turns; 0: no limit
    #[arg(long, value_name = "N", help_heading = "Limits of a run")]
    pub max_turns: Option<u64>,
    /// End a run at this cost, including subagents; 0: no limit
    #[arg(long, value_name = "DOLLARS", alias = "max-budget-usd", value_parser = amount, help_heading = "Limits of a run")]
    pub max_cost: Option<f64>,
    /// End a run after this time; 0: no limit
    #[arg(long, value_name = "SECONDS", value_parser = amount, help_heading = "Limits of a run")]
    pub max_time: Option<f64>,
    /// End a run after the same tool call fails N times with the same error; 0: no limit
    #[arg(long, value_name = "N", help_heading = "Limits of a run")]
    pub max_equal_calls: Option<u64>,
}

impl Limits {
    /// Replaces the limits that the command line sets.
    pub fn replace(self, limits: &mut RunLimits) {
        let time = self.max_time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let time = time.map(|time| u64::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u64::MAX));
        limits.max_turns = self.max_turns.unwrap_or(limits.max_turns);
        limits.max_cost_usd = self.max_cost.unwrap_or(limits.max_cost_usd);
        limits.max_time_ms = time.unwrap_or(limits.max_time_ms);
        limits.max_equal_calls = self.max_equal_calls.unwrap_or(limits.max_equal_calls);
    }
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..1e12).contains(&amount) => Ok(amount),
        _ => Err("expected a number of 0 or more".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_replace_settings_one_by_one() {
        let mut limits = RunLimits { max_turns: 5, max_cost_usd: 1.5, ..RunLimits::default() };
        let given = Limits { max_turns: Some(0), max_time: Some(0.0001), ..Limits::default() };
        given.replace(&mut limits);
        let expected = RunLimits { max_turns: 0, max_cost_usd: 1.5, max_time_ms: 1, max_equal_calls: 8 };
        assert_eq!(limits, expected, "a time is never rounded to no limit");
        assert!(
            amount("-1").is_err() && amount("NaN").is_err() && amount("inf").is_err() && amount("x").is_err()
        );
        assert_eq!(amount("0.25"), Ok(0.25));
    }
}
