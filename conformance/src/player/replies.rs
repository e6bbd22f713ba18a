//! Answers of the client to requests of the agent: those of a step, and automatic ones.

use std::sync::Arc;

use agentese::types::AutomaticReply;
use serde_json::{Map, Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::PlayError;
use super::input::AgentInput;
use crate::matching::{Pattern, path};
use crate::recording::Recorder;
use crate::variables::Variables;

/// Member of an object that stands for a value of the request.
const FROM: &str = "$from";

/// An automatic reply, with its parsed pattern.
pub(super) struct PreparedReply {
    to: Pattern,
    reply: Option<Value>,
}

/// Parses the patterns of automatic replies.
///
/// # Errors
/// If a pattern is invalid.
pub(super) fn prepare(replies: &[AutomaticReply]) -> Result<Vec<PreparedReply>, PlayError> {
    let prepared = replies.iter().enumerate().map(|(at, reply)| {
        let to = Pattern::new(&reply.to)
            .map_err(|source| PlayError::Pattern { place: format!("automatic reply {at}"), source })?;
        Ok(PreparedReply { to, reply: reply.reply.clone() })
    });
    prepared.collect()
}

/// Returns the answer to a request as a line: the members of the reply with the id of the request. Returns `None`
/// if the frame is not a request.
pub(super) fn answer_line(request: &Value, reply: &Value) -> Option<String> {
    let id = request.get("id").filter(|_| request.get("method").is_some())?;
    let mut answer = Map::from_iter([("jsonrpc".to_owned(), json!("2.0")), ("id".to_owned(), id.clone())]);
    if let Value::Object(members) = filled(reply, request) {
        answer.extend(members);
    }
    Some(format!("{}\n", Value::Object(answer)))
}

/// Copies a value. Replaces each object `{"$from": [path, …]}` by the first value that the request has.
fn filled(value: &Value, request: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get(FROM).and_then(Value::as_array) {
            Some(paths) => {
                let mut found = paths.iter().filter_map(|at| path::get(request, at.as_str()?));
                found.next().cloned().unwrap_or_default()
            }
            None => Value::Object(
                members.iter().map(|(name, value)| (name.clone(), filled(value, request))).collect(),
            ),
        },
        Value::Array(items) => items.iter().map(|item| filled(item, request)).collect(),
        other => other.clone(),
    }
}

/// Task that answers the agent's requests. Dropping it ends the task.
pub(super) struct Responder {
    _stop: DropGuard,
}

impl Responder {
    /// Starts to answer the requests that arrive from now on.
    pub(super) fn start(
        replies: &Arc<Vec<PreparedReply>>,
        variables: &Variables,
        input: Arc<AgentInput>,
        recorder: Arc<Recorder>,
    ) -> Self {
        let stop = CancellationToken::new();
        let (replies, variables, token) = (replies.clone(), variables.clone(), stop.clone());
        if !replies.is_empty() {
            tokio::spawn(async move {
                tokio::select! {
                    () = token.cancelled() => {}
                    () = respond(&replies, &variables, &input, &recorder) => {}
                }
            });
        }
        Self { _stop: stop.drop_guard() }
    }
}

/// Answers requests until the agent's output ends.
async fn respond(replies: &[PreparedReply], variables: &Variables, input: &AgentInput, recorder: &Recorder) {
    let mut changes = recorder.changes();
    let mut from = recorder.progress().0;
    loop {
        let goes_on = recorder.progress().1;
        while let Some((at, request)) = recorder.find(from, is_request) {
            from = at + 1;
            let reply = replies.iter().find(|reply| reply.to.fits(&request));
            let line = reply.and_then(|reply| answer_line(&request, &variables.value(reply.reply.as_ref()?)));
            if let Some(line) = line {
                // A write that fails is recorded, and ends neither the case nor this task.
                let _ = input.write(&line).await;
            }
        }
        if !goes_on {
            return;
        }
        // The recorder lives as long as this receiver.
        let _ = changes.changed().await;
    }
}

fn is_request(frame: &Value) -> bool {
    frame.get("id").is_some() && frame.get("method").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_id_and_values_of_its_request() {
        let request = json!({"id": 7, "method": "ask", "params": {"options": [
            {"optionId": "no", "kind": "reject_once"}, {"optionId": "yes", "kind": "allow_once"},
        ]}});
        let chosen = |paths: Value| {
            answer_line(&request, &json!({"result": {"optionId": {"$from": paths}}}))
                .map(|line| serde_json::from_str::<Value>(&line).unwrap())
        };
        let answer = |option: Value| Some(json!({"jsonrpc": "2.0", "id": 7, "result": {"optionId": option}}));
        let by_kind =
            json!(["params.options.kind=allow_always.optionId", "params.options.kind=allow_once.optionId"]);
        assert_eq!(chosen(by_kind), answer(json!("yes")));
        assert_eq!(chosen(json!(["params.options.0.optionId"])), answer(json!("no")));
        assert_eq!(chosen(json!(["params.nothing"])), answer(Value::Null));
        assert_eq!(answer_line(&json!({"method": "tell"}), &json!({"result": {}})), None);
        assert_eq!(answer_line(&json!({"id": 7, "result": {}}), &json!({"result": {}})), None);
    }
}
