//! One line of a session file: what it says, and its text as it stands there.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use agentese::framing::FrameText;
use agentese::scan::{self, Wanted};
use agentese::types::{AgentMessage, BranchSummaryMessage, CompactionSummaryMessage};
use agentese::wire::{Maybe, replace_lone_surrogates};
use serde_json::Value;

use super::body::{Body, BranchSummary, Compaction, Role, Says};
use super::foreign;
use super::glance::{Glance, glance};
use super::line::{self, EntryLine};
use super::members::{Line, Members, decode};
use super::text::Text;
use super::time;

/// The identifier of an entry: eight hex digits in files that pi and this program write, anything in
/// others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for EntryId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Where a new entry stands.
pub(super) struct Place {
    pub id: EntryId,
    pub parent_id: Option<EntryId>,
    pub time: i64,
}

/// Where the message of an entry stands in it.
static MESSAGE: Wanted<1> = Wanted::new([scan::member("message")]);

/// The message of an entry.
#[derive(Clone)]
struct Decoded {
    message: Arc<AgentMessage>,
    /// Whether the text of the entry has it as it is.
    stands: bool,
}

impl Decoded {
    /// One that has another form, or none, in the text.
    fn made(message: impl Into<AgentMessage>) -> Self {
        Self { message: Arc::new(message.into()), stands: false }
    }
}

