//! Answers with a user message in their middle: each part becomes a message of its own.

use std::sync::Arc;

use agentese::any::Event;
use agentese::view::{Block, Conversation, Message};
use agentese_server_engine::engine::Deed;
use agentese_server_models::StreamEvent;
use serde_json::Value;

use super::{Deeds, Step, growing, push};

impl Deeds {
    /// Ends the reported part of the growing answer, because a user message follows. The conversation may be
    /// ahead; the rest is reported after that message.
    pub(super) fn part(&mut self, now: &Conversation, steps: &mut Vec<Step>) {
        let Some(answer) = self.growing.as_deref().and_then(|key| growing(now, key)) else { return };
        let told = self.told_of(answer);
        let part = match self.parted.take_if(|before| before.key == told.key) {
            Some(before) => behind(&told, &before),
            None => told.clone(),
        };
        self.ended(&part, now, steps);
        self.parted = Some(told);
    }

    /// Starts the next part of a divided answer if the event adds to that answer.
    pub(super) fn goes_on(&mut self, event: &Event, steps: &mut Vec<Step>) {
        let (Event::TextGrew { message, block, .. }
        | Event::ThinkingGrew { message, block, .. }
        | Event::ArgumentsGrew { message, block, .. }) = event
        else {
            return;
        };
        if self.growing.is_none() && self.parted.as_ref().is_some_and(|told| told.key == *message) {
            self.begin_part(message, *block, steps);
        }
    }

    /// Returns the unreported part of an ended answer: all of it, or the rest of a divided answer. Returns
    /// `None` if nothing is left.
    pub(super) fn left(&mut self, message: Arc<Message>, steps: &mut Vec<Step>) -> Option<Arc<Message>> {
        let Some(told) = self.parted.take_if(|told| told.key == message.key) else { return Some(message) };
        let rest = behind(&message, &told);
        if !self.is_growing(&message.key) {
            let first = rest.blocks.iter().position(|block| !matches!(block, Block::Data { .. }));
            self.begin_part(&message.key, first.filter(|_| !message.is_gone())?, steps);
        }
        Some(rest.into())
    }

    fn begin_part(&mut self, key: &str, first: usize, steps: &mut Vec<Step>) {
        self.growing = Some(key.to_owned());
        (self.open, self.opened, self.written, self.arguments) = (None, first, String::new(), None);
        push(steps, Deed::Grew(StreamEvent::Start));
    }

    /// Returns the growing answer as far as events have reported it.
    fn told_of(&self, answer: &Message) -> Message {
        let mut told = answer.clone();
        told.blocks.truncate(self.opened);
        if let Some((place, _, length)) = self.open
            && let Some(Block::Text { text } | Block::Thinking { text, .. }) = told.blocks.get_mut(place)
        {
            let before = self.parted.as_ref().filter(|before| before.key == answer.key);
            let length =
                length + before.and_then(|before| text_of(before.blocks.get(place)?)).map_or(0, str::len);
            // Another text has replaced the reported one.
            if text.is_char_boundary(length) {
                text.truncate(length);
            }
        }
        told
    }
}

/// Returns the rest of an answer after its reported part. Blocks keep their indices; reported blocks become
/// empty.
fn behind(answer: &Message, told: &Message) -> Message {
    let mut rest = answer.clone();
    for (block, told) in rest.blocks.iter_mut().zip(&told.blocks) {
        let more = text_of(block).zip(text_of(told)).and_then(|(text, told)| text.strip_prefix(told));
        let more = more.filter(|more| !more.is_empty()).map(str::to_owned);
        match (&mut *block, more) {
            (Block::Text { text } | Block::Thinking { text, .. }, Some(more)) => *text = more,
            _ => *block = Block::Data { value: Value::Null },
        }
    }
    // The usage is counted once.
    rest.usage = rest.usage.filter(|_| told.usage.is_none());
    rest
}

fn text_of(block: &Block) -> Option<&str> {
    super::blocks::text_of(block).map(|(_, text)| text)
}
