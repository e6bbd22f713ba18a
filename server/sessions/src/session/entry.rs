//! An entry: one line of a session file, with its content and its text.

use std::fmt;
use std::sync::Arc;

use agentese::framing::FrameText;
use agentese::scan;
use agentese::types::AgentMessage;
use agentese::wire::Maybe;
use serde_json::Value;

use super::body::{Body, Role, Says};
use super::entry_id::EntryId;
use super::foreign;
use super::glance::{Glance, glance};
use super::line::{self, EntryLine};
use super::members::{Line, Members};
use super::source::{Decoded, MESSAGE, Source};
use super::text::Text;
use super::time;
use super::transcript::StoredMessage;

/// The id, parent and time of a new entry.
pub(super) struct Place {
    pub id: EntryId,
    pub parent_id: Option<EntryId>,
    pub time: i64,
}

/// An entry of a session.
#[derive(Clone)]
pub struct Entry {
    id: EntryId,
    parent_id: Option<EntryId>,
    source: Source,
    /// `true` if the text contains the id and the parent of the entry.
    says_place: bool,
    /// The decoded message, while it is kept.
    message: Option<Decoded>,
}

impl Entry {
    /// Reads a line. `kept` returns the text to keep. Returns `None` if the line is not a JSON object with a type and
    /// an id. An entry of a declared type may lack the id, which is then the number of the line, and the parent, which
    /// is then `previous`.
    pub(super) fn read(
        text: &str,
        kept: impl FnOnce() -> Text,
        line: usize,
        previous: Option<&EntryId>,
    ) -> Option<Self> {
        match glance(text).and_then(|seen| Some((time::milliseconds(seen.timestamp)?, seen))) {
            Some((time, seen)) => Self::at_a_glance(&seen, time, kept(), previous),
            None => Self::at_length(text, kept, line, previous),
        }
    }

    /// Reads a line of any kind.
    fn at_length(
        text: &str,
        kept: impl FnOnce() -> Text,
        line: usize,
        previous: Option<&EntryId>,
    ) -> Option<Self> {
        let members = Members::read(text).ok()?;
        let is_message = || members.raw("message").is_some_and(|message| message.starts_with('{'));
        let kind = members.text("type").or_else(|| is_message().then(|| "message".into()))?;
        let body = Body::read(&kind, &members);
        let declared = !matches!(body, Body::Other(_));
        let id = members.word("id");
        let said = members.raw("parentId").filter(|parent| !declared || *parent != "null");
        let parent_id = match members.word("parentId") {
            Some(parent) => Some(EntryId::from(parent)),
            None if members.raw("parentId") != Some("null") && declared => previous.cloned(),
            None => None,
        };
        let says_place = members.text("id").as_deref() == id.as_deref()
            && said.is_none_or(|_| {
                members.text("parentId").as_deref() == parent_id.as_ref().map(EntryId::as_str)
            })
            && (said.is_some() || parent_id.is_none());
        let id = match id {
            Some(id) => id,
            None if declared => format!("line-{line}"),
            None => return None,
        };
        let time = members.get("timestamp").and_then(|time| foreign::moment(&time));
        Some(Self {
            id: id.into(),
            parent_id,
            source: Source { time, body: body.into(), text: kept(), fits: None },
            says_place,
            message: None,
        })
    }

    /// Reads a line with a message in the usual form.
    fn at_a_glance(seen: &Glance<'_>, time: i64, text: Text, previous: Option<&EntryId>) -> Option<Self> {
        let parent_id = seen.parent_id.map(|parent| match previous {
            Some(previous) if previous.as_str() == parent => previous.clone(),
            _ => EntryId::from(parent),
        });
        let place = |at: usize| u32::try_from(at).ok();
        let fits = match seen.fits {
            true => Some(place(seen.message.start)?..place(seen.message.end)?),
            false => None,
        };
        Some(Self {
            id: seen.id.into(),
            parent_id,
            source: Source { time: Some(time), body: Says::Message(seen.role), text, fits },
            says_place: true,
            message: None,
        })
    }

    /// Creates an entry that is not a message.
    pub(super) fn new(place: Place, body: Body, data: Option<&Value>) -> Self {
        let line = line(&place, &body, |line| body.write(line, data));
        Self::placed(place, body, line, None)
    }

