//! Answers that are interrupted by a user message. Each part becomes a separate message.

use std::sync::Arc;

use agentese::any::Event;
use agentese::view::{Block, Conversation, Message};
use agentese_server_engine::engine::RemoteEvent;
use agentese_server_models::StreamEvent;
use serde_json::Value;

use super::{RemoteEventTranslator, Step, growing, push};

impl RemoteEventTranslator {
    /// Ends the growing answer after its reported part, because a user message follows. The rest of the
    /// answer is reported after that message.
    pub(super) fn split(&mut self, now: &Conversation, steps: &mut Vec<Step>) {
        let Some(answer) = self.growing.as_deref().and_then(|key| growing(now, key)) else { return };
        let reported = self.reported_part(answer);
        let part = match self.split_answer.take_if(|before| before.key == reported.key) {
            Some(before) => rest_after(&reported, &before),
            None => reported.clone(),
        };
        self.end_message(&part, now, steps);
        self.split_answer = Some(reported);
    }

    /// Starts the next part of an interrupted answer if the event extends that answer.
    pub(super) fn resume_split(&mut self, event: &Event, steps: &mut Vec<Step>) {
        let (Event::TextGrew { message, block, .. }
        | Event::ThinkingGrew { message, block, .. }
        | Event::ArgumentsGrew { message, block, .. }) = event
        else {
            return;
        };
        if self.growing.is_none() && self.split_answer.as_ref().is_some_and(|told| told.key == *message) {
            self.start_part(message, *block, steps);
        }
    }

    /// Returns the part of a complete answer that was not reported. Returns `None` if nothing is left.
    pub(super) fn unreported_part(
        &mut self,
        message: Arc<Message>,
        steps: &mut Vec<Step>,
    ) -> Option<Arc<Message>> {
        let Some(reported) = self.split_answer.take_if(|told| told.key == message.key) else {
            return Some(message);
        };
        let rest = rest_after(&message, &reported);
        if !self.is_growing(&message.key) {
            let first = rest.blocks.iter().position(|block| !matches!(block, Block::Data { .. }));
            self.start_part(&message.key, first.filter(|_| !message.is_gone())?, steps);
        }
        Some(rest.into())
    }

    fn start_part(&mut self, key: &str, first: usize, steps: &mut Vec<Step>) {
        self.growing = Some(key.to_owned());
        (self.open_block, self.opened_blocks, self.written_arguments, self.arguments) =
            (None, first, String::new(), None);
        push(steps, RemoteEvent::AnswerUpdated(StreamEvent::Start));
    }

    /// Returns the growing answer reduced to the contents that were reported.
    fn reported_part(&self, answer: &Message) -> Message {
        let mut reported = answer.clone();
        reported.blocks.truncate(self.opened_blocks);
        if let Some((place, _, length)) = self.open_block
            && let Some(Block::Text { text } | Block::Thinking { text, .. }) = reported.blocks.get_mut(place)
        {
            let before = self.split_answer.as_ref().filter(|before| before.key == answer.key);
            let length =
                length + before.and_then(|before| text_of(before.blocks.get(place)?)).map_or(0, str::len);
            // If another text has replaced the reported one, the length may not be at a character boundary.
            if text.is_char_boundary(length) {
                text.truncate(length);
            }
        }
        reported
    }
}

/// Returns an answer without its reported part. Reported blocks become empty, so that the other blocks keep their
/// indices.
fn rest_after(answer: &Message, reported: &Message) -> Message {
    let mut rest = answer.clone();
    for (block, told) in rest.blocks.iter_mut().zip(&reported.blocks) {
        let more = text_of(block).zip(text_of(told)).and_then(|(text, told)| text.strip_prefix(told));
        let more = more.filter(|more| !more.is_empty()).map(str::to_owned);
        match (&mut *block, more) {
            (Block::Text { text } | Block::Thinking { text, .. }, Some(more)) => *text = more,
            _ => *block = Block::Data { value: Value::Null },
        }
    }
    // The usage must be counted only once.
    rest.usage = rest.usage.filter(|_| reported.usage.is_none());
    rest
}

fn text_of(block: &Block) -> Option<&str> {
    super::blocks::text_of(block).map(|(_, text)| text)
}
