//! From the chunks of a completion to what is said.

use serde_json::Value;

use super::super::content::{arguments, parts};
use super::super::said::count;
use super::super::slots::{Opening, Part, Slots, is_whole};
use super::super::verbatim::{items, member};
use super::super::{Reader, Said, error_in};
use super::details::Details;
use super::{EXTRA, REASONING};
use crate::providers::{Done, Failure, FailureKind, TokenCounts};

/// The number of a block in the order in which blocks began.
type Number = usize;

/// The state of a completion.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    slots: Slots<Number>,
    blocks: Number,
    calls: Vec<Call>,
    /// The first block of reasoning.
    thinking: Option<Number>,
    details: Details,
    finish: Option<String>,
    /// The text and the reasoning so far: a whole message may repeat them.
    text: String,
    reasoning: String,
}

/// What the host says of a call so that its parts can be told from those of others.
#[derive(Debug)]
struct Call {
    number: Number,
    index: Option<u64>,
    id: String,
}

impl Reader for Chunks {
    fn event(&mut self, data: &str, said: &mut Said) {
        if data == "[DONE]" {
            self.complete(said, true);
            return;
        }
        let Some(chunk) = said.json(data) else { return };
        if let Some(failure) = error_in(&chunk) {
            said.fail(failure);
            return;
        }
        said.id(&chunk["id"]);
        let choice = &chunk["choices"][0];
        // Most hosts report usage at the top, some in the choice.
        for usage in [&choice["usage"], &chunk["usage"]] {
            if usage.is_object() {
                said.usage(counts(usage));
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
            said.stop_word(&choice["finish_reason"]);
        }
        // A host that does not stream a piece sends the message itself, some behind its pieces.
        let name = if choice["delta"].is_object() { "delta" } else { "message" };
        let kept = Kept::of(data, name, &choice[name]);
        match name {
            "delta" => self.piece(&choice[name], &kept, said),
            _ => self.message(&choice[name], &kept, said),
        }
    }

    fn end(&mut self, said: &mut Said) {
        self.complete(said, false);
    }
}

impl Chunks {
    fn piece(&mut self, delta: &Value, kept: &Kept<'_>, said: &mut Said) {
        // Some hosts send the end of the reasoning and the beginning of the text at once.
        if let Some((name, text)) = reasoning_of(delta) {
            self.grow(Part::Thinking(text), Some(name), said);
        }
        if let Some(details) = kept.details {
            self.details(details, said);
        }
        contents_of(delta).into_iter().for_each(|part| self.grow(part, None, said));
        for (place, part) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.call(part, kept.extra(place), said);
        }
    }

