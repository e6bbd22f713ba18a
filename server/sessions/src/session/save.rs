//! Saving a session to its file, and the state of this file.

use std::path::Path;

use agentese::framing::FrameText;

use super::body::{Body, Role};
use super::entry::Entry;
use super::error::StorageError;
use super::header::Header;
use super::line_text::LineText;
use super::live_session::Session;
use super::session_writer::SessionWriter;

impl Session {
    /// Writes the entries that are not yet in the file.
    pub(super) fn save(&mut self) {
        let starts_file = |entry: &Entry| matches!(entry.body(), Body::Message(Role::User | Role::Assistant));
        let Some(file) = &mut self.file else { return };
        if file.is_started() || self.entries.iter().rev().any(starts_file) {
            let lines = lines(&self.header, &self.entries, file.submitted());
            file.write(lines);
        }
    }

    /// Migrates an opened file if its version requires it. This happens on the caller's thread.
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

    /// Returns a function that checks if a path refers to the file of this session. The function blocks. The file
    /// cannot be opened a second time.
    pub fn is_at(&self, path: &Path) -> impl FnOnce() -> bool + Send + use<> {
        let is = self.file.as_ref().map(|file| file.same_file_check(self.options.absolute(path)));
        move || is.is_some_and(|is| is())
    }

    /// Returns the reason why entries cannot be written, or `None` if they can. Unwritten entries stay in
    /// memory. The next entry and [`Session::flush`] try to write them again.
    pub fn storage_error(&self) -> Option<StorageError> {
        self.file.as_ref()?.error()
    }

    /// Returns the reason why entries are possibly missing in the file, or `None` if the file has all
    /// entries. A read-only file that has all entries is no reason.
    pub fn unsaved_error(&self) -> Option<StorageError> {
        self.file.as_ref()?.unsaved_error(self.entries.len() + 1)
    }

    /// Fails if the file can never be written, because it has a later version or is write-protected.
    pub fn check_writable(&self) -> Result<(), StorageError> {
        self.file.as_ref().and_then(SessionWriter::read_only_reason).map_or(Ok(()), Err)
    }

    /// Waits for at most two milliseconds until the system has all entries. Returns true if it has them, or if writing
    /// has failed.
    pub fn is_written(&self) -> bool {
        self.file.as_ref().is_none_or(SessionWriter::is_written)
    }

    /// Waits until the system has all entries so far, or until writing has failed; see [`Session::storage_error`]. The
    /// future does not borrow the session.
    pub fn wait_written(&self) -> impl Future<Output = ()> + Send + use<> {
        let written = self.file.as_ref().map(SessionWriter::wait_written);
        async move {
            if let Some(written) = written {
                written.await;
            }
        }
    }

    /// Waits as [`Session::wait_written`] does, but blocks the caller's thread, and only briefly.
    pub fn wait_briefly(&self) {
        if let Some(file) = &self.file {
            file.wait_briefly();
        }
    }

    /// Records that a caller of [`Session::wait_written`] has waited too long. [`Session::storage_error`] reports this
    /// until the disk answers.
    pub fn mark_unresponsive(&mut self) {
        if let Some(file) = &mut self.file {
            file.mark_unresponsive();
        }
    }

    /// Returns true if a caller has waited too long and the disk has not answered since.
    pub fn is_unresponsive(&self) -> bool {
        self.file.as_ref().is_some_and(SessionWriter::is_unresponsive)
    }

    /// Closes the session. The future waits until the file can be opened again. It returns the reason why
    /// entries are possibly missing in the file, or `None` if the file has all entries.
    pub fn close(mut self) -> impl Future<Output = Option<StorageError>> + Send + use<> {
        let closed = self.file.take().map(|file| file.close(self.entries.len() + 1));
        async move {
            match closed {
                Some(closed) => closed.await,
                None => None,
            }
        }
    }

    /// Closes the file without waiting for the remaining writes.
    pub fn abandon(&mut self) {
        if let Some(file) = &mut self.file {
            file.abandon();
        }
    }

    /// Waits until all entries so far are synced to the disk, if the file exists. Fails with the reason if this is not
    /// possible. The future does not borrow the session.
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

/// Returns the lines from number `from` on. The header is line 0.
fn lines(header: &Header, entries: &[Entry], from: usize) -> Vec<LineText> {
    let header = (from == 0).then(|| FrameText::from(header.json().to_owned()).into());
    let entries = &entries[from.saturating_sub(1)..];
    header.into_iter().chain(entries.iter().map(|entry| entry.text().clone())).collect()
}
