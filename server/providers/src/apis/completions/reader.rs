//! Conversion of the chunks of a completion to stream events.

use serde_json::Value;

use super::super::api::Reader;
use super::super::content::{arguments, parts};
use super::super::errors::error_in;
use super::super::said::{StreamEventBuilder, count};
use super::super::slots::{Opening, Part, Slots, is_whole};
use super::super::verbatim::{items, member};
use super::details::Details;
use super::names::{EXTRA, REASONING};
use crate::{Done, Failure, FailureKind, TokenCounts};

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
    /// The text and the reasoning so far, which a whole message may repeat.
    text: String,
    reasoning: String,
}

/// A call with the host's id and index, which assign parts to it.
#[derive(Debug)]
struct Call {
    number: Number,
    index: Option<u64>,
    id: String,
}

impl Reader for Chunks {
    fn event(&mut self, data: &str, said: &mut StreamEventBuilder) {
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
        // A host that does not stream a piece sends the message itself, sometimes after its pieces.
        let name = if choice["delta"].is_object() { "delta" } else { "message" };
        let kept = Kept::of(data, name, &choice[name]);
        match name {
            "delta" => self.piece(&choice[name], &kept, said),
            _ => self.message(&choice[name], &kept, said),
        }
    }

    fn end(&mut self, said: &mut StreamEventBuilder) {
        self.complete(said, false);
    }
}

impl Chunks {
    fn piece(&mut self, delta: &Value, kept: &Kept<'_>, said: &mut StreamEventBuilder) {
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

    /// Adds the parts of a whole message that its pieces did not contain.
    fn message(&mut self, message: &Value, kept: &Kept<'_>, said: &mut StreamEventBuilder) {
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

    /// Adds a call of a whole message: one of the first `streamed` calls by its place or its id, else a new one.
    fn whole_call(
        &mut self,
        place: usize,
        streamed: usize,
        part: &Value,
        extra: Option<&str>,
        said: &mut StreamEventBuilder,
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

    fn open(&mut self, opening: Opening, said: &mut StreamEventBuilder) -> Number {
        self.sign(said);
        self.slots.end_complete(said);
        self.blocks += 1;
        if matches!(opening, Opening::Thinking(_)) {
            self.thinking.get_or_insert(self.blocks);
        }
        self.slots.open(self.blocks, opening, said);
        self.blocks
    }

    /// Adds text or reasoning to the newest block if that is of the same kind, else to a new one.
    fn grow(&mut self, part: Part, mark: Option<&str>, said: &mut StreamEventBuilder) {
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

    /// Adds a part of a call; `extra` is the JSON text that must be sent back with the call.
    fn call(&mut self, part: &Value, extra: Option<&str>, said: &mut StreamEventBuilder) {
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

    /// Sets the mark of a call to the data that must be sent back with it.
    fn mark(&mut self, number: &Number, extra: Option<&str>, said: &mut StreamEventBuilder) {
        if let Some(extra) = extra {
            self.slots.push(number, Part::Signature(extra.to_owned()), said);
        }
    }

    fn begin_call(&mut self, part: &Value, said: &mut StreamEventBuilder) -> Number {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&part["id"]), text(&part["function"]["name"]));
        let number = self.open(Opening::Call { id: id.clone(), name }, said);
        self.calls.push(Call { number, index: part["index"].as_u64(), id });
        number
    }

    /// Returns the call of a part, or `None` if the part begins a new call. Hosts differ in the use of id and index,
    /// and in their presence in each part.
    fn call_of(&self, part: &Value) -> Option<Number> {
        let id = part["id"].as_str().filter(|id| !id.is_empty());
        let index = part["index"].as_u64();
        let is_named = part["function"]["name"].as_str().is_some_and(|name| !name.is_empty());
        let by_id = |call: &&Call| id.is_some_and(|id| call.id == id);
        // The index is the slot. With a name, the id of a call at another index begins another call.
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
            // An id may arrive late, but another id or a name begins another call.
            Some(_) => is_named || !call.id.is_empty(),
            None => is_named && self.slots.arguments(&call.number).is_some_and(is_whole),
        };
        (!begins).then_some(call.number)
    }

    /// Adds details of the reasoning to its first block. The block is empty if no text of the reasoning has arrived.
    fn details(&mut self, details: &str, said: &mut StreamEventBuilder) {
        if said.hold(details.len()) && self.details.add(details) && self.thinking.is_none() {
            self.open(Opening::Thinking(None), said);
        }
    }

    /// Sets the mark of the first block of reasoning to all details so far.
    fn sign(&mut self, said: &mut StreamEventBuilder) {
        let Some(number) = self.thinking else { return };
        let Some(details) = self.details.take_fresh() else { return };
        if !self.slots.push(&number, Part::Signature(details.clone()), said) {
            said.thinking_signature(&details);
        }
    }

    fn complete(&mut self, said: &mut StreamEventBuilder, marked: bool) {
        if self.finish.is_some() || marked {
            // The model's output is complete for every reason.
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
            // Some hosts send no reason, but mark the end.
            None if marked => said.done(if said.has_call() { Done::ToolUse } else { Done::Stop }),
            None => said.cut_off(),
        }
    }
}

/// The parts of a delta or a message that are sent back unchanged, as JSON texts.
struct Kept<'a> {
    details: Option<&'a str>,
    /// The JSON text of each call.
    extras: Vec<Option<&'a str>>,
}

impl<'a> Kept<'a> {
    /// Reads the parts from the data of an event; `delta` is its member `name`.
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

/// Returns the reasoning beside the content, with the name of its member.
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

/// Returns the rest of a whole text after its beginning `before`. Returns `None` if no rest remains, or if the
/// beginning differs.
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

/// Returns the tokens as the API counts them: input includes cached tokens, and output mostly includes reasoning.
fn counts(usage: &Value) -> TokenCounts {
    let number = |value: &Value| count(value).unwrap_or_default();
    let prompt = number(&usage["prompt_tokens"]);
    let completion = number(&usage["completion_tokens"]);
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
    let written = number(&usage["prompt_tokens_details"]["cache_write_tokens"]);
    let reasoning = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    // Some hosts count reasoning beside the completion; their total shows this.
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
mod tests;
