//! Forms of the agent: each member is a question to the user.

use std::collections::BTreeMap;

use agentese::acp::{AcpElicitParams, AcpElicitationAction, AcpElicitationAnswer};
use agentese::types::{ConfirmQuestion, EditorQuestion, InputQuestion, SelectQuestion};
use agentese_server_base::ui::{Answer, Dialog};
use serde_json::{Map, Value};

use super::shown_text::{indented, labelled, shown_text, value_text};
use crate::client_ui::ClientUi;

/// The number of times that a question is asked until an answer fits the form.
const ATTEMPTS: usize = 3;

/// The choice that ends a selection of several values.
const NO_MORE: &str = "No more";

/// Sends the user a question for each member of a form, one after the other. If the user dismisses the question about an
/// optional member, the response lacks that member. The form is cancelled if the user dismisses a required member, or all
/// members.
pub(super) async fn fill_form(ui: &ClientUi, form: AcpElicitParams) -> AcpElicitationAnswer {
    let schema = form.requested_schema.into_option().unwrap_or_default();
    let members = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let (count, cancelled) = (members.len(), AcpElicitationAnswer::new(AcpElicitationAction::Cancel));
    let mut content = BTreeMap::new();
    for (name, schema) in members {
        let is_required = required.iter().any(|required| *required == name);
        let title = match schema["title"].as_str().unwrap_or(&name) {
            _ if count == 1 => form.message.clone(),
            label if is_required => format!("{}: {label}", form.message),
            label => format!("{}: {label} (optional)", form.message),
        };
        let question = FormQuestion { name, title, schema };
        match question.ask(ui).await {
            Some(value) => drop(content.insert(question.name, value)),
            None if is_required => return cancelled,
            None => {}
        }
    }
    if content.is_empty() && count > 0 {
        return cancelled;
    }
    let mut answer = AcpElicitationAnswer::new(AcpElicitationAction::Accept);
    answer.content = Some(content).into();
    answer
}

/// The question about a member of a form.
struct FormQuestion {
    name: String,
    title: String,
    /// The schema of the member.
    schema: Value,
}

impl FormQuestion {
    /// Asks the user for the value. Returns `None` if the user dismisses the question.
    async fn ask(&self, ui: &ClientUi) -> Option<Value> {
        if self.schema["type"] == "array" {
            return self.ask_for_several(ui).await;
        }
        for attempt in 0..ATTEMPTS {
            let answer = ui.show_dialog(self.dialog(attempt > 0)).await?;
            if answer == Answer::Cancelled {
                return None;
            }
            if let Some(value) = self.value(answer) {
                return Some(value);
            }
        }
        None
    }

    /// Asks the user for one value of a list after the other. A list without choices is not asked for.
    async fn ask_for_several(&self, ui: &ClientUi) -> Option<Value> {
        let limit = |name: &str| self.schema[name].as_u64();
        let mut remaining = choices(&self.schema["items"]);
        let mut chosen = Vec::new();
        while !remaining.is_empty() && limit("maxItems").is_none_or(|max| (chosen.len() as u64) < max) {
            let mut labels: Vec<String> = remaining.iter().map(|choice| choice.label.clone()).collect();
            if !chosen.is_empty() && chosen.len() as u64 >= limit("minItems").unwrap_or_default() {
                labels.push(NO_MORE.to_owned());
            }
            let title = self.title_with(&remaining, "Choose one after the other.");
            let select = SelectQuestion::new(&self.name, title, labels);
            let answer = ui.show_dialog(Dialog::Select(select, Vec::new())).await;
            let Some(Answer::Value(label)) = answer else { return None };
            match remaining.iter().position(|choice| choice.label == label) {
                Some(at) => chosen.push(remaining.remove(at).value),
                None => break,
            }
        }
        (!chosen.is_empty()).then(|| chosen.into())
    }

