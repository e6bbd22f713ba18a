//! Comparison of two answers.

use agentese::spec::{Framing, RunRole};
use serde_json::{Map, Value};

use super::declared;
use super::pairing::{form, is_success, sent};
use super::reading::{Frame, Reading, Sent};
use super::rules::Rules;
use super::state::State;
use super::tables::{Form, Holds};
use super::text::unequal;
use super::walk::Walk;
use crate::matching::difference::{Difference, Weight, brief};

/// Comparison of two answers.
pub(super) struct Answers<'s, 'a, 'r> {
    pub(super) state: &'s mut State<'a>,
    pub(super) golden: &'r Reading<'r>,
}

impl Answers<'_, '_, '_> {
    pub(super) fn compare(&mut self, was: &Frame, came: &Frame) -> Vec<Difference> {
        match self.state.rules.spec.framing {
            Framing::JsonRpc { .. } => self.json_rpc(was, came),
            Framing::Flat | Framing::Enveloped => self.flat(was, came),
        }
    }

    fn flat(&mut self, was: &Frame, came: &Frame) -> Vec<Difference> {
        // If the recorded answer has no id, uses the found answer's id to find the command.
        let named = if was.id.is_some() { was } else { came };
        let sent = sent(self.golden, named).or_else(|| sent(self.golden, was));
        let mut found = Vec::new();
        let (succeeded, succeeds) = (is_success(was), is_success(came));
        if succeeded != succeeds {
            self.success(was, came, sent, &mut found);
        }
        self.id(was, came, sent, &mut found);
        self.name(was, came, sent, &mut found);
        if succeeded != succeeds {
            return found;
        }
        if succeeded {
            self.settles(sent);
        }
        if !came.value.get("success").is_some_and(Value::is_boolean) {
            found.push(Difference::new(Weight::Must, "success", "it is missing, or no boolean"));
        }
        let result = self.state.rules.command(&came.name).and_then(|command| command.result.as_ref());
        let (Some(golden), Some(observed)) = (was.value.as_object(), came.value.as_object()) else {
            return found;
        };
        for (name, value) in golden {
            match (name.as_str(), observed.get(name)) {
                ("id" | "command" | "success", _) => {}
                ("error", Some(text)) if !succeeded => self.failure(was, came, value, text, &mut found),
                // The declaration has no data for such a command: any data is an addition.
                ("data", Some(Value::Object(data))) if result.is_none() && is_empty(value) => {
                    found.extend(data.keys().map(|name| {
                        let says = format!("`{name}` is there, which the recording does not have");
                        Difference::new(Weight::Info, format!("data.{name}"), says)
                    }));
                }
                ("data", Some(data)) => {
                    found.extend(Walk::below(self.state, "data").typed(result, value, data))
                }
                (_, Some(other)) => found.extend(Walk::below(self.state, name).typed(None, value, other)),
                (_, None) => {
                    let is_declared = name == "error" || result.is_some();
                    let weight = if is_declared { Weight::Must } else { Weight::Case };
                    let may_lack = !self.state.rules.spec.edges.empty_data;
                    if !(may_lack && is_empty(value) && result.is_none() && name == "data") {
                        let says = format!("`{name}` is missing; it is {} in the recording", brief(value));
                        found.push(Difference::new(weight, name, says));
                    }
                }
            }
        }
        for (name, value) in observed.iter().filter(|(name, _)| !golden.contains_key(*name)) {
            let is_empty = self.state.rules.spec.edges.empty_data && is_empty(value);
            let is_known = matches!(name.as_str(), "id" | "command" | "success");
            if !(is_known || name == "data" && is_empty) {
                let says = format!("`{name}` is there, which the recording does not have: {}", brief(value));
                // Clients ignore unknown members of an envelope.
                let weight =
                    if matches!(name.as_str(), "data" | "error") { Weight::Case } else { Weight::Info };
                found.push(Difference::new(weight, name, says));
            }
        }
        found
    }

    /// Ends the effects of an earlier refusal, after a command that succeeds in both transcripts.
    fn settles(&mut self, sent: Option<&Sent>) {
        let Some(sent) = sent else { return };
        if self.role(sent) == Some(RunRole::Replaces) {
            self.state.excuses.replaced();
        }
        for row in self.state.rules.allowances() {
            if let Form::Refused(rows) = row.form {
                let rows = rows.iter().filter(|(command, _)| sent.command.as_deref() == Some(command));
                rows.for_each(|(_, members)| self.state.excuses.settle(members));
            }
        }
    }

    fn role(&self, sent: &Sent) -> Option<RunRole> {
        self.state.rules.spec.command(sent.command.as_deref()?).map(|command| command.run)
    }

    fn id(&mut self, was: &Frame, came: &Frame, sent: Option<&Sent>, found: &mut Vec<Difference>) {
        let rules = self.state.rules;
        match (was.value.get("id"), came.value.get("id")) {
            (Some(golden), Some(observed)) if golden == observed => {}
            (Some(golden), Some(observed)) => {
                let is_sent = sent.and_then(|sent| sent.value.as_ref()?.get("id")) == Some(observed);
                let says = format!("the id is {} instead of {}", brief(observed), brief(golden));
                let difference = Difference::new(Weight::Must, "id", says);
                let exact = form(rules, |row| matches!(row, Form::ExactId)).filter(|_| is_sent);
                found.push(match exact {
                    Some(allowance) => difference.allowed(allowance),
                    None => difference,
                });
            }
            (Some(golden), None) => {
                let says = format!("the id {} is missing", brief(golden));
                found.push(Difference::new(Weight::Must, "id", says));
            }
            (None, Some(observed)) => {
                let says = format!("the id {} is there, which the recording does not have", brief(observed));
                let difference = Difference::new(Weight::Must, "id", says);
                let allowance = self.own_name(was, came, sent);
                found.push(match allowance {
                    Some(allowance) => difference.allowed(allowance),
                    None => difference,
                });
            }
            (None, None) => {}
        }
    }

    fn name(&mut self, was: &Frame, came: &Frame, sent: Option<&Sent>, found: &mut Vec<Difference>) {
        if was.value.get("command") == came.value.get("command") {
            return;
        }
        let says = format!("the command is `{}` instead of `{}`", came.name, was.name);
        let difference = Difference::new(Weight::Must, "command", says);
        found.push(match self.own_name(was, came, sent) {
            Some(allowance) => difference.allowed(allowance),
            None => difference,
        });
    }

    /// Returns the allowance for a failure with its own name and id, or for a failure of a line without a
    /// command.
    fn own_name(&self, was: &Frame, came: &Frame, sent: Option<&Sent>) -> Option<&'static str> {
        let rules = self.state.rules;
        if is_success(was) || is_success(came) {
            return None;
        }
        match sent.and_then(|sent| sent.command.as_deref()) {
            Some(command) => {
                let is_own = came.name == command
                    && (came.id.is_none() || came.id == sent.and_then(|sent| sent.id.clone()));
                form(rules, |row| matches!(row, Form::OwnNameAndId)).filter(|_| is_own)
            }
            None => form(rules, |row| matches!(row, Form::AnyName)),
        }
    }

    /// Compares two answers of which only one is a success.
    fn success(&mut self, was: &Frame, came: &Frame, sent: Option<&Sent>, found: &mut Vec<Difference>) {
        let (golden, observed) = (is_success(was), is_success(came));
        let error = came.value.get("error").map(|error| format!(": {}", brief(error))).unwrap_or_default();
        let says = format!("success is {observed} instead of {golden}{error}");
        let difference = Difference::new(Weight::Must, "success", says);
        let allowance = sent.filter(|_| golden).and_then(|sent| self.refusal(sent));
        found.push(match allowance {
            Some(allowance) => difference.allowed(allowance),
            None => difference,
        });
        let text = came.value.get("error").and_then(Value::as_str).unwrap_or_default();
        if !observed && text.is_empty() {
            found.push(Difference::new(Weight::Must, "error", "a failure has no text"));
        }
        let wrong = if observed { "error" } else { "data" };
        if came.value.get(wrong).is_some() {
            found.push(Difference::new(Weight::Must, wrong, "it is there beside its opposite"));
        }
    }

    /// Returns the allowance to refuse a command that the recorded agent accepted.
    pub(super) fn refusal(&mut self, sent: &Sent) -> Option<&'static str> {
        let rules = self.state.rules;
        let name = sent.command.as_deref()?;
        let arguments = arguments(sent)?;
        for row in rules.allowances().filter(|row| row.holds == Holds::Everywhere) {
            match row.form {
                Form::Refused(members) if self.misfit(sent).is_some() => {
                    let rows = members.iter().filter(|(command, _)| *command == name);
                    rows.for_each(|(_, members)| self.state.excuses.taint(members, row.name, false));
                    return Some(row.name);
                }
                Form::RefusedFor(command, argument, pattern, members) if command == name => {
                    let text = arguments.get(argument)?.as_str()?;
                    if regex::Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(text)) {
                        self.state.excuses.taint(members, row.name, true);
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
        was: &Frame,
        came: &Frame,
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
        let difference = words(self.state, &was.name, &came.name, golden, observed, "error");
        let sent = sent(self.golden, was).filter(|_| !observed.is_empty());
        // If the type of a command is not a string, the text cannot contain a name.
        let is_nameless = sent.is_some_and(|sent| sent.value.is_some() && sent.command.is_none());
        let difference = difference.map(|difference| match difference.weight {
            Weight::Must if is_nameless => Difference { weight: Weight::Info, ..difference },
            _ => difference,
        });
        let allowance = difference.as_ref().and_then(|_| self.misfit(sent?));
        found.extend(difference.map(|difference| match allowance {
            Some(allowance) if difference.counts() => difference.allowed(allowance),
            _ => difference,
        }));
    }

    /// Returns the allowance to refuse arguments of a wrong type.
    fn misfit(&self, sent: &Sent) -> Option<&'static str> {
        let def = self.state.rules.command(sent.command.as_deref()?)?.params.and_then(Rules::named)?;
        declared::record_misfit(def, arguments(sent)?)?;
        form(self.state.rules, |row| matches!(row, Form::Refused(_)))
    }
}

