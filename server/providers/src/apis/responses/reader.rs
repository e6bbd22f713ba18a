//! Conversion of the events of a response to stream events.

use serde_json::{Value, json};

use super::super::api::Reader;
use super::super::block_sequencer::{BlockPart, BlockSequencer, BlockStart};
use super::super::content::{arguments, parts};
use super::super::stream_event_builder::{StreamEventBuilder, token_count};
use super::super::verbatim::{items, member};
use crate::{FinishReason, ProviderError, ProviderErrorKind, TokenCounts};

/// Separator between the id of a call and the id of its item: the API has both, and a neutral tool call has one.
pub(super) const ID_SEPARATOR: char = '|';

/// The number of an item in the order in which items began.
type Number = usize;

/// The state of a response.
#[derive(Debug, Default)]
pub(super) struct ResponseReader {
    sequencer: BlockSequencer<Number>,
    items: Vec<Item>,
}

/// An item, kept after its end.
#[derive(Debug)]
struct Item {
    /// Index of the item in the output, if the host sends it.
    output_index: Option<u64>,
    id: String,
    /// Id of a call, which stays the same if hosts change the item's id.
    call_id: String,
    /// `true` if any of the content has arrived; if not, the end of the item has all of it.
    has_content: bool,
    ended: bool,
}

impl Reader for ResponseReader {
    fn event(&mut self, data: &str, builder: &mut StreamEventBuilder) {
        if data == "[DONE]" {
            return;
        }
        let Some(event) = builder.json(data) else { return };
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.added" => {
                self.open(&event, builder);
            }
            "response.reasoning_summary_part.added" => {
                if let Some(number) =
                    self.item_of(&event, builder).filter(|number| self.items[*number].has_content)
                {
                    self.sequencer.push(&number, BlockPart::Thinking("\n\n".to_owned()), builder);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.grow(&event, BlockStart::Thinking(None), builder);
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                self.grow(&event, BlockStart::Text, builder)
            }
            "response.function_call_arguments.delta" => {
                if let (Some(number), Some(text)) =
                    (self.item_of(&event, builder), arguments(&event["delta"]))
                {
                    self.items[number].has_content = true;
                    self.sequencer.push(&number, BlockPart::Arguments(text), builder);
                }
            }
            "response.function_call_arguments.done" => {
                if let Some(number) = self.item_of(&event, builder) {
                    self.complete(number, &event["arguments"], builder);
                }
            }
            "response.output_item.done" => {
                let raw = member(data, "item");
                self.close(&event, raw, builder);
            }
            "response.completed" | "response.incomplete" => {
                // A host may send the items only with the response.
                if self.items.is_empty() {
                    let output = member(data, "response").and_then(|response| member(response, "output"));
                    let raw = output.map(items).unwrap_or_default();
                    for (index, item) in
                        event["response"]["output"].as_array().into_iter().flatten().enumerate()
                    {
                        self.close(&json!({"item": item}), raw.get(index).copied(), builder);
                    }
                }
                self.sequencer.end_all(builder);
                finish(&event["response"], builder);
            }
            "response.failed" | "response.cancelled" => builder.fail(failed(&event["response"]["error"])),
            "error" => {
                // The fields are in the event itself, or in a separate object.
                let error = if event["error"].is_object() { &event["error"] } else { &event };
                builder.fail(failed(error));
            }
            // Progress, or an event that is newer than this version.
            _ => {}
        }
    }

    fn end(&mut self, builder: &mut StreamEventBuilder) {
        builder.cut_off();
    }
}

impl ResponseReader {
    /// Returns the open item to which an event belongs. The event names the item by an index in the output or
    /// by an id; without both, the newest item is meant. Returns `None` if the item was never announced or
    /// has ended.
    fn item_of(&mut self, event: &Value, builder: &mut StreamEventBuilder) -> Option<Number> {
        let (index, id) = (event["output_index"].as_u64(), event["item_id"].as_str());
        if let Some(known) = self.find_item(index, id) {
            return Some(known).filter(|number| !self.items[*number].ended);
        }
        let youngest = self.items.len().checked_sub(1)?;
        if index.is_some() && self.items[youngest].output_index.is_some() {
            return None;
        }
        // Parts without a slot belong to the newest item; older items receive no more.
        for number in 0..youngest {
            self.end(number, builder);
        }
        Some(youngest).filter(|number| !self.items[*number].ended)
    }

    /// Returns the item with the given index or, if the event has no index, with the given id.
    fn find_item(&self, index: Option<u64>, id: Option<&str>) -> Option<Number> {
        self.items.iter().rposition(|item| match index {
            Some(_) if item.output_index.is_some() => item.output_index == index,
            _ => id.is_some_and(|id| !id.is_empty() && item.id == id),
        })
    }

