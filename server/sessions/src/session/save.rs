//! Saving of a conversation to its file, and the state of the file.

use std::path::Path;

use agentese::framing::FrameText;

use super::body::{Body, Role};
use super::entry::Entry;
use super::error::StorageError;
use super::header::Header;
use super::line_text::LineText;
use super::live_session::Session;
use super::writer::SessionWriter;

impl Session {
    /// Writes the lines that the file lacks.
    pub(super) fn save(&mut self) {
        let starts_file = |entry: &Entry| matches!(entry.body(), Body::Message(Role::User | Role::Assistant));
        let Some(file) = &mut self.file else { return };
        if file.is_started() || self.entries.iter().rev().any(starts_file) {
            let lines = lines(&self.header, &self.entries, file.submitted());
            file.write(lines);
        }
    }

    /// Replaces an opened file if its version requires it, before other code works on it.
    pub(super) fn save_inline(&mut self) {
        match &mut self.file {
            Some(file) if file.is_started() => file.write_inline(lines(&self.header, &self.entries, 0)),
            Some(file) => file.close_if_idle(),
            None => {}
        }
    }

    /// Returns true if the file exists.
    pub fn is_persisted(&self) -> bool {
        self.file.as_ref().is_some_and(SessionWriter::has_lines)
    }

    /// Returns a function that checks if a path leads to the file of this session, which cannot be opened twice. The
    /// function blocks.
    pub fn is_at(&self, path: &Path) -> impl FnOnce() -> bool + Send + use<> {
        let is = self.file.as_ref().map(|file| file.same_file_check(self.options.absolute(path)));
        move || is.is_some_and(|is| is())
    }

    /// Returns the reason why entries do not reach the file, if there is one. They stay in memory and are tried again
    /// with the next entry and with [`Session::flush`].
    pub fn storage_error(&self) -> Option<StorageError> {
        self.file.as_ref()?.error()
    }

    /// Returns the reason why an entry is not safe in the file, if there is one. A file that cannot be written, but has
    /// all entries, is safe.
    pub fn unsaved_error(&self) -> Option<StorageError> {
        self.file.as_ref()?.unsaved_error(self.entries.len() + 1)
    }

    /// Fails if the file can never be written, because it is of a later version or read-only.
    pub fn check_writable(&self) -> Result<(), StorageError> {
        self.file.as_ref().and_then(SessionWriter::read_only_reason).map_or(Ok(()), Err)
    }

    /// Returns true if the system has all entries so far, within two milliseconds.
    pub fn is_written(&self) -> bool {
        self.file.as_ref().is_none_or(SessionWriter::is_written)
    }

    /// Waits until the system has all entries so far, or writing them has failed; see [`Session::storage_error`]. The
    /// future does not borrow the session.
    pub fn wait_written(&self) -> impl Future<Output = ()> + Send + use<> {
        let written = self.file.as_ref().map(SessionWriter::wait_written);
        async move {
            if let Some(written) = written {
                written.await;
            }
        }
    }

    /// Waits as [`Session::wait_written`] does, but briefly and on the caller's thread.
    pub fn wait_briefly(&self) {
        if let Some(file) = &self.file {
            file.wait_briefly();
        }
    }

    /// Notes that a caller has waited too long for [`Session::wait_written`]. [`Session::storage_error`] reports
    /// this until the disk answers.
    pub fn mark_unresponsive(&mut self) {
        if let Some(file) = &mut self.file {
            file.mark_unresponsive();
        }
    }

    /// Returns true if the disk has not answered since a caller waited too long.
    pub fn is_unresponsive(&self) -> bool {
        self.file.as_ref().is_some_and(SessionWriter::is_unresponsive)
    }

    /// Ends the session. The returned future waits until the file can be opened again. It returns the reason why an
    /// entry is not safe in the file, if there is one.
    pub fn close(mut self) -> impl Future<Output = Option<StorageError>> + Send + use<> {
        let closed = self.file.take().map(|file| file.close(self.entries.len() + 1));
        async move {
            match closed {
                Some(closed) => closed.await,
                None => None,
            }
        }
    }

    /// Ends the work on the file, so that the drop of the session does not wait for it.
    pub fn abandon(&mut self) {
        if let Some(file) = &mut self.file {
            file.abandon();
        }
    }

    /// Waits until all entries so far are on the disk, as far as the file exists. Fails with the reason if they are
    /// not. The future does not borrow the session.
    pub fn flush(&mut self) -> impl Future<Output = Result<(), StorageError>> + Send + use<> {
        let synced = self.file.as_mut().map(|file| {
            file.retry();
            file.wait_synced()
        });
        async move {
            match synced {
                Some(synced) => synced.await,
                None => Ok(()),
            }
        }
    }
}

/// Returns the lines of a file, starting with that number; the header is number 0.
fn lines(header: &Header, entries: &[Entry], from: usize) -> Vec<LineText> {
    let header = (from == 0).then(|| FrameText::from(header.json().to_owned()).into());
    let entries = &entries[from.saturating_sub(1)..];
    header.into_iter().chain(entries.iter().map(|entry| entry.text().clone())).collect()
}