    /// Takes what a whole message has and the pieces before it had not.
    fn message(&mut self, message: &Value, kept: &Kept<'_>, said: &mut Said) {
        let (text, mut thought): (Vec<Part>, Vec<Part>) =
            contents_of(message).into_iter().partition(|part| matches!(part, Part::Text(_)));
        let reasoning = reasoning_of(message);
        let mark = reasoning.as_ref().map(|(name, _)| *name);
        thought.extend(reasoning.map(|(_, text)| Part::Thinking(text)));
        let (text, thought) = (joined(&text), joined(&thought));
        if let Some(rest) = missing(&thought, &self.reasoning) {
            self.grow(Part::Thinking(rest), mark, said);
        }
        if let Some(details) = kept.details.filter(|_| self.details.is_empty()) {
            self.details(details, said);
        }
        if let Some(rest) = missing(&text, &self.text) {
            self.grow(Part::Text(rest), None, said);
        }
        let streamed = self.calls.len();
        for (place, part) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.whole_call(place, streamed, part, kept.extra(place), said);
        }
    }

    /// Takes a call of a whole message: one of the first `streamed` calls by its place or its id, else a new one.
    fn whole_call(
        &mut self,
        place: usize,
        streamed: usize,
        part: &Value,
        extra: Option<&str>,
        said: &mut Said,
    ) {
        let before = &self.calls[..streamed];
        let is = |call: &&Call| !call.id.is_empty() && part["id"] == call.id.as_str();
        let known = before.get(place).filter(is).or_else(|| before.iter().find(is)).or(before.get(place));
        let whole = arguments(&part["function"]["arguments"]).unwrap_or_default();
        match known.map(|call| call.number) {
            Some(number) => {
                self.mark(&number, extra, said);
                self.slots.complete(&number, &whole, said);
            }
            None => {
                let number = self.begin_call(part, said);
                self.mark(&number, extra, said);
                self.slots.push(&number, Part::Arguments(whole), said);
            }
        }
    }

    fn open(&mut self, opening: Opening, said: &mut Said) -> Number {
        self.sign(said);
        self.slots.end_complete(said);
        self.blocks += 1;
        if matches!(opening, Opening::Thinking(_)) {
            self.thinking.get_or_insert(self.blocks);
        }
        self.slots.open(self.blocks, opening, said);
        self.blocks
    }

    /// Adds text or reasoning to the block that is the youngest, if it is of that kind, else to a new one.
    fn grow(&mut self, part: Part, mark: Option<&str>, said: &mut Said) {
        match &part {
            Part::Text(text) => self.text.push_str(text),
            Part::Thinking(text) => self.reasoning.push_str(text),
            _ => {}
        }
        let is_same = |opening: &Opening| {
            matches!(
                (opening, &part),
                (Opening::Text, Part::Text(_)) | (Opening::Thinking(_), Part::Thinking(_))
            )
        };
        let number = match self.slots.last().filter(|(_, opening)| is_same(opening)) {
            Some((number, _)) => *number,
            None => {
                let opening = match part {
                    Part::Thinking(_) => Opening::Thinking(mark.map(str::to_owned)),
                    _ => Opening::Text,
                };
                self.open(opening, said)
            }
        };
        self.slots.push(&number, part, said);
    }

    /// Takes a part of a call; `extra` is the JSON text of what has to go back with it.
    fn call(&mut self, part: &Value, extra: Option<&str>, said: &mut Said) {
        let function = &part["function"];
        let number = self.call_of(part).unwrap_or_else(|| self.begin_call(part, said));
        self.mark(&number, extra, said);
        let Some(text) = arguments(&function["arguments"]) else { return };
        // Some hosts repeat the whole call when it is complete.
        let before = self.slots.arguments(&number).unwrap_or_default();
        if !text.is_empty() && text == before && is_whole(before) {
            return;
        }
        let is_blank = text.trim().is_empty();
        if !self.slots.push(&number, Part::Arguments(text), said) && !is_blank {
            let text = "The provider sent a part of a tool call behind the call's complete arguments.";
            said.fail(Failure::new(FailureKind::Protocol, text));
        }
        self.slots.end_complete_before(&number, said);
    }

    /// Marks a call with what has to go back with it.
    fn mark(&mut self, number: &Number, extra: Option<&str>, said: &mut Said) {
        if let Some(extra) = extra {
            self.slots.push(number, Part::Signature(extra.to_owned()), said);
        }
    }

    fn begin_call(&mut self, part: &Value, said: &mut Said) -> Number {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&part["id"]), text(&part["function"]["name"]));
        let number = self.open(Opening::Call { id: id.clone(), name }, said);
        self.calls.push(Call { number, index: part["index"].as_u64(), id });
        number
    }

    /// The call that a part belongs to, unless it begins a new one. Hosts differ in which of id and index they send,
    /// and whether each part has them.
    fn call_of(&self, part: &Value) -> Option<Number> {
        let id = part["id"].as_str().filter(|id| !id.is_empty());
        let index = part["index"].as_u64();
        let is_named = part["function"]["name"].as_str().is_some_and(|name| !name.is_empty());
        let by_id = |call: &&Call| id.is_some_and(|id| call.id == id);
        // The index is the slot: with a name, the id of a call at another index begins a call of its own.
        let same_slot = |call: &&Call| call.index == index || call.index.is_none() || index.is_none();
        if let Some(call) = self.calls.iter().rfind(|call| by_id(call) && same_slot(call)) {
            return Some(call.number);
        }
        let at_index = |call: &&Call| call.index == index;
        let call = match index {
            Some(_) => match self.calls.iter().rfind(at_index) {
                Some(call) => call,
                None => {
                    return self.calls.iter().rfind(|call| by_id(call) && !is_named).map(|call| call.number);
                }
            },
            None => self.calls.last()?,
        };
        let begins = match id {
            // An id may come late, but another id or a name is another call.
            Some(_) => is_named || !call.id.is_empty(),
            None => is_named && self.slots.arguments(&call.number).is_some_and(is_whole),
        };
        (!begins).then_some(call.number)
    }

    /// Takes details of the reasoning. They stand at its first block; there is an empty one if no text of it has come.
    fn details(&mut self, details: &str, said: &mut Said) {
        if said.hold(details.len()) && self.details.add(details) && self.thinking.is_none() {
            self.open(Opening::Thinking(None), said);
        }
    }

    /// Marks the first block of reasoning with all details so far.
    fn sign(&mut self, said: &mut Said) {
        let Some(number) = self.thinking else { return };
        let Some(details) = self.details.take_fresh() else { return };
        if !self.slots.push(&number, Part::Signature(details.clone()), said) {
            said.thinking_signature(&details);
        }
    }

    fn complete(&mut self, said: &mut Said, marked: bool) {
        if self.finish.is_some() || marked {
            // Whatever the reason is, what the model said is complete.
            self.sign(said);
            self.slots.end_all(said);
        }
        match self.finish.as_deref() {
            Some("stop" | "end") => said.done(if said.has_call() { Done::ToolUse } else { Done::Stop }),
            Some("length") => said.done(Done::Length),
            Some("tool_calls" | "function_call") => said.done(Done::ToolUse),
            Some("content_filter") => {
                let text = "The answer was held back by the provider's content filter.";
                said.fail(Failure::new(FailureKind::Refused, text));
            }
            Some("network_error") => {
                said.fail(Failure::new(
                    FailureKind::Network,
                    "The provider lost its connection to the model.",
                ));
            }
            Some(reason) => said.unhandled_stop(reason),
            // Some hosts give no reason, but say that they are done.
            None if marked => said.done(if said.has_call() { Done::ToolUse } else { Done::Stop }),
            None => said.cut_off(),
        }
    }
}

