//! Check of the exchange of requests and answers, for protocols with JSON-RPC.

use agentese::spec::Framing;
use agentese::types::CheckLevel;
use serde_json::Value;

use super::wrong_line;
use crate::Transcript;
use crate::decode::protocol;
use crate::transcript::Record;
use crate::verdict::{Finding, Outcome};

/// The only version of JSON-RPC.
const VERSION: &str = "2.0";

/// Checks the agent's frames: they have the version, an answer has either a result or an error and repeats the id of
/// an unanswered request, and requests have ids of their own. Returns `None` for dialects, for which the comparison
/// with a golden transcript includes this.
pub(super) fn exchange(dialect: &str, observed: &Transcript) -> Option<Finding> {
    let spec = protocol(dialect)?;
    if !matches!(spec.framing, Framing::JsonRpc { .. }) {
        return None;
    }
    let mut open = OpenRequests::default();
    let fault = observed.records.iter().enumerate().find_map(|(at, record)| match record {
        Record::Sent(line) => {
            open.sent(line.as_str());
            None
        }
        Record::Received(line) => {
            let frame = serde_json::from_str(line.as_str()).ok()?;
            open.fault(&frame).map(|fault| (at, fault))
        }
        Record::Control(control) => {
            if control.event == "exited" {
                open = OpenRequests::default();
            }
            None
        }
    });
    let outcome = fault.map_or(Outcome::Held, |(at, fault)| wrong_line(observed, at, fault));
    Some(Finding { check: "exchange".to_owned(), level: CheckLevel::Must, outcome })
}

/// The requests of both sides that are unanswered.
#[derive(Default)]
struct OpenRequests {
    of_client: Vec<Value>,
    of_agent: Vec<Value>,
    /// Number of lines of the client that are not a single request, notification or answer. Each may lead to an error
    /// with the id null.
    unreadable: usize,
    /// Beginning of a line that the client has not finished yet.
    partial: String,
}

impl OpenRequests {
    fn sent(&mut self, line: &str) {
        let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
        let whole = std::mem::take(&mut self.partial) + line;
        match parse(line).or_else(|| parse(&whole)) {
            Some(Value::Array(frames)) => {
                self.unreadable += frames.len().max(1);
                frames.iter().for_each(|frame| self.sent_frame(frame));
            }
            Some(frame @ Value::Object(_)) => self.sent_frame(&frame),
            Some(_) => self.unreadable += 1,
            None => {
                self.unreadable += 1;
                self.partial = whole;
            }
        }
    }

    fn sent_frame(&mut self, frame: &Value) {
        let id = frame.get("id");
        match id.filter(|id| !id.is_null()) {
            Some(id) if frame["method"].is_string() => self.of_client.push(id.clone()),
            Some(id) if frame.get("result").or(frame.get("error")).is_some() => {
                self.of_agent.retain(|open| open != id);
            }
            // An invalid request, or one with the id null: the agent may answer it in either way.
            _ if frame.get("method").is_none_or(|method| !method.is_string()) || id.is_some() => {
                self.unreadable += 1;
                self.of_client.extend(id.cloned());
            }
            _ if frame["jsonrpc"] != VERSION => self.unreadable += 1,
            _ => {}
        }
    }

    /// Returns the fault of a frame of the agent.
    fn fault(&mut self, frame: &Value) -> Option<String> {
        if frame["jsonrpc"] != VERSION {
            return Some(format!("`jsonrpc` is {}, not \"{VERSION}\"", frame["jsonrpc"]));
        }
        let id = frame.get("id");
        if let Some(method) = frame.get("method") {
            let id = id?;
            if self.of_agent.contains(id) {
                return Some(format!("the request {method} has the id {id} of another unanswered request"));
            }
            self.of_agent.push(id.clone());
            return None;
        }
        self.answer_fault(frame, id)
    }

    fn answer_fault(&mut self, frame: &Value, id: Option<&Value>) -> Option<String> {
        if frame.get("result").is_some() == frame.get("error").is_some() {
            return Some("an answer has either `result` or `error`".to_owned());
        }
        let Some(id) = id else { return Some("`id` of an answer is missing".to_owned()) };
        if let Some(at) = self.of_client.iter().position(|open| open == id) {
            self.of_client.remove(at);
            return None;
        }
        if id.is_null() && frame.get("error").is_some() && self.unreadable > 0 {
            self.unreadable -= 1;
            return None;
        }
        Some(format!("no unanswered request has the `id` {id} of this answer"))
    }
}

#[cfg(test)]
mod tests {
    use agentese::types::TranscriptHeader;
    use serde_json::json;

    use super::*;

    fn outcome(lines: &[(bool, Value)]) -> Result<(), String> {
        let records = lines.iter().map(|(is_sent, line)| match is_sent {
            true => Record::Sent(line.to_string().into()),
            false => Record::Received(line.to_string().into()),
        });
        let transcript = Transcript { header: TranscriptHeader::new(1, "a"), records: records.collect() };
        match exchange("acp@1", &transcript).unwrap().outcome {
            Outcome::Failed(mismatch) => Err(mismatch.message),
            _ => Ok(()),
        }
    }

    #[test]
    fn each_answer_belongs_to_one_request() {
        let ask = |id: Value| (true, json!({"jsonrpc": "2.0", "id": id, "method": "m"}));
        let done = |id: Value| (false, json!({"jsonrpc": "2.0", "id": id, "result": null}));
        let failed = |id: Value| (false, json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1}}));
        let asked = |id: Value| (false, json!({"jsonrpc": "2.0", "id": id, "method": "q"}));
        let replied = |id: Value| (true, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        let tell = (true, json!({"jsonrpc": "2.0", "method": "m"}));
        for good in [
            vec![
                ask(json!(1)),
                ask(json!("1")),
                done(json!("1")),
                failed(json!(1)),
                ask(json!(1)),
                done(json!(1)),
            ],
            vec![asked(json!(1)), ask(json!(1)), replied(json!(1)), asked(json!(1)), done(json!(1))],
            vec![(true, json!([])), failed(Value::Null)],
            vec![(true, json!("text")), failed(Value::Null), ask(json!(1)), done(json!(1))],
            vec![(true, json!({"id": 5})), failed(Value::Null)],
            vec![(true, json!({"id": 5})), failed(json!(5))],
        ] {
            assert_eq!(outcome(&good), Ok(()), "{good:?}");
        }
        for (bad, part) in [
            (vec![ask(json!(1)), done(json!("1"))], "no unanswered request has the `id` \"1\""),
            (vec![ask(json!(1)), done(json!(1)), done(json!(1))], "no unanswered request"),
            (vec![tell.clone(), failed(Value::Null)], "no unanswered request has the `id` null"),
            (vec![asked(json!(1)), asked(json!(1))], "id 1 of another unanswered request"),
            (vec![ask(json!(1)), (false, json!({"id": 1, "result": 1}))], "`jsonrpc` is null"),
            (vec![ask(json!(1)), (false, json!({"jsonrpc": "2.0", "id": 1}))], "either `result` or `error`"),
            (
                vec![ask(json!(1)), (false, json!({"jsonrpc": "2.0", "result": 1}))],
                "`id` of an answer is missing",
            ),
        ] {
            let found = outcome(&bad).unwrap_err();
            assert!(found.contains(part), "{found}");
        }
    }

    #[test]
    fn dialects_are_not_checked() {
        let transcript = Transcript { header: TranscriptHeader::new(1, "a"), records: Vec::new() };
        assert!(exchange("opal@0.1", &transcript).is_none());
    }
}