/// An entry.
#[derive(Clone)]
pub struct Entry {
    id: EntryId,
    parent_id: Option<EntryId>,
    time: Option<i64>,
    body: Says,
    /// A line of a file: a part of a text that many of them share, or of the file.
    text: Text,
    /// Whether its text has the id and the parent that it has here.
    says_place: bool,
    /// Where its message stands in its text, where that is known to have the declared shape.
    fits: Option<Range<u32>>,
    message: OnceLock<Option<Decoded>>,
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
            time,
            body: body.into(),
            text: kept(),
            says_place,
            fits: None,
            message: OnceLock::new(),
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
            time: Some(time),
            body: Says::Message(seen.role),
            says_place: true,
            fits,
            message: OnceLock::new(),
            text,
        })
    }

    /// A new one that is no message.
    pub(super) fn new(place: Place, body: Body, data: Option<&Value>) -> Self {
        let line = line(&place, &body, |line| body.write(line, data));
        Self::placed(place, body, line, OnceLock::new())
    }

    /// A new one for a message.
    pub(super) fn of_message(place: Place, message: Arc<AgentMessage>) -> Self {
        let body = match &*message {
            AgentMessage::User(_) => Body::Message(Role::User),
            AgentMessage::Assistant(_) => Body::Message(Role::Assistant),
            AgentMessage::System(_) => Body::Message(Role::System),
            AgentMessage::Custom(custom) => Body::CustomMessage { custom_type: custom.custom_type.clone() },
            _ => Body::Message(Role::Other),
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
        Self::placed(place, body, line, OnceLock::from(Some(Decoded { message, stands })))
    }

    fn placed(place: Place, body: Body, line: String, message: OnceLock<Option<Decoded>>) -> Self {
        let text = FrameText::from(line).into();
        let (time, body) = (Some(place.time), body.into());
        Self {
            id: place.id,
            parent_id: place.parent_id,
            time,
            body,
            text,
            says_place: true,
            fits: None,
            message,
        }
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
        self.time
    }

    /// What it says.
    pub fn body(&self) -> &Body {
        self.body.body()
    }

    /// Its text as it stands in the file, without the line's end. That of an entry of a large file is read; where
    /// somebody has changed the file meanwhile, only the place of the entry is known.
    pub fn json(&self) -> FrameText {
        self.text.get().unwrap_or_else(|| line::lost(self.body(), &self.id, self.parent_id.as_ref()))
    }

    /// Its text, for those who read it later: that of an entry of a large file stays there.
    pub fn line(&self) -> EntryLine {
        EntryLine::new(self.id.clone(), self.parent_id.clone(), self.body.clone(), self.text.clone())
    }

    /// As [`Entry::json`], for those who keep it.
    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// A member of its own, as JSON text.
    pub fn member(&self, name: &str) -> Option<String> {
        Members::read(self.json().as_str()).ok()?.raw(name).map(str::to_owned)
    }

    /// The message that it puts before the model: its own, that of an extension, a summary. None
    /// where it has none or none that can be read.
    pub fn message(&self) -> Option<&Arc<AgentMessage>> {
        self.read_message().map(|decoded| &decoded.message)
    }

    /// As [`Entry::message`], for those who look once: what is decoded is not kept.
    pub(super) fn look(&self) -> Option<Arc<AgentMessage>> {
        match self.message.get() {
            Some(known) => known.as_ref().map(|decoded| decoded.message.clone()),
            None => self.decoded().map(|decoded| decoded.message),
        }
    }

    #[cfg(test)]
    pub(super) fn is_decoded(&self) -> bool {
        self.message.get().is_some()
    }

    /// Keeps no more than its text; where its message stands in it is kept in mind.
    pub(super) fn forget_decoded(&mut self) {
        let Some(decoded) = self.message.take() else { return };
        if self.fits.is_none()
            && decoded.is_some_and(|decoded| decoded.stands)
            && let Some(seen) =
                self.text.here().and_then(|text| glance(text.as_str())).filter(|seen| seen.fits)
            && let (Ok(start), Ok(end)) = (seen.message.start.try_into(), seen.message.end.try_into())
        {
            self.fits = Some(start..end);
        }
    }

    /// Whether it puts a message before the model; what [`Entry::message`] gives tells it too, and decodes it.
    pub(super) fn speaks(&self) -> bool {
        match self.body() {
            Body::Message(_) | Body::CustomMessage { .. } | Body::Compaction(_) => true,
            Body::BranchSummary(summary) => !summary.summary.is_empty(),
            _ => false,
        }
    }

    /// The same as JSON text, which shares that of the entry where it can. Nothing is decoded where the text is known to
    /// have the declared shape.
    pub fn message_text(&self) -> Option<FrameText> {
        if let Some(Range { start, end }) = self.fits
            && let Some(text) = self.text.get()
        {
            return text.slice_of(text.as_str().get(start as usize..end as usize)?);
        }
        let Decoded { message, stands } = self.read_message()?;
        let text = || {
            let text = self.text.get()?;
            text.slice_of(scan::scan(text.as_str(), &MESSAGE).ok()?.get(0)?)
        };
        match stands.then(text).flatten() {
            Some(text) => Some(text),
            None => serde_json::to_string(&**message).ok().map(FrameText::from),
        }
    }

    fn read_message(&self) -> Option<&Decoded> {
        self.message.get_or_init(|| self.decoded()).as_ref()
    }

    fn decoded(&self) -> Option<Decoded> {
        let now = self.time.unwrap_or_default();
        match self.body() {
            Body::Message(_) => {
                let line = self.json();
                let text = match &self.fits {
                    Some(at) => line.as_str().get(at.start as usize..at.end as usize),
                    None => scan::scan(line.as_str(), &MESSAGE).ok().and_then(|found| found.get(0)),
                };
                let text = text.unwrap_or("null");
                let whole = replace_lone_surrogates(text);
                Some(match serde_json::from_str(whole.as_deref().unwrap_or(text)) {
                    Ok(message) => Decoded { message: Arc::new(message), stands: whole.is_none() },
                    Err(error) => {
                        tracing::debug!(entry = %self.id, %error, "a message has a shape of its own");
                        Decoded::made(foreign::message(decode(text).unwrap_or_default(), now))
                    }
                })
            }
            Body::CustomMessage { custom_type } => {
                let line = self.json();
                let members = Members::read(line.as_str()).unwrap_or_default();
                let mut message = serde_json::Map::new();
                message.insert("role".to_owned(), "custom".into());
                message.insert("customType".to_owned(), custom_type.as_str().into());
                message.insert("timestamp".to_owned(), now.into());
                for name in ["content", "display", "details"] {
                    if let Some(value) = members.get::<Value>(name) {
                        message.insert(name.to_owned(), value);
                    }
                }
                Some(Decoded::made(foreign::message(message.into(), now)))
            }
            Body::BranchSummary(BranchSummary { summary, from_id, .. }) if !summary.is_empty() => {
                Some(Decoded::made(BranchSummaryMessage::new(summary, Some(from_id.clone()), now)))
            }
            Body::Compaction(Compaction { summary, tokens_before, .. }) => {
                Some(Decoded::made(CompactionSummaryMessage::new(summary, *tokens_before, now)))
            }
            _ => None,
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
