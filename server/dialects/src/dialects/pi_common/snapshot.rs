//! Frames that a client receives while the model writes an answer.
//!
//! Each `message_update` carries the whole answer twice, unless the client requested less. To save time and
//! memory, the text is escaped only once, and frames share it.

use agentese::serve::Segments;
use agentese::types::{
    AssistantBlock, AssistantMessage, AssistantMessageBuilder, TextContent, ThinkingContent, ToolCall, Usage,
};
use serde_json::{Error, to_string};

use super::append_text::AppendText;
use crate::conversation::UpdateContent;
use crate::providers::Update;

/// The answer so far, as JSON.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    updates: UpdateContent,
    /// The blocks so far. The last one has no closing text while it is open.
    blocks: AppendText,
    /// The text that closes the last block.
    closer: String,
    /// The index of the open block, and its start position in `blocks`.
    open: Option<(usize, usize)>,
    /// The position in `blocks` at which the arguments of the open tool call start.
    arguments: usize,
    /// The JSON before and after the blocks. It depends on the usage, which is stored with it.
    head_and_tail: Option<(Usage, String, String)>,
}

impl Snapshot {
    /// Creates a snapshot for frames with the content `updates`.
    pub fn new(updates: UpdateContent) -> Self {
        Self { updates, ..Self::default() }
    }

    /// Starts a new answer.
    pub fn start_answer(&mut self) {
        *self = Self::new(self.updates);
    }

    /// Returns the frame of an update. `message` is the answer after the update.
    pub fn frame(&mut self, message: &AssistantMessage, update: &Update) -> Result<Segments, Error> {
        let event = event(message, update)?;
        if self.updates == UpdateContent::Delta {
            return Ok(format!("{{\"type\":\"message_update\",\"assistantMessageEvent\":{event}}}}}").into());
        }
        self.apply(message, update)?;
        if self.head_and_tail.as_ref().is_none_or(|(usage, ..)| *usage != message.usage) {
            self.head_and_tail = Some(head_and_tail(message)?);
        }
        let (head, tail) = self.head_and_tail.as_ref().map_or(("", ""), |(_, head, tail)| (head, tail));
        let end = self.blocks.tail_len() + self.closer.len();
        let mut frame = Segments::with_capacity(event.len() + 2 * (head.len() + end + tail.len()) + 80);
        frame.push_str("{\"type\":\"message_update\",\"assistantMessageEvent\":");
        frame.push_str(&event);
        for (before, after) in [(",\"partial\":", "}"), (",\"message\":", "}")] {
            frame.push_str(before);
            frame.push_str(head);
            self.blocks.write_to(&mut frame);
            for part in [&self.closer, tail, after] {
                frame.push_str(part);
            }
        }
        Ok(frame)
    }

    /// Applies an update. A block is written in full when it opens and again when it closes. In between, only the
    /// end of the block is rewritten, because a signature may arrive at any time; the rest only grows.
    fn apply(&mut self, message: &AssistantMessage, update: &Update) -> Result<(), Error> {
        let index = update.index();
        let Some(block) = message.content.get(index) else { return Ok(()) };
        match update {
            Update::TextStart { .. } | Update::ThinkingStart { .. } | Update::ToolCallStart { .. } => {
                self.close(message)?;
                if !self.blocks.is_empty() {
                    self.blocks.push_str(",");
                }
                self.open = Some((index, self.blocks.len()));
                let (head, tail) = block_ends(block)?;
                self.blocks.push_str(&head);
                self.arguments = self.blocks.len();
                self.closer = match block {
                    AssistantBlock::ToolCall(_) => format!("{{}}{tail}"),
                    _ => tail,
                };
            }
            Update::TextDelta { delta, .. } | Update::ThinkingDelta { delta, .. } => {
                let json = to_string(delta)?;
                self.blocks.push_str(&json[1..json.len() - 1]);
                self.closer = block_ends(block)?.1;
            }
            Update::ToolCallDelta { json_delta: grown, .. } => {
                self.blocks.truncate(self.arguments + grown.keep);
                self.blocks.push_str(&grown.text);
                self.closer = format!("{}{}", grown.closers, block_ends(block)?.1);
            }
            Update::TextEnd { .. } | Update::ThinkingEnd { .. } | Update::ToolCallEnd { .. } => {
                self.close(message)?;
            }
        }
        Ok(())
    }

    /// Writes the final content of the open block, if there is one. A provider may leave a block open; then the
    /// next block closes it.
    fn close(&mut self, message: &AssistantMessage) -> Result<(), Error> {
        if let Some((index, begin)) = self.open.take()
            && let Some(block) = message.content.get(index)
        {
            self.blocks.truncate(begin);
            self.blocks.push_str(&to_string(block)?);
        }
        self.closer.clear();
        Ok(())
    }
}

