//! Questions of the agent as dialogs of the engine, and their answers.

use std::collections::BTreeMap;

use agentese::acp::{
    AcpCancelledOutcome, AcpElicitParams, AcpElicitationAction, AcpElicitationAnswer, AcpPermissionAnswer,
    AcpPermissionKind, AcpPermissionOption, AcpPermissionOutcome, AcpRequestPermission, AcpSelectedOutcome,
};
use agentese::types::{ConfirmQuestion, EditorQuestion, InputQuestion, SelectQuestion};
use agentese_process::sanitize;
use agentese_server_base::ui::{Answer, Dialog};
use serde_json::{Map, Value};

use super::call_details::CallDetails;
use super::permission_text::permission_text;
use crate::client_ui::ClientUi;

/// A request for permission. The user chooses a label; each label belongs to one option of the agent.
pub(super) struct Permission {
    pub dialog: Dialog,
    /// The labels with the ids of their options.
    options: Vec<(String, String)>,
}

impl Permission {
    /// Creates the question. `call` is all known data of the call.
    pub fn new(request: AcpRequestPermission, call: &CallDetails) -> Self {
        let labels = labels(&request.options);
        let select =
            SelectQuestion::new(request.tool_call.tool_call_id, permission_text(call), labels.clone());
        let refuses = |option: &AcpPermissionOption| {
            matches!(option.kind, AcpPermissionKind::RejectOnce | AcpPermissionKind::RejectAlways)
        };
        let refusing = request.options.iter().enumerate().filter(|(_, option)| refuses(option));
        let refusing = refusing.map(|(at, _)| at).collect();
        let options = labels.into_iter().zip(request.options.into_iter().map(|option| option.option_id));
        Self { dialog: Dialog::Select(select, refusing), options: options.collect() }
    }

    /// Returns the response for the agent to the user's answer. Without an answer, the request is cancelled.
    pub fn answer(&self, answer: Option<Answer>) -> AcpPermissionAnswer {
        let chosen = match answer {
            Some(Answer::Value(chosen)) => self.options.iter().find(|(label, _)| *label == chosen),
            _ => None,
        };
        let outcome: AcpPermissionOutcome = match chosen {
            Some((_, option)) => AcpSelectedOutcome::new(option.as_str()).into(),
            None => AcpCancelledOutcome::new().into(),
        };
        AcpPermissionAnswer::new(outcome)
    }
}

/// Returns the response that cancels a request for permission.
pub(super) fn denial() -> AcpPermissionAnswer {
    AcpPermissionAnswer::new(AcpCancelledOutcome::new())
}

/// Returns a distinct label for each option, without hidden characters. The kind is added if several options have the
/// same name, and if an option applies to later calls and its name lacks "always". If the kind is also the same, a number
/// is added.
fn labels(options: &[AcpPermissionOption]) -> Vec<String> {
    let names: Vec<_> = options.iter().map(|option| sanitize::sanitize_line(&option.name)).collect();
    let mut labels: Vec<String> = Vec::new();
    for (option, name) in options.iter().zip(&names) {
        let is_alone = names.iter().filter(|other| *other == name).count() == 1;
        let is_clear =
            option.kind != AcpPermissionKind::AllowAlways || name.to_lowercase().contains("always");
        let named = match is_alone && is_clear {
            true => name.clone().into_owned(),
            false => format!("{name} ({})", option.kind.as_str()),
        };
        let numbered = (2..).map(|number| format!("{named} {number}"));
        let mut free = std::iter::once(named.clone()).chain(numbered);
        // There are more numbers than labels.
        labels.extend(free.find(|label| !labels.contains(label)));
    }
    labels
}

/// Sends the user a question for each member of a form, one after the other. If the user dismisses a question or the
/// answer is invalid, the form is cancelled.
pub(super) async fn fill_form(ui: &ClientUi, form: AcpElicitParams) -> AcpElicitationAnswer {
    let schema = form.requested_schema.into_option().unwrap_or_default();
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let is_alone = fields.len() == 1;
    let mut content = BTreeMap::new();
    for (name, field) in fields {
        let label = field["title"].as_str().unwrap_or(&name);
        let title = if is_alone { form.message.clone() } else { format!("{}: {label}", form.message) };
        let value = match ui.show_dialog(dialog(&name, title, &field)).await {
            Some(answer) => value(&field, answer),
            None => None,
        };
        let Some(value) = value else { return AcpElicitationAnswer::new(AcpElicitationAction::Cancel) };
        content.insert(name, value);
    }
    let mut answer = AcpElicitationAnswer::new(AcpElicitationAction::Accept);
    answer.content = Some(content).into();
    answer
}

