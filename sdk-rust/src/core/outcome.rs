//! How a run stands, as its events tell it: which events tell it, and where, is declared.

use std::borrow::Cow;

use crate::scan;

/// What an event tells of how a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The request to the model failed.
    Failed,
    /// Somebody stopped it.
    Aborted,
    /// The agent makes the request again by itself.
    Retried,
    /// All is well.
    Fine,
}

/// A condition on a member, found by the names that lead to it. Null counts as missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// It is that, as text.
    Is(&'static [&'static str], &'static str),
    /// It is there.
    Has(&'static [&'static str]),
}

/// The path of a member, and how a run stands by each of its values.
pub type OutcomeWords = (&'static [&'static str], &'static [(&'static str, Told)]);

/// What an event tells, and where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeRule {
    /// The list for each of whose items the rule holds; the event itself where there is none.
    pub over: Option<&'static [&'static str]>,
    /// All of these have to hold.
    pub when: &'static [Test],
    /// What is told; with `words`, where none of them stands there.
    pub told: Told,
    /// A member, and what its values tell.
    pub words: Option<OutcomeWords>,
    /// Where the reason stands: the first of these that has a value.
    pub message: &'static [&'static [&'static str]],
    /// The reason, where it stands nowhere.
    pub text: &'static str,
    /// Where the code of the failure stands, likewise.
    pub code: &'static [&'static [&'static str]],
    /// Whether the same prompt may succeed.
    pub retryable: bool,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the run failed: {message}")]
#[non_exhaustive]
pub struct RunFailure {
    /// The reason that the agent gives.
    pub message: String,
    /// The code of the failure, in dialects that tell one.
    pub code: Option<String>,
    /// Whether the same prompt may succeed when it is sent again: the agent itself had tried again, or says that it
    /// was started anew.
    pub retryable: bool,
}

/// The reason where the agent gives none.
const NO_REASON: &str = "the agent does not say why";

/// How a run stands.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    told: Option<Told>,
    message: Option<String>,
    code: Option<String>,
    retryable: bool,
    /// Whether the agent has acknowledged that it stops.
    is_stopped: bool,
}

/// How a run came out that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It came to its end.
    Done,
    /// Somebody stopped it.
    Aborted,
    /// Its request to the model failed, and was not made again with success.
    Failed(RunFailure),
}

impl Standing {
    /// Takes what an event tells by these rules.
    pub fn hear(&mut self, rules: &[OutcomeRule], body: &str) {
        for rule in rules {
            let Some(list) = rule.over else {
                self.apply(rule, body);
                continue;
            };
            let Some(list) = find(body, list) else { continue };
            let each = |item| {
                self.apply(rule, item);
                Ok::<(), ()>(())
            };
            // What is no list has no items.
            let _ = scan::items(list, each);
        }
    }

    /// The agent has acknowledged that it stops.
    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// The prompt was refused while its run was going on.
    pub fn refuse(&mut self, message: &str, code: Option<String>) {
        if self.told != Some(Told::Failed) {
            self.told = Some(Told::Failed);
            self.message = Some(message.to_owned());
        }
        self.code = self.code.take().or(code);
    }

    /// Whether it failed or was stopped, as far as was told.
    pub fn is_amiss(&self) -> bool {
        matches!(self.told, Some(Told::Failed | Told::Aborted))
    }

    /// How the run came out, where it is over now.
    pub fn verdict(&self) -> Verdict {
        match self.told {
            Some(Told::Aborted) => Verdict::Aborted,
            Some(Told::Failed) if !self.is_stopped => Verdict::Failed(RunFailure {
                message: self.message.clone().unwrap_or_else(|| NO_REASON.to_owned()),
                code: self.code.clone(),
                retryable: self.retryable,
            }),
            Some(Told::Fine) => Verdict::Done,
            _ if self.is_stopped => Verdict::Aborted,
            _ => Verdict::Done,
        }
    }

    fn apply(&mut self, rule: &OutcomeRule, value: &str) {
        if !rule.when.iter().all(|test| test.holds(value)) {
            return;
        }
        let said = rule.words.and_then(|(path, words)| {
            let word = word(find(value, path)?)?;
            words.iter().find(|(known, _)| *known == word).map(|(_, told)| *told)
        });
        match said.unwrap_or(rule.told) {
            // What failed has failed until the next answer of the model.
            Told::Retried => self.retryable = true,
            Told::Failed => {
                let message = first(value, rule.message)
                    .or_else(|| (!rule.text.is_empty()).then(|| rule.text.to_owned()));
                if self.told != Some(Told::Failed) {
                    (self.message, self.code) = (None, None);
                }
                self.told = Some(Told::Failed);
                self.message = message.or_else(|| self.message.take());
                self.code = first(value, rule.code).or_else(|| self.code.take());
                self.retryable |= rule.retryable;
            }
            told => {
                let is_stopped = self.is_stopped;
                *self = Standing { told: Some(told), is_stopped, ..Standing::default() };
            }
        }
    }
}

impl Test {
    fn holds(&self, value: &str) -> bool {
        let is = |path, wanted: &str| find(value, path).and_then(word).is_some_and(|word| word == wanted);
        match *self {
            Test::Is(path, wanted) => is(path, wanted),
            Test::Has(path) => find(value, path).is_some(),
        }
    }
}

/// The raw member at a path; of several with one name the last.
pub(crate) fn find<'a>(value: &'a str, path: &[&str]) -> Option<&'a str> {
    let mut found = value;
    for name in path {
        let mut member = None;
        let look = |raw, value| {
            if scan::is_named(raw, name) {
                member = Some(value);
            }
        };
        scan::members(found, look).ok()?;
        found = member?;
    }
    (!scan::is_null(found)).then_some(found)
}

/// A value as rules name it.
pub(crate) fn word(raw: &str) -> Option<Cow<'_, str>> {
    match raw.as_bytes().first()? {
        b'"' => scan::string(raw),
        b'{' | b'[' => None,
        _ => Some(Cow::Borrowed(raw.trim())),
    }
}

/// The first of these members that has a value, as text.
fn first(value: &str, paths: &[&[&str]]) -> Option<String> {
    let found = paths.iter().find_map(|path| find(value, path))?;
    Some(word(found).map_or_else(|| found.to_owned(), Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases that the clients of all languages share.
    #[test]
    fn the_vectors_of_all_languages() {
        let cases: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../../conformance/vectors/outcomes.json")).unwrap();
        assert!(cases.len() > 12);
        for case in cases {
            let (spec, _) = crate::dynamic::client(case["dialect"].as_str().unwrap()).unwrap();
            let mut standing = Standing::default();
            for event in case["events"].as_array().unwrap() {
                if event == "stopped" {
                    standing.stop();
                    continue;
                }
                let rules = spec.event(event["type"].as_str().unwrap()).unwrap().outcome;
                standing.hear(rules, &event.to_string());
            }
            let verdict = match standing.verdict() {
                Verdict::Done => serde_json::json!("done"),
                Verdict::Aborted => serde_json::json!("aborted"),
                Verdict::Failed(failure) => serde_json::json!({
                    "message": failure.message, "code": failure.code, "retryable": failure.retryable,
                }),
            };
            assert_eq!(verdict, case["expect"], "{}: {}", case["dialect"], case["name"]);
        }
    }
}
