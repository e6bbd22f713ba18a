//! An entry: one line of a session file, with its content and its text.

use std::fmt;
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::scan;
use agentese::types::AgentMessage;
use agentese::wire::Maybe;
use serde_json::Value;

use super::body::{Body, PackedBody, Role};
use super::entry_id::EntryId;
use super::entry_line::{self, EntryLine};
use super::fast_parse::{EntryPreview, fast_parse};
use super::lenient_decode;
use super::line_text::LineText;
use super::members::{LineWriter, Members};
use super::message_snapshot::StoredMessage;
use super::source::{DecodedMessage, MESSAGE, MessageSource};
use super::time;

/// The id, parent and time of a new entry.
pub(super) struct EntryMeta {
    pub id: EntryId,
    pub parent_id: Option<EntryId>,
    pub time: i64,
}

/// An entry of a session.
#[derive(Clone)]
pub struct Entry {
    id: EntryId,
    parent_id: Option<EntryId>,
    source: MessageSource,
    /// `true` if the text contains the id and the parent of the entry; otherwise they were derived.
    has_explicit_links: bool,
    /// The decoded message, or `None` if it is decoded when it is needed.
    message: Option<DecodedMessage>,
}

impl Entry {
    /// Parses a line. `make_text` returns the text to store. In an entry of a declared type, a missing id becomes the
    /// number of the line, and a missing parent becomes `previous`. Returns `None` if the line is not a JSON object
    /// with a type. Also returns `None` for an undeclared type without an id.
    pub(super) fn read(
        text: &str,
        make_text: impl FnOnce() -> LineText,
        line: usize,
        previous: Option<&EntryId>,
    ) -> Option<Self> {
        match fast_parse(text).and_then(|preview| Some((time::milliseconds(preview.timestamp)?, preview))) {
            Some((time, preview)) => Self::from_preview(&preview, time, make_text(), previous),
            None => Self::parse_full(text, make_text, line, previous),
        }
    }

    /// Parses any line. [`Entry::read`] uses it if the fast parse is not possible.
    fn parse_full(
        text: &str,
        make_text: impl FnOnce() -> LineText,
        line: usize,
        previous: Option<&EntryId>,
    ) -> Option<Self> {
        let members = Members::read(text).ok()?;
        let is_message = || members.raw("message").is_some_and(|message| message.starts_with('{'));
        let kind = members.text("type").or_else(|| is_message().then(|| "message".into()))?;
        let body = Body::read(&kind, &members);
        let declared = !matches!(body, Body::Other(_));
        let id = members.scalar_text("id");
        let raw_parent = members.raw("parentId").filter(|parent| !declared || *parent != "null");
        let parent_id = match members.scalar_text("parentId") {
            Some(parent) => Some(EntryId::from(parent)),
            None if members.raw("parentId") != Some("null") && declared => previous.cloned(),
            None => None,
        };
        let has_explicit_links = members.text("id").as_deref() == id.as_deref()
            && raw_parent.is_none_or(|_| {
                members.text("parentId").as_deref() == parent_id.as_ref().map(EntryId::as_str)
            })
            && (raw_parent.is_some() || parent_id.is_none());
        let id = match id {
            Some(id) => id,
            None if declared => format!("line-{line}"),
            None => return None,
        };
        let time = members.get("timestamp").and_then(|time| lenient_decode::parse_time(&time));
        Some(Self {
            id: id.into(),
            parent_id,
            source: MessageSource { time, body: body.into(), text: make_text(), message_range: None },
            has_explicit_links,
            message: None,
        })
    }

