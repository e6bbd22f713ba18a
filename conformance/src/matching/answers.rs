//! Answers: which belongs to which, and what differs in them.

use std::collections::{HashMap, HashSet};

use agentese::spec::{Framing, RunEffect, RunRole};
use serde_json::{Map, Value};

use super::align::align;
use super::declared;
use super::difference::{Difference, Weight, brief};
use super::reading::{Frame, Reading, Sent};
use super::rules::Rules;
use super::tables::{Allowance, Form, Holds};
use super::text::unequal;
use super::walk::{State, Walk};

/// Which answers belong together.
#[derive(Debug, Default)]
pub(super) struct Paired {
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) missing: Vec<usize>,
    pub(super) extra: Vec<usize>,
    /// Differences in how a command was answered as a whole.
    pub(super) remarks: Vec<(usize, usize, Difference)>,
}

/// Whether an answer says that its command succeeded.
pub(super) fn is_success(answer: &Frame) -> bool {
    match answer.value.get("success") {
        Some(success) => *success == Value::Bool(true),
        None => answer.value.get("error").is_none(),
    }
}

/// The command that an answer of a transcript answers: by its id, or the last one before it that no answer has
/// the id of.
pub(super) fn sent<'a>(reading: &'a Reading<'_>, answer: &Frame) -> Option<&'a Sent> {
    if let Some(id) = &answer.id {
        return reading.by_id(id);
    }
    let answered: HashSet<&String> = reading.answers.iter().filter_map(|answer| answer.id.as_ref()).collect();
    let before = reading.sent.iter().take(reading.sent_before(answer.record)).rev();
    before.filter(|sent| !sent.is_answer).find(|sent| !sent.id.as_ref().is_some_and(|id| answered.contains(id)))
}

fn form(rules: &Rules, is: impl Fn(&Form) -> bool) -> Option<&'static str> {
    let everywhere = |row: &&Allowance| row.holds == Holds::Everywhere && is(&row.form);
    rules.allowances().find(everywhere).map(|row| row.name)
}

/// Finds the answers that belong together.
pub(super) fn pair(rules: &Rules, golden: &Reading<'_>, observed: &Reading<'_>) -> Paired {
    let mut paired = Paired::default();
    let (expected, mut nameless) = groups(&golden.answers);
    let (found, came_nameless) = groups(&observed.answers);
    for (id, came) in &found {
        if expected.iter().any(|(known, _)| known == id) {
            continue;
        }
        for at in came {
            // A failure of a command whose recorded failure has no id.
            let asked = golden.by_id(id).map(|sent| sent.record);
            let behind = |was: &usize| {
                let was = &golden.answers[*was];
                !is_success(was) && asked.is_some_and(|asked| asked < was.record)
            };
            let answers = |was: &usize| sent(golden, &golden.answers[*was]).map(|sent| sent.record) == asked;
            let place = nameless.iter().position(|was| behind(was) && answers(was));
            let place = place.or_else(|| nameless.iter().position(behind));
            match place.filter(|_| !is_success(&observed.answers[*at])) {
                Some(place) => paired.pairs.push((nameless.remove(place), *at)),
                None => paired.extra.push(*at),
            }
        }
    }
    for (id, was) in &expected {
        let came = found.iter().find(|(other, _)| other == id).map_or(&[][..], |(_, came)| came.as_slice());
        if !both_ways(rules, golden, observed, was, came, &mut paired) {
            in_order(&golden.answers, &observed.answers, was, came, &mut paired);
        }
    }
    in_order(&golden.answers, &observed.answers, &nameless, &came_nameless, &mut paired);
    paired.pairs.sort_unstable();
    paired
}

type Groups = (Vec<(String, Vec<usize>)>, Vec<usize>);

