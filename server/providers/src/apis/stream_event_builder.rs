//! Builder of stream events, used by the readers of all wire formats.

use std::collections::VecDeque;

use serde_json::Value;

use super::errors::{error_in, unwrap_single};
use crate::{FinishReason, ProviderError, ProviderErrorKind, StreamEvent, TokenCounts, excerpt};

/// Maximum number of bytes of text, reasoning, arguments and signatures in one answer. The longest answers of
/// current models are under 1 MiB; the limit ends an endless stream.
const LONGEST_ANSWER: usize = 32 * 1024 * 1024;
/// Maximum number of blocks in one answer, and maximum number of tool calls among them. Even an empty block
/// takes memory.
const MOST_BLOCKS: usize = 4096;
const MOST_CALLS: usize = 1024;

/// Length of the longest stored id or stop reason of a provider, in bytes.
const MAX_NAME_LENGTH: usize = 256;

const EMPTY: &str = "The provider's answer has no content.";
const CUT_OFF: &str = "The stream ended before the answer was complete.";

/// Stop reasons after a failure of the model or its server, for which the request is repeated.
const RETRYABLE_REASONS: &[&str] = &[
    // Google, and gateways in front of it.
    "malformed_function_call",
    "malformed_response",
    "unexpected_tool_call",
    // Z.AI, OpenRouter.
    "network_error",
    "error",
    // vLLM, SGLang.
    "abort",
];

/// Kind of the block that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Text,
    Thinking,
    Call,
}

/// Collects events into a well-formed sequence for any data of a provider. One block is open at a time, all blocks are
/// closed before the end, and no event follows the end.
#[derive(Debug, Default)]
pub(crate) struct StreamEventBuilder {
    events: VecDeque<StreamEvent>,
    open: Option<BlockKind>,
    ended: bool,
    length: usize,
    /// `true` if there is text or reasoning.
    has_content: bool,
    blocks: usize,
    calls: usize,
    counts: TokenCounts,
    /// `true` if the id of the answer was emitted.
    has_id: bool,
}

impl StreamEventBuilder {
    /// Returns the next event that was not taken yet.
    pub fn take(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    /// Returns whether the answer has ended, with or without success.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns whether the answer calls a tool.
    pub fn has_call(&self) -> bool {
        self.calls > 0
    }

    /// Returns whether the answer has any text, reasoning or call.
    fn has_content(&self) -> bool {
        self.has_content || self.has_call()
    }

    /// Emits the start of the answer.
    pub fn start(&mut self) {
        self.emit(StreamEvent::Start);
    }

    /// Adds text; opens a block if no block of text is open.
    pub fn text(&mut self, delta: &str) {
        self.ensure_text();
        self.grow(delta, StreamEvent::TextDelta);
    }

    /// Opens a block of text, unless one is open.
    pub fn ensure_text(&mut self) {
        if self.open != Some(BlockKind::Text) {
            self.open_block(BlockKind::Text, StreamEvent::TextStart);
        }
    }

    /// Adds reasoning; opens a block with the signature `signature` if no block of reasoning is open.
    pub fn thinking(&mut self, delta: &str, signature: Option<&str>) {
        if self.open != Some(BlockKind::Thinking) {
            self.open_block(BlockKind::Thinking, StreamEvent::ThinkingStart);
            if let Some(signature) = signature {
                self.signature(signature);
            }
        }
        self.grow(delta, StreamEvent::ThinkingDelta);
    }

    /// Opens a block of reasoning, unless one is open.
    pub fn ensure_thinking(&mut self) {
        if self.open != Some(BlockKind::Thinking) {
            self.open_thinking();
        }
    }

    /// Opens a new block of reasoning.
    pub fn open_thinking(&mut self) {
        self.open_block(BlockKind::Thinking, StreamEvent::ThinkingStart);
    }

    /// Opens a tool call.
    pub fn call(&mut self, id: &str, name: &str) {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            self.exceed_limit(&format!("has more than {MOST_CALLS} tool calls"));
            return;
        }
        if !self.reserve(id.len() + name.len()) {
            return;
        }
        self.open_block(
            BlockKind::Call,
            StreamEvent::ToolCallStart { id: id.to_owned(), name: name.to_owned() },
        );
    }

