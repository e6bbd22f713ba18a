//! Totals over all entries of a session.

use serde_json::Value;

use super::fields::{list, message, role, text};

/// Counts, tokens and cost of all entries, including branches.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ExportStats {
    pub user: u64,
    pub assistant: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    /// Number of messages with any role.
    pub messages: u64,
    pub tokens: TokenUsage,
    /// Each model that has answered, as `provider/model`, in the order of the first answers.
    pub models: Vec<String>,
}

/// Token counts and their cost.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct TokenUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// The cost in US dollars.
    pub cost: f64,
}

impl TokenUsage {
    /// Reads a `usage` object. A count that is missing, negative or not a number counts as zero.
    pub fn of(usage: &Value) -> Self {
        let tokens = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        let cost = usage.get("cost").and_then(|cost| cost.get("total")).and_then(Value::as_f64);
        Self {
            input: tokens("input"),
            output: tokens("output"),
            cache_read: tokens("cacheRead"),
            cache_write: tokens("cacheWrite"),
            cost: cost.filter(|cost| *cost >= 0.0).unwrap_or_default(),
        }
    }

    fn add(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cost += other.cost;
    }
}

impl ExportStats {
    /// Adds the usage of an entry, if it has one: an answer, a summary, or another entry with `usage`.
    pub fn add(&mut self, entry: &Value) {
        if let Some(usage) = message(entry).unwrap_or(entry).get("usage") {
            self.tokens.add(TokenUsage::of(usage));
        }
        self.messages += u64::from(message(entry).is_some());
        match role(entry) {
            "user" => self.user += 1,
            "toolResult" => self.tool_results += 1,
            "assistant" => self.answer(&entry["message"]),
            _ => {}
        }
    }

    fn answer(&mut self, answer: &Value) {
        self.assistant += 1;
        let calls = list(answer, "content").iter().filter(|block| text(block, "type") == "toolCall");
        self.tool_calls += calls.count() as u64;
        let model = model_name(text(answer, "provider"), text(answer, "model"));
        if !model.is_empty() && !self.models.contains(&model) {
            self.models.push(model);
        }
    }
}

/// Returns `provider/model`. If one of the names is empty, returns the other.
pub(super) fn model_name(provider: &str, model: &str) -> String {
    match (provider, model) {
        ("", model) => model.to_owned(),
        (provider, "") => provider.to_owned(),
        (provider, model) => format!("{provider}/{model}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usage_of_every_entry_is_added() {
        let usage =
            json!({"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.5}});
        let odd = json!({"input": -1, "output": "2", "cost": 7});
        let answer = |usage: &Value| {
            json!({"type": "message", "message": {"role": "assistant", "usage": usage, "provider": "p", "model": "m",
                   "content": [{"type": "toolCall"}, {"type": "text", "text": "x"}]}})
        };
        let entries = [
            json!({"type": "message", "message": {"role": "user", "content": "x"}}),
            answer(&usage),
            answer(&odd),
            json!({"type": "message", "message": {"role": "toolResult"}}),
            json!({"type": "compaction", "usage": usage}),
            json!({"type": "message"}),
        ];
        let tokens = TokenUsage { input: 20, output: 4, cache_read: 6, cache_write: 8, cost: 1.0 };
        let models = vec!["p/m".to_owned()];
        let mut totals = ExportStats::default();
        entries.iter().for_each(|entry| totals.add(entry));
        assert_eq!(
            totals,
            ExportStats {
                user: 1,
                assistant: 2,
                tool_calls: 2,
                tool_results: 1,
                messages: 4,
                tokens,
                models
            }
        );
    }
}