/// Returns the arguments of a command: `params` in an envelope, else the members of the frame.
fn arguments(sent: &Sent) -> Option<&Map<String, Value>> {
    let value = sent.value.as_ref()?;
    value.get("params").unwrap_or(value).as_object()
}

/// Compares the texts of two failures. Documented texts have to be as documented.
pub(super) fn words(
    state: &mut State<'_>,
    was: &str,
    came: &str,
    golden: &str,
    observed: &str,
    path: &str,
) -> Option<Difference> {
    let differs = state.texts.differ(golden, observed)?;
    if observed.is_empty() {
        return Some(Difference::new(Weight::Must, path, "the text of the failure is empty"));
    }
    if let Some(documented) = state.rules.documented(was, golden) {
        let (expected, found) = (documented.of_request(golden), documented.of_request(observed));
        let fits = documented.matches(observed)
            && expected
                .iter()
                .zip(&found)
                .all(|(golden, observed)| state.texts.differ(golden, observed).is_none());
        if !fits || !documented.is_free() {
            let says = format!("{}; documented is `{}`", unequal(golden, observed), documented.text);
            // A failure with another name, permitted by an allowance, has a text of its own.
            let weight = if was == came { Weight::Must } else { Weight::Info };
            return Some(Difference::new(weight, path, says));
        }
    }
    let weight = if state.same_agent { Weight::Case } else { Weight::Info };
    Some(Difference::new(weight, path, differs))
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty)
}
