//! The blocks of an answer whose parts arrive interleaved. Each part has the key of its block.

use std::collections::VecDeque;

use serde::de::IgnoredAny;

use super::stream_event_builder::StreamEventBuilder;
use crate::{ProviderError, ProviderErrorKind};

/// Maximum number of blocks that are open at the same time.
const MOST_OPEN: usize = 256;

/// The beginning of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockStart {
    Text,
    /// The block is reasoning. Contains the signature if it is known at the start.
    Thinking(Option<String>),
    Call {
        id: String,
        name: String,
    },
}

/// A part of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BlockPart {
    Text(String),
    Thinking(String),
    /// The part is JSON text of a call's arguments.
    Arguments(String),
    Signature(String),
    Redacted,
}

/// Assembles blocks from interleaved parts. The resulting events describe one block after the other. So the
/// parts of the oldest open block are passed on at once, and the parts of newer blocks wait until that block
/// has ended.
#[derive(Debug)]
pub(super) struct BlockSequencer<K> {
    /// Blocks that were not passed on completely, the oldest first.
    open: VecDeque<PendingBlock<K>>,
    /// Calls that were passed on completely.
    closed: Vec<PendingBlock<K>>,
}

#[derive(Debug)]
struct PendingBlock<K> {
    key: K,
    start: BlockStart,
    waiting: Vec<BlockPart>,
    /// The JSON text of a call's arguments so far.
    arguments: String,
    /// The length at which the arguments were found incomplete.
    incomplete_at: Option<usize>,
    ended: bool,
}

impl<K> Default for BlockSequencer<K> {
    fn default() -> Self {
        Self { open: VecDeque::new(), closed: Vec::new() }
    }
}

impl<K: PartialEq> BlockSequencer<K> {
    /// Opens a block after all others.
    pub fn open(&mut self, key: K, start: BlockStart, builder: &mut StreamEventBuilder) {
        if self.open.len() >= MOST_OPEN {
            let text = format!("The answer has more than {MOST_OPEN} open blocks.");
            builder.fail(ProviderError::new(ProviderErrorKind::Protocol, text));
            return;
        }
        if self.open.is_empty() {
            start.clone().emit_to(builder);
        } else if !builder.reserve(size_of::<PendingBlock<K>>()) {
            return;
        }
        self.open.push_back(PendingBlock {
            key,
            start,
            waiting: Vec::new(),
            arguments: String::new(),
            incomplete_at: None,
            ended: false,
        });
    }

    /// Adds a part to the block with this key. Returns false if no block with this key is open.
    pub fn push(&mut self, key: &K, part: BlockPart, builder: &mut StreamEventBuilder) -> bool {
        let Some(index) = self.open.iter().rposition(|slot| slot.key == *key && !slot.ended) else {
            return false;
        };
        let slot = &mut self.open[index];
        if let BlockPart::Arguments(text) = &part {
            slot.arguments.push_str(text);
        }
        if index == 0 {
            part.emit_to(builder);
        } else if builder.reserve(part.len()) {
            slot.waiting.push(part);
        }
        true
    }

    /// Adds the part of a call's arguments that has not arrived. `whole` contains all arguments. Returns
    /// false if nothing is missing, or if the arguments so far differ.
    pub fn complete(&mut self, key: &K, whole: &str, builder: &mut StreamEventBuilder) -> bool {
        let before = self.arguments(key).unwrap_or_default();
        match whole.strip_prefix(before).filter(|rest| !rest.is_empty()) {
            Some(rest) => self.push(key, BlockPart::Arguments(rest.to_owned()), builder),
            None => false,
        }
    }

    /// Ends the block with this key.
    pub fn end(&mut self, key: &K, builder: &mut StreamEventBuilder) {
        self.end_each(builder, |slot| slot.key == *key);
    }

    /// Ends every block.
    pub fn end_all(&mut self, builder: &mut StreamEventBuilder) {
        self.end_each(builder, |_| true);
    }

    /// Ends text, reasoning, and each call whose arguments are complete, for formats that mark no ends.
    pub fn end_complete(&mut self, builder: &mut StreamEventBuilder) {
        self.end_each(builder, PendingBlock::is_complete);
    }