    /// Adds a piece of the open call's arguments.
    pub fn arguments(&mut self, delta: &str) {
        if self.open == Some(BlockKind::Call) {
            self.grow(delta, StreamEvent::ToolCallDelta);
        }
    }

    /// Sets the signature of the open block.
    pub fn signature(&mut self, signature: &str) {
        if self.open.is_some() && self.reserve(signature.len()) {
            self.emit(StreamEvent::Signature(signature.to_owned()));
        }
    }

    /// Sets the signature of the first block of reasoning, which may have ended.
    pub fn thinking_signature(&mut self, signature: &str) {
        if self.reserve(signature.len()) {
            self.emit(StreamEvent::ThinkingSignature(signature.to_owned()));
        }
    }

    /// Reserves room for data that a reader holds back until a later event. Returns false if the answer became too long
    /// and failed.
    pub fn reserve(&mut self, bytes: usize) -> bool {
        self.length = self.length.saturating_add(bytes);
        if self.length > LONGEST_ANSWER {
            self.exceed_limit(&format!("is longer than {} MiB", LONGEST_ANSWER / 1024 / 1024));
        }
        !self.ended
    }

    /// Releases the room of data that a reader held back and now adds.
    pub fn release(&mut self, bytes: usize) {
        self.length = self.length.saturating_sub(bytes);
    }

    /// Returns the amount of content so far; only content increases it.
    pub fn amount(&self) -> usize {
        self.length.saturating_add(self.blocks)
    }

    /// Marks the open block of reasoning as unreadable.
    pub fn redacted(&mut self) {
        self.emit(StreamEvent::Redacted);
    }

    /// Closes the open block.
    pub fn close(&mut self) {
        match self.open.take() {
            None => {}
            Some(BlockKind::Text) => self.emit(StreamEvent::TextEnd),
            Some(BlockKind::Thinking) => self.emit(StreamEvent::ThinkingEnd { signature: None }),
            Some(BlockKind::Call) => self.emit(StreamEvent::ToolCallEnd),
        }
    }

    /// Sets the provider's id of the answer; later ids are ignored.
    pub fn id(&mut self, id: &Value) {
        if let Some(id) = short_name(id).filter(|_| !self.has_id) {
            self.has_id = true;
            self.emit(StreamEvent::Id(id));
        }
    }

    /// Sets the stop reason as the provider names it.
    pub fn raw_stop_reason(&mut self, reason: &Value) {
        if let Some(reason) = short_name(reason) {
            self.emit(StreamEvent::RawStopReason(reason));
        }
    }

    /// Sets the tokens so far.
    pub fn usage(&mut self, counts: TokenCounts) {
        if self.counts != counts {
            self.counts = counts;
            self.emit(StreamEvent::Usage(counts));
        }
    }

    /// Completes the answer. An answer without any content fails.
    pub fn done(&mut self, reason: FinishReason) {
        self.close();
        if reason != FinishReason::Length && !self.has_content() {
            self.fail(ProviderError::new(ProviderErrorKind::Protocol, EMPTY));
            return;
        }
        self.emit(StreamEvent::Done(reason));
        self.ended = true;
    }

    /// Ends the answer with a failure.
    pub fn fail(&mut self, failure: ProviderError) {
        self.emit(StreamEvent::Error(failure));
        self.ended = true;
    }

    /// Ends the answer with the failure for an incomplete body.
    pub fn cut_off(&mut self) {
        self.fail(ProviderError::new(ProviderErrorKind::Network, CUT_OFF));
    }

    /// Ends the answer with the failure for a stop reason that does not mean a complete answer.
    pub fn unhandled_stop(&mut self, reason: &str) {
        if is_retryable_reason(reason) {
            let text = format!("The model stopped without an answer (stop reason {reason}).");
            self.fail(ProviderError::new(ProviderErrorKind::Server, text));
            return;
        }
        let failure = ProviderError::from_text(format!("Unhandled stop reason: {}", excerpt(reason)));
        self.fail(failure);
    }

