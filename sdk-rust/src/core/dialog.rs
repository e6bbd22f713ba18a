//! Answers to the agent's dialogs: by handlers, or by the declared policy without a handler.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::spec::{Dialect, Framing, Spec};
use crate::wire::{Envelope, NamedUnion};

/// The members of an answer, without its id.
pub type AnswerMembers = Map<String, Value>;

/// Returns an answer with one member.
pub fn member(name: &str, value: impl Into<Value>) -> AnswerMembers {
    Map::from_iter([(name.to_owned(), value.into())])
}

/// Returns an answer with the members of a record.
pub fn members(answer: &impl serde::Serialize) -> AnswerMembers {
    match serde_json::to_value(answer) {
        Ok(Value::Object(members)) => members,
        _ => AnswerMembers::new(),
    }
}

/// Handler for the dialogs of one dialect. Every implementation of the dialect's `Dialogs` implements this trait.
pub trait DialogHandler<D: Dialect>: Send + Sync + 'static {
    /// Returns the answer to a question; `None` dismisses it. For a notice returns `None`, and nothing is sent.
    ///
    /// The future is dropped if the agent withdraws its question or the connection ends.
    fn answer(self: Arc<Self>, dialog: D::Dialog) -> BoxFuture<'static, Option<AnswerMembers>>;
}

/// A handler without its dialect's type, for the connection.
pub(crate) trait RawDialogHandler: Send + Sync {
    /// Decodes a dialog and requests its answer from the handler.
    ///
    /// # Errors
    /// The reason why the dialog does not fit its declaration.
    fn answer(
        &self,
        method: &str,
        params: &str,
    ) -> Result<BoxFuture<'static, Option<AnswerMembers>>, DialogError>;
}

/// Reason why a dialog has no answer of a handler.
pub(crate) enum DialogError {
    /// The dialog is not declared.
    Unknown,
    /// The dialog does not fit its declaration.
    Malformed(String),
    /// The handler failed, or its answer does not fit the declaration.
    Failed(String),
}

pub(crate) struct TypedDialogHandler<D: Dialect>(pub Arc<dyn DialogHandler<D>>);

impl<D: Dialect> RawDialogHandler for TypedDialogHandler<D> {
    fn answer(
        &self,
        method: &str,
        params: &str,
    ) -> Result<BoxFuture<'static, Option<AnswerMembers>>, DialogError> {
        let dialog = match D::Dialog::decode(method, params, envelope(D::CLIENT)) {
            None => return Err(DialogError::Unknown),
            Some(Err(error)) => return Err(DialogError::Malformed(error.to_string())),
            Some(Ok(dialog)) => dialog,
        };
        Ok(self.0.clone().answer(dialog))
    }
}

/// Returns the members around the parameters of a dialog.
pub(crate) fn envelope(spec: &Spec) -> Envelope {
    match spec.framing {
        Framing::JsonRpc { .. } => Envelope::NONE,
        _ => Envelope::of(&["type", "id", "method"]),
    }
}

/// Checks the answer of a handler against the declaration.
///
/// # Errors
/// The wrong member and the reason.
pub(crate) fn check_answer(spec: &Spec, method: &str, members: &AnswerMembers) -> Result<(), String> {
    let Some(declared) = spec.dialog(method) else { return Ok(()) };
    // A handler may dismiss the question with the dialect's own fallback.
    let fallback =
        declared.fallback.and_then(|fallback| serde_json::from_str::<AnswerMembers>(fallback).ok());
    if fallback.is_some_and(|fallback| fallback == *members) {
        return Ok(());
    }
    for (name, kind, is_required) in declared.answer {
        match members.get(*name) {
            Some(value) if is_of_kind(value, kind) => {}
            Some(value) => return Err(format!("`{name}` of the answer is {value}, not of the type {kind}")),
            None if *is_required => return Err(format!("the answer has no `{name}`")),
            None => {}
        }
    }
    Ok(())
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Returns the frame that answers a question.
pub(crate) fn answer_frame(spec: &Spec, id: &str, method: &str, members: &AnswerMembers) -> String {
    let body = Value::Object(members.clone()).to_string();
    let own = spec.dialog(method).and_then(|dialog| dialog.frames?.answer);
    match own.or(spec.dialog_frames.map(|frames| frames.answer)) {
        None => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{body}}}"),
        Some(kind) => {
            let rest = body.strip_prefix('{').unwrap_or("}");
            let comma = if members.is_empty() { "" } else { "," };
            format!("{{\"type\":{},\"id\":{id}{comma}{rest}", Value::from(kind))
        }
    }
}

