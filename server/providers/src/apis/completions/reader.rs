//! Conversion of the chunks of a completion to stream events.

use serde_json::Value;

use super::super::api::Reader;
use super::super::block_sequencer::{BlockPart, BlockSequencer, BlockStart, is_complete_json};
use super::super::content::{arguments, parts};
use super::super::errors::error_in;
use super::super::stream_event_builder::{StreamEventBuilder, token_count};
use super::super::verbatim::{items, member};
use super::details::ReasoningDetails;
use super::names::{EXTRA, REASONING};
use crate::{FinishReason, ProviderError, ProviderErrorKind, TokenCounts};

/// The number of a block, counted by the start of blocks.
type Number = usize;

/// The state of a completion.
#[derive(Debug, Default)]
pub(super) struct CompletionReader {
    sequencer: BlockSequencer<Number>,
    blocks: Number,
    calls: Vec<Call>,
    /// The number of the first block of reasoning.
    thinking: Option<Number>,
    details: ReasoningDetails,
    finish: Option<String>,
    /// Text of the answer so far. A host may afterwards send a complete message that repeats this text and
    /// the reasoning.
    text: String,
    reasoning: String,
}

/// A tool call. The id and the index from the host assign later parts to it.
#[derive(Debug)]
struct Call {
    number: Number,
    index: Option<u64>,
    id: String,
}

impl Reader for CompletionReader {
    fn event(&mut self, data: &str, builder: &mut StreamEventBuilder) {
        if data == "[DONE]" {
            self.complete(builder, true);
            return;
        }
        let Some(chunk) = builder.json(data) else { return };
        if let Some(failure) = error_in(&chunk) {
            builder.fail(failure);
            return;
        }
        builder.id(&chunk["id"]);
        let choice = &chunk["choices"][0];
        // Most hosts report usage at the top, some in the choice.
        for usage in [&choice["usage"], &chunk["usage"]] {
            if usage.is_object() {
                builder.usage(counts(usage));
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.finish = Some(reason.to_owned());
            builder.raw_stop_reason(&choice["finish_reason"]);
        }
        // A host that does not stream a piece sends the message itself, sometimes after its pieces.
        let name = if choice["delta"].is_object() { "delta" } else { "message" };
        let verbatim = VerbatimParts::of(data, name, &choice[name]);
        match name {
            "delta" => self.piece(&choice[name], &verbatim, builder),
            _ => self.message(&choice[name], &verbatim, builder),
        }
    }

    fn end(&mut self, builder: &mut StreamEventBuilder) {
        self.complete(builder, false);
    }
}

impl CompletionReader {
    fn piece(&mut self, delta: &Value, verbatim: &VerbatimParts<'_>, builder: &mut StreamEventBuilder) {
        // Some hosts send the end of the reasoning and the beginning of the text at once.
        if let Some((name, text)) = reasoning_of(delta) {
            self.grow(BlockPart::Thinking(text), Some(name), builder);
        }
        if let Some(details) = verbatim.details {
            self.details(details, builder);
        }
        contents_of(delta).into_iter().for_each(|part| self.grow(part, None, builder));
        for (index, part) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.call(part, verbatim.extra(index), builder);
        }
    }