    /// Ends complete blocks before the block with this key, so that this block is passed on as soon as
    /// possible.
    pub fn end_complete_before(&mut self, key: &K, builder: &mut StreamEventBuilder) {
        if self.open.front().is_some_and(|front| front.key != *key) {
            let mut before = true;
            self.end_each(builder, |slot| {
                before &= slot.key != *key;
                before && slot.is_complete()
            });
        }
    }

    /// Returns the key and the beginning of the newest block, if one is open.
    pub fn last(&self) -> Option<(&K, &BlockStart)> {
        self.open.back().filter(|slot| !slot.ended).map(|slot| (&slot.key, &slot.start))
    }

    /// Returns true if the open block with this key has the same kind as a block that begins with `start`.
    pub fn is_same_kind(&self, key: &K, start: &BlockStart) -> bool {
        let slot = self.open.iter().rfind(|slot| slot.key == *key && !slot.ended);
        slot.is_some_and(|slot| std::mem::discriminant(&slot.start) == std::mem::discriminant(start))
    }

    /// Returns the arguments of a call so far, also after its end.
    pub fn arguments(&self, key: &K) -> Option<&str> {
        let mut calls = self.open.iter().chain(&self.closed);
        calls.find(|slot| slot.key == *key).map(|slot| slot.arguments.as_str())
    }

    fn end_each(
        &mut self,
        builder: &mut StreamEventBuilder,
        mut ends: impl FnMut(&mut PendingBlock<K>) -> bool,
    ) {
        for slot in &mut self.open {
            slot.ended = slot.ended || ends(slot);
        }
        while self.open.front().is_some_and(|slot| slot.ended) {
            builder.close();
            self.closed
                .extend(self.open.pop_front().filter(|slot| matches!(slot.start, BlockStart::Call { .. })));
            if let Some(next) = self.open.front_mut() {
                next.start.clone().emit_to(builder);
                for part in next.waiting.drain(..) {
                    // The builder counts the part again when it is passed on.
                    builder.release(part.len());
                    part.emit_to(builder);
                }
            }
        }
    }
}

impl<K> PendingBlock<K> {
    fn is_complete(&mut self) -> bool {
        if !matches!(self.start, BlockStart::Call { .. }) {
            return true;
        }
        // Each length is checked once, so that fragments of other slots stay cheap.
        if self.incomplete_at != Some(self.arguments.len()) && is_complete_json(&self.arguments) {
            return true;
        }
        self.incomplete_at = Some(self.arguments.len());
        false
    }
}

impl BlockStart {
    fn emit_to(self, builder: &mut StreamEventBuilder) {
        match self {
            Self::Text => builder.ensure_text(),
            Self::Thinking(mark) => {
                builder.open_thinking();
                if let Some(mark) = mark {
                    builder.signature(&mark);
                }
            }
            Self::Call { id, name } => builder.call(&id, &name),
        }
    }
}

impl BlockPart {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) | Self::Thinking(text) | Self::Arguments(text) | Self::Signature(text) => {
                text.len()
            }
            Self::Redacted => 0,
        }
    }

    fn emit_to(self, builder: &mut StreamEventBuilder) {
        match self {
            Self::Text(text) => builder.text(&text),
            Self::Thinking(text) => builder.thinking(&text, None),
            Self::Arguments(text) => builder.arguments(&text),
            Self::Signature(mark) => builder.signature(&mark),
            Self::Redacted => builder.redacted(),
        }
    }
}

