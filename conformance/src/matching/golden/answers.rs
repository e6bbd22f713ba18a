//! Comparison of an answer with its recorded counterpart.

use agentese::spec::{Framing, RunRole};
use serde_json::{Map, Value};

use super::declared;
use super::pairing::{allowance_with_form, command_of, is_success};
use super::rules::Rules;
use super::state::ComparisonState;
use super::tables::{AllowanceScope, Form};
use super::text::unequal;
use super::transcript_streams::{Frame, SentLine, TranscriptStreams};
use super::walk::FrameWalker;
use crate::matching::difference::{Difference, Weight, brief};

/// Comparer of two paired answers.
pub(super) struct AnswerComparer<'s, 'a, 'r> {
    pub(super) state: &'s mut ComparisonState<'a>,
    pub(super) golden: &'r TranscriptStreams<'r>,
}

impl AnswerComparer<'_, '_, '_> {
    pub(super) fn compare(&mut self, expected: &Frame, actual: &Frame) -> Vec<Difference> {
        match self.state.rules.spec.framing {
            Framing::JsonRpc { .. } => self.json_rpc(expected, actual),
            Framing::Flat | Framing::Enveloped => self.flat(expected, actual),
        }
    }

    fn flat(&mut self, expected: &Frame, actual: &Frame) -> Vec<Difference> {
        // If the recorded answer has no id, the id of the observed answer identifies the command.
        let named = if expected.id.is_some() { expected } else { actual };
        let sent = command_of(self.golden, named).or_else(|| command_of(self.golden, expected));
        let mut found = Vec::new();
        let (succeeded, succeeds) = (is_success(expected), is_success(actual));
        if succeeded != succeeds {
            self.success(expected, actual, sent, &mut found);
        }
        self.id(expected, actual, sent, &mut found);
        self.name(expected, actual, sent, &mut found);
        if succeeded != succeeds {
            return found;
        }
        if succeeded {
            self.end_refusal(sent);
        }
        if !actual.value.get("success").is_some_and(Value::is_boolean) {
            found.push(Difference::new(Weight::Must, "success", "missing, or not a boolean"));
        }
        let result = self.state.rules.command(&actual.name).and_then(|command| command.result.as_ref());
        let (Some(golden), Some(observed)) = (expected.value.as_object(), actual.value.as_object()) else {
            return found;
        };
        for (name, value) in golden {
            match (name.as_str(), observed.get(name)) {
                ("id" | "command" | "success", _) => {}
                ("error", Some(text)) if !succeeded => {
                    self.failure(expected, actual, value, text, &mut found)
                }
                // The declaration defines no data for such a command, so any data is an addition.
                ("data", Some(Value::Object(data))) if result.is_none() && is_empty(value) => {
                    found.extend(data.keys().map(|name| {
                        let message = format!("unexpected `{name}`, absent from the recording");
                        Difference::new(Weight::Info, format!("data.{name}"), message)
                    }));
                }
                ("data", Some(data)) => {
                    found.extend(FrameWalker::below(self.state, "data").typed(result, value, data))
                }
                (_, Some(other)) => {
                    found.extend(FrameWalker::below(self.state, name).typed(None, value, other))
                }
                (_, None) => {
                    let is_declared = name == "error" || result.is_some();
                    let weight = if is_declared { Weight::Must } else { Weight::Case };
                    let may_lack = !self.state.rules.spec.edges.empty_data;
                    if !(may_lack && is_empty(value) && result.is_none() && name == "data") {
                        let message = format!("`{name}` is missing; it is {} in the recording", brief(value));
                        found.push(Difference::new(weight, name, message));
                    }
                }
            }
        }
        for (name, value) in observed.iter().filter(|(name, _)| !golden.contains_key(*name)) {
            let is_empty = self.state.rules.spec.edges.empty_data && is_empty(value);
            let is_known = matches!(name.as_str(), "id" | "command" | "success");
            if !(is_known || name == "data" && is_empty) {
                let message = format!("unexpected `{name}`, absent from the recording: {}", brief(value));
                // Clients ignore unknown members of an envelope, so they are not failures.
                let weight =
                    if matches!(name.as_str(), "data" | "error") { Weight::Case } else { Weight::Info };
                found.push(Difference::new(weight, name, message));
            }
        }
        found
    }

    /// Ends the effects of an earlier rejection, after a command has succeeded in both transcripts.
    fn end_refusal(&mut self, sent: Option<&SentLine>) {
        let Some(sent) = sent else { return };
        if self.run_role(sent) == Some(RunRole::Replaces) {
            self.state.allowances.clear_replaced();
        }
        for row in self.state.rules.allowances() {
            if let Form::Refused(rows) = row.form {
                let rows = rows.iter().filter(|(command, _)| sent.command.as_deref() == Some(command));
                rows.for_each(|(_, members)| self.state.allowances.clear(members));
            }
        }
    }

    fn run_role(&self, sent: &SentLine) -> Option<RunRole> {
        self.state.rules.spec.command(sent.command.as_deref()?).map(|command| command.run)
    }

    fn id(&mut self, expected: &Frame, actual: &Frame, sent: Option<&SentLine>, found: &mut Vec<Difference>) {
        let rules = self.state.rules;
        match (expected.value.get("id"), actual.value.get("id")) {
            (Some(golden), Some(observed)) if golden == observed => {}
            (Some(golden), Some(observed)) => {
                let is_sent = sent.and_then(|sent| sent.value.as_ref()?.get("id")) == Some(observed);
                let message = format!("the id is {} instead of {}", brief(observed), brief(golden));
                let difference = Difference::new(Weight::Must, "id", message);
                let exact =
                    allowance_with_form(rules, |row| matches!(row, Form::ExactId)).filter(|_| is_sent);
                found.push(match exact {
                    Some(allowance) => difference.allowed(allowance),
                    None => difference,
                });
            }
            (Some(golden), None) => {
                let message = format!("the id {} is missing", brief(golden));
                found.push(Difference::new(Weight::Must, "id", message));
            }
            (None, Some(observed)) => {
                let message = format!("unexpected id {}, absent from the recording", brief(observed));
                let difference = Difference::new(Weight::Must, "id", message);
                let allowance = self.own_name_allowance(expected, actual, sent);
                found.push(match allowance {
                    Some(allowance) => difference.allowed(allowance),
                    None => difference,
                });
            }
            (None, None) => {}
        }
    }

    fn name(
        &mut self,
        expected: &Frame,
        actual: &Frame,
        sent: Option<&SentLine>,
        found: &mut Vec<Difference>,
    ) {
        if expected.value.get("command") == actual.value.get("command") {
            return;
        }
        let message = format!("the command is `{}` instead of `{}`", actual.name, expected.name);
        let difference = Difference::new(Weight::Must, "command", message);
        found.push(match self.own_name_allowance(expected, actual, sent) {
            Some(allowance) => difference.allowed(allowance),
            None => difference,
        });
    }

    /// Returns the allowance that permits a failed answer to have the name and the id of its command, or any
    /// name if the line was not a command.
    fn own_name_allowance(
        &self,
        expected: &Frame,
        actual: &Frame,
        sent: Option<&SentLine>,
    ) -> Option<&'static str> {
        let rules = self.state.rules;
        if is_success(expected) || is_success(actual) {
            return None;
        }
        match sent.and_then(|sent| sent.command.as_deref()) {
            Some(command) => {
                let is_own = actual.name == command
                    && (actual.id.is_none() || actual.id == sent.and_then(|sent| sent.id.clone()));
                allowance_with_form(rules, |row| matches!(row, Form::OwnNameAndId)).filter(|_| is_own)
            }
            None => allowance_with_form(rules, |row| matches!(row, Form::AnyName)),
        }
    }

    /// Compares a successful answer with a failed one.
    fn success(
        &mut self,
        expected: &Frame,
        actual: &Frame,
        sent: Option<&SentLine>,
        found: &mut Vec<Difference>,
    ) {
        let (golden, observed) = (is_success(expected), is_success(actual));
        let error = actual.value.get("error").map(|error| format!(": {}", brief(error))).unwrap_or_default();
        let message = format!("success is {observed} instead of {golden}{error}");
        let difference = Difference::new(Weight::Must, "success", message);
        let allowance = sent.filter(|_| golden).and_then(|sent| self.refusal_allowance(sent));
        found.push(match allowance {
            Some(allowance) => difference.allowed(allowance),
            None => difference,
        });
        let text = actual.value.get("error").and_then(Value::as_str).unwrap_or_default();
        if !observed && text.is_empty() {
            found.push(Difference::new(Weight::Must, "error", "the failure has no text"));
        }
        let wrong = if observed { "error" } else { "data" };
        if actual.value.get(wrong).is_some() {
            found.push(Difference::new(Weight::Must, wrong, "contradicts `success`"));
        }
    }

    /// Returns the allowance that permits the agent to reject a command that the recorded agent accepted.
    pub(super) fn refusal_allowance(&mut self, sent: &SentLine) -> Option<&'static str> {
        let rules = self.state.rules;
        let name = sent.command.as_deref()?;
        let arguments = arguments(sent)?;
        for row in rules.allowances().filter(|row| row.scope == AllowanceScope::Everywhere) {
            match row.form {
                Form::Refused(members) if self.wrong_type_allowance(sent).is_some() => {
                    let rows = members.iter().filter(|(command, _)| *command == name);
                    rows.for_each(|(_, members)| self.state.allowances.taint(members, row.name, false));
                    return Some(row.name);
                }
                Form::RefusedFor(command, argument, pattern, members) if command == name => {
                    let text = arguments.get(argument)?.as_str()?;
                    if regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)) {
                        self.state.allowances.taint(members, row.name, true);
                        return Some(row.name);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Compares the texts of two failures.
    fn failure(
        &mut self,
        expected: &Frame,
        actual: &Frame,
        golden: &Value,
        observed: &Value,
        found: &mut Vec<Difference>,
    ) {
        let (Value::String(golden), Value::String(observed)) = (golden, observed) else {
            if golden != observed {
                found.push(Difference::new(Weight::Must, "error", "the text of the failure is not a string"));
            }
            return;
        };
        let difference =
            compare_error_texts(self.state, &expected.name, &actual.name, golden, observed, "error");
        let sent = command_of(self.golden, expected).filter(|_| !observed.is_empty());
        // If the `type` of a command is not a string, the error text cannot contain a name.
        let is_nameless = sent.is_some_and(|sent| sent.value.is_some() && sent.command.is_none());
        let difference = difference.map(|difference| match difference.weight {
            Weight::Must if is_nameless => Difference { weight: Weight::Info, ..difference },
            _ => difference,
        });
        let allowance = difference.as_ref().and_then(|_| self.wrong_type_allowance(sent?));
        found.extend(difference.map(|difference| match allowance {
            Some(allowance) if difference.is_failure() => difference.allowed(allowance),
            _ => difference,
        }));
    }

    /// Returns the allowance that permits the agent to reject arguments of a wrong type.
    fn wrong_type_allowance(&self, sent: &SentLine) -> Option<&'static str> {
        let def = self.state.rules.command(sent.command.as_deref()?)?.params.and_then(Rules::named)?;
        declared::record_mismatch(def, arguments(sent)?)?;
        allowance_with_form(self.state.rules, |row| matches!(row, Form::Refused(_)))
    }
}