    fn end(&mut self, number: Number, builder: &mut StreamEventBuilder) {
        self.items[number].ended = true;
        self.sequencer.end(&number, builder);
    }

    /// Adds text or reasoning to its item, or to a new one if the host has announced no item of the given
    /// kind.
    fn grow(&mut self, event: &Value, start: BlockStart, builder: &mut StreamEventBuilder) {
        let thinks = matches!(start, BlockStart::Thinking(_));
        let found = self.item_of(event, builder).filter(|number| self.sequencer.is_same_kind(number, &start));
        let number = found.unwrap_or_else(|| {
            let kind = if thinks { "reasoning" } else { "message" };
            let item = json!({"type": kind, "id": event["item_id"]});
            self.open(&json!({"item": item, "output_index": event["output_index"]}), builder)
        });
        let Some(item) = self.items.get_mut(number) else { return };
        item.has_content = true;
        for part in parts(&event["delta"]) {
            let part = match part {
                BlockPart::Text(text) if thinks => BlockPart::Thinking(text),
                part => part,
            };
            self.sequencer.push(&number, part, builder);
        }
    }

    /// Returns the item that an event ends; `None` for an item that arrives only when complete. Some hosts change the
    /// id of an item at its end. Then a call is found by its call id, and text or reasoning as the newest item.
    fn ended_by(&self, event: &Value) -> Option<Number> {
        let item = &event["item"];
        let (index, id) = (event["output_index"].as_u64(), item["id"].as_str());
        if let Some(known) = self.find_item(index, id) {
            return Some(known);
        }
        let start = opening_of(item)?;
        if matches!(start, BlockStart::Call { .. }) {
            let call = item["call_id"].as_str().filter(|call| !call.is_empty())?;
            let free = |item: &Item| index.is_none() || item.output_index.is_none();
            return self.items.iter().rposition(|item| item.call_id == call && free(item));
        }
        let youngest = self.items.len().checked_sub(1)?;
        let free = index.is_none() || self.items[youngest].output_index.is_none();
        (free && self.sequencer.is_same_kind(&youngest, &start)).then_some(youngest)
    }

    /// Adds the part of a call's arguments that has not arrived. `whole` contains all arguments.
    fn complete(&mut self, number: Number, whole: &Value, builder: &mut StreamEventBuilder) {
        let whole = arguments(whole).unwrap_or_default();
        self.items[number].has_content |= self.sequencer.complete(&number, &whole, builder);
    }

    fn open(&mut self, event: &Value, builder: &mut StreamEventBuilder) -> Number {
        let item = &event["item"];
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        let start = opening_of(item);
        let number = self.items.len();
        let index = event["output_index"].as_u64();
        let ended = start.is_none();
        if !builder.reserve(size_of::<Item>()) {
            return number;
        }
        let (id, call_id) = (text("id").to_owned(), text("call_id").to_owned());
        self.items.push(Item { output_index: index, id, call_id, has_content: false, ended });
        if let Some(start) = start {
            self.sequencer.open(number, start, builder);
        }
        number
    }

    /// Ends an item; `raw` is its unchanged JSON text.
    fn close(&mut self, event: &Value, raw: Option<&str>, builder: &mut StreamEventBuilder) {
        let item = &event["item"];
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        // A host may send an item only when it is complete.
        let number = self.ended_by(event).unwrap_or_else(|| self.open(event, builder));
        let Some(found) = self.items.get(number).filter(|item| !item.ended) else { return };
        let (has_content, id) = (found.has_content, found.id.clone());
        let join = |list: &Value, member: &str, separator: &str| {
            let parts = list.as_array().into_iter().flatten().filter_map(|part| part[member].as_str());
            Some(parts.collect::<Vec<_>>().join(separator)).filter(|text| !text.is_empty())
        };
        match text("type") {
            "reasoning" => {
                if let Some(summary) = join(&item["summary"], "text", "\n\n").filter(|_| !has_content) {
                    self.sequencer.push(&number, BlockPart::Thinking(summary), builder);
                }
                let whole = raw.map_or_else(|| item.to_string(), str::to_owned);
                self.sequencer.push(&number, BlockPart::Signature(whole), builder);
            }
            "message" => {
                for member in ["text", "refusal"] {
                    if let Some(whole) = join(&item["content"], member, "").filter(|_| !has_content) {
                        self.sequencer.push(&number, BlockPart::Text(whole), builder);
                    }
                }
                let mark = match item["phase"].as_str() {
                    Some(phase) => json!({"v": 1, "id": id, "phase": phase}).to_string(),
                    None => id,
                };
                self.sequencer.push(&number, BlockPart::Signature(mark), builder);
            }
            _ => self.complete(number, &item["arguments"], builder),
        }
        self.end(number, builder);
    }
}

