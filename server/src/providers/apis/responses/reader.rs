//! From the events of a response to what is said.

use serde_json::{Value, json};

use super::super::said::count;
use super::super::{Reader, Said};
use super::ID_SEPARATOR;
use crate::providers::{Done, Failure, FailureKind, TokenCounts};

/// The state of a response.
#[derive(Debug, Default)]
pub(super) struct Items {
    item: Option<Item>,
}

/// The item that is open.
#[derive(Debug)]
struct Item {
    id: String,
    /// Whether anything of its content has come; if not, the item's end brings all of it.
    begun: bool,
}

impl Reader for Items {
    fn event(&mut self, data: &str, said: &mut Said) {
        if data == "[DONE]" {
            return;
        }
        let Some(event) = said.json(data) else { return };
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.added" => self.open(&event["item"], said),
            "response.reasoning_summary_part.added" if self.item.as_ref().is_some_and(|item| item.begun) => {
                said.thinking("\n\n", None);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.begin();
                said.thinking(event["delta"].as_str().unwrap_or_default(), None);
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.begin();
                said.text(event["delta"].as_str().unwrap_or_default());
            }
            "response.function_call_arguments.delta" => {
                self.begin();
                said.arguments(event["delta"].as_str().unwrap_or_default());
            }
            "response.output_item.done" => self.close(&event["item"], said),
            "response.completed" | "response.incomplete" => finish(&event["response"], said),
            "response.failed" | "response.cancelled" => said.fail(failed(&event["response"]["error"])),
            "error" => {
                // The figures stand in the event itself, or in an object of their own.
                let error = if event["error"].is_object() { &event["error"] } else { &event };
                said.fail(failed(error));
            }
            // Progress, and what is younger than this version.
            _ => {}
        }
    }

    fn end(&mut self, said: &mut Said) {
        said.cut_off();
    }
}

impl Items {
    fn begin(&mut self) {
        if let Some(item) = &mut self.item {
            item.begun = true;
        }
    }

    fn open(&mut self, item: &Value, said: &mut Said) {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        match text("type") {
            "reasoning" => said.open_thinking(),
            "message" => said.open_text(),
            "function_call" => {
                let (call, id) = (text("call_id"), text("id"));
                let id = if id.is_empty() { call.to_owned() } else { format!("{call}{ID_SEPARATOR}{id}") };
                said.call(&id, text("name"));
            }
            _ => {
                said.close();
                self.item = None;
                return;
            }
        }
        self.item = Some(Item { id: text("id").to_owned(), begun: false });
    }

    fn close(&mut self, item: &Value, said: &mut Said) {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        // A host may say an item only when it is done.
        if self.item.as_ref().is_none_or(|open| open.id != text("id")) {
            self.open(item, said);
        }
        let Some(open) = self.item.take() else { return };
        let join = |list: &Value, member: &str, separator: &str| {
            let parts = list.as_array().into_iter().flatten().filter_map(|part| part[member].as_str());
            Some(parts.collect::<Vec<_>>().join(separator)).filter(|text| !text.is_empty())
        };
        match text("type") {
            "reasoning" => {
                if let Some(summary) = join(&item["summary"], "text", "\n\n").filter(|_| !open.begun) {
                    said.thinking(&summary, None);
                }
                said.signature(&item.to_string());
            }
            "message" => {
                for member in ["text", "refusal"] {
                    if let Some(whole) = join(&item["content"], member, "").filter(|_| !open.begun) {
                        said.text(&whole);
                    }
                }
                match item["phase"].as_str() {
                    Some(phase) => {
                        said.signature(&json!({"v": 1, "id": open.id, "phase": phase}).to_string())
                    }
                    None => said.signature(&open.id),
                }
            }
            _ if !open.begun && !text("arguments").is_empty() => said.arguments(text("arguments")),
            _ => {}
        }
        said.close();
    }
}

fn finish(response: &Value, said: &mut Said) {
    let usage = &response["usage"];
    let number = |value: &Value| count(value).unwrap_or_default();
    said.id(&response["id"]);
    let cached = number(&usage["input_tokens_details"]["cached_tokens"]);
    said.usage(TokenCounts {
        input: number(&usage["input_tokens"]).saturating_sub(cached),
        output: number(&usage["output_tokens"]),
        cache_read: cached,
        cache_write: 0,
        cache_write_hour: None,
        reasoning: Some(number(&usage["output_tokens_details"]["reasoning_tokens"])),
    });
    said.stop_word(&response["status"]);
    match response["status"].as_str() {
        Some("incomplete") if response["incomplete_details"]["reason"] == "content_filter" => {
            let text = "The answer was held back by the provider's content filter.";
            said.fail(Failure::new(FailureKind::Refused, text));
        }
        Some("incomplete") => said.done(Done::Length),
        Some("failed" | "cancelled") => said.fail(failed(&response["error"])),
        Some("completed" | "in_progress" | "queued") | None => {
            said.done(if said.has_call() { Done::ToolUse } else { Done::Stop });
        }
        Some(status) => said.unhandled_stop(status),
    }
}

