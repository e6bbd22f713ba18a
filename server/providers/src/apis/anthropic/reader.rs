//! Conversion of the events of a message to stream events.

use serde_json::{Map, Value};

use super::super::api::Reader;
use super::super::block_sequencer::{BlockPart, BlockSequencer, BlockStart};
use super::super::content::{arguments, parts};
use super::super::stream_event_builder::{StreamEventBuilder, token_count};
use crate::{FinishReason, ProviderError, ProviderErrorKind, TokenCounts};

/// The text displayed in place of encrypted reasoning.
const REDACTED: &str = "[Reasoning redacted]";

/// The state of a message.
#[derive(Debug, Default)]
pub(super) struct MessageReader {
    sequencer: BlockSequencer<Option<u64>>,
    /// The blocks of the message that have not ended.
    blocks: Vec<Block>,
    counts: TokenCounts,
    stop: Option<String>,
}

#[derive(Debug)]
struct Block {
    index: Option<u64>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text,
    /// The block is reasoning. Contains its signature so far.
    Thinking(String),
    /// The block is a tool call. Contains the arguments in its start; they apply if no further arguments
    /// arrive.
    Call(Option<String>),
    /// The type of the block is not supported by this version.
    Unknown,
}

impl Reader for MessageReader {
    fn event(&mut self, data: &str, builder: &mut StreamEventBuilder) {
        let Some(event) = builder.json(data) else { return };
        match event["type"].as_str() {
            Some("message_start") => {
                builder.id(&event["message"]["id"]);
                self.usage(&event["message"]["usage"], builder);
            }
            Some("content_block_start") => self.start(&event, builder),
            Some("content_block_delta") => self.delta(&event, builder),
            Some("content_block_stop") => self.stop_block(event["index"].as_u64(), builder),
            Some("message_delta") => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.stop = Some(reason.to_owned());
                    builder.raw_stop_reason(&event["delta"]["stop_reason"]);
                }
                self.usage(&event["usage"], builder);
            }
            Some("message_stop") => self.finish(builder),
            Some("error") => builder.fail(ProviderError::from_text(event.to_string())),
            // A ping, or an event that is newer than this version.
            _ => {}
        }
    }

    fn end(&mut self, builder: &mut StreamEventBuilder) {
        builder.cut_off();
    }
}

impl MessageReader {
    fn start(&mut self, event: &Value, builder: &mut StreamEventBuilder) {
        let index = event["index"].as_u64();
        // Without an index of its own, a block has no way to separate its parts from those of the block before.
        if index.is_none() || self.blocks.iter().any(|block| block.index == index) {
            self.stop_all(builder);
        }
        let block = &event["content_block"];
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        let kind = match block["type"].as_str() {
            Some("text") => {
                self.sequencer.open(index, BlockStart::Text, builder);
                if block["text"] != "" {
                    self.grow(index, &block["text"], false, builder);
                }
                Kind::Text
            }
            Some("thinking") => {
                // A block that is cut off before its signature has an empty one, as in pi 0.55.
                self.sequencer.open(index, BlockStart::Thinking(Some(String::new())), builder);
                if block["thinking"] != "" {
                    self.grow(index, &block["thinking"], true, builder);
                }
                Kind::Thinking(text("signature").to_owned())
            }
            Some("redacted_thinking") => {
                self.sequencer.open(index, BlockStart::Thinking(None), builder);
                self.sequencer.push(&index, BlockPart::Redacted, builder);
                self.sequencer.push(&index, BlockPart::Thinking(REDACTED.to_owned()), builder);
                Kind::Thinking(text("data").to_owned())
            }
            Some("tool_use") => {
                let call = BlockStart::Call { id: text("id").to_owned(), name: text("name").to_owned() };
                self.sequencer.open(index, call, builder);
                let input = Some(&block["input"]).filter(|input| **input != Value::Object(Map::new()));
                Kind::Call(input.and_then(arguments))
            }
            _ => Kind::Unknown,
        };
        self.blocks.push(Block { index, kind });
    }

