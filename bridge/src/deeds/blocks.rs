//! The blocks of a growing answer: opened, written and closed in order.

use agentese::any::Event;
use agentese::view::{Block, Conversation, Message};
use agentese_server_engine::engine::Deed;
use agentese_server_models::StreamEvent;

use super::super::pieces;
use super::{Deeds, Open, Step, growing, push};

impl Deeds {
    pub(super) fn grew(&mut self, event: StreamEvent, steps: &mut Vec<Step>) {
        if let (Some((_, _, told)), Some(length)) = (&mut self.open, pieces::length(&event)) {
            *told += length;
        }
        if let StreamEvent::TextDelta(text) | StreamEvent::ThinkingDelta(text) = &event {
            self.said.push_str(text);
        }
        push(steps, Deed::Grew(event));
    }

    /// Reports the new part of the open call's arguments.
    pub(super) fn wrote(&mut self, text: &str, steps: &mut Vec<Step>) {
        if let Some(more) = text.strip_prefix(&self.written).filter(|more| !more.is_empty()) {
            let more = more.to_owned();
            text.clone_into(&mut self.written);
            self.grew(StreamEvent::ToolCallDelta(more), steps);
        }
    }

    /// Opens the block at that index, unless it is open already. Closes the previous block.
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
        self.said.clear();
        self.opened = self.opened.max(place + 1);
    }

    /// Closes the open block. `whole` is its final state.
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

    /// Returns `true` if the text of an event was reported as part of the preceding block. Agents that do not
    /// report the ends of blocks continue a block with the text of the next ones, until the answer is
    /// complete.
    pub(super) fn went_on(&mut self, event: &Event, now: &Conversation) -> bool {
        let (message, place, kind, text) = match event {
            Event::TextGrew { message, block, text } => (message, *block, Open::Text, text),
            Event::ThinkingGrew { message, block, text } => (message, *block, Open::Thinking, text),
            _ => return false,
        };
        let Some(answer) = growing(now, message).filter(|_| self.is_growing(message)) else { return false };
        let Some(beyond) = beyond(self.open, &self.said, &answer.blocks, (place, kind)) else { return false };
        let passed = if self.passed.0 == place { self.passed.1 } else { 0 };
        let was_told = beyond.get(passed..).is_some_and(|rest| rest.starts_with(text.as_str()));
        if was_told {
            self.passed = (place, passed + text.len());
        }
        was_told
    }

    /// Reports the unreported rest of a complete answer.
    pub(super) fn rest_of(&mut self, message: &Message, now: &Conversation, steps: &mut Vec<Step>) {
        let (opened, open, said) = (self.opened, self.open, std::mem::take(&mut self.said));
        self.close(open.and_then(|(place, ..)| message.blocks.get(place)), steps);
        let was_told = |(place, block): &(usize, &Block)| {
            let Some((kind, text)) = text_of(block) else { return false };
            let beyond = beyond(open, &said, &message.blocks, (*place, kind));
            beyond.is_some_and(|beyond| beyond.starts_with(text))
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

/// Returns the reported text of the open block that exceeds the blocks from there up to `place`, all of one
/// kind. Returns `None` if there is no such text, or if the texts differ. `blocks` are the current blocks of
/// the answer.
fn beyond<'a>(
    open: Option<(usize, Open, usize)>,
    said: &'a str,
    blocks: &[Block],
    (place, kind): (usize, Open),
) -> Option<&'a str> {
    let (at, ..) = open.filter(|(at, open, _)| *open == kind && *at < place)?;
    let rest = blocks.get(at..place)?.iter().try_fold(said, |rest, block| {
        let (of, text) = text_of(block)?;
        rest.strip_prefix(text).filter(|_| of == kind)
    })?;
    Some(rest).filter(|rest| !rest.is_empty())
}

/// Returns the kind and the text of a block.
pub(super) fn text_of(block: &Block) -> Option<(Open, &str)> {
    match block {
        Block::Text { text } => Some((Open::Text, text)),
        Block::Thinking { text, .. } => Some((Open::Thinking, text)),
        _ => None,
    }
}
