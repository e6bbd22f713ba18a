//! Cost of tokens.

use agentese::types::{CostBuilder, ModelCost, Usage, UsageBuilder};
use serde_json::Number;

use super::TokenCounts;

const TOKENS_PER_PRICE: f64 = 1_000_000.0;

/// Converts a value to a JSON number as JavaScript writes it: a whole value has no fraction. NaN and infinity become 0.
pub fn number(value: f64) -> Number {
    // Integers up to 2^53 are exact in both representations.
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
        return Number::from(value as i64);
    }
    Number::from_f64(value).unwrap_or_else(|| Number::from(0))
}

/// Returns the token counts with their cost in US dollars, computed from `prices`.
pub fn usage(counts: TokenCounts, prices: &ModelCost) -> Usage {
    let cost =
        |tokens: u64, price: &Number| price.as_f64().unwrap_or_default() / TOKENS_PER_PRICE * tokens as f64;
    let input = cost(counts.input, &prices.input);
    let output = cost(counts.output, &prices.output);
    let cache_read = cost(counts.cache_read, &prices.cache_read);
    let cache_write = cost(counts.cache_write, &prices.cache_write);
    let cost = CostBuilder {
        input: number(input),
        output: number(output),
        cache_read: number(cache_read),
        cache_write: number(cache_write),
        total: number(input + output + cache_read + cache_write),
    }
    .build();
    let mut usage = UsageBuilder {
        input: counts.input,
        output: counts.output,
        cache_read: counts.cache_read,
        cache_write: counts.cache_write,
        cost,
    }
    .build();
    usage.total_tokens = Some(tokens(&usage));
    usage
}

/// Adds the usage of two requests.
pub fn sum_of(one: &Usage, other: &Usage) -> Usage {
    let cost = |one: &Number, other: &Number| {
        number(one.as_f64().unwrap_or_default() + other.as_f64().unwrap_or_default())
    };
    let either = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or_default().saturating_add(other.unwrap_or_default())),
    };
    let mut usage = one.clone();
    usage.input = one.input.saturating_add(other.input);
    usage.output = one.output.saturating_add(other.output);
    usage.cache_read = one.cache_read.saturating_add(other.cache_read);
    usage.cache_write = one.cache_write.saturating_add(other.cache_write);
    usage.cache_write1h = either(one.cache_write1h, other.cache_write1h);
    usage.reasoning = either(one.reasoning, other.reasoning);
    usage.total_tokens = either(one.total_tokens, other.total_tokens);
    usage.cost.input = cost(&one.cost.input, &other.cost.input);
    usage.cost.output = cost(&one.cost.output, &other.cost.output);
    usage.cost.cache_read = cost(&one.cost.cache_read, &other.cost.cache_read);
    usage.cost.cache_write = cost(&one.cost.cache_write, &other.cost.cache_write);
    usage.cost.total = cost(&one.cost.total, &other.cost.total);
    usage
}

/// Returns the number of tokens of all four kinds. Very large counts do not overflow.
pub fn tokens(usage: &Usage) -> u64 {
    [usage.output, usage.cache_read, usage.cache_write].into_iter().fold(usage.input, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use agentese::types::ModelCostBuilder;

    use super::*;

    #[test]
    fn costs_are_those_of_the_recordings() {
        let prices = ModelCostBuilder {
            input: number(3.0),
            output: number(15.0),
            cache_read: number(0.3),
            cache_write: number(3.75),
        }
        .build();
        let usage = usage(TokenCounts { input: 100, output: 20, ..TokenCounts::default() }, &prices);
        assert_eq!(
            serde_json::to_string(&usage).unwrap(),
            r#"{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":120,"cost":{"input":0.00030000000000000003,"output":0.00030000000000000003,"cacheRead":0,"cacheWrite":0,"total":0.0006000000000000001}}"#
        );
    }

    #[test]
    fn fm_f68_token_counts_do_not_wrap() {
        let most = TokenCounts {
            input: u64::MAX,
            output: u64::MAX,
            cache_read: u64::MAX,
            cache_write: 7,
            ..TokenCounts::default()
        };
        let usage = usage(
            most,
            &ModelCostBuilder {
                input: number(3.0),
                output: number(15.0),
                cache_read: number(0.3),
                cache_write: number(3.75),
            }
            .build(),
        );
        assert_eq!((usage.total_tokens, tokens(&usage)), (Some(u64::MAX), u64::MAX));
        assert!(usage.cost.total.as_f64().unwrap() > 0.0);
    }

    #[test]
    fn numbers_without_a_fraction_are_written_without_one() {
        assert_eq!(number(3.0).to_string(), "3");
        assert_eq!(number(0.3).to_string(), "0.3");
        assert_eq!(number(f64::NAN).to_string(), "0");
    }
}
