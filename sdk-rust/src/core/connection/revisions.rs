//! The agent's revision, and its effects on lines, checks and errors.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use super::event_queue::EventFrame;
use super::shared::Shared;
use super::writer;
use crate::error::{Error, RefusedError};
use crate::renames;
use crate::revision_detector::Contradiction;
use crate::spec::{EventSpec, RunEffect, RunEnd, Spec};
use crate::tap::Diagnostic;

impl Shared {
    /// Returns the agent's revision, or `None` if it is unknown.
    pub fn revision(&self) -> Option<&'static Spec> {
        self.revision.revision.get().copied()
    }

    /// Returns the rules for the end of a run in the agent's revision. If the revision is unknown, returns
    /// those of the oldest one.
    pub(super) fn run_end(&self) -> RunEnd {
        self.revision().unwrap_or(self.spec).run_end
    }

    /// Returns the line of a command, with the parameter names of the agent's revision; see
    /// [`renames::line`].
    pub(super) fn line(&self, command: &str, id: &str, members: &str) -> String {
        let plain = writer::command_line(self.spec, command, id, members);
        match renames::line(self.spec, self.revision(), command, &plain) {
            Cow::Owned(line) => line,
            Cow::Borrowed(_) => plain,
        }
    }

    /// Fails if a line is too long for agents of the revision.
    pub(super) fn is_short_enough(&self, command: &str, line: &str) -> Result<(), Error> {
        let Some(revision) = self.revision() else { return Ok(()) };
        match revision.edges.longest_command {
            Some(most) if line.len() as u64 > most => Err(Error::TooLong {
                command: command.to_owned(),
                bytes: line.len(),
                most,
                revision: revision.id(),
            }),
            _ => Ok(()),
        }
    }

    /// Fails if the agent's revision does not have the command.
    pub(super) fn has_command(&self, command: &str) -> Result<(), Error> {
        match self.revision.known().missing_command(command) {
            Some((revision, known)) => {
                Err(Error::NotInRevision { command: command.to_owned(), revision, known })
            }
            None => Ok(()),
        }
    }

    /// Returns `true` if an event is known to be no evidence for a revision.
    pub(super) fn lacks_revision_evidence(&self, event: &EventFrame) -> bool {
        if self.revision.is_settled.load(Ordering::Relaxed) {
            return true;
        }
        let says =
            event.kind.spec().and_then(|spec| self.revision.event_evidence.get(self.spec.event_index(spec)?));
        says.is_some_and(|says| says.is_nothing(event.body().as_str()))
    }

    /// Evaluates an event as evidence for a revision.
    pub(super) fn inspect_event(&self, event: &EventFrame) {
        if self.lacks_revision_evidence(event) {
            return;
        }
        let body = || event.body().as_str();
        let wrapped = event.inner.is_some();
        self.contradicted(self.revision.observe(|known| known.event(&event.kind, body(), wrapped)));
    }

    /// Evaluates a successful response as evidence for a revision.
    pub(super) fn inspect_answer(&self, command: &str, data: Option<&str>) {
        self.contradicted(self.revision.observe(|known| known.answer(command, data)));
    }

    fn contradicted(&self, contradiction: Option<Contradiction>) {
        if let Some(Contradiction { named: told, seen }) = contradiction {
            self.diagnose(Diagnostic::OtherRevision { named: told, seen });
        }
    }

    /// Returns the error for a rejected command. The error is [`Error::NotInRevision`] if the agent does not
    /// know the command and only other revisions have it.
    pub(super) fn failure(&self, command: &str, refused: RefusedError) -> Error {
        let text = self.spec.edges.unknown_command_text.replace("{command}", command);
        if refused.message == text {
            let mut known = self.revision.known();
            let found = known.reject_unknown(command);
            self.revision.note(&known);
            if let Some((revision, known)) = found {
                return Error::NotInRevision { command: command.to_owned(), revision, known };
            }
        }
        Error::Refused(Box::new(refused))
    }

    /// Returns the row of an event in the agent's revision. If the revision is unknown, returns the row that
    /// covers all revisions.
    pub(super) fn own_row(&self, event: &EventFrame) -> Option<&'static EventSpec> {
        let row = event.kind.spec()?;
        // Fast path for most events: rows without an effect on runs are equal in all revisions.
        if matches!(row.run, RunEffect::None) && !row.snapshot {
            return Some(row);
        }
        Some(self.revision().and_then(|revision| revision.event(row.name)).unwrap_or(row))
    }
}