/// Returns the block that an item opens; `None` for an unsupported kind.
fn opening_of(item: &Value) -> Option<BlockStart> {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    match text("type") {
        "reasoning" => Some(BlockStart::Thinking(None)),
        "message" => Some(BlockStart::Text),
        "function_call" => {
            let (call, id) = (text("call_id"), text("id"));
            let id = if id.is_empty() { call.to_owned() } else { format!("{call}{ID_SEPARATOR}{id}") };
            Some(BlockStart::Call { id, name: text("name").to_owned() })
        }
        _ => None,
    }
}

fn finish(response: &Value, builder: &mut StreamEventBuilder) {
    let usage = &response["usage"];
    let number = |value: &Value| token_count(value).unwrap_or_default();
    builder.id(&response["id"]);
    let cached = number(&usage["input_tokens_details"]["cached_tokens"]);
    builder.usage(TokenCounts {
        input: number(&usage["input_tokens"]).saturating_sub(cached),
        output: number(&usage["output_tokens"]),
        cache_read: cached,
        cache_write: 0,
        cache_write_hour: None,
        reasoning: Some(number(&usage["output_tokens_details"]["reasoning_tokens"])),
    });
    builder.raw_stop_reason(&response["status"]);
    match response["status"].as_str() {
        Some("incomplete") if response["incomplete_details"]["reason"] == "content_filter" => {
            let text = "The answer was held back by the provider's content filter.";
            builder.fail(ProviderError::new(ProviderErrorKind::Refused, text));
        }
        Some("incomplete") => builder.done(FinishReason::Length),
        Some("failed" | "cancelled") => builder.fail(failed(&response["error"])),
        Some("completed" | "in_progress" | "queued") | None => {
            builder.done(if builder.has_call() { FinishReason::ToolUse } else { FinishReason::Stop });
        }
        Some(status) => builder.unhandled_stop(status),
    }
}

