//! The source of a message: the line of an entry, which is decoded when it is needed.

use std::ops::Range;
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::scan::{self, MemberSet};
use agentese::types::{
    AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, TextContent, UserMessage,
};
use agentese::wire::replace_lone_surrogates;
use serde_json::{Map, Value};

use super::body::{Body, BranchSummary, Compaction, PackedBody};
use super::fast_parse::fast_parse;
use super::lenient_decode;
use super::line_text::LineText;
use super::members::{Members, decode};

/// The member `message` of an entry, for the scanner.
pub(super) static MESSAGE: MemberSet<1> = MemberSet::new([scan::member("message")]);

/// Text of the message that replaces a message whose line is lost.
pub(super) const LOST: &str =
    "[A message of this conversation cannot be read: another program has changed the session file.]";

/// The message of an entry.
#[derive(Clone)]
pub(super) struct DecodedMessage {
    pub message: Arc<AgentMessage>,
    /// `true` if the text of the entry contains the message unchanged.
    pub is_verbatim: bool,
}

impl DecodedMessage {
    /// Wraps a message that differs from the line of the entry.
    fn converted(message: impl Into<AgentMessage>) -> Self {
        Self { message: Arc::new(message.into()), is_verbatim: false }
    }
}

/// The content and the time of an entry, with the text of its line.
#[derive(Clone)]
pub(super) struct MessageSource {
    pub time: Option<i64>,
    pub body: PackedBody,
    /// Text of the line, in memory or in the file.
    pub text: LineText,
    /// Range of the message in the line, if the message is known to have the declared shape; otherwise
    /// `None`.
    pub message_range: Option<Range<u32>>,
}

impl MessageSource {
    /// Decodes the message. Returns `None` if the entry has no message.
    pub fn decode_message(&self) -> Option<DecodedMessage> {
        let now = self.time.unwrap_or_default();
        match self.body.body() {
            Body::Message(_) => Some(self.decode_text(now)),
            Body::CustomMessage { custom_type } => {
                let line = self.text.get().unwrap_or_default();
                let members = Members::read(line.as_str()).unwrap_or_default();
                let mut message = Map::new();
                message.insert("role".to_owned(), "custom".into());
                message.insert("customType".to_owned(), custom_type.as_str().into());
                message.insert("timestamp".to_owned(), now.into());
                for name in ["content", "display", "details"] {
                    if let Some(value) = members.get::<Value>(name) {
                        message.insert(name.to_owned(), value);
                    }
                }
                Some(DecodedMessage::converted(lenient_decode::message(message.into(), now)))
            }
            Body::BranchSummary(BranchSummary { summary, from_id, .. }) if !summary.is_empty() => Some(
                DecodedMessage::converted(BranchSummaryMessage::new(summary, Some(from_id.clone()), now)),
            ),
            Body::Compaction(Compaction { summary, tokens_before, .. }) => {
                Some(DecodedMessage::converted(CompactionSummaryMessage::new(summary, *tokens_before, now)))
            }
            _ => None,
        }
    }

    /// Decodes the message in the line. If the line is lost, returns a note instead, so that the model knows
    /// of the missing message.
    fn decode_text(&self, now: i64) -> DecodedMessage {
        let Some(line) = self.text.get() else {
            return DecodedMessage::converted(UserMessage::new(vec![TextContent::new(LOST).into()], now));
        };
        let text = match &self.message_range {
            Some(at) => line.as_str().get(at.start as usize..at.end as usize),
            None => scan::scan(line.as_str(), &MESSAGE).ok().and_then(|found| found.get(0)),
        };
        let text = text.unwrap_or("null");
        let repaired = replace_lone_surrogates(text);
        match serde_json::from_str(repaired.as_deref().unwrap_or(text)) {
            Ok(message) => DecodedMessage { message: Arc::new(message), is_verbatim: repaired.is_none() },
            Err(error) => {
                tracing::debug!(%error, "a message of a session has an unknown shape");
                DecodedMessage::converted(lenient_decode::message(decode(text).unwrap_or_default(), now))
            }
        }
    }

    /// Returns the JSON text of the message. Returns `None` unless the message is known to have the declared
    /// shape.
    pub fn message_text(&self) -> Option<FrameText> {
        let Range { start, end } = self.message_range.clone()?;
        let text = self.text.get()?;
        text.slice_of(text.as_str().get(start as usize..end as usize)?)
    }

    /// Finds the range of the message in the line, if the line is in memory.
    pub fn locate_message(&mut self) {
        let Some(text) = self.text.in_memory().filter(|_| self.message_range.is_none()) else { return };
        let Some(preview) = fast_parse(text.as_str()).filter(|preview| preview.has_declared_shape) else {
            return;
        };
        if let (Ok(start), Ok(end)) = (preview.message.start.try_into(), preview.message.end.try_into()) {
            self.message_range = Some(start..end);
        }
    }
}