    /// Returns an event's data as a JSON object. If the data is no object, or reports an error, the answer fails and
    /// `None` is returned.
    pub fn json(&mut self, data: &str) -> Option<Value> {
        match agentese::wire::decode::<Value>(data).map(unwrap_single) {
            Ok(value @ Value::Object(_)) => match error_in(&value).filter(|_| value["type"].is_null()) {
                Some(failure) => {
                    self.fail(failure);
                    None
                }
                None => Some(value),
            },
            _ => {
                let text =
                    format!("The provider sent something that is not a JSON object: {}", excerpt(data));
                self.fail(ProviderError::new(ProviderErrorKind::Protocol, text));
                None
            }
        }
    }

    fn open_block(&mut self, open: BlockKind, event: StreamEvent) {
        self.close();
        self.blocks += 1;
        if self.blocks > MOST_BLOCKS {
            self.exceed_limit(&format!("has more than {MOST_BLOCKS} blocks"));
            return;
        }
        self.open = Some(open);
        self.emit(event);
    }

    fn exceed_limit(&mut self, what: &str) {
        self.fail(ProviderError::new(ProviderErrorKind::Protocol, format!("The answer {what}.")));
    }

    /// Emits an empty piece, too: it shows that the provider continues the block.
    fn grow(&mut self, delta: &str, event: fn(String) -> StreamEvent) {
        if self.reserve(delta.len()) {
            self.has_content |= !delta.is_empty();
            self.emit(event(delta.to_owned()));
        }
    }

    fn emit(&mut self, event: StreamEvent) {
        if !self.ended {
            self.events.push_back(event);
        }
    }
}

/// Returns whether the same request may succeed after that stop reason, in any API.
pub(super) fn is_retryable_reason(reason: &str) -> bool {
    RETRYABLE_REASONS.iter().any(|word| reason.eq_ignore_ascii_case(word))
}

/// Returns a name that the provider sent, if it is short enough to store.
fn short_name(value: &Value) -> Option<String> {
    value.as_str().filter(|word| !word.is_empty() && word.len() <= MAX_NAME_LENGTH).map(str::to_owned)
}

/// Returns a number of tokens. Returns `None` for a value that is negative or no number.
pub(crate) fn token_count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fm_f69_an_answer_that_does_not_end_is_ended() {
        let mut builder = StreamEventBuilder::default();
        let delta = "x".repeat(1024 * 1024);
        let mut taken = 0;
        for _ in 0..1024 {
            builder.text(&delta);
            while let Some(event) = builder.take() {
                match event {
                    StreamEvent::TextDelta(_) => taken += 1,
                    StreamEvent::Error(failure) => assert_eq!(failure.kind, ProviderErrorKind::Protocol),
                    _ => {}
                }
            }
        }
        assert!(builder.has_ended());
        assert_eq!(taken, LONGEST_ANSWER / delta.len());
    }

    /// Parts of an answer that a provider can extend without end, each by one step.
    #[test]
    fn fm_f69_repeated_parts_of_an_answer_come_to_an_end() {
        let mark = "x".repeat(1024 * 1024);
        type Step<'a> = (&'static str, &'a dyn Fn(&mut StreamEventBuilder));
        let steps: [Step<'_>; 7] = [
            ("text", &|builder| builder.text(&mark)),
            ("marks", &|builder| {
                builder.open_thinking();
                builder.signature(&mark);
            }),
            ("held", &|builder| {
                builder.reserve(mark.len());
            }),
            ("blocks", &|builder| builder.open_thinking()),
            ("empty text", &|builder| {
                builder.text("");
                builder.close();
            }),
            ("calls", &|builder| builder.call("", "")),
            ("names", &|builder| builder.call(&mark, &mark)),
        ];
        for (what, step) in steps {
            let mut builder = StreamEventBuilder::default();
            let mut steps = 0;
            while !builder.has_ended() {
                step(&mut builder);
                while let Some(event) = builder.take() {
                    if let StreamEvent::Error(failure) = event {
                        assert_eq!(failure.kind, ProviderErrorKind::Protocol, "{what}");
                    }
                }
                steps += 1;
                assert!(steps <= MOST_BLOCKS + 1, "{what} does not end");
            }
        }
    }

    #[test]
    fn fm_f68_counts_are_never_below_zero() {
        let counts = [json!(7), json!(7.0), json!(0), json!(-1), json!(-0.5), json!("7"), json!(null)];
        let expected = [Some(7), Some(7), Some(0), None, None, None, None];
        assert_eq!(counts.map(|value| token_count(&value)), expected);
    }
}
