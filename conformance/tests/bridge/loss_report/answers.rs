//! Answers, calls and messages that are missing or differ after a command, as the loss report permits.

use std::collections::{BTreeMap, BTreeSet};

use agentese::any::Member;
use agentese::types::Direction;
use agentese_conformance::transcript::Record;
use agentese_conformance::verdict::LineExcerpt;
use serde_json::Value;

use super::paths::{self, in_answer, is_about, is_within};
use super::{Frame, LossReport};

/// Members of answers: their content, their usage and their outcome.
const OF_ANSWERS: &[&str] = &["message", "usage", "Outcome"];

const OF_SHELL: &str = "message<shell>";

/// Path of the messages in an answer; `ROLE` is the path of their roles, and `COUNTS` are members with the
/// number of messages.
pub(super) const HISTORY: &str = "data.messages";
const ROLE: &str = "data.messages[].role";
const COUNTS: &[&str] = &["message", "Count.messages"];

impl LossReport {
    /// Returns `true` if the whole event is only about messages, or, with a path, if the member at the path
    /// is about messages.
    pub(super) fn is_of_answers(&self, frame: &Frame, path: &str) -> bool {
        let Some(row) = self.row(frame.kind, &frame.row) else { return false };
        let is_there = |member: &&Member| match path {
            "" => is_about(member, &member.path, &frame.body),
            path => is_about(member, path, &frame.body),
        };
        let mut about = row.members.iter().chain(&row.missing_members).filter(is_there).peekable();
        about.peek().is_some()
            && about.all(|member| OF_ANSWERS.iter().any(|place| is_within(place, &member.neutral)))
    }

    /// Returns `true` if the found answer differs only in missing calls, and each missing call occurs in
    /// another observed answer.
    pub(super) fn lacks_calls(&self, frames: &[Frame], found: usize, path: &str) -> bool {
        let [recorded, came] = [0, 1].map(|at| Blocks::of(&frames[at].body["message"]));
        let Some(lacking) = recorded.calls.strip_prefix(&came.calls[..]) else { return false };
        let told = self.observed.iter().flat_map(|observed| {
            observed.records.iter().zip(0..).filter_map(|(one, record)| {
                let Record::Received(line) = one else { return None };
                let shown = LineExcerpt { record, dir: Direction::S2c, line: line.as_str().to_owned() };
                // Only other events of the same type are examined, because snapshots repeat the same answer.
                self.frame(&shown, observed).filter(|frame| record != found && frame.row == frames[1].row)
            })
        });
        let own: BTreeSet<String> = told.flat_map(|frame| Blocks::of(&frame.body["message"]).calls).collect();
        path == "message.content"
            && !came.calls.is_empty()
            && recorded.others == came.others
            && lacking.iter().all(|call| own.contains(call))
    }

    /// Returns `true` if the difference of an answer concerns the number of messages, or messages that are
    /// not the user's.
    pub(super) fn has_other_answers(&self, frames: &[Frame], path: &str) -> bool {
        let path = in_answer(path);
        let words = |frame: &Frame| message_texts(messages(frame), &BTreeSet::new()).0;
        match frames {
            [recorded, came] if is_within(HISTORY, &path) => words(recorded) == words(came),
            _ => frames.first().is_some_and(|frame| self.is_message_count(frame, &path)),
        }
    }

    /// Returns `true` if the member of an answer contains the number of messages.
    fn is_message_count(&self, frame: &Frame, path: &str) -> bool {
        let row = self.row(frame.kind, &frame.row);
        let mut members = row.into_iter().flat_map(|row| &row.members);
        members.any(|member| member.path == path && COUNTS.contains(&member.neutral.as_str()))
    }

    /// Returns `true` if the found answer lacks only messages of shell commands, and at most `at_most` of
    /// them.
    pub(super) fn lacks_shells(
        &self,
        at_most: usize,
        (recorded, came): (&Frame, &Frame),
        path: &str,
    ) -> bool {
        let Some(row) = self.row(recorded.kind, &recorded.row) else { return false };
        let path = in_answer(path);
        let of_shell = |member: &&Member| is_within(OF_SHELL, &member.neutral);
        let words = row.members.iter().filter(of_shell).flat_map(|member| &member.only);
        let roles: BTreeSet<&str> =
            words.filter(|(path, _)| path == ROLE).map(|(_, role)| role.as_str()).collect();
        let is_history = path == HISTORY;
        if is_history
            && (roles.is_empty()
                || message_texts(messages(recorded), &roles) != message_texts(messages(came), &roles))
        {
            return false;
        }
        let count = |frame: &Frame| match paths::at(&frame.body, &path, &[])? {
            Value::Array(messages) if is_history => Some(messages.len()),
            value => usize::try_from(value.as_u64()?).ok().filter(|_| self.is_message_count(frame, &path)),
        };
        let fewer = count(recorded).zip(count(came)).and_then(|(recorded, came)| recorded.checked_sub(came));
        fewer.is_some_and(|fewer| (1..=at_most).contains(&fewer))
    }
}

/// Returns the messages of an answer.
fn messages(frame: &Frame) -> impl Iterator<Item = &Value> {
    frame.body["data"]["messages"].as_array().into_iter().flatten()
}

/// Returns the texts of messages, except those with some roles. The first value counts equal texts of the
/// user. The second value contains all other texts in order.
pub(super) fn message_texts<'a>(
    messages: impl IntoIterator<Item = &'a Value>,
    without: &BTreeSet<&str>,
) -> (BTreeMap<String, usize>, Vec<String>) {
    let mut said = (BTreeMap::new(), Vec::new());
    for message in messages {
        let text = text(message);
        match message["role"].as_str() {
            Some(role) if without.contains(role) => {}
            Some("user") => *said.0.entry(text).or_default() += 1,
            role => said.1.push(format!("{}: {text}", role.unwrap_or_default())),
        }
    }
    said
}

/// Returns all texts in a message.
pub(super) fn text(message: &Value) -> String {
    let mut text = String::new();
    texts(message, &mut text);
    text
}

fn texts(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| match value {
            Value::String(words) if ["text", "content"].contains(&name.as_str()) => text.push_str(words),
            value => texts(value, text),
        }),
        Value::Array(items) => items.iter().for_each(|item| texts(item, text)),
        _ => {}
    }
}

/// The blocks of an answer: the ids of its calls, and all other blocks.
pub(super) struct Blocks {
    pub(super) calls: Vec<String>,
    pub(super) others: Vec<Value>,
}

impl Blocks {
    pub(super) fn of(message: &Value) -> Self {
        let mut blocks = Self { calls: Vec::new(), others: Vec::new() };
        for block in message["content"].as_array().into_iter().flatten() {
            match block["id"].as_str().filter(|_| block["type"] == "toolCall") {
                Some(id) => blocks.calls.push(id.to_owned()),
                None => blocks.others.push(block.clone()),
            }
        }
        blocks
    }
}