/// The answers with an id, by their ids, and those without.
fn groups(answers: &[Frame]) -> Groups {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut nameless = Vec::new();
    for (at, answer) in answers.iter().enumerate() {
        let Some(id) = &answer.id else {
            nameless.push(at);
            continue;
        };
        let place = *places.entry(id).or_insert_with(|| {
            groups.push((id.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(at);
    }
    (groups, nameless)
}

fn in_order(golden: &[Frame], observed: &[Frame], was: &[usize], came: &[usize], paired: &mut Paired) {
    if was.len() == came.len() {
        paired.pairs.extend(was.iter().copied().zip(came.iter().copied()));
        return;
    }
    let mark = |answers: &[Frame], at: &[usize]| -> Vec<String> {
        at.iter().map(|at| format!("{} {}", answers[*at].name, is_success(&answers[*at]))).collect()
    };
    let aligned = align(&mark(golden, was), &mark(observed, came));
    let pairs = aligned.pairs.into_iter().chain(aligned.moved);
    paired.pairs.extend(pairs.map(|(first, second)| (was[first], came[second])));
    // Failures that name themselves otherwise belong together by their order.
    let (mut missing, mut extra) = (aligned.missing, aligned.extra);
    if missing.len() == extra.len() {
        paired.pairs.extend(missing.drain(..).zip(extra.drain(..)).map(|(first, second)| (was[first], came[second])));
    }
    paired.missing.extend(missing.into_iter().map(|at| was[at]));
    paired.extra.extend(extra.into_iter().map(|at| came[at]));
}

/// A command that was answered with a failure and a success. True where that is what was paired.
fn both_ways(
    rules: &Rules,
    golden: &Reading<'_>,
    observed: &Reading<'_>,
    was: &[usize],
    came: &[usize],
    paired: &mut Paired,
) -> bool {
    let &[first, second] = was else { return false };
    let answers = (&golden.answers[first], &golden.answers[second]);
    let role = sent(golden, answers.0).and_then(|sent| rules.spec.command(sent.command.as_deref()?)).map(|row| row.run);
    if is_success(answers.0) == is_success(answers.1) || role != Some(RunRole::Starts) {
        return false;
    }
    let (failure, success) = if is_success(answers.0) { (second, first) } else { (first, second) };
    match *came {
        [only] if !is_success(&observed.answers[only]) => {
            let is_busy = sent(golden, answers.0).is_some_and(|sent| is_busy(rules, golden, sent.record));
            let is = |row: &Form| match row {
                Form::OneAnswer => true,
                Form::AcknowledgedFirst => is_busy,
                _ => false,
            };
            let Some(allowance) = form(rules, is) else { return false };
            let says = "one failure instead of a failure and a success";
            let difference = Difference::new(Weight::Case, "", says).allowed(allowance);
            paired.remarks.push((failure, only, difference));
            paired.pairs.push((failure, only));
            true
        }
        [one, other] if is_success(&observed.answers[one]) != is_success(&observed.answers[other]) => {
            let success_first = is_success(&observed.answers[one]);
            let (came_failure, came_success) = if success_first { (other, one) } else { (one, other) };
            paired.pairs.extend([(failure, came_failure), (success, came_success)]);
            if success_first != is_success(answers.0) {
                let difference = Difference::new(Weight::Case, "", "failure and success stand in the other order");
                let difference = match form(rules, |row| matches!(row, Form::AcknowledgedFirst)) {
                    Some(allowance) if success_first => difference.allowed(allowance),
                    _ => difference,
                };
                paired.remarks.push((success, came_success, difference));
            }
            true
        }
        _ => false,
    }
}

/// Whether a run goes on at a record.
fn is_busy(rules: &Rules, reading: &Reading<'_>, record: usize) -> bool {
    let before = reading.events.iter().take_while(|event| event.record < record);
    let effects = before.filter_map(|event| rules.spec.event(&event.name)).map(|event| event.run);
    let last = effects.filter(|effect| *effect != RunEffect::None).last();
    matches!(last, Some(RunEffect::Begins | RunEffect::Holds))
}

/// What differs between two answers.
pub(super) struct Answers<'s, 'a, 'r> {
    pub(super) state: &'s mut State<'a>,
    pub(super) golden: &'r Reading<'r>,
}

/// From which record of the golden transcript on the run of a command is missing, because it is refused for
/// arguments that are not as declared; and the allowance for it.
pub(super) fn refused_run(
    rules: &Rules,
    golden: &Reading<'_>,
    observed: &Reading<'_>,
    paired: &Paired,
) -> Option<(usize, &'static str)> {
    let allowance = form(rules, |row| matches!(row, Form::Refused(_)))?;
    let refused = paired.pairs.iter().filter_map(|(was, came)| {
        let (was, came) = (&golden.answers[*was], &observed.answers[*came]);
        let sent = sent(golden, was).filter(|_| is_success(was) && !is_success(came))?;
        let row = rules.spec.command(sent.command.as_deref()?).filter(|row| row.run != RunRole::None)?;
        let def = rules.command(row.wire)?.params.and_then(Rules::named)?;
        declared::record_misfit(def, sent.value.as_ref()?.as_object()?)?;
        Some(sent.record.min(was.record))
    });
    refused.min().map(|from| (from, allowance))
}

impl Answers<'_, '_, '_> {
    pub(super) fn compare(&mut self, was: &Frame, came: &Frame) -> Vec<Difference> {
        match self.state.rules.spec.framing {
            Framing::JsonRpc { .. } => self.json_rpc(was, came),
            Framing::Flat | Framing::Enveloped => self.flat(was, came),
        }
    }

    fn flat(&mut self, was: &Frame, came: &Frame) -> Vec<Difference> {
        let sent = sent(self.golden, was).or_else(|| sent(self.golden, came));
        let mut found = Vec::new();
        self.id(was, came, sent, &mut found);
        self.name(was, came, sent, &mut found);
        let (succeeded, succeeds) = (is_success(was), is_success(came));
        if succeeded != succeeds {
            self.success(was, came, sent, &mut found);
            return found;
        }
        if succeeded {
            self.settles(sent);
        }
        if !came.value.get("success").is_some_and(Value::is_boolean) {
            found.push(Difference::new(Weight::Must, "success", "it is missing, or no boolean"));
        }
        let result = self.state.rules.command(&came.name).and_then(|command| command.result.as_ref());
        let (Some(golden), Some(observed)) = (was.value.as_object(), came.value.as_object()) else { return found };
        for (name, value) in golden {
            match (name.as_str(), observed.get(name)) {
                ("id" | "command" | "success", _) => {}
                ("error", Some(text)) if !succeeded => self.failure(was, came, value, text, &mut found),
                ("data", Some(data)) => found.extend(Walk::below(self.state, "data").typed(result, value, data)),
                (_, Some(other)) => found.extend(Walk::below(self.state, name).typed(None, value, other)),
                (_, None) => {
                    let is_declared = name == "error" || result.is_some();
                    let weight = if is_declared { Weight::Must } else { Weight::Case };
                    let is_empty = value.as_object().is_some_and(Map::is_empty);
                    if !(is_empty && result.is_none() && name == "data") {
                        let says = format!("`{name}` is missing; it is {} in the recording", brief(value));
                        found.push(Difference::new(weight, name, says));
                    }
                }
            }
        }
        for (name, value) in observed.iter().filter(|(name, _)| !golden.contains_key(*name)) {
            let is_empty = self.state.rules.spec.edges.empty_data && value.as_object().is_some_and(Map::is_empty);
            if !matches!(name.as_str(), "id" | "command" | "success") && !(name == "data" && is_empty) {
                let says = format!("`{name}` is there, which the recording does not have: {}", brief(value));
                found.push(Difference::new(Weight::Case, name, says));
            }
        }
        found
    }

    /// A command that succeeds in both settles what an earlier refusal left open.
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

    /// The allowance for a failure that names its command and has its id, or that has no command to name.
    fn own_name(&self, was: &Frame, came: &Frame, sent: Option<&Sent>) -> Option<&'static str> {
        let rules = self.state.rules;
        if is_success(was) || is_success(came) {
            return None;
        }
        match sent.and_then(|sent| sent.command.as_deref()) {
            Some(command) => {
                let is_own = came.name == command && (came.id.is_none() || came.id == sent.and_then(|sent| sent.id.clone()));
                form(rules, |row| matches!(row, Form::OwnNameAndId)).filter(|_| is_own)
            }
            None => form(rules, |row| matches!(row, Form::AnyName)),
        }
    }

    /// Answers of which one says that the command succeeded, and the other that it did not.
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

    /// The allowance for a refusal of what was accepted.
    fn refusal(&mut self, sent: &Sent) -> Option<&'static str> {
        let rules = self.state.rules;
        let name = sent.command.as_deref()?;
        let arguments = sent.value.as_ref()?.as_object()?;
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

    /// The texts of two failures.
    fn failure(&mut self, was: &Frame, came: &Frame, golden: &Value, observed: &Value, found: &mut Vec<Difference>) {
        let (Value::String(golden), Value::String(observed)) = (golden, observed) else {
            if golden != observed {
                found.push(Difference::new(Weight::Must, "error", "the text of the failure is no string"));
            }
            return;
        };
        let difference = words(self.state, &was.name, &came.name, golden, observed, "error");
        let sent = sent(self.golden, was).filter(|_| !observed.is_empty());
        let allowance = difference.as_ref().and_then(|_| self.misfit(sent?));
        found.extend(difference.map(|difference| match allowance {
            Some(allowance) if difference.counts() => difference.allowed(allowance),
            _ => difference,
        }));
    }

    /// The allowance for the refusal of arguments that are not as declared.
    fn misfit(&self, sent: &Sent) -> Option<&'static str> {
        let def = self.state.rules.command(sent.command.as_deref()?)?.params.and_then(Rules::named)?;
        declared::record_misfit(def, sent.value.as_ref()?.as_object()?)?;
        form(self.state.rules, |row| matches!(row, Form::Refused(_)))
    }

    fn json_rpc(&mut self, was: &Frame, came: &Frame) -> Vec<Difference> {
        let mut found = Vec::new();
        let (golden, observed) = (&was.value, &came.value);
        if golden.get("id") != observed.get("id") {
            found.push(Difference::new(Weight::Must, "id", "the id is another one"));
        }
        match (golden.get("error"), observed.get("error")) {
            (None, None) => {
                let result = self.state.rules.command(&was.name).and_then(|command| command.result.as_ref());
                match (golden.get("result"), observed.get("result")) {
                    (Some(golden), Some(observed)) => {
                        found.extend(Walk::below(self.state, "result").typed(result, golden, observed));
                    }
                    (Some(_), None) => found.push(Difference::new(Weight::Must, "result", "it is missing")),
                    _ => {}
                }
            }
            (Some(golden), Some(observed)) => self.json_rpc_error(was, golden, observed, &mut found),
            (None, Some(error)) => {
                let says = format!("it is the failure {} instead of a result", brief(error));
                found.push(Difference::new(Weight::Must, "error", says));
            }
            (Some(error), None) => {
                let says = format!("it is a result instead of the failure {}", brief(error));
                found.push(Difference::new(Weight::Must, "result", says));
            }
        }
        found
    }

    fn json_rpc_error(&mut self, was: &Frame, golden: &Value, observed: &Value, found: &mut Vec<Difference>) {
        let code = |error: &Value| error.get("code").and_then(Value::as_i64);
        let (expected, came) = (code(golden), code(observed));
        if expected != came {
            let name = |code: Option<i64>| code.map_or("missing".to_owned(), |code| code.to_string());
            let says = format!("the code is {} instead of {}", name(came), name(expected));
            let is = |row: &Form| matches!(row, Form::ErrorCode(from, to) if Some(*from) == expected && Some(*to) == came);
            let difference = Difference::new(Weight::Must, "error.code", says);
            found.push(match form(self.state.rules, is) {
                Some(allowance) => difference.allowed(allowance),
                None => difference,
            });
        }
        match (golden.get("message").and_then(Value::as_str), observed.get("message").and_then(Value::as_str)) {
            (Some(golden), Some(observed)) => {
                found.extend(words(self.state, &was.name, &was.name, golden, observed, "error.message"));
            }
            (_, None) => found.push(Difference::new(Weight::Must, "error.message", "it is missing, or no text")),
            (None, Some(_)) => {}
        }
        if golden.get("data") != observed.get("data") {
            found.push(Difference::new(Weight::Info, "error.data", "what is said beside is another thing"));
        }
        let names = observed.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        for name in names.filter(|name| golden.get(name).is_none() && *name != "data") {
            found.push(Difference::new(Weight::Case, format!("error.{name}"), "it is there in addition"));
        }
    }
}

/// What differs between the texts of two failures: documented ones have to be as documented.
fn words(
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
            && expected.iter().zip(&found).all(|(golden, observed)| state.texts.differ(golden, observed).is_none());
        if !fits || !documented.is_free() {
            let says = format!("{}; documented is `{}`", unequal(golden, observed), documented.text);
            // A failure that names itself otherwise, by an allowance, has a text of its own.
            let weight = if was == came { Weight::Must } else { Weight::Info };
            return Some(Difference::new(weight, path, says));
        }
    }
    let weight = if state.same_agent { Weight::Case } else { Weight::Info };
    Some(Difference::new(weight, path, differs))
}
