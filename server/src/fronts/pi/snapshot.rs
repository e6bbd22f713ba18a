//! Frames of a growing answer.
//!
//! Each `message_update` carries all of the answer twice, unless a client asked for less. Its bytes cannot be saved, the work can:
//! the text is escaped once, into a buffer that only grows, and a frame is put together from slices
//! of it.

use agentese::types::{AssistantBlock, AssistantMessage, Usage};
use serde_json::{Error, to_string};

use crate::fronts::Updates;
use crate::providers::Update;

/// The answer so far, as JSON.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    updates: Updates,
    /// The blocks, the last one without its end while it is open.
    blocks: String,
    /// What closes the last block.
    closer: &'static str,
    /// Where the tool call that is open begins; it is written anew each time.
    call: usize,
    /// What stands before and after the blocks, for that usage.
    around: Option<(Usage, String, String)>,
}

/// The end of a block whose string is open.
const OPEN_STRING: &str = "\"}";

impl Snapshot {
    /// Frames that carry that.
    pub fn new(updates: Updates) -> Self {
        Self { updates, ..Self::default() }
    }

    /// A new answer begins.
    pub fn begin(&mut self) {
        *self = Self::new(self.updates);
    }

    /// The frame that tells of an update. `message` is the answer after it.
    pub fn frame(&mut self, message: &AssistantMessage, update: &Update) -> Result<String, Error> {
        let event = self.grow(message, update)?;
        if self.updates == Updates::Delta {
            return Ok(format!("{{\"type\":\"message_update\",\"assistantMessageEvent\":{event}}}}}"));
        }
        if self.around.as_ref().is_none_or(|(usage, ..)| *usage != message.usage) {
            self.around = Some(around(message)?);
        }
        let (head, tail) = self.around.as_ref().map_or(("", ""), |(_, head, tail)| (head, tail));
        let length = event.len() + 2 * (head.len() + self.blocks.len() + tail.len()) + 80;
        let mut frame = String::with_capacity(length);
        frame.push_str("{\"type\":\"message_update\",\"assistantMessageEvent\":");
        frame.push_str(&event);
        for (before, after) in [(",\"partial\":", "}"), (",\"message\":", "}")] {
            frame.push_str(before);
            for part in [head, &self.blocks, self.closer, tail] {
                frame.push_str(part);
            }
            frame.push_str(after);
        }
        Ok(frame)
    }

    /// Takes an update in; gives the event that tells of it, without its end.
    fn grow(&mut self, message: &AssistantMessage, update: &Update) -> Result<String, Error> {
        let index = update.index();
        let block = message.content.get(index);
        Ok(match update {
            Update::TextStart { .. } => {
                self.open("{\"type\":\"text\",\"text\":\"", OPEN_STRING);
                format!("{{\"type\":\"text_start\",\"contentIndex\":{index}")
            }
            Update::ThinkingStart { .. } => {
                self.open("{\"type\":\"thinking\",\"thinking\":\"", OPEN_STRING);
                format!("{{\"type\":\"thinking_start\",\"contentIndex\":{index}")
            }
            Update::ToolCallStart { .. } => {
                self.open("", "");
                self.call = self.blocks.len();
                self.write_call(block)?;
                format!("{{\"type\":\"toolcall_start\",\"contentIndex\":{index}")
            }
            Update::TextDelta { delta, .. } => {
                let delta = self.extend(delta)?;
                format!("{{\"type\":\"text_delta\",\"contentIndex\":{index},\"delta\":{delta}")
            }
            Update::ThinkingDelta { delta, .. } => {
                let delta = self.extend(delta)?;
                format!("{{\"type\":\"thinking_delta\",\"contentIndex\":{index},\"delta\":{delta}")
            }
            Update::ToolCallDelta { delta, .. } => {
                self.write_call(block)?;
                let delta = to_string(delta)?;
                format!("{{\"type\":\"toolcall_delta\",\"contentIndex\":{index},\"delta\":{delta}")
            }
            Update::TextEnd { .. } => {
                self.close(OPEN_STRING);
                let text = match block {
                    Some(AssistantBlock::Text(block)) => block.text.as_str(),
                    _ => "",
                };
                let content = to_string(text)?;
                format!("{{\"type\":\"text_end\",\"contentIndex\":{index},\"content\":{content}")
            }
            Update::ThinkingEnd { .. } => {
                let (text, signature) = match block {
                    Some(AssistantBlock::Thinking(block)) => {
                        (block.thinking.as_str(), block.thinking_signature.as_ref())
                    }
                    _ => ("", None),
                };
                match signature {
                    None => self.close(OPEN_STRING),
                    Some(signature) => {
                        let signature = to_string(signature)?;
                        self.close(&format!("\",\"thinkingSignature\":{signature}}}"));
                    }
                }
                let content = to_string(text)?;
                format!("{{\"type\":\"thinking_end\",\"contentIndex\":{index},\"content\":{content}")
            }
            Update::ToolCallEnd { .. } => {
                self.write_call(block)?;
                let call = block.map_or_else(|| Ok("null".to_owned()), to_string)?;
                format!("{{\"type\":\"toolcall_end\",\"contentIndex\":{index},\"toolCall\":{call}")
            }
        })
    }

