//! The blocks of an answer that grows: they are opened, written and closed in turn.

use agentese::any::Event;
use agentese::view::{Block, Conversation, Message};
use agentese_server::engine::Deed;
use agentese_server::providers::StreamEvent;

use super::super::pieces;
use super::{Deeds, Open, Step, growing, push};

impl Deeds {
    pub(super) fn grew(&mut self, event: StreamEvent, steps: &mut Vec<Step>) {
        if let (Some((_, _, told)), Some(length)) = (&mut self.open, pieces::length(&event)) {
            *told += length;
        }
        push(steps, Deed::Grew(event));
    }

    /// The arguments of the open call as they are written so far; what nobody knows yet of them is told.
    pub(super) fn wrote(&mut self, text: &str, steps: &mut Vec<Step>) {
        if let Some(more) = text.strip_prefix(&self.written).filter(|more| !more.is_empty()) {
            let more = more.to_owned();
            text.clone_into(&mut self.written);
            self.grew(StreamEvent::ToolCallDelta(more), steps);
        }
    }

    /// Opens the block at that place, where another one is open.
    pub(super) fn open(
        &mut self,
        place: usize,
        kind: Open,
        begins: impl FnOnce() -> StreamEvent,
        now: &Conversation,
        steps: &mut Vec<Step>,
    ) {
        if self.open.is_some_and(|(at, known, _)| at == place && known == kind) {
            return;
        }
        let whole = self.growing.as_deref().and_then(|key| growing(now, key));
        let whole = self.open.and_then(|(place, ..)| whole?.blocks.get(place).cloned());
        self.close(whole.as_ref(), steps);
        push(steps, Deed::Grew(begins()));
        self.open = Some((place, kind, 0));
        self.opened = self.opened.max(place + 1);
    }

    /// Closes the block that is open; `whole` is what it came to.
    pub(super) fn close(&mut self, whole: Option<&Block>, steps: &mut Vec<Step>) {
        let Some((_, kind, told)) = self.open else { return };
        let (written, arguments) = (std::mem::take(&mut self.written), self.arguments.take());
        match whole {
            Some(Block::Tool(tool)) if kind == Open::Call && (told == 0 || !written.is_empty()) => {
                self.written = written;
                let text = arguments.map_or_else(|| pieces::whole(tool), |arguments| arguments.to_string());
                self.wrote(&text, steps);
                self.written.clear();
            }
            _ => {}
        }
        self.open = None;
        let end = match (kind, whole) {
            (Open::Text, _) => StreamEvent::TextEnd,
            (Open::Thinking, Some(Block::Thinking { signature, .. })) => {
                StreamEvent::ThinkingEnd { signature: signature.clone() }
            }
            (Open::Thinking, _) => StreamEvent::ThinkingEnd { signature: None },
            (Open::Call, _) => StreamEvent::ToolCallEnd,
        };
        push(steps, Deed::Grew(end));
    }

    /// Whether the text that an event tells of a block was told in the block before.
    pub(super) fn was_told_before(&self, event: &Event, now: &Conversation) -> bool {
        let (message, first) = match event {
            Event::TextGrew { message, block, text } => (message, (*block, Open::Text, text.as_str())),
            Event::ThinkingGrew { message, block, text } => {
                (message, (*block, Open::Thinking, text.as_str()))
            }
            _ => return false,
        };
        self.is_growing(message)
            && growing(now, message).is_some_and(|answer| went_on(self.open, &answer.blocks, first))
    }

    /// What was not told of an answer that is complete now.
    pub(super) fn rest_of(&mut self, message: &Message, now: &Conversation, steps: &mut Vec<Step>) {
        let opened = self.opened;
        let open = self.open;
        self.close(open.and_then(|(place, ..)| message.blocks.get(place)), steps);
        let was_told = |(place, block): &(usize, &Block)| {
            let text = text_of(block);
            text.is_some_and(|(kind, text)| went_on(open, &message.blocks, (*place, kind, text)))
        };
        let blocks = message.blocks.iter().enumerate().skip(opened);
        for (place, block) in blocks.filter(|one| !was_told(one)) {
            match block {
                Block::Text { text } => {
                    self.open(place, Open::Text, || StreamEvent::TextStart, now, steps);
                    self.grew(StreamEvent::TextDelta(text.clone()), steps);
                }
                Block::Thinking { text, .. } => {
                    self.open(place, Open::Thinking, || StreamEvent::ThinkingStart, now, steps);
                    self.grew(StreamEvent::ThinkingDelta(text.clone()), steps);
                }
                Block::Tool(tool) => {
                    let (id, name) = (tool.call_id.clone(), tool.name.clone());
                    self.open(place, Open::Call, || StreamEvent::ToolCallStart { id, name }, now, steps);
                }
                _ => {}
            }
            self.close(Some(block), steps);
        }
    }
}

/// Whether the first text of a block was told in the block before, which is open: agents that do not tell where a block ends go on
/// in it with the next ones. `blocks` are those of the answer as the agent has them now.
fn went_on(
    open: Option<(usize, Open, usize)>,
    blocks: &[Block],
    (place, kind, text): (usize, Open, &str),
) -> bool {
    let Some((at, _, told)) = open.filter(|(_, open, _)| *open == kind) else { return false };
    let before = blocks.get(at..place).unwrap_or_default().iter().map(text_of);
    let lengths = before.map(|text| text.filter(|(of, _)| *of == kind).map(|(_, text)| text.len()));
    let Some(lengths) = lengths.collect::<Option<Vec<usize>>>() else { return false };
    lengths.first().is_some_and(|first| told > *first) && told >= lengths.iter().sum::<usize>() + text.len()
}

/// The text of a block, and what it is.
fn text_of(block: &Block) -> Option<(Open, &str)> {
    match block {
        Block::Text { text } => Some((Open::Text, text)),
        Block::Thinking { text, .. } => Some((Open::Thinking, text)),
        _ => None,
    }
}
