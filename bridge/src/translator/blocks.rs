//! Blocks of a growing answer. Each is opened, extended and closed in order.

use agentese::any::Event;
use agentese::view::{Block, Conversation, Message};
use agentese_server_engine::engine::RemoteEvent;
use agentese_server_models::StreamEvent;

use super::super::partial_json;
use super::{BlockKind, RemoteEventTranslator, Step, growing, push};

impl RemoteEventTranslator {
    pub(super) fn push_delta(&mut self, event: StreamEvent, steps: &mut Vec<Step>) {
        if let (Some((_, _, reported)), Some(length)) =
            (&mut self.open_block, partial_json::text_length(&event))
        {
            *reported += length;
        }
        if let StreamEvent::TextDelta(text) | StreamEvent::ThinkingDelta(text) = &event {
            self.reported_text.push_str(text);
        }
        push(steps, RemoteEvent::AnswerUpdated(event));
    }

    /// Adds a step for the part of `text` that follows the arguments reported so far.
    pub(super) fn push_arguments(&mut self, text: &str, steps: &mut Vec<Step>) {
        if let Some(more) = text.strip_prefix(&self.written_arguments).filter(|more| !more.is_empty()) {
            let more = more.to_owned();
            text.clone_into(&mut self.written_arguments);
            self.push_delta(StreamEvent::ToolCallDelta(more), steps);
        }
    }

    /// Opens the block at an index, unless it is already open. Closes the previous block first.
    pub(super) fn open_block(
        &mut self,
        place: usize,
        kind: BlockKind,
        begins: impl FnOnce() -> StreamEvent,
        now: &Conversation,
        steps: &mut Vec<Step>,
    ) {
        if self.open_block.is_some_and(|(at, known, _)| at == place && known == kind) {
            return;
        }
        let whole = self.growing.as_deref().and_then(|key| growing(now, key));
        let whole = self.open_block.and_then(|(place, ..)| whole?.blocks.get(place).cloned());
        self.close_block(whole.as_ref(), steps);
        push(steps, RemoteEvent::AnswerUpdated(begins()));
        self.open_block = Some((place, kind, 0));
        self.reported_text.clear();
        self.opened_blocks = self.opened_blocks.max(place + 1);
    }

    /// Closes the open block. `whole` is the complete block, if known.
    pub(super) fn close_block(&mut self, whole: Option<&Block>, steps: &mut Vec<Step>) {
        let Some((_, kind, reported)) = self.open_block else { return };
        let (written, arguments) = (std::mem::take(&mut self.written_arguments), self.arguments.take());
        match whole {
            Some(Block::Tool(tool)) if kind == BlockKind::Call && (reported == 0 || !written.is_empty()) => {
                self.written_arguments = written;
                let text = arguments
                    .map_or_else(|| partial_json::complete_text(tool), |arguments| arguments.to_string());
                self.push_arguments(&text, steps);
                self.written_arguments.clear();
            }
            _ => {}
        }
        self.open_block = None;
        let end = match (kind, whole) {
            (BlockKind::Text, _) => StreamEvent::TextEnd,
            (BlockKind::Thinking, Some(Block::Thinking { signature, .. })) => {
                StreamEvent::ThinkingEnd { signature: signature.clone() }
            }
            (BlockKind::Thinking, _) => StreamEvent::ThinkingEnd { signature: None },
            (BlockKind::Call, _) => StreamEvent::ToolCallEnd,
        };
        push(steps, RemoteEvent::AnswerUpdated(end));
    }

    /// Returns `true` if an event's text was already reported as part of the preceding block. Agents that do
    /// not report the ends of blocks append the text of later blocks to one block until the answer is
    /// complete.
    pub(super) fn continues_previous_block(&mut self, event: &Event, now: &Conversation) -> bool {
        let (message, place, kind, text) = match event {
            Event::TextGrew { message, block, text } => (message, *block, BlockKind::Text, text),
            Event::ThinkingGrew { message, block, text } => (message, *block, BlockKind::Thinking, text),
            _ => return false,
        };
        let Some(answer) = growing(now, message).filter(|_| self.is_growing(message)) else { return false };
        let Some(beyond) = text_beyond(self.open_block, &self.reported_text, &answer.blocks, (place, kind))
        else {
            return false;
        };
        let passed = if self.overlap.0 == place { self.overlap.1 } else { 0 };
        let was_reported = beyond.get(passed..).is_some_and(|rest| rest.starts_with(text.as_str()));
        if was_reported {
            self.overlap = (place, passed + text.len());
        }
        was_reported
    }

    /// Reports the part of a complete answer that was not reported yet.
    pub(super) fn report_rest(&mut self, message: &Message, now: &Conversation, steps: &mut Vec<Step>) {
        let (opened, open, reported_text) =
            (self.opened_blocks, self.open_block, std::mem::take(&mut self.reported_text));
        self.close_block(open.and_then(|(place, ..)| message.blocks.get(place)), steps);
        let was_reported = |(place, block): &(usize, &Block)| {
            let Some((kind, text)) = text_of(block) else { return false };
            let beyond = text_beyond(open, &reported_text, &message.blocks, (*place, kind));
            beyond.is_some_and(|beyond| beyond.starts_with(text))
        };
        let blocks = message.blocks.iter().enumerate().skip(opened);
        for (place, block) in blocks.filter(|one| !was_reported(one)) {
            match block {
                Block::Text { text } => {
                    self.open_block(place, BlockKind::Text, || StreamEvent::TextStart, now, steps);
                    self.push_delta(StreamEvent::TextDelta(text.clone()), steps);
                }
                Block::Thinking { text, .. } => {
                    self.open_block(place, BlockKind::Thinking, || StreamEvent::ThinkingStart, now, steps);
                    self.push_delta(StreamEvent::ThinkingDelta(text.clone()), steps);
                }
                Block::Tool(tool) => {
                    let (id, name) = (tool.call_id.clone(), tool.name.clone());
                    self.open_block(
                        place,
                        BlockKind::Call,
                        || StreamEvent::ToolCallStart { id, name },
                        now,
                        steps,
                    );
                }
                _ => {}
            }
            self.close_block(Some(block), steps);
        }
    }
}

/// Returns the end of the reported text, which belongs to the block `place`. The reported text must begin
/// with the texts of the blocks before `place`, all of the kind `kind`. Returns `None` if it does not, or if
/// no text is left.
fn text_beyond<'a>(
    open: Option<(usize, BlockKind, usize)>,
    reported_text: &'a str,
    blocks: &[Block],
    (place, kind): (usize, BlockKind),
) -> Option<&'a str> {
    let (at, ..) = open.filter(|(at, open, _)| *open == kind && *at < place)?;
    let rest = blocks.get(at..place)?.iter().try_fold(reported_text, |rest, block| {
        let (of, text) = text_of(block)?;
        rest.strip_prefix(text).filter(|_| of == kind)
    })?;
    Some(rest).filter(|rest| !rest.is_empty())
}

/// Returns the kind and the text of a block.
pub(super) fn text_of(block: &Block) -> Option<(BlockKind, &str)> {
    match block {
        Block::Text { text } => Some((BlockKind::Text, text)),
        Block::Thinking { text, .. } => Some((BlockKind::Thinking, text)),
        _ => None,
    }
}