    /// Creates an entry from the result of a fast parse.
    fn from_preview(
        preview: &EntryPreview<'_>,
        time: i64,
        text: LineText,
        previous: Option<&EntryId>,
    ) -> Option<Self> {
        let parent_id = preview.parent_id.map(|parent| match previous {
            Some(previous) if previous.as_str() == parent => previous.clone(),
            _ => EntryId::from(parent),
        });
        let offset = |at: usize| u32::try_from(at).ok();
        let fits = match preview.has_declared_shape {
            true => Some(offset(preview.message.start)?..offset(preview.message.end)?),
            false => None,
        };
        Some(Self {
            id: preview.id.into(),
            parent_id,
            source: MessageSource {
                time: Some(time),
                body: PackedBody::Message(preview.role),
                text,
                message_range: fits,
            },
            has_explicit_links: true,
            message: None,
        })
    }

    /// Creates a new entry that is not a message.
    pub(super) fn new(meta: EntryMeta, body: Body, data: Option<&Value>) -> Self {
        let line = line(&meta, &body, |line| body.write(line, data));
        Self::with_line(meta, body, line, None)
    }

    /// Creates a new entry for a message.
    pub(super) fn of_message(meta: EntryMeta, message: Arc<AgentMessage>) -> Self {
        let body = match &*message {
            AgentMessage::Custom(custom) => Body::CustomMessage { custom_type: custom.custom_type.clone() },
            message => Body::Message(Role::of(message)),
        };
        let line = line(&meta, &body, |line| match &*message {
            AgentMessage::Custom(custom) => {
                line.member("customType", &custom.custom_type)
                    .member("content", &custom.content)
                    .member("display", &custom.display);
                match &custom.details {
                    Maybe::Absent => {}
                    Maybe::Null => drop(line.member("details", &Value::Null)),
                    Maybe::Value(details) => drop(line.member("details", details)),
                }
            }
            message => drop(line.member("message", message)),
        });
        let is_verbatim = matches!(body, Body::Message(_));
        Self::with_line(meta, body, line, Some(DecodedMessage { message, is_verbatim }))
    }

    fn with_line(meta: EntryMeta, body: Body, line: String, message: Option<DecodedMessage>) -> Self {
        let source = MessageSource {
            time: Some(meta.time),
            body: body.into(),
            text: FrameText::from(line).into(),
            message_range: None,
        };
        Self { id: meta.id, parent_id: meta.parent_id, source, has_explicit_links: true, message }
    }

    /// Parses a line that belongs to no file.
    pub(super) fn from_line(line: String) -> Option<Self> {
        let text = FrameText::from(line);
        Self::read(text.as_str(), || text.clone().into(), 0, None)
    }

    #[cfg(test)]
    pub(super) fn from_line_full(line: &str) -> Option<Self> {
        Self::parse_full(line, || FrameText::from(line).into(), 0, None)
    }

    /// Returns the entry with another parent, in its text too.
    pub(super) fn with_parent(&self, parent: Option<&EntryId>) -> Self {
        if self.parent_id.as_ref() == parent && self.has_explicit_links {
            return self.clone();
        }
        let text = self.json();
        let Ok(mut members) = Members::read(text.as_str()) else { return self.clone() };
        members.set("type", &self.body().kind(), "");
        members.set("id", &self.id.as_str(), "type");
        members.set("parentId", &parent.map(EntryId::as_str), "id");
        let moved = Self::from_line(members.line());
        moved.map_or_else(|| self.clone(), |moved| Self { message: self.message.clone(), ..moved })
    }

    /// Returns the identifier of the entry.
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// Returns the id of the parent as written in the file. An entry with this id need not exist.
    pub fn parent_id(&self) -> Option<&EntryId> {
        self.parent_id.as_ref()
    }

    /// Returns the time of the entry in milliseconds since the epoch, or `None` if the entry has no time.
    pub fn time(&self) -> Option<i64> {
        self.source.time
    }

    /// Returns the content of the entry.
    pub fn body(&self) -> &Body {
        self.source.body.body()
    }

    /// Returns the text of the entry as written in the file, without the newline. For a large file, this reads the text
    /// from the file. If another program has changed the file, the text has only the type, the id and the parent.
    pub fn json(&self) -> FrameText {
        self.source
            .text
            .get()
            .unwrap_or_else(|| entry_line::lost_line(self.body(), &self.id, self.parent_id.as_ref()))
    }

