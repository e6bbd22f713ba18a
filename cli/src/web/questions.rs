//! Open questions of the agent.

use std::time::{Duration, Instant};

use agentese::scan::{self, MemberSet, member};
use agentese::spec::DialogSpec;
use serde_json::{Value, json};

/// Limit of an id in a tab's frame or in a question, in bytes of JSON.
pub(super) const LONGEST_ID: usize = 1024;
/// Maximum number of open questions. Further questions are not sent to the tabs; the server answers them with
/// the declared fallback.
const MAX_OPEN: usize = 16 * 1024;
/// Limit of the stored questions for late tabs, in bytes. Beyond it, only the id is stored. Tabs that already
/// received the question can still answer it.
const MAX_STORED_BYTES: usize = 4 * 1024 * 1024;

/// Question of the agent without an answer.
#[derive(Debug)]
struct Question {
    /// Id of the question as raw JSON.
    id: String,
    /// Frame of the question; `None` if it would exceed `MAX_STORED_BYTES`.
    line: Option<String>,
    asked_at: Instant,
    expires: Option<Duration>,
}

/// Open questions, oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions {
    open: Vec<Question>,
    /// Length of all stored lines in bytes.
    stored_bytes: usize,
    /// `true` if the reason was already reported. The first item is for ids that are too long, the second for
    /// too many open questions.
    reported: [bool; 2],
}

impl Questions {
    /// Adds a question of the agent, or removes the one that it withdraws. `id` is raw JSON, `row` the
    /// declaration of the method.
    ///
    /// # Errors
    /// Fails if too many questions are open or the id is too long. Only the first such error contains the
    /// reason. The caller must not send the question to the tabs, and must answer it with the declared
    /// fallback.
    pub fn add(
        &mut self,
        line: &str,
        id: &str,
        row: Option<&DialogSpec>,
        params: &str,
        now: Instant,
    ) -> Result<(), Option<String>> {
        let named = |name: &'static str| {
            let wanted = MemberSet::new([member(name)]);
            scan::scan(params, &wanted).ok().and_then(|found| found.get(0).map(str::to_owned))
        };
        if let Some(taken_back) = row.and_then(|row| row.withdraws).and_then(named) {
            self.retain(|question| question.id != taken_back);
        }
        if row.is_none_or(|row| row.answered) {
            if id.len() > LONGEST_ID {
                let reason =
                    format!("the id of a question has {} bytes; the limit is {LONGEST_ID} bytes", id.len());
                return Err(self.report(0, &reason));
            }
            if self.open.len() >= MAX_OPEN {
                let reason = format!("{MAX_OPEN} questions are open, and the page stores no more");
                return Err(self.report(1, &reason));
            }
            let line = Some(line)
                .filter(|line| self.stored_bytes + line.len() <= MAX_STORED_BYTES)
                .map(str::to_owned);
            self.stored_bytes += line.as_ref().map_or(0, String::len);
            let expires = row.and_then(|row| row.expires).and_then(named);
            let expires = expires.and_then(|text| text.parse().ok()).map(Duration::from_millis);
            self.open.push(Question { id: id.to_owned(), line, asked_at: now, expires });
        }
        Ok(())
    }

    /// Returns the text for the user about a reason, or `None` if that reason was reported before.
    fn report(&mut self, reason: usize, text: &str) -> Option<String> {
        let is_new = !std::mem::replace(&mut self.reported[reason], true);
        is_new.then(|| format!("{text}; this question and further ones are dismissed"))
    }

    fn retain(&mut self, stays: impl Fn(&Question) -> bool) {
        self.open.retain(stays);
        self.stored_bytes =
            self.open.iter().filter_map(|question| question.line.as_ref()).map(String::len).sum();
    }

    /// Removes expired questions. The agent has already continued without an answer to them.
    pub fn expire(&mut self, now: Instant) {
        let is_over = |question: &Question| {
            question.expires.is_some_and(|limit| now.duration_since(question.asked_at) >= limit)
        };
        if self.open.iter().any(is_over) {
            self.retain(|question| !is_over(question));
        }
    }

    /// Returns `true` if the question is open. If `closes` is `true`, removes it.
    pub fn take(&mut self, id: Option<&str>, closes: bool) -> bool {
        let open = self.open.iter().position(|question| Some(question.id.as_str()) == id);
        if let Some(open) = open
            && closes
        {
            let closed = self.open.remove(open);
            self.stored_bytes -= closed.line.map_or(0, |line| line.len());
        }
        open.is_some()
    }

    /// Removes all questions, because the agent no longer waits for answers.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the stored questions with their age in milliseconds, and the number of open questions without a
    /// stored frame.
    pub fn snapshot(&self, now: Instant) -> (Vec<Value>, usize) {
        let ago = |question: &Question| now.duration_since(question.asked_at).as_millis() as u64;
        let entry = |question: &Question| {
            question.line.as_ref().map(|line| json!({"line": line, "ago": ago(question)}))
        };
        let kept: Vec<_> = self.open.iter().filter_map(entry).collect();
        let others = self.open.len() - kept.len();
        (kept, others)
    }
}
