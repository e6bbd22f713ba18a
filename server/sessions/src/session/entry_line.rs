//! The text of an entry for later use.

use agentese::framing::FrameText;

use super::body::{Body, PackedBody};
use super::entry_id::EntryId;
use super::line_text::LineText;
use super::members::LineWriter;

/// The text of an entry, which is read when it is needed.
pub struct EntryLine {
    id: EntryId,
    parent_id: Option<EntryId>,
    body: PackedBody,
    text: LineText,
}

impl EntryLine {
    pub(super) fn new(id: EntryId, parent_id: Option<EntryId>, body: PackedBody, text: LineText) -> Self {
        Self { id, parent_id, body, text }
    }

    /// Returns the text as [`Entry::json`](super::Entry::json) does.
    pub fn json(&self) -> FrameText {
        self.text.get().unwrap_or_else(|| lost_line(self.body.body(), &self.id, self.parent_id.as_ref()))
    }
}

/// Returns a line in place of a lost text, with the type, the id and the parent of the entry.
pub(super) fn lost_line(body: &Body, id: &EntryId, parent_id: Option<&EntryId>) -> FrameText {
    let mut line = LineWriter::default();
    line.member("type", body.kind()).member("id", id.as_str());
    line.member("parentId", &parent_id.map(EntryId::as_str));
    line.end().into()
}
