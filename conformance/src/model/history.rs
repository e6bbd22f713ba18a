//! Errors in the message history of a request that providers reject. The rules are the same for all APIs.

use std::collections::BTreeSet;

use agentese::types::{ModelRequest, RequestRole};

/// Returns the errors in the history of a request: calls without results, results without calls, repeated
/// ids, empty messages.
///
/// A real provider rejects such a request, and every later request of the session, since it repeats the
/// history.
pub fn history_faults(request: &ModelRequest) -> Vec<String> {
    let mut faults = Vec::new();
    // Calls without a result so far, by id, or by name if the API has no ids.
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in request.messages.iter().enumerate() {
        for result in message.results.iter().flatten() {
            if !open.remove(result.id.as_str()) {
                faults.push(format!(
                    "message {at}: the result of `{}` belongs to no call before it",
                    result.id
                ));
            }
        }
        if !open.is_empty() {
            let left: Vec<_> = std::mem::take(&mut open).into_iter().collect();
            faults.push(format!("message {at}: missing results of the calls {}", left.join(", ")));
        }
        for call in message.calls.iter().flatten() {
            let id = call.id.as_deref().unwrap_or(&call.name);
            if !open.insert(id) && call.id.is_some() {
                faults.push(format!("message {at}: two calls have the id `{id}`"));
            }
            if !call.arguments.is_object() {
                faults.push(format!("message {at}: the arguments of `{id}` are not a JSON object"));
            }
        }
        let is_empty = message.text.is_none()
            && message.thinking.is_none()
            && message.images.is_none()
            && message.calls.is_none()
            && message.results.is_none();
        if is_empty && message.role != RequestRole::User {
            faults.push(format!("message {at}: empty message"));
        }
    }
    if !open.is_empty() {
        let left: Vec<_> = open.into_iter().collect();
        faults.push(format!("the end: missing results of the calls {}", left.join(", ")));
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(messages: serde_json::Value) -> Vec<String> {
        let request = json!({
            "n": 0, "api": "anthropic-messages", "path": "/", "messages": messages, "tools": [], "options": {},
        });
        history_faults(&serde_json::from_value(request).unwrap())
    }

    #[test]
    fn a_history_with_pairs_has_no_faults() {
        let call = json!({"id": "a", "name": "ls", "arguments": {}});
        let calls = json!({"role": "assistant", "calls": [call, {"id": "b", "name": "ls", "arguments": {}}]});
        let results = json!({"role": "tool", "results": [{"id": "b", "text": ""}, {"id": "a", "text": ""}]});
        assert_eq!(faults(json!([{"role": "user", "text": "x"}, calls, results])), [""; 0]);
        // Google's API has no ids, so two calls of one tool have the same name.
        let unnamed = json!({"role": "assistant", "calls": [{"name": "ls", "arguments": {}}]});
        let result = json!({"role": "tool", "results": [{"id": "ls", "text": ""}]});
        assert_eq!(faults(json!([unnamed, result])), [""; 0]);
    }

    #[test]
    fn requests_that_a_provider_rejects_are_reported() {
        let call =
            |id: &str, arguments: serde_json::Value| json!({"id": id, "name": "ls", "arguments": arguments});
        let table = [
            (
                json!([{"role": "assistant", "calls": [call("a", json!({}))]}]),
                "the end: missing results of the calls a",
            ),
            (
                json!([{"role": "assistant", "calls": [call("a", json!({}))]}, {"role": "user", "text": "x"}]),
                "message 1: missing results of the calls a",
            ),
            (
                json!([{"role": "tool", "results": [{"id": "z", "text": ""}]}]),
                "message 0: the result of `z` belongs to no call before it",
            ),
            (
                json!([
                    {"role": "assistant", "calls": [call("a", json!("{\"cut"))]},
                    {"role": "tool", "results": [{"id": "a", "text": ""}]},
                ]),
                "message 0: the arguments of `a` are not a JSON object",
            ),
            (json!([{"role": "assistant"}]), "message 0: empty message"),
        ];
        for (messages, wanted) in table {
            assert_eq!(faults(messages), [wanted]);
        }
    }
}
