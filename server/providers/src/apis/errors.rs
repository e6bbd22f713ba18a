//! Errors that model servers send instead of an answer, in all known formats.

use serde_json::Value;

use crate::{ProviderError, ProviderErrorKind, excerpt};

/// Members that may contain the message of an error.
const TEXTS: &[&str] = &["message", "msg", "detail", "error_message", "error_msg", "errorMessage", "reason"];
/// Members that may contain the code of an error: an HTTP status or a name.
const CODES: &[&str] = &["code", "status", "status_code", "error_code"];
/// Maximum length of an error message that is kept completely, in bytes.
const MAX_TEXT: usize = 16 * 1024;
/// Members of objects that belong to an answer in one of the APIs.
const ANSWER_MEMBERS: &[&str] =
    &["type", "choices", "candidates", "usage", "usageMetadata", "promptFeedback", "response"];

/// Returns the error that an object contains. The error may be the member `error`, an object with `"object": "error"`,
/// or an object with only a message. Returns `None` for a part of an answer.
pub(super) fn error_in(value: &Value) -> Option<ProviderError> {
    if let Some(error) = value.get("error").filter(|error| !is_absent(error)) {
        return Some(error_of(error, value));
    }
    let bare = || {
        let part = ANSWER_MEMBERS.iter().any(|name| value.get(name).is_some());
        !part && TEXTS.iter().any(|name| value[*name].is_string() || value[*name].is_array())
    };
    (value["object"] == "error" || bare()).then(|| error_of(value, value))
}

/// Returns true if the value of a member `error` states that there is no error.
fn is_absent(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Returns the error in an object or a text. `whole` is all data that the server sent with the error, because its code
/// may be outside of `error`.
pub(super) fn error_of(error: &Value, whole: &Value) -> ProviderError {
    let text = match error {
        Value::String(text) => text.clone(),
        error => TEXTS
            .iter()
            .find_map(|name| error[*name].as_str())
            .map_or_else(|| error.to_string(), str::to_owned),
    };
    let code = [error, whole]
        .into_iter()
        .flat_map(|place| CODES.iter().map(move |name| &place[*name]))
        .find_map(status);
    let all = if error.is_object() { error.to_string() } else { text.clone() };
    let failure = match code {
        Some(status) => ProviderError::from_status(status, all),
        None => ProviderError::from_text(all),
    };
    ProviderError { text: if text.len() > MAX_TEXT { excerpt(&text) } else { text }, ..failure }
}

/// Returns the error in a JSON text: an object, or a list with only that object.
pub(crate) fn error_in_json(text: &str) -> Option<ProviderError> {
    error_in(&unwrap_single(agentese::wire::decode(text).ok()?))
}

/// Returns the failure for a text that arrived instead of an answer. If the text is JSON, its error is used, else the
/// text itself.
pub(crate) fn error_in_text(text: &str) -> ProviderError {
    match agentese::wire::decode::<Value>(text).map(unwrap_single) {
        Ok(value) => error_in(&value).unwrap_or_else(|| error_of(&value, &value)),
        Err(_) => {
            let text = excerpt(text);
            // A gateway reports that it cannot reach its server: the same request may succeed later.
            let kind = match ProviderErrorKind::from_text(&text) {
                ProviderErrorKind::BadRequest => ProviderErrorKind::Network,
                kind => kind,
            };
            ProviderError::new(kind, text)
        }
    }
}

/// Returns the only item of a list. Returns any other value unchanged.
pub(super) fn unwrap_single(value: Value) -> Value {
    match value {
        Value::Array(mut list) if list.len() == 1 => list.remove(0),
        value => value,
    }
}

fn status(code: &Value) -> Option<u16> {
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_found_in_any_shape_and_a_part_of_an_answer_is_none() {
        use ProviderErrorKind::{BadRequest, Overflow, Overloaded, RateLimited};
        for (value, kind, text) in [
            (json!({"error": {"message": "slow down", "code": 429}}), RateLimited, "slow down"),
            (json!({"error": "plain"}), BadRequest, "plain"),
            (json!({"error": {"type": "overloaded_error"}}), Overloaded, r#"{"type":"overloaded_error"}"#),
            (
                json!({"object": "error", "message": "no such model", "code": 404}),
                BadRequest,
                "no such model",
            ),
            (json!({"message": "Too many requests", "status": "429"}), RateLimited, "Too many requests"),
            (json!({"detail": "the server is overloaded"}), Overloaded, "the server is overloaded"),
            (
                json!({"code": 400, "message": "the request exceeds the available context size", "type": "x"}),
                Overflow,
                "",
            ),
        ] {
            let found = error_in(&value).map(|failure| (failure.kind, failure.text));
            // The last has a type, as parts of answers have.
            let expected = (!text.is_empty()).then(|| (kind, text.to_owned()));
            assert_eq!(found, expected, "{value}");
        }
        for part in [
            json!({"choices": [], "message": "hm"}),
            json!({"type": "ping"}),
            json!({}),
            json!({"error": null}),
        ] {
            assert_eq!(error_in(&part), None, "{part}");
        }
    }

    #[test]
    fn an_error_in_a_body_without_events_is_reported() {
        for (body, kind, text) in [
            (
                "upstream connect error or disconnect",
                ProviderErrorKind::Network,
                "upstream connect error or disconnect",
            ),
            (
                r#"[{"error":{"code":503,"message":"The model is overloaded."}}]"#,
                ProviderErrorKind::Overloaded,
                "The model is overloaded.",
            ),
            (
                r#"{"type":"x","code":400,"message":"the request exceeds the available context size"}"#,
                ProviderErrorKind::Overflow,
                "the request exceeds the available context size",
            ),
        ] {
            let failure = error_in_text(body);
            assert_eq!((failure.kind, failure.text.as_str()), (kind, text));
        }
    }
}