    /// Returns the text of the entry for later use. For a large file, the text is read when it is used.
    pub fn line(&self) -> EntryLine {
        EntryLine::new(
            self.id.clone(),
            self.parent_id.clone(),
            self.source.body.clone(),
            self.source.text.clone(),
        )
    }

    /// Returns the stored text, in memory or in the file.
    pub(super) fn text(&self) -> &LineText {
        &self.source.text
    }

    /// Returns a member of the entry as JSON text.
    pub fn member(&self, name: &str) -> Option<String> {
        Members::read(self.json().as_str()).ok()?.raw(name).map(str::to_owned)
    }

    /// Returns the message that the model sees for the entry: a message, a message of an extension, or a summary.
    /// Decodes the message unless it is stored decoded. Returns `None` if the entry has no message.
    pub fn message(&self) -> Option<Arc<AgentMessage>> {
        match &self.message {
            Some(known) => Some(known.message.clone()),
            None => self.source.decode_message().map(|decoded| decoded.message),
        }
    }

    /// Returns the message for later use. The message is decoded when it is used.
    pub fn stored_message(&self) -> StoredMessage {
        match &self.message {
            Some(known) => known.message.clone().into(),
            None => self.source.clone().into(),
        }
    }

    /// Returns true if the decoded message is in memory.
    pub(super) fn is_decoded(&self) -> bool {
        self.message.is_some()
    }

    /// Replaces the text in memory by `text`, the same text in the file. Has no effect if the texts differ.
    pub(super) fn move_to_file(&mut self, text: LineText) {
        if self.source.text.in_memory().is_some_and(|here| text.equals(here)) {
            self.source.text = text;
        }
    }

    /// Decodes the message and stores it decoded.
    pub(super) fn keep_decoded(&mut self) {
        self.message = self.message.take().or_else(|| self.source.decode_message());
    }

    /// Drops the decoded message and keeps the text. Records the range of the message in the text.
    pub(super) fn drop_decoded(&mut self) {
        if self.message.take().is_some_and(|decoded| decoded.is_verbatim) {
            self.source.locate_message();
        }
    }

    /// Returns true if the model sees a message for the entry. Does not decode the message.
    pub fn has_model_message(&self) -> bool {
        match self.body() {
            Body::Message(_) | Body::CustomMessage { .. } | Body::Compaction(_) => true,
            Body::BranchSummary(summary) => !summary.summary.is_empty(),
            _ => false,
        }
    }

    /// Returns the message as JSON text. If possible, this is a part of the entry's text without a copy. If the text is
    /// known to have the declared shape, the message is not decoded.
    pub fn message_text(&self) -> Option<FrameText> {
        if let Some(text) = self.source.message_text() {
            return Some(text);
        }
        let DecodedMessage { message, is_verbatim: stands } =
            self.message.clone().or_else(|| self.source.decode_message())?;
        let text = || {
            let text = self.source.text.get()?;
            text.slice_of(scan::scan(text.as_str(), &MESSAGE).ok()?.get(0)?)
        };
        match stands.then(text).flatten() {
            Some(text) => Some(text),
            None => serde_json::to_string(&*message).ok().map(FrameText::from),
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.json().as_str())
    }
}

/// Writes a line, with id, parent and time at the same position as in pi.
fn line(meta: &EntryMeta, body: &Body, members: impl FnOnce(&mut LineWriter)) -> String {
    let mut line = LineWriter::default();
    line.member("type", body.kind());
    let links = |line: &mut LineWriter| {
        line.member("id", meta.id.as_str())
            .member("parentId", &meta.parent_id.as_ref().map(EntryId::as_str))
            .member("timestamp", &time::iso(meta.time));
    };
    if matches!(body, Body::Custom { .. } | Body::CustomMessage { .. }) {
        members(&mut line);
        links(&mut line);
    } else {
        links(&mut line);
        members(&mut line);
    }
    line.end()
}