/// An error that the provider reports: its code and its message.
fn failed(error: &Value) -> Failure {
    let message =
        error["message"].as_str().unwrap_or("The provider says no more than that the response failed.");
    match &error["code"] {
        Value::String(code) if !code.is_empty() => Failure::from_text(format!("{code}: {message}")),
        _ => Failure::from_text(message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Responses;
    use super::*;
    use crate::providers::apis::testing::{check_cuts, outline};

    fn body(events: &[Value]) -> String {
        let event = |event: &Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        };
        events.iter().map(event).collect()
    }

    fn added(item: Value) -> Value {
        json!({"type": "response.output_item.added", "item": item})
    }

    fn done(item: Value) -> Value {
        json!({"type": "response.output_item.done", "item": item})
    }

    fn delta(kind: &str, text: &str) -> Value {
        json!({"type": format!("response.{kind}.delta"), "delta": text})
    }

    fn completed(status: &str, more: Value) -> Value {
        let mut response = json!({"status": status, "usage": {
            "input_tokens": 130, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 30}}});
        response.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"type": "response.completed", "response": response})
    }

    fn everything() -> Vec<Value> {
        let reasoning = json!({"type": "reasoning", "id": "rs_1"});
        let message = json!({"type": "message", "id": "msg_1"});
        let call =
            json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "bash", "arguments": ""});
        let whole = json!({"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "read", "arguments": "{\"path\":\"x\"}"});
        let part = json!({"type": "response.reasoning_summary_part.added"});
        vec![
            json!({"type": "response.created"}),
            added(reasoning.clone()),
            part.clone(),
            delta("reasoning_summary_text", "hm ö"),
            part,
            delta("reasoning_summary_text", "so"),
            done(reasoning),
            added(message.clone()),
            delta("output_text", "Hello"),
            done(message),
            added(call.clone()),
            delta("function_call_arguments", "{\"command\":"),
            delta("function_call_arguments", "\"ls\"}"),
            done(call),
            added(json!({"type": "web_search_call", "id": "ws"})),
            done(json!({"type": "web_search_call", "id": "ws"})),
            done(whole),
        ]
    }

    #[test]
    fn a_response_is_told_item_by_item() {
        let events = [everything(), vec![completed("completed", json!({}))]].concat();
        assert_eq!(
            outline(&Responses, &body(&events)),
            [
                "thinking(",
                "hm ö",
                "\n\n",
                "so",
                r#"signed {"type":"reasoning","id":"rs_1"}"#,
                ")",
                "text(",
                "Hello",
                "signed msg_1",
                ")",
                "call c1|fc_1 bash(",
                "{\"command\":",
                "\"ls\"}",
                ")",
                "call c2|fc_2 read(",
                "{\"path\":\"x\"}",
                ")",
                "usage 100 20 30 0",
                "done ToolUse",
            ]
        );
    }

    #[test]
    fn fm_f63_a_response_that_is_cut_anywhere_is_an_error() {
        check_cuts(&Responses, &body(&[everything(), vec![completed("completed", json!({}))]].concat()));
    }

    #[test]
    fn a_response_ends_as_its_status_says() {
        let filtered = json!({"incomplete_details": {"reason": "content_filter"}});
        let error = json!({"error": {"code": "server_error", "message": "oops"}});
        for (event, last) in [
            (completed("completed", json!({})), "done Stop"),
            (completed("incomplete", json!({})), "done Length"),
            (
                completed("incomplete", filtered),
                "Refused The answer was held back by the provider's content filter.",
            ),
            (completed("failed", error.clone()), "Server server_error: oops"),
            (json!({"type": "response.failed", "response": error}), "Server server_error: oops"),
            (
                json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}),
                "RateLimited rate_limit_exceeded: slow",
            ),
            (json!({"type": "error", "error": {"message": "Overloaded"}}), "Overloaded Overloaded"),
            (completed("novel", json!({})), "BadRequest Unhandled stop reason: novel"),
        ] {
            assert_eq!(outline(&Responses, &body(&[event])).last().unwrap(), last);
        }
    }

    #[test]
    fn items_that_come_whole_are_told_whole() {
        let events = [
            done(json!({"type": "reasoning", "id": "r", "summary": [{"text": "a"}, {"text": "b"}]})),
            done(
                json!({"type": "message", "id": "m", "phase": "final", "content": [{"text": "hi"}, {"refusal": "no"}]}),
            ),
        ];
        let told = outline(&Responses, &body(&events));
        assert_eq!(told[1], "a\n\nb");
        assert_eq!(told[5..8], ["hi", "no", r#"signed {"v":1,"id":"m","phase":"final"}"#]);
    }
}