/// Returns the JSON of the event for an update, without its closing brace.
pub(super) fn event(message: &AssistantMessage, update: &Update) -> Result<String, Error> {
    let index = update.index();
    let block = message.content.get(index);
    Ok(match update {
        Update::TextStart { .. } => format!("{{\"type\":\"text_start\",\"contentIndex\":{index}"),
        Update::ThinkingStart { .. } => format!("{{\"type\":\"thinking_start\",\"contentIndex\":{index}"),
        Update::ToolCallStart { .. } => format!("{{\"type\":\"toolcall_start\",\"contentIndex\":{index}"),
        Update::TextDelta { delta, .. } => {
            let delta = to_string(delta)?;
            format!("{{\"type\":\"text_delta\",\"contentIndex\":{index},\"delta\":{delta}")
        }
        Update::ThinkingDelta { delta, .. } => {
            let delta = to_string(delta)?;
            format!("{{\"type\":\"thinking_delta\",\"contentIndex\":{index},\"delta\":{delta}")
        }
        Update::ToolCallDelta { delta, .. } => {
            let delta = to_string(delta)?;
            format!("{{\"type\":\"toolcall_delta\",\"contentIndex\":{index},\"delta\":{delta}")
        }
        Update::TextEnd { .. } => {
            let text = match block {
                Some(AssistantBlock::Text(block)) => block.text.as_str(),
                _ => "",
            };
            let content = to_string(text)?;
            format!("{{\"type\":\"text_end\",\"contentIndex\":{index},\"content\":{content}")
        }
        Update::ThinkingEnd { .. } => {
            let text = match block {
                Some(AssistantBlock::Thinking(block)) => block.thinking.as_str(),
                _ => "",
            };
            let content = to_string(text)?;
            format!("{{\"type\":\"thinking_end\",\"contentIndex\":{index},\"content\":{content}")
        }
        Update::ToolCallEnd { .. } => {
            let call = block.map_or_else(|| Ok("null".to_owned()), to_string)?;
            format!("{{\"type\":\"toolcall_end\",\"contentIndex\":{index},\"toolCall\":{call}")
        }
    })
}

/// Returns the JSON before and after the part of a block that grows. This part is the text, or the arguments of a
/// call.
fn block_ends(block: &AssistantBlock) -> Result<(String, String), Error> {
    let (json, marker, grows) = match block {
        AssistantBlock::Text(block) => {
            let mut empty = TextContent::new("");
            empty.text_signature.clone_from(&block.text_signature);
            empty.extra.clone_from(&block.extra);
            (to_string(&empty)?, "\"text\":\"", 0)
        }
        AssistantBlock::Thinking(block) => {
            let mut empty = ThinkingContent::new("");
            empty.thinking_signature.clone_from(&block.thinking_signature);
            empty.redacted = block.redacted;
            empty.extra.clone_from(&block.extra);
            (to_string(&empty)?, "\"thinking\":\"", 0)
        }
        AssistantBlock::ToolCall(call) => {
            let mut empty = ToolCall::new(&call.id, &call.name, serde_json::Map::new());
            empty.thought_signature.clone_from(&call.thought_signature);
            empty.extra.clone_from(&call.extra);
            // The empty object is the growing part.
            (to_string(&empty)?, "\"arguments\":", 2)
        }
        other => (to_string(other)?, "", 0),
    };
    // A quote within a string is escaped, so no string contains a marker.
    let at = json.find(marker).map_or(json.len(), |at| at + marker.len());
    Ok((json[..at].to_owned(), json.get(at + grows..).unwrap_or_default().to_owned()))
}

/// Returns the JSON before and after the blocks of a message.
fn head_and_tail(message: &AssistantMessage) -> Result<(Usage, String, String), Error> {
    let mut empty = AssistantMessageBuilder {
        content: Vec::new(),
        api: message.api.clone(),
        provider: message.provider.clone(),
        model: message.model.clone(),
        usage: message.usage.clone(),
        stop_reason: message.stop_reason,
        timestamp: message.timestamp,
    }
    .build();
    empty.error_message = message.error_message.clone();
    let json = to_string(&empty)?;
    // Only the role, a constant, precedes it.
    let marker = "\"content\":[";
    let at = json.find(marker).map_or(json.len(), |at| at + marker.len());
    let (head, tail) = json.split_at(at);
    Ok((empty.usage, head.to_owned(), tail.to_owned()))
}