/// Returns whether a JSON text is complete and cannot continue; a number could continue.
pub(super) fn is_complete_json(text: &str) -> bool {
    // Only a text with the end of a value is parsed, since a fragment seldom has it.
    text.trim_start().starts_with(['{', '[', '"', 'n'])
        && text.trim_end().ends_with(['}', ']', '"', 'l'])
        && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamEvent;

    fn call(id: &str) -> BlockStart {
        BlockStart::Call { id: id.into(), name: "bash".into() }
    }

    fn calls_and_pieces(builder: &mut StreamEventBuilder) -> Vec<String> {
        std::iter::from_fn(|| builder.take())
            .map(|event| match event {
                StreamEvent::ToolCallStart { id, .. } => id,
                StreamEvent::ToolCallDelta(text) | StreamEvent::TextDelta(text) => text,
                StreamEvent::ToolCallEnd | StreamEvent::TextEnd => ")".to_owned(),
                other => format!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn the_oldest_block_is_passed_on_and_the_others_wait_for_its_end() {
        let (mut sequencer, mut builder) = (BlockSequencer::default(), StreamEventBuilder::default());
        sequencer.open(0, call("a"), &mut builder);
        sequencer.open(1, call("b"), &mut builder);
        for (slot, part) in [(0, "{"), (1, "{"), (0, "}"), (1, "}")] {
            assert!(sequencer.push(&slot, BlockPart::Arguments(part.into()), &mut builder));
        }
        assert_eq!(calls_and_pieces(&mut builder), ["a", "{", "}"]);
        sequencer.end(&1, &mut builder);
        assert_eq!(calls_and_pieces(&mut builder), Vec::<String>::new());
        assert!(!sequencer.push(&1, BlockPart::Arguments("late".into()), &mut builder));
        sequencer.end(&0, &mut builder);
        assert_eq!(calls_and_pieces(&mut builder), [")", "b", "{", "}", ")"]);
        assert_eq!(sequencer.arguments(&1), Some("{}"));
    }

    #[test]
    fn a_call_without_a_mark_of_its_end_has_ended_when_its_arguments_are_whole() {
        let (mut sequencer, mut builder) = (BlockSequencer::default(), StreamEventBuilder::default());
        sequencer.open(0, call("a"), &mut builder);
        sequencer.push(&0, BlockPart::Arguments("{\"a\":".into()), &mut builder);
        sequencer.open(1, BlockStart::Text, &mut builder);
        sequencer.push(&1, BlockPart::Text(" ".into()), &mut builder);
        sequencer.end_complete(&mut builder);
        assert_eq!(calls_and_pieces(&mut builder), ["a", "{\"a\":"]);
        sequencer.push(&0, BlockPart::Arguments("1}".into()), &mut builder);
        sequencer.end_complete(&mut builder);
        assert_eq!(calls_and_pieces(&mut builder), ["1}", ")", "TextStart", " ", ")"]);
    }

    #[test]
    fn waiting_parts_are_bounded() {
        let (mut sequencer, mut builder) = (BlockSequencer::default(), StreamEventBuilder::default());
        sequencer.open(0, call("a"), &mut builder);
        sequencer.open(1, call("b"), &mut builder);
        let part = BlockPart::Arguments("x".repeat(1024 * 1024));
        let pushed = (0..1024)
            .take_while(|_| sequencer.push(&1, part.clone(), &mut builder) && !builder.has_ended())
            .count();
        assert!(pushed < 40, "{pushed} MiB wait");
    }

    #[test]
    fn waiting_parts_are_counted_once() {
        let (mut sequencer, mut builder) = (BlockSequencer::default(), StreamEventBuilder::default());
        sequencer.open(0, call("a"), &mut builder);
        sequencer.open(1, call("b"), &mut builder);
        sequencer.open(2, BlockStart::Text, &mut builder);
        // Together three quarters of the longest answer.
        let mib = "x".repeat(1024 * 1024);
        for _ in 0..12 {
            sequencer.push(&1, BlockPart::Arguments(mib.clone()), &mut builder);
            sequencer.push(&2, BlockPart::Text(mib.clone()), &mut builder);
        }
        sequencer.end_all(&mut builder);
        assert!(!builder.has_ended());
        assert_eq!(calls_and_pieces(&mut builder).iter().filter(|piece| **piece == mib).count(), 24);
    }

    #[test]
    fn a_text_is_whole_if_nothing_can_follow() {
        let whole = ["{}", " {\"a\": [1]} ", "[1]", "\"x\"", "null"];
        let open = ["", " ", "{", "{\"a\":1", "[1", "\"x", "1", "true", "{}{}"];
        assert!(whole.iter().all(|text| is_complete_json(text)));
        assert!(open.iter().all(|text| !is_complete_json(text)));
    }
}