    /// Adds the parts of a complete message that were not streamed before.
    fn message(&mut self, message: &Value, verbatim: &VerbatimParts<'_>, builder: &mut StreamEventBuilder) {
        let (text, mut thought): (Vec<BlockPart>, Vec<BlockPart>) =
            contents_of(message).into_iter().partition(|part| matches!(part, BlockPart::Text(_)));
        let reasoning = reasoning_of(message);
        let mark = reasoning.as_ref().map(|(name, _)| *name);
        thought.extend(reasoning.map(|(_, text)| BlockPart::Thinking(text)));
        let (text, thought) = (joined(&text), joined(&thought));
        if let Some(rest) = remaining_suffix(&thought, &self.reasoning) {
            self.grow(BlockPart::Thinking(rest), mark, builder);
        }
        if let Some(details) = verbatim.details.filter(|_| self.details.is_empty()) {
            self.details(details, builder);
        }
        if let Some(rest) = remaining_suffix(&text, &self.text) {
            self.grow(BlockPart::Text(rest), None, builder);
        }
        let streamed = self.calls.len();
        for (index, part) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
            self.whole_call(index, streamed, part, verbatim.extra(index), builder);
        }
    }

    /// Adds a call of a complete message. It completes one of the first `streamed` calls if its position or its id
    /// matches; otherwise it is a new call.
    fn whole_call(
        &mut self,
        index: usize,
        streamed: usize,
        part: &Value,
        extra: Option<&str>,
        builder: &mut StreamEventBuilder,
    ) {
        let before = &self.calls[..streamed];
        let is = |call: &&Call| !call.id.is_empty() && part["id"] == call.id.as_str();
        let known = before.get(index).filter(is).or_else(|| before.iter().find(is)).or(before.get(index));
        let whole = arguments(&part["function"]["arguments"]).unwrap_or_default();
        match known.map(|call| call.number) {
            Some(number) => {
                self.mark(&number, extra, builder);
                self.sequencer.complete(&number, &whole, builder);
            }
            None => {
                let number = self.start_call(part, builder);
                self.mark(&number, extra, builder);
                self.sequencer.push(&number, BlockPart::Arguments(whole), builder);
            }
        }
    }

    fn open(&mut self, start: BlockStart, builder: &mut StreamEventBuilder) -> Number {
        self.sign(builder);
        self.sequencer.end_complete(builder);
        self.blocks += 1;
        if matches!(start, BlockStart::Thinking(_)) {
            self.thinking.get_or_insert(self.blocks);
        }
        self.sequencer.open(self.blocks, start, builder);
        self.blocks
    }

    /// Adds text or reasoning to the newest block if that has the same kind, else to a new block.
    fn grow(&mut self, part: BlockPart, mark: Option<&str>, builder: &mut StreamEventBuilder) {
        match &part {
            BlockPart::Text(text) => self.text.push_str(text),
            BlockPart::Thinking(text) => self.reasoning.push_str(text),
            _ => {}
        }
        let is_same = |start: &BlockStart| {
            matches!(
                (start, &part),
                (BlockStart::Text, BlockPart::Text(_)) | (BlockStart::Thinking(_), BlockPart::Thinking(_))
            )
        };
        let number = match self.sequencer.last().filter(|(_, start)| is_same(start)) {
            Some((number, _)) => *number,
            None => {
                let start = match part {
                    BlockPart::Thinking(_) => BlockStart::Thinking(mark.map(str::to_owned)),
                    _ => BlockStart::Text,
                };
                self.open(start, builder)
            }
        };
        self.sequencer.push(&number, part, builder);
    }

    /// Adds a part of a call; `extra` is the JSON text that must be sent back with the call.
    fn call(&mut self, part: &Value, extra: Option<&str>, builder: &mut StreamEventBuilder) {
        let function = &part["function"];
        let number = self.call_of(part).unwrap_or_else(|| self.start_call(part, builder));
        self.mark(&number, extra, builder);
        let Some(text) = arguments(&function["arguments"]) else { return };
        // Some hosts repeat the whole call when it is complete.
        let before = self.sequencer.arguments(&number).unwrap_or_default();
        if !text.is_empty() && text == before && is_complete_json(before) {
            return;
        }
        let is_blank = text.trim().is_empty();
        if !self.sequencer.push(&number, BlockPart::Arguments(text), builder) && !is_blank {
            let text = "The provider sent a part of a tool call after the call's complete arguments.";
            builder.fail(ProviderError::new(ProviderErrorKind::Protocol, text));
        }
        self.sequencer.end_complete_before(&number, builder);
    }

    /// Sets the signature of a call to the data that must be sent back with the call.
    fn mark(&mut self, number: &Number, extra: Option<&str>, builder: &mut StreamEventBuilder) {
        if let Some(extra) = extra {
            self.sequencer.push(number, BlockPart::Signature(extra.to_owned()), builder);
        }
    }

    fn start_call(&mut self, part: &Value, builder: &mut StreamEventBuilder) -> Number {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (id, name) = (text(&part["id"]), text(&part["function"]["name"]));
        let number = self.open(BlockStart::Call { id: id.clone(), name }, builder);
        self.calls.push(Call { number, index: part["index"].as_u64(), id });
        number
    }

    /// Returns the call to which a part belongs. Returns `None` if the part starts a new call. Hosts differ in their
    /// use of id and index, and may omit both in later parts.
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
        let starts_call = match id {
            // An id may arrive late, but another id or a name begins another call.
            Some(_) => is_named || !call.id.is_empty(),
            None => is_named && self.sequencer.arguments(&call.number).is_some_and(is_complete_json),
        };
        (!starts_call).then_some(call.number)
    }

    /// Adds reasoning details to the first block of reasoning. If no text of reasoning has arrived, opens an empty
    /// block for them.
    fn details(&mut self, details: &str, builder: &mut StreamEventBuilder) {
        if builder.reserve(details.len()) && self.details.add(details) && self.thinking.is_none() {
            self.open(BlockStart::Thinking(None), builder);
        }
    }

    /// Sets the signature of the first block of reasoning to all details so far.
    fn sign(&mut self, builder: &mut StreamEventBuilder) {
        let Some(number) = self.thinking else { return };
        let Some(details) = self.details.take_fresh() else { return };
        if !self.sequencer.push(&number, BlockPart::Signature(details.clone()), builder) {
            builder.thinking_signature(&details);
        }
    }

    fn complete(&mut self, builder: &mut StreamEventBuilder, marked: bool) {
        if self.finish.is_some() || marked {
            // The model's output is complete for every reason.
            self.sign(builder);
            self.sequencer.end_all(builder);
        }
        match self.finish.as_deref() {
            Some("stop" | "end") => {
                builder.done(if builder.has_call() { FinishReason::ToolUse } else { FinishReason::Stop })
            }
            Some("length") => builder.done(FinishReason::Length),
            Some("tool_calls" | "function_call") => builder.done(FinishReason::ToolUse),
            Some("content_filter") => {
                let text = "The answer was held back by the provider's content filter.";
                builder.fail(ProviderError::new(ProviderErrorKind::Refused, text));
            }
            Some("network_error") => {
                builder.fail(ProviderError::new(
                    ProviderErrorKind::Network,
                    "The provider lost its connection to the model.",
                ));
            }
            Some(reason) => builder.unhandled_stop(reason),
            // Some hosts send no reason, but mark the end.
            None if marked => {
                builder.done(if builder.has_call() { FinishReason::ToolUse } else { FinishReason::Stop })
            }
            None => builder.cut_off(),
        }
    }
}