/// The parts of a delta or a message that go back as they came, as JSON texts.
struct Kept<'a> {
    details: Option<&'a str>,
    /// Of each call.
    extras: Vec<Option<&'a str>>,
}

impl<'a> Kept<'a> {
    /// Reads them of the data of an event; `delta` is what its member of that name holds.
    fn of(data: &'a str, name: &str, delta: &Value) -> Self {
        let has_extra = delta["tool_calls"]
            .as_array()
            .is_some_and(|calls| calls.iter().any(|call| call[EXTRA].is_object()));
        let has_details = delta["reasoning_details"].is_array();
        let raw = (has_details || has_extra).then(|| member(items(member(data, "choices")?).first()?, name));
        let raw = raw.flatten();
        let calls = raw.filter(|_| has_extra).and_then(|raw| member(raw, "tool_calls")).map(items);
        let extra = |call| member(call, EXTRA).filter(|extra| extra.starts_with('{'));
        Self {
            details: raw.filter(|_| has_details).and_then(|raw| member(raw, "reasoning_details")),
            extras: calls.unwrap_or_default().into_iter().map(extra).collect(),
        }
    }

    fn extra(&self, place: usize) -> Option<&'a str> {
        self.extras.get(place).copied().flatten()
    }
}

fn contents_of(delta: &Value) -> Vec<Part> {
    ["content", "refusal"].into_iter().flat_map(|name| parts(&delta[name])).collect()
}

/// The reasoning beside the content, with the name of its member.
fn reasoning_of(delta: &Value) -> Option<(&'static str, String)> {
    REASONING.iter().find_map(|name| Some((*name, text_of(&delta[*name])?)))
}

fn joined(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) | Part::Thinking(text) => text.clone(),
        _ => String::new(),
    };
    parts.iter().map(text).collect()
}