/// Returns the failure for an error that the provider reports, with its code and message.
fn failed(error: &Value) -> ProviderError {
    let message =
        error["message"].as_str().unwrap_or("The provider reported a failed response without a reason.");
    match &error["code"] {
        Value::String(code) if !code.is_empty() => ProviderError::from_text(format!("{code}: {message}")),
        _ => ProviderError::from_text(message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Responses;
    use super::*;
    use crate::apis::testing::{check_cuts, outline};

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
    fn a_response_is_emitted_item_by_item() {
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
    fn the_status_decides_the_end_of_a_response() {
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
            let events = [done(json!({"type": "message", "id": "m", "content": [{"text": "x"}]})), event];
            assert_eq!(outline(&Responses, &body(&events)).last().unwrap(), last);
        }
        let empty = outline(&Responses, &body(&[completed("completed", json!({}))]));
        assert_eq!(empty.last().unwrap(), "Protocol The provider's answer has no content.");
    }

    /// Returns an event of the item at the given index.
    fn at(index: u64, mut event: Value) -> Value {
        event["output_index"] = index.into();
        event
    }

    fn call(number: u64, arguments: &str) -> Value {
        json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": format!("c{number}"), "name": "bash",
               "arguments": arguments})
    }

    #[test]
    fn items_are_assembled_by_slot_despite_events_between() {
        let args = |text: &str| delta("function_call_arguments", text);
        let by = |number: u64, mut event: Value| {
            event["item_id"] = format!("fc_{number}").into();
            event
        };
        let by_place = vec![
            at(0, added(call(0, ""))),
            at(1, added(call(1, ""))),
            at(0, args("{\"x\":")),
            at(1, args("{}")),
            at(0, args("0}")),
            at(0, done(call(0, "{\"x\":0}"))),
            at(1, done(call(1, "{}"))),
        ];
        let by_id = vec![
            added(call(0, "")),
            added(call(1, "")),
            by(0, args("{\"x\":")),
            by(1, args("{}")),
            by(0, args("0}")),
            done(call(1, "{}")),
            done(call(0, "{\"x\":0}")),
        ];
        // A host whose ids differ from event to event.
        let mut odd_ids = by_place.clone();
        odd_ids[5]["item"]["id"] = "fc_x".into();
        odd_ids[6]["item"]["id"] = "fc_y".into();
        let whole = vec![
            at(0, added(call(0, ""))),
            at(1, added(call(1, ""))),
            at(1, json!({"type": "response.function_call_arguments.done", "arguments": "{}"})),
            at(0, json!({"type": "response.function_call_arguments.done", "arguments": "{\"x\":0}"})),
        ];
        for events in [by_place, by_id, odd_ids, whole] {
            let lines =
                outline(&Responses, &body(&[events, vec![completed("completed", json!({}))]].concat()));
            let (mut found, mut open) = (Vec::<String>::new(), false);
            for line in lines.iter().take_while(|line| !line.starts_with("usage")) {
                match line.strip_prefix("call ") {
                    Some(call) => (found.push(call.to_owned()), open = true).0,
                    None if line == ")" => open = false,
                    None if open => found.last_mut().unwrap().push_str(line),
                    None => {}
                }
            }
            assert_eq!(found, ["c0|fc_0 bash({\"x\":0}", "c1|fc_1 bash({}"], "{lines:?}");
            assert_eq!(lines.last().unwrap(), "done ToolUse");
        }
    }

    #[test]
    fn an_end_with_another_id_and_no_place_ends_the_item_that_it_is_about() {
        let renamed = |mut item: Value, id: &str| {
            item["id"] = id.into();
            item
        };
        let calls = [
            added(call(0, "")),
            delta("function_call_arguments", "{\"x\":"),
            done(renamed(call(0, "{\"x\":0}"), "other")),
            // The same call once more, with yet another id.
            done(renamed(call(0, "{\"x\":0}"), "third")),
            done(renamed(call(1, "{}"), "fourth")),
            completed("completed", json!({})),
        ];
        let lines = outline(&Responses, &body(&calls));
        assert_eq!(
            lines[..7],
            ["call c0|fc_0 bash(", "{\"x\":", "0}", ")", "call c1|fourth bash(", "{}", ")"],
            "{lines:?}"
        );
        assert_eq!(lines.last().unwrap(), "done ToolUse");
        for (kind, piece, content) in
            [("message", "output_text", "content"), ("reasoning", "reasoning_summary_text", "summary")]
        {
            let mut whole = json!({"type": kind, "id": "m2"});
            whole[content] = json!([{"text": "Hello"}]);
            let events = [
                added(json!({"type": kind, "id": "m1"})),
                delta(piece, "Hello"),
                done(whole),
                completed("completed", json!({})),
            ];
            let lines = outline(&Responses, &body(&events));
            assert_eq!(lines.iter().filter(|line| *line == "Hello").count(), 1, "{lines:?}");
        }
    }

    #[test]
    fn text_of_an_item_that_was_not_announced_is_text_and_no_part_of_a_call() {
        let text = [delta("output_text", "hi"), completed("completed", json!({}))];
        assert_eq!(outline(&Responses, &body(&text))[..3], ["text(", "hi", ")"]);
        let other_item = at(1, delta("function_call_arguments", "{\"x\":1}"));
        let events = [
            at(0, added(call(0, ""))),
            other_item,
            at(2, delta("output_text", "hi")),
            at(0, delta("function_call_arguments", "{\"x\":0}")),
            at(0, done(call(0, "{\"x\":0}"))),
            completed("completed", json!({})),
        ];
        let lines = outline(&Responses, &body(&events));
        assert_eq!(lines[..6], ["call c0|fc_0 bash(", "{\"x\":0}", ")", "text(", "hi", ")"], "{lines:?}");
    }

    #[test]
    fn items_that_arrive_with_the_end_are_emitted() {
        let output = json!([{"type": "message", "id": "m", "content": [{"text": "hi"}]}, call(0, "{}")]);
        let lines = outline(&Responses, &body(&[completed("completed", json!({"output": output}))]));
        assert_eq!(lines[..7], ["text(", "hi", "signed m", ")", "call c0|fc_0 bash(", "{}", ")"]);
    }

    #[test]
    fn an_error_in_the_stream_has_its_text_in_any_shape() {
        for (body, last) in [
            ("event: error\ndata: {\"message\":\"Overloaded\"}\n\n", "Overloaded Overloaded"),
            ("data: {\"error\":{\"message\":\"slow\",\"code\":429}}\n\n", "RateLimited slow"),
            ("data: {\"object\":\"error\",\"message\":\"no such model\"}\n\n", "BadRequest no such model"),
            ("error: {\"code\":400,\"message\":\"prompt is too long\"}\n\n", "Overflow prompt is too long"),
            ("no healthy upstream", "Network no healthy upstream"),
        ] {
            assert_eq!(outline(&Responses, body).last().unwrap(), last, "{body}");
        }
    }

    #[test]
    fn complete_items_are_emitted_at_once() {
        let events = [
            done(json!({"type": "reasoning", "id": "r", "summary": [{"text": "a"}, {"text": "b"}]})),
            done(
                json!({"type": "message", "id": "m", "phase": "final", "content": [{"text": "hi"}, {"refusal": "no"}]}),
            ),
        ];
        let lines = outline(&Responses, &body(&events));
        assert_eq!(lines[1], "a\n\nb");
        assert_eq!(lines[5..8], ["hi", "no", r#"signed {"v":1,"id":"m","phase":"final"}"#]);
    }
}