    /// Creates an entry for a message.
    pub(super) fn of_message(place: Place, message: Arc<AgentMessage>) -> Self {
        let body = match &*message {
            AgentMessage::Custom(custom) => Body::CustomMessage { custom_type: custom.custom_type.clone() },
            message => Body::Message(Role::of(message)),
        };
        let line = line(&place, &body, |line| match &*message {
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
        let stands = matches!(body, Body::Message(_));
        Self::placed(place, body, line, Some(Decoded { message, stands }))
    }

    fn placed(place: Place, body: Body, line: String, message: Option<Decoded>) -> Self {
        let source = Source {
            time: Some(place.time),
            body: body.into(),
            text: FrameText::from(line).into(),
            fits: None,
        };
        Self { id: place.id, parent_id: place.parent_id, source, says_place: true, message }
    }

    /// Reads a line without its context.
    pub(super) fn alone(line: String) -> Option<Self> {
        let text = FrameText::from(line);
        Self::read(text.as_str(), || text.clone().into(), 0, None)
    }

    #[cfg(test)]
    pub(super) fn in_full(line: &str) -> Option<Self> {
        Self::at_length(line, || FrameText::from(line).into(), 0, None)
    }

    /// Returns the entry with another parent.
    pub(super) fn under(&self, parent: Option<&EntryId>) -> Self {
        if self.parent_id.as_ref() == parent && self.says_place {
            return self.clone();
        }
        let text = self.json();
        let Ok(mut members) = Members::read(text.as_str()) else { return self.clone() };
        members.set("type", &self.body().kind(), "");
        members.set("id", &self.id.as_str(), "type");
        members.set("parentId", &parent.map(EntryId::as_str), "id");
        let moved = Self::alone(members.line());
        moved.map_or_else(|| self.clone(), |moved| Self { message: self.message.clone(), ..moved })
    }

    /// Returns the identifier of the entry.
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// Returns the id of the parent as written in the file; there may be no such entry.
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

    /// Returns the text of the entry as written in the file, without the end of the line. The text of an entry of a
    /// large file is read. If another program has changed the file, the text has only the type, the id and the parent.
    pub fn json(&self) -> FrameText {
        self.source.text.get().unwrap_or_else(|| line::lost(self.body(), &self.id, self.parent_id.as_ref()))
    }

    /// Returns the text of the entry for later use. The text of an entry of a large file stays in the file.
    pub fn line(&self) -> EntryLine {
        EntryLine::new(
            self.id.clone(),
            self.parent_id.clone(),
            self.source.body.clone(),
            self.source.text.clone(),
        )
    }

    /// Returns the text to keep; see [`Entry::json`].
    pub(super) fn text(&self) -> &Text {
        &self.source.text
    }

    /// Returns a member of the entry as JSON text.
    pub fn member(&self, name: &str) -> Option<String> {
        Members::read(self.json().as_str()).ok()?.raw(name).map(str::to_owned)
    }

    /// Returns the message of the entry for the model: its own, that of an extension, or a summary. Returns `None` if
    /// there is no readable message. Decodes the message if it is not kept decoded.
    pub fn message(&self) -> Option<Arc<AgentMessage>> {
        match &self.message {
            Some(known) => Some(known.message.clone()),
            None => self.source.decoded().map(|decoded| decoded.message),
        }
    }

    /// Returns the message for later use, without decoding it.
    pub fn stored_message(&self) -> StoredMessage {
        match &self.message {
            Some(known) => known.message.clone().into(),
            None => self.source.clone().into(),
        }
    }

    /// Returns true if the message of the entry is kept decoded.
    pub(super) fn is_decoded(&self) -> bool {
        self.message.is_some()
    }

    /// Replaces the text by the same text in the file.
    pub(super) fn leave(&mut self, text: Text) {
        if self.source.text.here().is_some_and(|here| text.is(here)) {
            self.source.text = text;
        }
    }

    /// Decodes the message and keeps it so.
    pub(super) fn keep_decoded(&mut self) {
        self.message = self.message.take().or_else(|| self.source.decoded());
    }

    /// Drops the decoded message and keeps the text, with the range of the message in it.
    pub(super) fn forget_decoded(&mut self) {
        if self.message.take().is_some_and(|decoded| decoded.stands) {
            self.source.find();
        }
    }

    /// Returns true if the entry has a message for the model. Unlike [`Entry::message`], decodes nothing.
    pub fn speaks(&self) -> bool {
        match self.body() {
            Body::Message(_) | Body::CustomMessage { .. } | Body::Compaction(_) => true,
            Body::BranchSummary(summary) => !summary.summary.is_empty(),
            _ => false,
        }
    }

    /// Returns the message as JSON text, which shares the text of the entry if possible. Decodes nothing if the text is
    /// known to have the declared shape.
    pub fn message_text(&self) -> Option<FrameText> {
        if let Some(text) = self.source.message_text() {
            return Some(text);
        }
        let Decoded { message, stands } = self.message.clone().or_else(|| self.source.decoded())?;
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

/// Writes a line with id, parent and time in the order of pi.
fn line(place: &Place, body: &Body, members: impl FnOnce(&mut Line)) -> String {
    let mut line = Line::default();
    line.member("type", body.kind());
    let stand = |line: &mut Line| {
        line.member("id", place.id.as_str())
            .member("parentId", &place.parent_id.as_ref().map(EntryId::as_str))
            .member("timestamp", &time::iso(place.time));
    };
    if matches!(body, Body::Custom { .. } | Body::CustomMessage { .. }) {
        members(&mut line);
        stand(&mut line);
    } else {
        stand(&mut line);
        members(&mut line);
    }
    line.end()
}