/// Converts a member of a form to a dialog.
fn dialog(id: &str, title: String, field: &Value) -> Dialog {
    let text = |name: &str| field[name].as_str().map(str::to_owned);
    let choices = choices(field);
    if !choices.is_empty() {
        let labels = choices.into_iter().map(|(label, _)| label).collect();
        return Dialog::Select(SelectQuestion::new(id, title, labels), Vec::new());
    }
    match (field["type"].as_str(), text("default")) {
        (Some("boolean"), _) => {
            Dialog::Confirm(ConfirmQuestion::new(id, title, text("description").unwrap_or_default()))
        }
        (_, Some(prefill)) => {
            let mut editor = EditorQuestion::new(id, title);
            editor.prefill = Some(prefill);
            Dialog::Editor(editor)
        }
        _ => {
            let mut input = InputQuestion::new(id, title);
            input.placeholder = text("description");
            Dialog::Input(input)
        }
    }
}

/// Converts an answer to a value of a form member. Returns `None` if the form does not accept the answer.
fn value(field: &Value, answer: Answer) -> Option<Value> {
    match answer {
        Answer::Confirmed(yes) => Some(Value::from(yes)),
        Answer::Value(text) => {
            let choices = choices(field);
            if !choices.is_empty() {
                return choices.into_iter().find(|(label, _)| *label == text).map(|(_, value)| value);
            }
            match field["type"].as_str() {
                Some("integer") => text.trim().parse::<i64>().ok().map(Value::from),
                Some("number") => text.trim().parse::<f64>().ok().map(Value::from),
                Some("string") | None => Some(Value::from(text)),
                Some(_) => None,
            }
        }
        Answer::Cancelled | Answer::Other(_) | Answer::Unreadable(_) => None,
    }
}

/// Returns the possible values of a form member, each preceded by its label.
fn choices(field: &Value) -> Vec<(String, Value)> {
    let list = |name: &str| field[name].as_array().cloned().unwrap_or_default();
    let named = |one: Value| {
        let one: Map<String, Value> = one.as_object().cloned()?;
        let value = one.get("const")?.clone();
        let title = one.get("title").and_then(Value::as_str).or(value.as_str())?.to_owned();
        Some((title, value))
    };
    let plain = |one: Value| Some((one.as_str()?.to_owned(), one));
    list("oneOf").into_iter().filter_map(named).chain(list("enum").into_iter().filter_map(plain)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_label_maps_to_one_option() {
        let option = |id: &str, name: &str, kind: &str| json!({"optionId": id, "name": name, "kind": kind});
        let asked = json!({"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": [
            option("a", "Allow", "allow_once"), option("b", "Allow", "allow_always"),
            option("c", "Allow", "allow_always"), option("d", "No", "reject_once"),
        ]});
        let permission = Permission::new(serde_json::from_value(asked).unwrap(), &CallDetails::default());
        let Dialog::Select(select, refusing) = &permission.dialog else { panic!("no choice") };
        let labels = ["Allow (allow_once)", "Allow (allow_always)", "Allow (allow_always) 2", "No"];
        assert_eq!((select.options.as_slice(), refusing), (&labels.map(str::to_owned)[..], &vec![3]));
        for (label, id) in labels.into_iter().zip(["a", "b", "c", "d"]) {
            let answer =
                serde_json::to_value(permission.answer(Some(Answer::Value(label.to_owned())))).unwrap();
            assert_eq!(answer["outcome"]["optionId"], id);
        }
        for other in [Some(Answer::Value("Allow".to_owned())), Some(Answer::Cancelled), None] {
            let answer = serde_json::to_value(permission.answer(other)).unwrap();
            assert_eq!(answer["outcome"]["outcome"], "cancelled");
        }
    }

    #[test]
    fn a_label_shows_hidden_characters_and_that_it_applies_to_later_calls() {
        let options = json!([
            {"optionId": "a", "name": "Yes", "kind": "allow_always"},
            {"optionId": "b", "name": "Always\nallow", "kind": "allow_always"},
            {"optionId": "c", "name": "No", "kind": "reject_once"},
            {"optionId": "d", "name": "No\u{200b}", "kind": "allow_once"},
        ]);
        let options: Vec<AcpPermissionOption> = serde_json::from_value(options).unwrap();
        assert_eq!(labels(&options), ["Yes (allow_always)", "Always\\nallow", "No", "No\\u{200b}"]);
    }

    #[test]
    fn form_members_become_dialogs_of_their_type() {
        let asked = |field: Value| dialog("value", "Which?".to_owned(), &field);
        assert!(matches!(asked(json!({"type": "boolean"})), Dialog::Confirm(_)));
        assert!(matches!(asked(json!({"type": "string", "default": "main"})), Dialog::Editor(_)));
        assert!(matches!(asked(json!({"type": "string"})), Dialog::Input(_)));
        let named = json!({"type": "string", "oneOf": [{"const": "m", "title": "Main"}]});
        assert!(matches!(asked(named.clone()), Dialog::Select(..)));
        let said = |field: &Value, text: &str| value(field, Answer::Value(text.to_owned()));
        assert_eq!((said(&named, "Main"), said(&named, "m")), (Some(json!("m")), None));
        assert_eq!(said(&json!({"type": "integer"}), "7"), Some(json!(7)));
        assert_eq!(said(&json!({"type": "integer"}), "seven"), None);
        assert_eq!(value(&json!({"type": "boolean"}), Answer::Confirmed(false)), Some(json!(false)));
    }
}