/// Returns the rest of a whole text behind what came before. Returns `None` if there is none, or if it is another text.
fn missing(whole: &str, before: &str) -> Option<String> {
    whole.strip_prefix(before).filter(|rest| !rest.is_empty()).map(str::to_owned)
}

fn text_of(reasoning: &Value) -> Option<String> {
    let text = parts(reasoning).into_iter().filter_map(|part| match part {
        Part::Text(text) | Part::Thinking(text) => Some(text),
        _ => None,
    });
    Some(text.collect::<String>()).filter(|text| !text.is_empty())
}

/// Tokens as the API counts them: input with what came from caches, output mostly with reasoning.
fn counts(usage: &Value) -> TokenCounts {
    let number = |value: &Value| count(value).unwrap_or_default();
    let prompt = number(&usage["prompt_tokens"]);
    let completion = number(&usage["completion_tokens"]);
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
    let written = number(&usage["prompt_tokens_details"]["cache_write_tokens"]);
    let reasoning = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    // Some hosts count reasoning beside the completion; their total shows it.
    let all = prompt.saturating_add(completion).saturating_add(reasoning);
    let beside = reasoning > 0 && count(&usage["total_tokens"]) == Some(all);
    TokenCounts {
        input: prompt.saturating_sub(cached).saturating_sub(written),
        output: if beside { completion.saturating_add(reasoning) } else { completion },
        cache_read: cached,
        cache_write: written,
        cache_write_hour: None,
        reasoning: Some(reasoning),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Completions;
    use super::*;
    use crate::providers::apis::testing::{check_cuts, outline};

    fn chunk(delta: Value) -> String {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
    }

    fn end(reason: &str) -> String {
        let finish = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 130, "completion_tokens": 20, "total_tokens": 150,
                           "prompt_tokens_details": {"cached_tokens": 30}}});
        format!("data: {finish}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
    }

    fn everything() -> String {
        [
            chunk(json!({"role": "assistant", "content": ""})),
            chunk(json!({"reasoning_content": "hm ö"})),
            chunk(json!({"reasoning_content": "."})),
            chunk(json!({"content": "Hello"})),
            chunk(json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": ""}}]})),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"command\":"}}]})),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"ls\"}"}}],
                         "reasoning_details": [{"type": "reasoning.encrypted", "id": "c1", "data": "x"}]})),
            chunk(json!({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "read", "arguments": {"path": "x"}}}]})),
        ]
        .concat()
    }

    #[test]
    fn a_completion_is_told_block_by_block() {
        assert_eq!(
            outline(&Completions, &(everything() + &end("tool_calls"))),
            [
                "thinking(",
                "signed reasoning_content",
                "hm ö",
                ".",
                ")",
                "text(",
                "Hello",
                ")",
                "call c1 bash(",
                "",
                "{\"command\":",
                "\"ls\"}",
                r#"thinking signed [{"type":"reasoning.encrypted","id":"c1","data":"x"}]"#,
                ")",
                "call c2 read(",
                "{\"path\":\"x\"}",
                "usage 100 20 30 0",
                ")",
                "done ToolUse",
            ]
        );
    }

    #[test]
    fn details_of_the_reasoning_stand_at_its_first_block() {
        let detail = json!({"type": "reasoning.encrypted", "data": "x"});
        let list = json!([detail]).to_string();
        let details = |members: Value| {
            let mut delta = json!({"reasoning_details": [detail]});
            delta.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            chunk(delta)
        };
        for (body, expected) in [
            (
                details(json!({"reasoning": "hm"})),
                vec!["thinking(", "signed reasoning", "hm", &format!("signed {list}"), ")"],
            ),
            // Without any text of it, it is a block all the same.
            (
                details(json!({"content": "x"})),
                vec!["thinking(", &format!("signed {list}"), ")", "text(", "x"],
            ),
        ] {
            let told = outline(&Completions, &(body + &chunk(json!({"content": "x"})) + &end("stop")));
            assert_eq!(told[..expected.len()], expected);
            assert_eq!(told.last().unwrap(), "done Stop");
        }
        // The block has ended before they come.
        let late = chunk(json!({"reasoning": "hm"}))
            + &chunk(json!({"content": "x"}))
            + &details(json!({}))
            + &end("stop");
        assert!(outline(&Completions, &late).contains(&format!("thinking signed {list}")));
    }

    #[test]
    fn fm_f63_a_completion_that_is_cut_anywhere_is_an_error() {
        // What follows the reason to stop adds figures only; the answer is complete before it.
        let whole = everything() + "data: [DONE]\n\n";
        check_cuts(&Completions, &whole);
    }

    #[test]
    fn a_completion_ends_as_its_finish_reason_says() {
        for (reason, last) in [
            ("stop", "done Stop"),
            ("end", "done Stop"),
            ("length", "done Length"),
            ("function_call", "done ToolUse"),
            ("content_filter", "Refused The answer was held back by the provider's content filter."),
            ("network_error", "Network The provider lost its connection to the model."),
            ("error", "Server The model stopped without an answer (stop reason error)."),
            (
                "MALFORMED_FUNCTION_CALL",
                "Server The model stopped without an answer (stop reason MALFORMED_FUNCTION_CALL).",
            ),
            ("novel", "BadRequest Unhandled stop reason: novel"),
        ] {
            let body = chunk(json!({"content": "x"})) + &end(reason);
            assert_eq!(outline(&Completions, &body).last().unwrap(), last);
        }
        for empty in [
            end("stop"),
            end("tool_calls"),
            chunk(json!({"content": ""})) + &end("stop"),
            "data: [DONE]\n\n".to_owned(),
        ] {
            assert_eq!(
                outline(&Completions, &empty).last().unwrap(),
                "Protocol The provider's answer has no content."
            );
        }
        assert_eq!(outline(&Completions, &(everything() + &end("stop"))).last().unwrap(), "done ToolUse");
        assert_eq!(
            outline(&Completions, &(chunk(json!({"content": "x"})) + "data: [DONE]\n\n")).last().unwrap(),
            "done Stop"
        );
    }

    #[test]
    fn what_was_held_back_is_closed_before_the_failure_is_told() {
        let body = chunk(json!({"content": "x"})) + &end("content_filter");
        let outline = outline(&Completions, &body);
        assert_eq!(outline[..3], ["text(", "x", "usage 100 20 30 0"]);
        assert_eq!(outline[3], ")");
        assert!(outline[4].starts_with("Refused "), "{outline:?}");
    }

    #[test]
    fn calls_are_told_apart_by_what_the_host_sends() {
        let call = |part: Value| chunk(json!({"tool_calls": [part]}));
        let function = json!({"name": "bash", "arguments": "{}"});
        let with_ids = call(json!({"index": 0, "id": "a", "function": function}))
            + &call(json!({"index": 0, "id": "b", "function": function}));
        let without_ids = call(json!({"index": 0, "function": function}))
            + &call(json!({"index": 1, "function": function}));
        for body in [with_ids, without_ids] {
            let calls = outline(&Completions, &body).iter().filter(|line| line.starts_with("call ")).count();
            assert_eq!(calls, 2, "{body}");
        }
        let back = call(json!({"index": 0, "id": "a", "function": function}))
            + &call(json!({"index": 1, "id": "b", "function": function}))
            + &call(json!({"index": 0, "function": {"arguments": "more"}}));
        assert_eq!(
            outline(&Completions, &back).last().unwrap(),
            "Protocol The provider sent a part of a tool call behind the call's complete arguments."
        );
    }

    fn calls(parts: &[Value]) -> String {
        parts.iter().map(|part| chunk(json!({"tool_calls": [part]}))).collect()
    }

    /// The calls of an answer and their arguments, a line each.
    fn called(body: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut open = false;
        for line in outline(&Completions, body) {
            if let Some(call) = line.strip_prefix("call ") {
                found.push(call.to_owned());
                open = true;
            } else if line == ")" {
                open = false;
            } else if open && !line.starts_with("usage ") {
                found.last_mut().unwrap().push_str(&line);
            }
        }
        found
    }

    #[test]
    fn calls_are_put_together_by_slot_whatever_comes_between() {
        let begin = |index: u64, id: &str, text: &str| json!({"index": index, "id": id, "function": {"name": "bash", "arguments": text}});
        let more = |index: u64, text: &str| json!({"index": index, "function": {"arguments": text}});
        let alternate = calls(&[
            begin(0, "a", "{\"command\":"),
            begin(1, "b", "{\"command\":"),
            more(0, "\"one\"}"),
            more(1, "\"two\"}"),
        ]);
        let three = calls(&[
            begin(0, "a", ""),
            begin(1, "b", ""),
            begin(2, "c", "{}"),
            more(1, "{\"command\":"),
            more(0, "{\"command\":\"one\"}"),
            more(1, "\"two\"}"),
        ]);
        let text_between = |delta: Value| {
            calls(&[begin(0, "a", "{\"command\":")]) + &chunk(delta) + &calls(&[more(0, "\"one\"}")])
        };
        let (one, two) = ("a bash({\"command\":\"one\"}", "b bash({\"command\":\"two\"}");
        for (body, expected) in [
            (alternate, vec![one, two]),
            (three, vec![one, two, "c bash({}"]),
            (text_between(json!({"content": " "})), vec![one]),
            (text_between(json!({"reasoning_content": "hm"})), vec![one]),
            (text_between(json!({"content": null, "role": "assistant"})), vec![one]),
        ] {
            assert_eq!(called(&(body.clone() + &end("tool_calls"))), expected, "{body}");
            assert_eq!(outline(&Completions, &(body + &end("tool_calls"))).last().unwrap(), "done ToolUse");
        }
    }

    #[test]
    fn a_call_that_is_repeated_as_a_whole_is_one_call() {
        let part = |arguments: &str| json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": arguments}});
        let body = calls(&[part("{\"command\":"), part("\"one\"}"), part("{\"command\":\"one\"}")]);
        assert_eq!(called(&(body + &end("tool_calls"))), ["a bash({\"command\":\"one\"}"]);
    }

    #[test]
    fn calls_with_one_id_at_two_indexes_are_two_calls() {
        let begin = |index: u64, text: &str| json!({"index": index, "id": "a", "function": {"name": "bash", "arguments": text}});
        let more =
            |index: u64, text: &str| json!({"index": index, "id": "a", "function": {"arguments": text}});
        let whole = calls(&[begin(0, "{\"x\":1}"), begin(1, "{\"x\":2}")]);
        let alternate = calls(&[begin(0, "{\"x\""), begin(1, "{\"x\""), more(0, ":1}"), more(1, ":2}")]);
        for body in [whole, alternate] {
            assert_eq!(called(&(body + &end("tool_calls"))), ["a bash({\"x\":1}", "a bash({\"x\":2}"]);
        }
        // An index that counts the chunks is no other call: only a name begins one.
        let counted = calls(&[begin(0, "{\"x\""), more(1, ":"), more(2, "1}")]);
        assert_eq!(called(&(counted + &end("tool_calls"))), ["a bash({\"x\":1}"]);
    }

    #[test]
    fn a_whole_message_behind_its_deltas_adds_what_is_missing_alone() {
        let message = |message: Value| {
            let choice = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
            format!("data: {choice}\n\ndata: [DONE]\n\n")
        };
        let text = chunk(json!({"content": "Hel"})) + &chunk(json!({"content": "lo"}));
        let thought = chunk(json!({"reasoning_content": "hm"}));
        for (body, expected) in [
            (text.clone() + &message(json!({"content": "Hello"})), vec!["text(", "Hel", "lo", ")"]),
            (text.clone() + &message(json!({"content": "Hello!"})), vec!["text(", "Hel", "lo", "!", ")"]),
            (text.clone() + &message(json!({"content": " Hello"})), vec!["text(", "Hel", "lo", ")"]),
            (text + &message(json!({"content": null})), vec!["text(", "Hel", "lo", ")"]),
            (
                thought + &message(json!({"reasoning_content": "hm", "content": "Hi"})),
                vec!["thinking(", "signed reasoning_content", "hm", ")", "text(", "Hi", ")"],
            ),
        ] {
            let told = outline(&Completions, &body);
            assert_eq!(told[..told.len() - 1], expected, "{body}");
        }
        let call = |id: &str, text: &str| json!({"id": id, "function": {"name": "bash", "arguments": text}});
        let streamed = calls(&[
            json!({"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{\"x\""}}),
            json!({"index": 1, "id": "b", "function": {"name": "bash", "arguments": "{}"}}),
        ]);
        for ids in [["a", "b"], ["c", "d"], ["", ""]] {
            let calls = json!([call(ids[0], "{\"x\":1}"), call(ids[1], "{}"), call("e", "{}")]);
            let body = streamed.clone() + &message(json!({"tool_calls": calls}));
            assert_eq!(called(&body), ["a bash({\"x\":1}", "b bash({}", "e bash({}"], "{ids:?}");
        }
    }

    #[test]
    fn content_comes_in_any_form() {
        let body = chunk(json!({"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
            {"type": "text", "text": "hi"},
        ]})) + &chunk(json!({"content": {"type": "text", "text": "!"}}));
        let whole = format!(
            "data: {}\n\n",
            json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]})
        );
        assert_eq!(
            outline(&Completions, &(body + &end("stop")))[..6],
            ["thinking(", "hm", ")", "text(", "hi", "!"]
        );
        assert_eq!(
            outline(&Completions, &(whole + "data: [DONE]\n\n")),
            ["text(", "whole", ")", "done Stop"]
        );
    }

    #[test]
    fn an_error_in_the_stream_has_its_text_in_any_shape() {
        for (body, last) in [
            (
                "event: error\ndata: {\"message\":\"The model is overloaded\"}\n\n",
                "Overloaded The model is overloaded",
            ),
            (
                "data: {\"object\":\"error\",\"message\":\"no such model\",\"code\":404}\n\n",
                "BadRequest no such model",
            ),
            (
                "error: {\"code\":400,\"message\":\"the request exceeds the available context size\"}\n\n",
                "Overflow the request exceeds the available context size",
            ),
            ("event: error\ndata: boom\n\n", "Network boom"),
            ("upstream connect error", "Network upstream connect error"),
            ("{\"error\":{\"message\":\"slow\",\"code\":\"429\"}}", "RateLimited slow"),
            ("data: {\"error\":{\"message\":\"slow\",\"code\":429}}", "RateLimited slow"),
        ] {
            assert_eq!(outline(&Completions, body).last().unwrap(), last, "{body}");
            let later = chunk(json!({"content": "x"})) + body;
            if !body.starts_with(['u', '{']) {
                assert_eq!(outline(&Completions, &later).last().unwrap(), last, "{later}");
            }
        }
    }

    #[test]
    fn fm_f65_an_error_in_the_stream_is_the_answer_s_error() {
        for (error, line) in [
            (json!({"message": "server error", "type": "server_error", "code": null}), "Server server error"),
            (json!({"message": "slow down", "code": 429}), "RateLimited slow down"),
            (json!("plain"), "BadRequest plain"),
            (json!({"type": "overloaded_error"}), r#"Overloaded {"type":"overloaded_error"}"#),
        ] {
            let body = format!("data: {}\n\n", json!({"error": error}));
            assert_eq!(outline(&Completions, &body), [line]);
        }
    }

    #[test]
    fn fm_f68_odd_figures_are_no_negative_ones() {
        let counted = |usage: Value| {
            let counts = counts(&usage);
            [counts.input, counts.output, counts.cache_read, counts.cache_write]
        };
        assert_eq!(counted(json!({})), [0, 0, 0, 0]);
        assert_eq!(counted(json!({"prompt_tokens": -5, "completion_tokens": null})), [0, 0, 0, 0]);
        let cached = json!({"cached_tokens": 30});
        assert_eq!(counted(json!({"prompt_tokens": 10, "prompt_tokens_details": cached})), [0, 0, 30, 0]);
        let reasoning = json!({"reasoning_tokens": 7});
        let usage = |total: u64| {
            json!({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": total,
                   "completion_tokens_details": reasoning})
        };
        assert_eq!(counted(usage(30)), [10, 20, 0, 0]);
        assert_eq!(counted(usage(37)), [10, 27, 0, 0]);
    }
}