/// Returns the arguments of a command: `params` in an envelope, else the members of the frame.
fn arguments(sent: &SentLine) -> Option<&Map<String, Value>> {
    let value = sent.value.as_ref()?;
    value.get("params").unwrap_or(value).as_object()
}

/// Compares the texts of two errors. If the document defines the text, the agent has to use it.
pub(super) fn compare_error_texts(
    state: &mut ComparisonState<'_>,
    recorded: &str,
    actual: &str,
    golden: &str,
    observed: &str,
    path: &str,
) -> Option<Difference> {
    let differs = state.texts.difference(golden, observed)?;
    if observed.is_empty() {
        return Some(Difference::new(Weight::Must, path, "the text of the failure is empty"));
    }
    if let Some(documented) = state.rules.documented_error(recorded, golden) {
        let (expected, found) = (documented.request_parts(golden), documented.request_parts(observed));
        let fits = documented.matches(observed)
            && expected
                .iter()
                .zip(&found)
                .all(|(golden, observed)| state.texts.difference(golden, observed).is_none());
        if !fits || !documented.is_free() {
            let message = format!("{}; documented: `{}`", unequal(golden, observed), documented.text);
            // A failure with another name, which an allowance permits, also has another text.
            let weight = if recorded == actual { Weight::Must } else { Weight::Info };
            return Some(Difference::new(weight, path, message));
        }
    }
    let weight = if state.same_agent { Weight::Case } else { Weight::Info };
    Some(Difference::new(weight, path, differs))
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}
