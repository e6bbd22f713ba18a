//! Requests of the agent for permission as dialogs of the engine, and their answers.

use agentese::acp::{
    AcpCancelledOutcome, AcpPermissionAnswer, AcpPermissionKind, AcpPermissionOption, AcpPermissionOutcome,
    AcpRequestPermission, AcpSelectedOutcome,
};
use agentese::types::SelectQuestion;
use agentese_process::sanitize;
use agentese_server_base::ui::{Answer, Dialog};

use super::call_details::CallDetails;
use super::permission_text::permission_text;

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
}
