//! The agent's questions that nobody has answered.

use std::time::{Duration, Instant};

use agentese::scan::{self, Wanted, member};
use agentese::spec::DialogSpec;
use serde_json::{Value, json};

/// A question.
#[derive(Debug)]
struct Question {
    /// Its raw id.
    id: String,
    line: String,
    asked: Instant,
    expires: Option<Duration>,
}

/// The open questions, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions(Vec<Question>);

impl Questions {
    /// The agent asks, or takes a question back. `id` is raw JSON, `row` what the declaration says of the method.
    pub fn ask(&mut self, line: &str, id: &str, row: Option<&DialogSpec>, params: &str, now: Instant) {
        let named = |name: &'static str| {
            let wanted = Wanted::new([member(name)]);
            scan::scan(params, &wanted).ok().and_then(|found| found.get(0).map(str::to_owned))
        };
        if let Some(taken_back) = row.and_then(|row| row.withdraws).and_then(named) {
            self.0.retain(|question| question.id != taken_back);
        }
        if row.is_none_or(|row| row.answered) {
            let expires = row.and_then(|row| row.expires).and_then(named);
            let expires = expires.and_then(|text| text.parse().ok()).map(Duration::from_millis);
            self.0.push(Question { id: id.to_owned(), line: line.to_owned(), asked: now, expires });
        }
    }

    /// Those whose time is up are answered by the agent itself.
    pub fn expire(&mut self, now: Instant) {
        self.0.retain(|question| {
            question.expires.is_none_or(|limit| now.duration_since(question.asked) < limit)
        });
    }

    /// Whether that question is open; it is not any longer then, if `closes`.
    pub fn take(&mut self, id: Option<&str>, closes: bool) -> bool {
        let open = self.0.iter().position(|question| Some(question.id.as_str()) == id);
        if let Some(open) = open
            && closes
        {
            self.0.remove(open);
        }
        open.is_some()
    }

    /// Nobody waits for an answer any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All of them, with how long they have been open, in milliseconds.
    pub fn told(&self, now: Instant) -> Vec<Value> {
        let ago = |question: &Question| now.duration_since(question.asked).as_millis() as u64;
        self.0.iter().map(|question| json!({"line": question.line, "ago": ago(question)})).collect()
    }
}