#[cfg(test)]
mod tests {
    use agentese::pi::{
        AssistantMessageEvent, Event, MessageUpdate, TextDelta, TextEnd, TextStart, ThinkingDelta,
        ThinkingEnd, ThinkingStart, ToolCallDelta, ToolCallEnd, ToolCallStart,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::providers::{Assembler, Provider, StreamEvent, TokenCounts};

    /// Returns the expected frame, serialized by the generated types.
    fn plain(message: &AssistantMessage, update: &Update) -> String {
        let index = update.index() as u64;
        let block = message.content[update.index()].clone();
        macro_rules! with_partial {
            ($event:expr) => {{
                let mut event = $event;
                event.partial = Some(message.clone());
                AssistantMessageEvent::from(event)
            }};
        }
        let call = |block| match block {
            AssistantBlock::ToolCall(call) => call,
            _ => ToolCall::new("", "", serde_json::Map::new()),
        };
        let text = |block| match block {
            AssistantBlock::Text(block) => block.text,
            AssistantBlock::Thinking(block) => block.thinking,
            _ => String::new(),
        };
        let event = match update {
            Update::TextStart { .. } => with_partial!(TextStart::new(index)),
            Update::TextDelta { delta, .. } => with_partial!(TextDelta::new(index, delta)),
            Update::TextEnd { .. } => with_partial!(TextEnd::new(index, text(block))),
            Update::ThinkingStart { .. } => with_partial!(ThinkingStart::new(index)),
            Update::ThinkingDelta { delta, .. } => with_partial!(ThinkingDelta::new(index, delta)),
            Update::ThinkingEnd { .. } => with_partial!(ThinkingEnd::new(index, text(block))),
            Update::ToolCallStart { .. } => with_partial!(ToolCallStart::new(index)),
            Update::ToolCallDelta { delta, .. } => with_partial!(ToolCallDelta::new(index, delta)),
            Update::ToolCallEnd { .. } => with_partial!(ToolCallEnd::new(index, call(block))),
        };
        let mut update = MessageUpdate::new(event);
        update.message = Some(message.clone().into());
        to_string(&Event::from(update)).unwrap()
    }

    /// Generates a signature and the index of the piece after which it arrives.
    fn mark() -> impl Strategy<Value = Option<(String, usize)>> {
        proptest::option::of((any::<String>(), 0..4usize))
    }

    fn marked(pieces: impl Iterator<Item = StreamEvent>, mark: Option<(String, usize)>) -> Vec<StreamEvent> {
        let mut pieces: Vec<_> = pieces.collect();
        if let Some((mark, at)) = mark {
            pieces.insert(at.min(pieces.len()), StreamEvent::Signature(mark));
        }
        pieces
    }

    fn block() -> impl Strategy<Value = Vec<StreamEvent>> {
        let pieces = || prop::collection::vec(any::<String>(), 0..4);
        let around = |start, pieces: Vec<StreamEvent>, end: Option<StreamEvent>| {
            std::iter::once(start).chain(pieces).chain(end).collect()
        };
        let text = (pieces(), any::<bool>(), mark()).prop_map(move |(pieces, closed, mark)| {
            let pieces = marked(pieces.into_iter().map(StreamEvent::TextDelta), mark);
            around(StreamEvent::TextStart, pieces, closed.then_some(StreamEvent::TextEnd))
        });
        let thinking = (pieces(), any::<Option<String>>(), mark(), any::<bool>());
        let thinking = thinking.prop_map(move |(pieces, signature, mark, redacted)| {
            let mut pieces = marked(pieces.into_iter().map(StreamEvent::ThinkingDelta), mark);
            if redacted {
                pieces.insert(pieces.len() / 2, StreamEvent::Redacted);
            }
            around(StreamEvent::ThinkingStart, pieces, Some(StreamEvent::ThinkingEnd { signature }))
        });
        let call = (any::<String>(), any::<bool>(), 0..20usize, mark());
        let call = call.prop_map(move |(text, closed, cut, mark)| {
            let json = serde_json::json!({"command": text}).to_string();
            let at = json.char_indices().nth(cut).map_or(json.len(), |(at, _)| at);
            let pieces = [&json[..at], &json[at..]];
            let pieces = pieces.map(|piece| StreamEvent::ToolCallDelta(piece.to_owned()));
            let pieces = marked(pieces.into_iter(), mark);
            let start = StreamEvent::ToolCallStart { id: "c".into(), name: "bash".into() };
            around(start, pieces, closed.then_some(StreamEvent::ToolCallEnd))
        });
        prop_oneof![text, thinking, call]
    }

    proptest! {
        #[test]
        fn frame_equals_the_generated_types(
            blocks in prop::collection::vec(block(), 1..4), output in any::<u32>()
        ) {
            let model = crate::providers::scripted::ScriptedProvider::built_in().models()[0].clone();
            let mut assembler = Assembler::new(&model, 5);
            let mut snapshot = Snapshot::default();
            snapshot.start_answer();
            let mut deltas = Snapshot::new(UpdateContent::Delta);
            deltas.start_answer();
            let counts = TokenCounts { output: output.into(), ..TokenCounts::default() };
            for event in blocks.concat().into_iter().chain([StreamEvent::Usage(counts), StreamEvent::TextStart]) {
                if let Some(update) = assembler.apply(event) {
                    let frame = snapshot.frame(assembler.message(), &update).unwrap();
                    prop_assert_eq!(frame.to_string(), plain(assembler.message(), &update));
                    let mut small: serde_json::Value =
                        serde_json::from_str(&plain(assembler.message(), &update)).unwrap();
                    small.as_object_mut().unwrap().remove("message");
                    small["assistantMessageEvent"].as_object_mut().unwrap().remove("partial");
                    let delta = deltas.frame(assembler.message(), &update).unwrap();
                    let delta = delta.to_string();
                    prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&delta).unwrap(), small);
                }
            }
        }
    }
}