/// Returns the answer by the declared policy: the fallback of the dialog, for an undeclared dialog the fallback of any
/// other dialog, otherwise an error. `id` is raw JSON. Returns `None` for a notice, which has no answer.
pub fn policy_frame(spec: &Spec, id: &str, method: &str) -> Option<String> {
    let declared = spec.dialog(method);
    if declared.is_some_and(|dialog| !dialog.answered) {
        return None;
    }
    let fallback = match declared {
        Some(dialog) => dialog.fallback,
        None if spec.dialog_frames.is_some() => {
            let shared = spec.dialogs.iter().filter(|dialog| dialog.frames.is_none());
            shared.filter_map(|dialog| dialog.fallback).next()
        }
        None => None,
    };
    if let Some(Ok(Value::Object(members))) = fallback.map(serde_json::from_str) {
        return Some(answer_frame(spec, id, method, &members));
    }
    let (code, message) = match declared {
        Some(_) => (-32000, "No user is available to answer"),
        None => (-32601, "Method not found"),
    };
    spec.dialog_frames.is_none().then(|| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":\"{message}\"}}}}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::{opal, pi};

    #[test]
    fn an_answer_has_the_declared_members_or_is_the_fallback() {
        let check = |spec, method, members: Value| check_answer(spec, method, members.as_object().unwrap());
        let right = serde_json::json!({"confirmed": false});
        assert_eq!(check(&pi::SPEC, "confirm", right), Ok(()));
        assert_eq!(check(&pi::SPEC, "confirm", serde_json::json!({"cancelled": true})), Ok(()));
        for wrong in [
            serde_json::json!({"confirmed": "no"}),
            serde_json::json!({"confirmed": null}),
            serde_json::json!({"value": "yes"}),
            serde_json::json!({}),
        ] {
            check(&pi::SPEC, "confirm", wrong.clone()).expect_err(&wrong.to_string());
        }
        check(&opal::SPEC, "client/confirm", serde_json::json!({"action": true})).unwrap_err();
        check(&pi::SPEC, "input", serde_json::json!({"value": 3})).unwrap_err();
    }

    #[test]
    fn answers_in_both_framings() {
        let flat = answer_frame(&pi::SPEC, "\"u\"", "select", &member("value", "Allow"));
        assert_eq!(flat, r#"{"type":"extension_ui_response","id":"u","value":"Allow"}"#);
        let rpc = answer_frame(&opal::SPEC, "\"s2c-1\"", "client/input", &member("answer", "blue"));
        assert_eq!(rpc, r#"{"jsonrpc":"2.0","id":"s2c-1","result":{"answer":"blue"}}"#);
    }

    #[test]
    fn the_policy_dismisses_rejects_or_reports_a_missing_handler() {
        let dismissed = r#"{"type":"extension_ui_response","id":"u","cancelled":true}"#;
        assert_eq!(policy_frame(&pi::SPEC, "\"u\"", "select").unwrap(), dismissed);
        assert_eq!(policy_frame(&pi::SPEC, "\"u\"", "never_heard_of").unwrap(), dismissed);
        assert_eq!(policy_frame(&pi::SPEC, "\"u\"", "notify"), None);
        assert!(policy_frame(&opal::SPEC, "1", "client/confirm").unwrap().contains("deny"));
        assert!(policy_frame(&opal::SPEC, "1", "client/input").unwrap().contains("-32000"));
        assert!(policy_frame(&opal::SPEC, "1", "client/else").unwrap().contains("-32601"));
    }
}