    fn delta(&mut self, event: &Value, builder: &mut StreamEventBuilder) {
        let index = event["index"].as_u64();
        let Some(block) = self.blocks.iter_mut().find(|block| block.index == index) else {
            let text = "The provider sent a part of a block that is not open.";
            builder.fail(ProviderError::new(ProviderErrorKind::Protocol, text));
            return;
        };
        let delta = &event["delta"];
        let text = |name: &str| delta[name].as_str().unwrap_or_default();
        match (delta["type"].as_str(), &mut block.kind) {
            (Some("text_delta"), Kind::Text) => self.grow(index, &delta["text"], false, builder),
            (Some("thinking_delta"), Kind::Thinking(_)) => {
                self.grow(index, &delta["thinking"], true, builder)
            }
            (Some("signature_delta"), Kind::Thinking(mark)) if builder.reserve(text("signature").len()) => {
                mark.push_str(text("signature"));
            }
            (Some("input_json_delta"), Kind::Call(whole)) => {
                let part = arguments(&delta["partial_json"]).unwrap_or_default();
                if !part.is_empty() {
                    *whole = None;
                }
                self.sequencer.push(&index, BlockPart::Arguments(part), builder);
            }
            _ => {}
        }
    }

    /// Adds text or reasoning to a block. An empty text is passed on too.
    fn grow(&mut self, index: Option<u64>, content: &Value, thinks: bool, builder: &mut StreamEventBuilder) {
        let found = if content == "" { vec![BlockPart::Text(String::new())] } else { parts(content) };
        for part in found {
            let part = match part {
                BlockPart::Text(text) if thinks => BlockPart::Thinking(text),
                part => part,
            };
            self.sequencer.push(&index, part, builder);
        }
    }

    fn stop_block(&mut self, index: Option<u64>, builder: &mut StreamEventBuilder) {
        let found = match index {
            Some(_) => self.blocks.iter().position(|block| block.index == index),
            None => self.blocks.len().checked_sub(1),
        };
        let Some(block) = found.map(|index| self.blocks.remove(index)) else { return };
        let last = match block.kind {
            Kind::Thinking(mark) => Some(BlockPart::Signature(mark)),
            Kind::Call(whole) => whole.map(BlockPart::Arguments),
            Kind::Text | Kind::Unknown => None,
        };
        if let Some(last) = last {
            self.sequencer.push(&block.index, last, builder);
        }
        self.sequencer.end(&block.index, builder);
    }

    fn stop_all(&mut self, builder: &mut StreamEventBuilder) {
        while let Some(first) = self.blocks.first().map(|block| block.index) {
            match first {
                Some(_) => self.stop_block(first, builder),
                None => self.stop_block(None, builder),
            }
        }
    }

