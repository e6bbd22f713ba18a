//! One line of a session file: what it says, and its text as it stands there.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use agentese::types::{
    AgentMessage, BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, InputContent,
};
use agentese::wire::Maybe;
use serde_json::Value;

use super::body::{Body, Role};
use super::members::{Line, Members, decode};
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

/// A part of a text that many entries share.
#[derive(Clone)]
struct Text {
    whole: Arc<String>,
    range: Range<usize>,
}

/// An entry.
#[derive(Clone)]
pub struct Entry {
    id: EntryId,
    parent_id: Option<EntryId>,
    time: Option<i64>,
    body: Body,
    text: Text,
    message: OnceLock<Option<Arc<AgentMessage>>>,
}

impl Entry {
    /// Reads a line, which is a part of a text. Fails where it is no JSON object with a type and an
    /// id.
    pub(super) fn read(whole: &Arc<String>, range: Range<usize>) -> Option<Self> {
        let text = Text { whole: whole.clone(), range: range.clone() };
        let members = Members::read(&whole[range]).ok()?;
        let kind = members.get::<String>("type")?;
        Some(Self {
            id: members.get::<String>("id")?.into(),
            parent_id: members.get::<String>("parentId").map(EntryId::from),
            time: members.get::<String>("timestamp").and_then(|iso| time::milliseconds(&iso)),
            body: Body::read(kind, &members),
            text,
            message: OnceLock::new(),
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
        Self::placed(place, body, line, OnceLock::from(Some(message)))
    }

    fn placed(place: Place, body: Body, line: String, message: OnceLock<Option<Arc<AgentMessage>>>) -> Self {
        let text = Text { range: 0..line.len(), whole: Arc::new(line) };
        Self { id: place.id, parent_id: place.parent_id, time: Some(place.time), body, text, message }
    }

    /// Reads a line on its own.
    pub(super) fn alone(line: String) -> Option<Self> {
        let range = 0..line.len();
        Self::read(&Arc::new(line), range)
    }

    /// The same entry under another parent.
    pub(super) fn under(&self, parent: Option<&EntryId>) -> Self {
        if self.parent_id.as_ref() == parent {
            return self.clone();
        }
        let Ok(mut members) = Members::read(self.json()) else { return self.clone() };
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
        &self.body
    }

    /// Its text as it stands in the file, without the line's end.
    pub fn json(&self) -> &str {
        &self.text.whole[self.text.range.clone()]
    }

    /// A member of its own, as JSON text.
    pub fn member(&self, name: &str) -> Option<String> {
        Members::read(self.json()).ok()?.raw(name).map(str::to_owned)
    }

    /// The message that it puts before the model: its own, that of an extension, a summary. None
    /// where it has none or none that can be read.
    pub fn message(&self) -> Option<&Arc<AgentMessage>> {
        self.message.get_or_init(|| self.decoded().map(Arc::new)).as_ref()
    }

    fn decoded(&self) -> Option<AgentMessage> {
        let now = self.time.unwrap_or_default();
        match &self.body {
            Body::Message(_) => {
                let members = Members::read(self.json()).ok()?;
                let message = decode(members.raw("message")?);
                message
                    .inspect_err(|error| tracing::warn!(entry = %self.id, %error, "a message cannot be read"))
                    .ok()
            }
            Body::CustomMessage { custom_type } => {
                let members = Members::read(self.json()).ok()?;
                let content = members.get::<InputContent>("content")?;
                let display = members.get("display").unwrap_or_default();
                let mut message = CustomMessage::new(custom_type, content, display, now);
                message.details = match members.get::<Value>("details") {
                    None => Maybe::Absent,
                    Some(Value::Null) => Maybe::Null,
                    Some(details) => Maybe::Value(details),
                };
                Some(message.into())
            }
            Body::BranchSummary(summary) if !summary.summary.is_empty() => {
                Some(BranchSummaryMessage::new(&summary.summary, &summary.from_id, now).into())
            }
            Body::Compaction(compaction) => {
                Some(CompactionSummaryMessage::new(&compaction.summary, compaction.tokens_before, now).into())
            }
            _ => None,
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.json())
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
