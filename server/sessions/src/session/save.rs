//! How a conversation reaches its file, and what is known of that.

use std::path::Path;

use agentese::framing::FrameText;

use super::body::{Body, Role};
use super::entry::Entry;
use super::error::StorageTrouble;
use super::header::Header;
use super::live::Session;
use super::text::Text;
use super::writer::Writer;

impl Session {
    /// Brings what the file lacks to it.
    pub(super) fn save(&mut self) {
        let spoken = |entry: &Entry| matches!(entry.body(), Body::Message(Role::User | Role::Assistant));
        let Some(file) = &mut self.file else { return };
        if file.is_begun() || self.entries.iter().rev().any(spoken) {
            let lines = lines(&self.header, &self.entries, file.handed());
            file.write(lines);
        }
    }

    /// Puts a file that was opened in order, where it has to be replaced, before anybody else works on it.
    pub(super) fn save_here(&mut self) {
        match &mut self.file {
            Some(file) if file.is_begun() => file.write_here(lines(&self.header, &self.entries, 0)),
            Some(file) => file.rest(),
            None => {}
        }
    }

    /// Whether its file is there.
    pub fn is_persisted(&self) -> bool {
        self.file.as_ref().is_some_and(Writer::is_there)
    }

    /// Looks whether a path leads to its file: to open it a second time would be refused. What is given blocks.
    pub fn is_at(&self, path: &Path) -> impl FnOnce() -> bool + Send + use<> {
        let is = self.file.as_ref().map(|file| file.is(self.start.absolute(path)));
        move || is.is_some_and(|is| is())
    }

    /// Why what is said does not reach the file, where that is so. It is kept and tried again with
    /// the next entry and with [`Session::flush`].
    pub fn storage_trouble(&self) -> Option<StorageTrouble> {
        self.file.as_ref()?.trouble()
    }

    /// Why something that was said is not safe in the file, where that is so. A file that cannot be written and
    /// lacks nothing is none of that.
    pub fn unsaved(&self) -> Option<StorageTrouble> {
        self.file.as_ref()?.unsaved(self.entries.len() + 1)
    }

    /// Fails where nothing will ever reach the file, as it is of a later version or cannot be
    /// written.
    pub fn writable(&self) -> Result<(), StorageTrouble> {
        self.file.as_ref().and_then(Writer::refused).map_or(Ok(()), Err)
    }

    /// Whether everything that was said so far is handed to the system, or is so within two milliseconds.
    pub fn is_written(&self) -> bool {
        self.file.as_ref().is_none_or(Writer::is_written)
    }

    /// Waits until everything that was said so far is handed to the system, or could not be; see
    /// [`Session::storage_trouble`]. The session need not be held meanwhile.
    pub fn written(&self) -> impl Future<Output = ()> + Send + use<> {
        let written = self.file.as_ref().map(Writer::written);
        async move {
            if let Some(written) = written {
                written.await;
            }
        }
    }

    /// As [`Session::written`], in the way of the caller's thread, and for a moment only.
    pub fn linger(&self) {
        if let Some(file) = &self.file {
            file.linger();
        }
    }

    /// Somebody has waited too long for [`Session::written`]: until the disk answers that is its trouble.
    pub fn note_late(&mut self) {
        if let Some(file) = &mut self.file {
            file.note_late();
        }
    }

    /// Whether the disk has not answered since somebody waited too long.
    pub fn is_late(&self) -> bool {
        self.file.as_ref().is_some_and(Writer::is_late)
    }

    /// Ends it. What is given waits until its file can be opened again, and says why something that was said is not
    /// safe in it, where that is so.
    pub fn close(mut self) -> impl Future<Output = Option<StorageTrouble>> + Send + use<> {
        let closed = self.file.take().map(|file| file.close(self.entries.len() + 1));
        async move {
            match closed {
                Some(closed) => closed.await,
                None => None,
            }
        }
    }

    /// Whoever drops it does not wait for its file.
    pub fn abandon(&mut self) {
        if let Some(file) = &mut self.file {
            file.abandon();
        }
    }

    /// Waits until everything that was said so far is on the disk, as far as the file is there.
    /// Fails with the reason why it is not. The session need not be held meanwhile.
    pub fn flush(&mut self) -> impl Future<Output = Result<(), StorageTrouble>> + Send + use<> {
        let settled = self.file.as_mut().map(|file| {
            file.retry();
            file.settled()
        });
        async move {
            match settled {
                Some(settled) => settled.await,
                None => Ok(()),
            }
        }
    }
}

/// The lines of a file from that number on; the header is number 0.
fn lines(header: &Header, entries: &[Entry], from: usize) -> Vec<Text> {
    let header = (from == 0).then(|| FrameText::from(header.json().to_owned()).into());
    let entries = &entries[from.saturating_sub(1)..];
    header.into_iter().chain(entries.iter().map(|entry| entry.text().clone())).collect()
}