    /// Sets the token usage. A number that is missing or invalid keeps its previous value.
    fn usage(&mut self, usage: &Value, builder: &mut StreamEventBuilder) {
        let counts = &mut self.counts;
        for (name, slot) in [
            ("input_tokens", &mut counts.input),
            ("output_tokens", &mut counts.output),
            ("cache_read_input_tokens", &mut counts.cache_read),
            ("cache_creation_input_tokens", &mut counts.cache_write),
        ] {
            if let Some(count) = token_count(&usage[name]) {
                *slot = count;
            }
        }
        let hour = token_count(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
        counts.cache_write_hour = hour.or(counts.cache_write_hour).or(Some(0));
        builder.usage(self.counts);
    }

    fn finish(&mut self, builder: &mut StreamEventBuilder) {
        self.stop_all(builder);
        match self.stop.as_deref() {
            Some("end_turn" | "pause_turn" | "stop_sequence") => builder.done(FinishReason::Stop),
            Some("max_tokens") => builder.done(FinishReason::Length),
            Some("tool_use") => builder.done(FinishReason::ToolUse),
            Some(reason @ ("refusal" | "sensitive")) => {
                let text = format!("The model refused to answer (stop reason {reason}).");
                builder.fail(ProviderError::new(ProviderErrorKind::Refused, text));
            }
            Some(reason) => builder.unhandled_stop(reason),
            None => builder.cut_off(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Anthropic;
    use crate::apis::testing::{check_cuts, outline, raw_stop_reason};

    fn body(events: &[serde_json::Value]) -> String {
        let event = |event: &serde_json::Value| {
            format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
        };
        events.iter().map(event).collect()
    }

    fn message(blocks: &[serde_json::Value], stop: &str) -> String {
        let start = json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 30,
            "cache_creation_input_tokens": null}}});
        let end = [
            json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20, "input_tokens": -5}}),
            json!({"type": "message_stop"}),
        ];
        body(&[&[start, json!({"type": "ping"})], blocks, &end].concat())
    }

    fn start(index: u64, block: serde_json::Value) -> serde_json::Value {
        json!({"type": "content_block_start", "index": index, "content_block": block})
    }

    fn delta(index: u64, delta: serde_json::Value) -> serde_json::Value {
        json!({"type": "content_block_delta", "index": index, "delta": delta})
    }

    fn stop(index: u64) -> serde_json::Value {
        json!({"type": "content_block_stop", "index": index})
    }

    fn everything() -> String {
        message(
            &[
                start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
                delta(0, json!({"type": "thinking_delta", "thinking": "hm ö"})),
                delta(0, json!({"type": "signature_delta", "signature": "c2"})),
                delta(0, json!({"type": "signature_delta", "signature": "ln"})),
                stop(0),
                start(1, json!({"type": "redacted_thinking", "data": "blob"})),
                stop(1),
                start(2, json!({"type": "text", "text": ""})),
                delta(2, json!({"type": "text_delta", "text": "Hello"})),
                stop(2),
                start(3, json!({"type": "server_tool_use", "id": "s", "name": "search", "input": {}})),
                delta(3, json!({"type": "input_json_delta", "partial_json": "{}"})),
                stop(3),
                start(4, json!({"type": "tool_use", "id": "t1", "name": "bash", "input": {}})),
                delta(4, json!({"type": "input_json_delta", "partial_json": "{\"command\":"})),
                delta(4, json!({"type": "input_json_delta", "partial_json": "\"ls\"}"})),
                stop(4),
                start(5, json!({"type": "tool_use", "id": "t2", "name": "read", "input": {"path": "x"}})),
                stop(5),
            ],
            "tool_use",
        )
    }

    #[test]
    fn a_message_is_emitted_block_by_block() {
        assert_eq!(
            outline(&Anthropic, &everything()),
            [
                "usage 100 1 30 0",
                "thinking(",
                "signed ",
                "hm ö",
                "signed c2ln",
                ")",
                "thinking(",
                "redacted",
                "[Reasoning redacted]",
                "signed blob",
                ")",
                "text(",
                "Hello",
                ")",
                "call t1 bash(",
                "{\"command\":",
                "\"ls\"}",
                ")",
                "call t2 read(",
                "{\"path\":\"x\"}",
                ")",
                "usage 100 20 30 0",
                "done ToolUse",
            ]
        );
    }

    #[test]
    fn id_and_stop_reason_of_the_message_are_emitted() {
        let body = message(&[], "stop_sequence").replace("{\"usage\"", "{\"id\":\"msg_1\",\"usage\"");
        assert_eq!(outline(&Anthropic, &body)[0], "id msg_1");
        assert_eq!(raw_stop_reason(&Anthropic, &body).as_deref(), Some("stop_sequence"));
    }

    #[test]
    fn an_empty_delta_is_emitted_and_an_empty_start_is_not() {
        let blocks = [
            start(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": ""})),
            stop(0),
            start(1, json!({"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "x"}})),
            delta(1, json!({"type": "input_json_delta", "partial_json": ""})),
            stop(1),
        ];
        let outline = outline(&Anthropic, &message(&blocks, "tool_use"));
        assert_eq!(outline[1..8], ["text(", "", ")", "call t1 read(", "", "{\"path\":\"x\"}", ")"]);
    }

    #[test]
    fn fm_f63_a_message_that_is_cut_anywhere_is_an_error() {
        check_cuts(&Anthropic, &everything());
    }

    #[test]
    fn the_stop_reason_decides_the_end_of_a_message() {
        for (reason, last) in [
            ("end_turn", "done Stop"),
            ("pause_turn", "done Stop"),
            ("stop_sequence", "done Stop"),
            ("max_tokens", "done Length"),
            ("refusal", "Refused The model refused to answer (stop reason refusal)."),
            ("novel", "BadRequest Unhandled stop reason: novel"),
            (
                "model_context_window_exceeded",
                "Overflow Unhandled stop reason: model_context_window_exceeded",
            ),
        ] {
            let text = [start(0, json!({"type": "text", "text": "x"})), stop(0)];
            assert_eq!(outline(&Anthropic, &message(&text, reason)).last().unwrap(), last);
        }
        let empty = outline(&Anthropic, &message(&[], "end_turn"));
        assert_eq!(empty.last().unwrap(), "Protocol The provider's answer has no content.");
    }

    #[test]
    fn fm_f65_an_error_in_the_stream_is_the_message_s_error() {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(outline(&Anthropic, &body(std::slice::from_ref(&error))), [format!("Overloaded {error}")]);
        assert_eq!(
            outline(&Anthropic, "data: <html>\n\n"),
            ["Protocol The provider sent something that is not a JSON object: <html>"]
        );
        assert_eq!(
            outline(&Anthropic, &body(&[delta(0, json!({"type": "text_delta", "text": "lost"}))])),
            ["Protocol The provider sent a part of a block that is not open."]
        );
    }

    #[test]
    fn blocks_are_assembled_by_index_despite_events_between() {
        let call = |index: u64, id: &str| {
            start(index, json!({"type": "tool_use", "id": id, "name": "bash", "input": {}}))
        };
        let input =
            |index: u64, part: &str| delta(index, json!({"type": "input_json_delta", "partial_json": part}));
        let calls = [
            call(0, "a"),
            call(1, "b"),
            input(0, "{\"x\":"),
            input(1, "{}"),
            stop(1),
            input(0, "1}"),
            stop(0),
        ];
        let with_text = [
            call(0, "a"),
            start(1, json!({"type": "text", "text": ""})),
            input(0, "{\"x\":"),
            delta(1, json!({"type": "text_delta", "text": [{"type": "text", "text": "hi"}]})),
            input(0, "1}"),
            stop(0),
            stop(1),
        ];
        let expected = ["call a bash(", "{\"x\":", "1}", ")"];
        for (blocks, next) in [(&calls, ["call b bash(", "{}", ")"]), (&with_text, ["text(", "hi", ")"])] {
            let lines = outline(&Anthropic, &message(blocks, "tool_use"));
            assert_eq!(lines[1..5], expected);
            assert_eq!(lines[5..8], next);
        }
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
            assert_eq!(outline(&Anthropic, body).last().unwrap(), last, "{body}");
        }
    }

    #[test]
    fn the_arguments_of_a_call_come_in_any_form() {
        let call = |input: serde_json::Value| {
            let block = start(0, json!({"type": "tool_use", "id": "a", "name": "bash", "input": input}));
            outline(&Anthropic, &message(&[block, stop(0)], "tool_use"))[1..].join(" ")
        };
        assert!(call(json!("{\"x\":1}")).starts_with("call a bash( {\"x\":1} )"));
        assert!(call(json!([1])).starts_with("call a bash( [1] )"));
        assert!(call(json!(null)).starts_with("call a bash( )"));
    }

    #[test]
    fn fm_f10_half_characters_are_replaced() {
        let block = [
            start(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "X"})),
        ];
        let body = message(&block, "end_turn").replace("\"X\"", r#""a\ud800b""#);
        assert!(outline(&Anthropic, &body).contains(&"a\u{fffd}b".to_owned()));
    }
}