    fn open(&mut self, start: &str, closer: &'static str) {
        // A provider may leave a block open; the message closes it then.
        let left_open = std::mem::replace(&mut self.closer, closer);
        self.blocks.push_str(left_open);
        if !self.blocks.is_empty() {
            self.blocks.push(',');
        }
        self.blocks.push_str(start);
    }

    fn close(&mut self, end: &str) {
        self.blocks.push_str(end);
        self.closer = "";
    }

    /// Adds text to the open string; gives it as a JSON string.
    fn extend(&mut self, text: &str) -> Result<String, Error> {
        let json = to_string(text)?;
        self.blocks.push_str(&json[1..json.len() - 1]);
        Ok(json)
    }

    fn write_call(&mut self, block: Option<&AssistantBlock>) -> Result<(), Error> {
        self.blocks.truncate(self.call);
        if let Some(block) = block {
            self.blocks.push_str(&to_string(block)?);
        }
        Ok(())
    }
}

/// What stands before and after the blocks of a message.
fn around(message: &AssistantMessage) -> Result<(Usage, String, String), Error> {
    let mut empty = AssistantMessage::new(
        Vec::new(),
        &message.api,
        &message.provider,
        &message.model,
        message.usage.clone(),
        message.stop_reason,
        message.timestamp,
    );
    empty.error_message = message.error_message.clone();
    let json = to_string(&empty)?;
    // The role, a constant, is all that stands before it.
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
    use agentese::types::ToolCall;
    use proptest::prelude::*;

    use super::*;
    use crate::providers::{Assembler, Provider, StreamEvent, TokenCounts};

    /// The same frame by way of the generated types.
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

    fn block() -> impl Strategy<Value = Vec<StreamEvent>> {
        let pieces = || prop::collection::vec(any::<String>(), 0..4);
        let around = |start, pieces: Vec<StreamEvent>, end: Option<StreamEvent>| {
            std::iter::once(start).chain(pieces).chain(end).collect()
        };
        let text = (pieces(), any::<bool>()).prop_map(move |(pieces, closed)| {
            let pieces = pieces.into_iter().map(StreamEvent::TextDelta).collect();
            around(StreamEvent::TextStart, pieces, closed.then_some(StreamEvent::TextEnd))
        });
        let thinking = (pieces(), any::<Option<String>>()).prop_map(move |(pieces, signature)| {
            let pieces = pieces.into_iter().map(StreamEvent::ThinkingDelta).collect();
            around(StreamEvent::ThinkingStart, pieces, Some(StreamEvent::ThinkingEnd { signature }))
        });
        let call = (any::<String>(), any::<bool>(), 0..20usize).prop_map(move |(text, closed, cut)| {
            let json = serde_json::json!({"command": text}).to_string();
            let at = json.char_indices().nth(cut).map_or(json.len(), |(at, _)| at);
            let pieces = [&json[..at], &json[at..]];
            let pieces = pieces.map(|piece| StreamEvent::ToolCallDelta(piece.to_owned())).to_vec();
            let start = StreamEvent::ToolCallStart { id: "c".into(), name: "bash".into() };
            around(start, pieces, closed.then_some(StreamEvent::ToolCallEnd))
        });
        prop_oneof![text, thinking, call]
    }

    proptest! {
        #[test]
        fn a_frame_is_the_one_that_the_generated_types_write(
            blocks in prop::collection::vec(block(), 1..4), output in any::<u32>()
        ) {
            let model = crate::providers::scripted::Scripted::built_in().models()[0].clone();
            let mut assembler = Assembler::new(&model, 5);
            let mut snapshot = Snapshot::default();
            snapshot.begin();
            let mut deltas = Snapshot::new(Updates::Delta);
            deltas.begin();
            let counts = TokenCounts { output: output.into(), ..TokenCounts::default() };
            for event in blocks.concat().into_iter().chain([StreamEvent::Usage(counts), StreamEvent::TextStart]) {
                if let Some(update) = assembler.apply(event) {
                    let frame = snapshot.frame(assembler.message(), &update).unwrap();
                    prop_assert_eq!(frame, plain(assembler.message(), &update));
                    let mut small: serde_json::Value =
                        serde_json::from_str(&plain(assembler.message(), &update)).unwrap();
                    small.as_object_mut().unwrap().remove("message");
                    small["assistantMessageEvent"].as_object_mut().unwrap().remove("partial");
                    let delta = deltas.frame(assembler.message(), &update).unwrap();
                    prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&delta).unwrap(), small);
                }
            }
        }
    }
}
