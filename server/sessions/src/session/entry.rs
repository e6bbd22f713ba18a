//! One line of a session file: what it says, and its text as it stands there.

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

/// Where a new entry stands.
pub(super) struct Place {
    pub id: EntryId,
    pub parent_id: Option<EntryId>,
    pub time: i64,
}

/// An entry.
#[derive(Clone)]
pub struct Entry {
    id: EntryId,
    parent_id: Option<EntryId>,
    source: Source,
    /// Whether its text has the id and the parent that it has here.
    says_place: bool,
    /// Its message, while that is kept decoded.
    message: Option<Decoded>,
}

impl Entry {
    /// Reads a line. `kept` gives its text for it to keep. Fails where it is not a JSON object with a type and an
    /// id. One of a declared type may lack them: its number among the lines is its name then, and where it
    /// does not say what it follows it follows `previous`.
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

    /// Reads a line with a message as almost all are.
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

    /// A new one that is no message.
    pub(super) fn new(place: Place, body: Body, data: Option<&Value>) -> Self {
        let line = line(&place, &body, |line| body.write(line, data));
        Self::placed(place, body, line, None)
    }

    /// A new one for a message.
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

    /// Reads a line on its own.
    pub(super) fn alone(line: String) -> Option<Self> {
        let text = FrameText::from(line);
        Self::read(text.as_str(), || text.clone().into(), 0, None)
    }

    #[cfg(test)]
    pub(super) fn in_full(line: &str) -> Option<Self> {
        Self::at_length(line, || FrameText::from(line).into(), 0, None)
    }

    /// The same entry under another parent.
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

    /// Its identifier.
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// The entry that it follows, in its own words: there may be no such entry.
    pub fn parent_id(&self) -> Option<&EntryId> {
        self.parent_id.as_ref()
    }

    /// When it was written, in milliseconds since the epoch; none where it does not say.
    pub fn time(&self) -> Option<i64> {
        self.source.time
    }

    /// What it says.
    pub fn body(&self) -> &Body {
        self.source.body.body()
    }

    /// Its text as it stands in the file, without the line's end. That of an entry of a large file is read; where
    /// somebody has changed the file meanwhile, only the place of the entry is known.
    pub fn json(&self) -> FrameText {
        self.source.text.get().unwrap_or_else(|| line::lost(self.body(), &self.id, self.parent_id.as_ref()))
    }

    /// Its text, for those who read it later: that of an entry of a large file stays there.
    pub fn line(&self) -> EntryLine {
        EntryLine::new(
            self.id.clone(),
            self.parent_id.clone(),
            self.source.body.clone(),
            self.source.text.clone(),
        )
    }

    /// As [`Entry::json`], for those who keep it.
    pub(super) fn text(&self) -> &Text {
        &self.source.text
    }

    /// A member of its own, as JSON text.
    pub fn member(&self, name: &str) -> Option<String> {
        Members::read(self.json().as_str()).ok()?.raw(name).map(str::to_owned)
    }

    /// The message that it puts before the model: its own, that of an extension, a summary. None
    /// where it has none or none that can be read. One that is not kept decoded is decoded.
    pub fn message(&self) -> Option<Arc<AgentMessage>> {
        match &self.message {
            Some(known) => Some(known.message.clone()),
            None => self.source.decoded().map(|decoded| decoded.message),
        }
    }

    /// As [`Entry::message`], for those who read it later: nothing is decoded.
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

    /// Leaves its text where the same text stays.
    pub(super) fn leave(&mut self, text: Text) {
        if self.source.text.here().is_some_and(|here| text.is(here)) {
            self.source.text = text;
        }
    }

    /// Keeps its message decoded.
    pub(super) fn keep_decoded(&mut self) {
        self.message = self.message.take().or_else(|| self.source.decoded());
    }

    /// Keeps no more than its text; where its message stands in it is kept in mind.
    pub(super) fn forget_decoded(&mut self) {
        if self.message.take().is_some_and(|decoded| decoded.stands) {
            self.source.find();
        }
    }

    /// Whether it puts a message before the model; what [`Entry::message`] gives tells it too, and decodes it.
    pub fn speaks(&self) -> bool {
        match self.body() {
            Body::Message(_) | Body::CustomMessage { .. } | Body::Compaction(_) => true,
            Body::BranchSummary(summary) => !summary.summary.is_empty(),
            _ => false,
        }
    }

    /// The same as JSON text, which shares that of the entry where it can. Nothing is decoded where the text is known to
    /// have the declared shape.
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

/// Begins a line and ends it; where the place stands in it is as pi writes it.
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