/// The JSON texts within a delta or a message that must be sent back unchanged.
struct VerbatimParts<'a> {
    details: Option<&'a str>,
    /// The JSON text of the additional members of each call; `None` if a call has no such members.
    extras: Vec<Option<&'a str>>,
}

impl<'a> VerbatimParts<'a> {
    /// Finds these texts in the data of an event. `delta` is the member `name` of the data.
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

    fn extra(&self, index: usize) -> Option<&'a str> {
        self.extras.get(index).copied().flatten()
    }
}

fn contents_of(delta: &Value) -> Vec<BlockPart> {
    ["content", "refusal"].into_iter().flat_map(|name| parts(&delta[name])).collect()
}

/// Returns the reasoning that is sent outside of the content, and the name of its member.
fn reasoning_of(delta: &Value) -> Option<(&'static str, String)> {
    REASONING.iter().find_map(|name| Some((*name, text_of(&delta[*name])?)))
}

fn joined(parts: &[BlockPart]) -> String {
    let text = |part: &BlockPart| match part {
        BlockPart::Text(text) | BlockPart::Thinking(text) => text.clone(),
        _ => String::new(),
    };
    parts.iter().map(text).collect()
}

/// Returns the rest of `whole` after its beginning `before`. Returns `None` if the rest is empty, or if `whole` begins
/// differently.
fn remaining_suffix(whole: &str, before: &str) -> Option<String> {
    whole.strip_prefix(before).filter(|rest| !rest.is_empty()).map(str::to_owned)
}

fn text_of(reasoning: &Value) -> Option<String> {
    let text = parts(reasoning).into_iter().filter_map(|part| match part {
        BlockPart::Text(text) | BlockPart::Thinking(text) => Some(text),
        _ => None,
    });
    Some(text.collect::<String>()).filter(|text| !text.is_empty())
}

/// Returns the token usage. As the API counts, input includes cached tokens, and output usually includes reasoning.
fn counts(usage: &Value) -> TokenCounts {
    let number = |value: &Value| token_count(value).unwrap_or_default();
    let prompt = number(&usage["prompt_tokens"]);
    let completion = number(&usage["completion_tokens"]);
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
    let written = number(&usage["prompt_tokens_details"]["cache_write_tokens"]);
    let reasoning = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    // Some hosts count reasoning beside the completion; their total shows this.
    let all = prompt.saturating_add(completion).saturating_add(reasoning);
    let beside = reasoning > 0 && token_count(&usage["total_tokens"]) == Some(all);
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