    /// Returns the question. `is_repeated` is `true` if an answer did not fit.
    fn dialog(&self, is_repeated: bool) -> Dialog {
        let text = |name: &str| self.schema[name].as_str().map(str::to_owned);
        let kind = self.schema["type"].as_str().unwrap_or("string");
        let hint = if is_repeated { format!("The answer must be of type {kind}.") } else { String::new() };
        let choices = choices(&self.schema);
        let title = self.title_with(&choices, &hint);
        if !choices.is_empty() {
            let labels = choices.into_iter().map(|choice| choice.label).collect();
            return Dialog::Select(SelectQuestion::new(&self.name, title, labels), Vec::new());
        }
        match (kind, default_text(&self.schema)) {
            ("boolean", _) => {
                let description = text("description").unwrap_or_default();
                Dialog::Confirm(ConfirmQuestion::new(&self.name, &self.title, description))
            }
            (_, Some(prefill)) => {
                let mut editor = EditorQuestion::new(&self.name, title);
                editor.prefill = Some(prefill);
                Dialog::Editor(editor)
            }
            _ => Dialog::Input(InputQuestion::new(&self.name, title)),
        }
    }

    /// Returns the title, then the description of the member, the descriptions of its choices, and a hint.
    fn title_with(&self, choices: &[Choice], hint: &str) -> String {
        let described = choices.iter().filter_map(|choice| {
            let description = shown_text(choice.description.as_deref()?);
            Some(indented(&labelled(&shown_text(&choice.label), &description)))
        });
        let description = self.schema["description"].as_str().map(shown_text);
        let lines = [self.title.clone()].into_iter().chain(description).chain(described);
        lines.chain((!hint.is_empty()).then(|| hint.to_owned())).collect::<Vec<_>>().join("\n")
    }

    /// Converts an answer to a value. Returns `None` if the form does not accept the answer.
    fn value(&self, answer: Answer) -> Option<Value> {
        let text = match answer {
            Answer::Confirmed(yes) => return Some(Value::from(yes)),
            Answer::Value(text) => text,
            Answer::Cancelled | Answer::Other(_) | Answer::Unreadable(_) => return None,
        };
        let choices = choices(&self.schema);
        if !choices.is_empty() {
            return choices.into_iter().find(|choice| choice.label == text).map(|choice| choice.value);
        }
        match self.schema["type"].as_str() {
            Some("integer") => text.trim().parse::<i64>().ok().map(Value::from),
            Some("number") => text.trim().parse::<f64>().ok().map(Value::from),
            Some("string") | None => Some(Value::from(text)),
            Some(_) => None,
        }
    }
}

/// Returns the default value of a member as a text.
fn default_text(schema: &Value) -> Option<String> {
    schema.get("default").filter(|default| default.is_string() || default.is_number()).map(value_text)
}

/// A possible value of a member.
struct Choice {
    label: String,
    value: Value,
    description: Option<String>,
}

/// Returns the possible values of a member: constants with a title and a description (`oneOf`, `anyOf`), or `enum` with
/// its titles (`enumNames`). A title that several values have is followed by the value.
fn choices(schema: &Value) -> Vec<Choice> {
    let list = |name: &str| schema[name].as_array().cloned().unwrap_or_default();
    let text = |members: &Map<String, Value>, name: &str| members.get(name)?.as_str().map(str::to_owned);
    let constant = |member: Value| {
        let members = member.as_object()?;
        let value = members.get("const")?.clone();
        let label = text(members, "title").unwrap_or_else(|| value_text(&value));
        Some(Choice { label, value, description: text(members, "description") })
    };
    let names = list("enumNames");
    let plain = |(at, value): (usize, Value)| {
        let label = value_text(names.get(at).unwrap_or(&value));
        Choice { label, value, description: None }
    };
    let constants = list("oneOf").into_iter().chain(list("anyOf")).filter_map(constant);
    let mut choices: Vec<Choice> = constants.chain(list("enum").into_iter().enumerate().map(plain)).collect();
    let labels: Vec<String> = choices.iter().map(|choice| choice.label.clone()).collect();
    for choice in &mut choices {
        if labels.iter().filter(|label| **label == choice.label).count() > 1 {
            choice.label = format!("{} ({})", choice.label, value_text(&choice.value));
        }
    }
    choices
}

#[cfg(test)]
mod tests;
