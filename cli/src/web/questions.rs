//! The agent's questions that nobody has answered.

use std::time::{Duration, Instant};

use agentese::scan::{self, Wanted, member};
use agentese::spec::DialogSpec;
use serde_json::{Value, json};

use super::hub::LONGEST_ID;

/// How many questions may be open. Tabs are not shown further ones: the declared fallback is their answer.
const MOST: usize = 16 * 1024;
/// How much of the open questions is kept for tabs that come late, in bytes. Of further ones only the ids are kept, so that
/// tabs that were there can answer them.
const KEPT: usize = 4 * 1024 * 1024;

/// A question.
#[derive(Debug)]
struct Question {
    /// Its raw id.
    id: String,
    /// `None` if too much is kept of others.
    line: Option<String>,
    asked: Instant,
    expires: Option<Duration>,
}

/// The open questions, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Vec<Question>,
    /// The length of all lines that are kept.
    kept: usize,
    /// Whether the reason was reported for which a question is not kept: too many are, or its id is too long.
    reported: [bool; 2],
}

impl Questions {
    /// The agent asks, or takes a question back. `id` is raw JSON, `row` what the declaration says of the method.
    ///
    /// # Errors
    /// Fails if too many questions are open, or if the id is too long, with the reason if that was not reported before. Tabs
    /// must not be shown this one, and it is answered by the declared policy.
    pub fn ask(
        &mut self,
        line: &str,
        id: &str,
        row: Option<&DialogSpec>,
        params: &str,
        now: Instant,
    ) -> Result<(), Option<String>> {
        let named = |name: &'static str| {
            let wanted = Wanted::new([member(name)]);
            scan::scan(params, &wanted).ok().and_then(|found| found.get(0).map(str::to_owned))
        };
        if let Some(taken_back) = row.and_then(|row| row.withdraws).and_then(named) {
            self.retain(|question| question.id != taken_back);
        }
        if row.is_none_or(|row| row.answered) {
            if id.len() > LONGEST_ID {
                let reason =
                    format!("a question has an id of {} bytes, and the page takes {LONGEST_ID}", id.len());
                return Err(self.report(0, &reason));
            }
            if self.open.len() >= MOST {
                let reason = format!("{MOST} questions wait for an answer, and the page keeps no more");
                return Err(self.report(1, &reason));
            }
            let line = Some(line).filter(|line| self.kept + line.len() <= KEPT).map(str::to_owned);
            self.kept += line.as_ref().map_or(0, String::len);
            let expires = row.and_then(|row| row.expires).and_then(named);
            let expires = expires.and_then(|text| text.parse().ok()).map(Duration::from_millis);
            self.open.push(Question { id: id.to_owned(), line, asked: now, expires });
        }
        Ok(())
    }

    /// Returns the text about a reason that was not reported before.
    fn report(&mut self, reason: usize, text: &str) -> Option<String> {
        let is_new = !std::mem::replace(&mut self.reported[reason], true);
        is_new.then(|| format!("{text}: it is dismissed as if nobody were there, and so is each further one"))
    }

    fn retain(&mut self, stays: impl Fn(&Question) -> bool) {
        self.open.retain(stays);
        self.kept = self.open.iter().filter_map(|question| question.line.as_ref()).map(String::len).sum();
    }

    /// Those whose time is up are answered by the agent itself.
    pub fn expire(&mut self, now: Instant) {
        let is_over = |question: &Question| {
            question.expires.is_some_and(|limit| now.duration_since(question.asked) >= limit)
        };
        if self.open.iter().any(is_over) {
            self.retain(|question| !is_over(question));
        }
    }

    /// Whether that question is open; it is not any longer then, if `closes`.
    pub fn take(&mut self, id: Option<&str>, closes: bool) -> bool {
        let open = self.open.iter().position(|question| Some(question.id.as_str()) == id);
        if let Some(open) = open
            && closes
        {
            let closed = self.open.remove(open);
            self.kept -= closed.line.map_or(0, |line| line.len());
        }
        open.is_some()
    }

    /// Nobody waits for an answer any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Those that are kept, with how long they have been open, in milliseconds; and how many others are open.
    pub fn told(&self, now: Instant) -> (Vec<Value>, usize) {
        let ago = |question: &Question| now.duration_since(question.asked).as_millis() as u64;
        let told = |question: &Question| {
            question.line.as_ref().map(|line| json!({"line": line, "ago": ago(question)}))
        };
        let kept: Vec<_> = self.open.iter().filter_map(told).collect();
        let others = self.open.len() - kept.len();
        (kept, others)
    }
}
